"""Random histories of Hive operations, executed in a real Hive and compared after each."""
