"""Devices of the machine, and their twins.

Bytes to SI values and back, serial ports and drivers; dynamics are unknown here. Names are loaded when they are first
used, so that importing this room costs nothing.
"""

from typing import TYPE_CHECKING

from riderless import lazy

if TYPE_CHECKING:
    from riderless.firmware_interface.calibration import Calibration as Calibration
    from riderless.firmware_interface.devices.driver import Device as Device
    from riderless.firmware_interface.devices.driver import DeviceRequirements as DeviceRequirements
    from riderless.firmware_interface.devices.driver import DeviceSetting as DeviceSetting
    from riderless.firmware_interface.devices.driver import Introduction as Introduction
    from riderless.firmware_interface.devices.outside import name_driver as name_driver
    from riderless.firmware_interface.devices.registry import device as device
    from riderless.firmware_interface.devices.registry import device_names as device_names
    from riderless.firmware_interface.errors import DeviceError as DeviceError
    from riderless.firmware_interface.node.hello import Hello as Hello
    from riderless.firmware_interface.node.hello import ask_hello as ask_hello
    from riderless.firmware_interface.port import FoundPort as FoundPort
    from riderless.firmware_interface.port import SerialPort as SerialPort
    from riderless.firmware_interface.port import found_ports as found_ports
    from riderless.firmware_interface.port import open_port as open_port
    from riderless.firmware_interface.twins.conformance import Conformance as Conformance
    from riderless.firmware_interface.twins.conformance import check_driver as check_driver
    from riderless.firmware_interface.twins.faults import Fault as Fault
    from riderless.firmware_interface.twins.faults import FaultKind as FaultKind
    from riderless.firmware_interface.twins.machine import MachineConfig as MachineConfig
    from riderless.firmware_interface.twins.machine import StationConfig as StationConfig
    from riderless.firmware_interface.twins.machine import VirtualMachine as VirtualMachine
    from riderless.firmware_interface.twins.twin import TwinConfig as TwinConfig
    from riderless.firmware_interface.twins.virtual_node import NodeConfig as NodeConfig
    from riderless.firmware_interface.twins.virtual_node import VirtualNode as VirtualNode
    from riderless.firmware_interface.twins.virtual_node import VirtualProcess as VirtualProcess
    from riderless.firmware_interface.twins.virtual_node import spawn as spawn

if not TYPE_CHECKING:  # a type checker reads the imports above
    __getattr__, __dir__ = lazy(__name__, __file__)
