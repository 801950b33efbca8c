"""Door to the devices: bytes to SI values and back, serial ports, drivers, and twins. Knows nothing of dynamics.

Names are loaded when they are first used, so that importing this room costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from riderless.firmware_interface.calibration import Calibration
    from riderless.firmware_interface.devices.driver import Device, DeviceRequirements, DeviceSetting, Introduction
    from riderless.firmware_interface.devices.registry import device, device_names
    from riderless.firmware_interface.errors import DeviceError
    from riderless.firmware_interface.node.hello import Hello, ask_hello
    from riderless.firmware_interface.port import FoundPort, SerialPort, found_ports, open_port
    from riderless.firmware_interface.twins.faults import Fault, FaultKind
    from riderless.firmware_interface.twins.machine import MachineConfig, StationConfig, VirtualMachine
    from riderless.firmware_interface.twins.twin import TwinConfig
    from riderless.firmware_interface.twins.virtual_node import NodeConfig, VirtualNode, VirtualProcess, spawn

__all__ = [
    "Calibration",
    "Device",
    "DeviceError",
    "DeviceRequirements",
    "DeviceSetting",
    "Fault",
    "FaultKind",
    "FoundPort",
    "Hello",
    "Introduction",
    "MachineConfig",
    "NodeConfig",
    "SerialPort",
    "StationConfig",
    "TwinConfig",
    "VirtualMachine",
    "VirtualNode",
    "VirtualProcess",
    "ask_hello",
    "device",
    "device_names",
    "found_ports",
    "open_port",
    "spawn",
]

_HOMES = {  # module -> names, as above
    "calibration": ("Calibration",),
    "devices.driver": ("Device", "DeviceRequirements", "DeviceSetting", "Introduction"),
    "devices.registry": ("device", "device_names"),
    "errors": ("DeviceError",),
    "node.hello": ("Hello", "ask_hello"),
    "port": ("FoundPort", "SerialPort", "found_ports", "open_port"),
    "twins.faults": ("Fault", "FaultKind"),
    "twins.machine": ("MachineConfig", "StationConfig", "VirtualMachine"),
    "twins.twin": ("TwinConfig",),
    "twins.virtual_node": ("NodeConfig", "VirtualNode", "VirtualProcess", "spawn"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Load a name of this door from its module."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    return found


def __dir__() -> list[str]:
    """Names of this door."""
    return sorted(__all__)
