"""Twin of our node.

The compiled rules of `node.rules`, with every fault of `faulty_node`.
"""

import secrets

import numpy as np

from riderless.firmware_interface.devices.link import ROLE_SENSORS, ROLE_STEER, RX_SIZE
from riderless.firmware_interface.node.firmware_state import new_firmware
from riderless.firmware_interface.twins.faults import TO_NODE
from riderless.firmware_interface.twins.faulty_link import fetch, post
from riderless.firmware_interface.twins.faulty_node import drive_output, new_faulty_node, sampling_instant
from riderless.firmware_interface.twins.twin import TwinConfig


class _NodeTwin:
    """Twin of our node; its sampling instants come at its rate, whatever the steps of the machine."""

    def __init__(self, config: TwinConfig) -> None:
        watchdog_ms = round(1e3 * config.watchdog)
        firmware = new_firmware(
            config.calibration,
            config.rate_hz,
            config.torque_limit,
            watchdog_ms,
            rate_limit=config.rate_limit,
            angle_limit=config.angle_limit,
            encoder=bool(config.carries & ROLE_STEER),
            inertial=config.carries & ROLE_SENSORS == ROLE_SENSORS,
        )
        firmware["salt"] = secrets.randbits(32)  # as the noise since power-up
        self.T, self.enabled = 0.0, False
        self._config, self._node = config, new_faulty_node(firmware, config.faults)
        self._k = 0  # sampling instants so far
        self._out = np.zeros(RX_SIZE, np.uint8)

    def hear(self, data: bytes, t: float) -> bytes:
        """Keep the bytes until the next sampling instant."""
        post(self._node.down, self._node.faults, TO_NODE, np.frombuffer(bytearray(data), np.uint8), len(data), t, t)
        return b""

    def instant(self, t: float, readings: np.ndarray) -> bytes:
        """Go through a sampling instant, if one is due."""
        if t < self._k / self._config.rate_hz - 1e-9:
            return b""
        self._k += 1
        sampling_instant(self._node, readings.copy(), self._config.bus, t, t)
        T, enabled = drive_output(self._node, t)
        self.T, self.enabled = float(T), bool(enabled)
        return self._out[: fetch(self._node.up, t, self._out)].tobytes()


def make(config: TwinConfig) -> _NodeTwin:
    """Make a node as after power-up; raises DeviceError if the configuration does not fit the protocol."""
    return _NodeTwin(config)
