"""Devices that keep the speed: a treadmill's belt."""
