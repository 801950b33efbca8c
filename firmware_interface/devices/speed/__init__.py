"""Devices that keep the speed: a treadmill's belt, or a motor on the rear wheel."""
