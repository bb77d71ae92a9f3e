"""Who listens to events: one sink a file."""
