"""Registry of the devices: name in a rig file -> module. A new one is a file in this folder and a line here."""

from importlib import import_module

from riderless.firmware_interface.devices.driver import Device
from riderless.firmware_interface.errors import DeviceError

DEVICES = {
    "node": "own_node",
    "vectornav": "vectornav",
    "vesc": "vesc",
    "odrive": "odrive",
    "distance": "place.distance",
    "nmea": "place.nmea",
    "ubx": "place.ubx",
    "camera": "place.camera",
    "treadmill": "speed.treadmill",
    "vesc_wheel": "speed.vesc_wheel",
    "odrive_wheel": "speed.odrive_wheel",
}
_OLD_PROTOCOLS = {  # (device, version of the node's protocol): 1 is spoken in old runs alone, 2 by old nodes too
    ("node", 1): "own_node_1",
    ("node", 2): "own_node_2",
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
        raise DeviceError(f"unknown device '{name}': the devices are {', '.join(DEVICES)}")
    return _load(DEVICES[name])


def device_of_run(name: str, protocol: int) -> Device:
    """Driver as a run of this version of the node's protocol had it; raises DeviceError if there is none."""
    old = _OLD_PROTOCOLS.get((name, protocol))
    return _load(old) if old else device(name)


def _load(module: str) -> Device:
    found: Device = import_module(f"riderless.firmware_interface.devices.{module}").DEVICE
    return found
