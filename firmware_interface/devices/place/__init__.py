"""Sensors of place: one driver a file, named in `riderless.firmware_interface.devices.registry`."""
