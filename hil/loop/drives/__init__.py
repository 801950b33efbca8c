"""Steer drives that obey a rate or an angle, as the loop sees them."""
