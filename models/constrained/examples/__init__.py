"""Mechanical systems of textbooks, built with `riderless.models.constrained`."""
