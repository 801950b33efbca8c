"""Paths on the ground, and their feasibility."""
