"""Twins of the devices that keep the speed."""
