"""Reading of pinned tables as DataFrames."""
