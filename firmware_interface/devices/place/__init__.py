"""Drivers of the sensors of place.

One a file, named in `riderless.firmware_interface.devices.registry`.
"""
