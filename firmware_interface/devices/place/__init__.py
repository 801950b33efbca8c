"""Sensors of place: one driver a file, named in `firmware_interface.devices.registry`."""
