"""Python that a model wrote, looked at and not run: what is wrong with it, and which interpreter it needs."""
