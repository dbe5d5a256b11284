"""Tests against metastores that ask who their clients are."""
