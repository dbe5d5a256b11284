"""From a pinned table to a DataFrame."""
