"""Measurements: run by hand, never asserted in tests."""
