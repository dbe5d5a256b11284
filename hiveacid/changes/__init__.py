"""Changes of a table since a state."""
