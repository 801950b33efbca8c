"""Devices of the machine, and their twins.

Bytes to SI values and back, serial ports and drivers; dynamics are unknown here. Names are loaded when they are first
used, so that importing this room costs nothing.
"""

from typing import TYPE_CHECKING

from riderless import lazy

if TYPE_CHECKING:
    from riderless.firmware_interface.calibration import Calibration
    from riderless.firmware_interface.devices.driver import Device, DeviceRequirements, DeviceSetting, Introduction
    from riderless.firmware_interface.devices.outside import name_driver
    from riderless.firmware_interface.devices.registry import device, device_names
    from riderless.firmware_interface.errors import DeviceError
    from riderless.firmware_interface.node.hello import Hello, ask_hello
    from riderless.firmware_interface.port import FoundPort, SerialPort, found_ports, open_port
    from riderless.firmware_interface.twins.conformance import Conformance, check_driver
    from riderless.firmware_interface.twins.faults import Fault, FaultKind
    from riderless.firmware_interface.twins.machine import MachineConfig, StationConfig, VirtualMachine
    from riderless.firmware_interface.twins.twin import TwinConfig
    from riderless.firmware_interface.twins.virtual_node import NodeConfig, VirtualNode, VirtualProcess, spawn

__all__ = [
    "Calibration",
    "Conformance",
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
    "check_driver",
    "device",
    "device_names",
    "found_ports",
    "name_driver",
    "open_port",
    "spawn",
]

if not TYPE_CHECKING:  # a type checker reads the imports above
    __getattr__, __dir__ = lazy(__name__, __file__)
