"""The ACID format as pure functions over plain data, without I/O."""
