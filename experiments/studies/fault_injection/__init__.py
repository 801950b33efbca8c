"""Faults injected by the thousand: what may go wrong, what is promised then, and whether it was kept."""
