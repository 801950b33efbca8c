"""Bytes to SI values and back. Knows nothing of dynamics."""
