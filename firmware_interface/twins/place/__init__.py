"""Twins of the sensors of place, one a file."""
