"""Paths on the ground, and whether a bicycle can follow them."""
