"""Readings to parameters."""
