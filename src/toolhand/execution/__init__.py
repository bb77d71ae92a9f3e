"""The one way for a call to become a result: bind, policies, the tool itself."""
