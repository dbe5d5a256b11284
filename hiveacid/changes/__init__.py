"""Change tracking: what has changed in a table since a stored state."""
