"""Tests against real services, and what starts those services."""
