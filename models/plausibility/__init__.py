"""Plausibility of a bicycle's numbers.

Units they may carry, plausible ranges, likely mistakes.
"""
