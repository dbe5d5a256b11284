"""What changed in an ACID source since a target was last built from it."""
