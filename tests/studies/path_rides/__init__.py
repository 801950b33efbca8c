"""Rides along lanes and paths outdoors with RTK, judged by the true place: how far the bicycle is beside its path."""
