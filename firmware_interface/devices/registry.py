"""Registry of the devices.

It leads from the name in a rig file to the module. A new device is a file in this folder and a line here.
Other names are those of drivers from outside (`riderless.firmware_interface.devices.outside`).
"""

from importlib import import_module

from riderless.firmware_interface.devices.driver import Device
from riderless.firmware_interface.devices.outside import outside_device

DEVICES = {
    "node": "own_node",
    "vectornav": "vectornav",
    "vesc": "vesc",
    "vesc_can": "vesc_can",
    "odrive": "odrive",
    "odrive_can": "odrive_can",
    "moteus": "moteus",
    "distance": "place.distance",
    "nmea": "place.nmea",
    "ubx": "place.ubx",
    "camera": "place.camera",
    "treadmill": "speed.treadmill",
    "vesc_wheel": "speed.vesc_wheel",
    "odrive_wheel": "speed.odrive_wheel",
}


def device_names() -> tuple[str, ...]:
    """Names of the devices, as a rig file writes them."""
    return tuple(DEVICES)


def device(name: str) -> Device:
    """Driver of that name, loaded when first asked for: only what a machine has is compiled.

    Raises
    ------
    DeviceError
        If there is none.
    """
    if name not in DEVICES:
        return outside_device(name, DEVICES)
    module_device: Device = import_module(f"riderless.firmware_interface.devices.{DEVICES[name]}").DEVICE
    return module_device
