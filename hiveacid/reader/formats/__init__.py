"""File formats of insert-only tables, one module each."""
