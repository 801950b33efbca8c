"""Twin on a pseudo-terminal of a drive that has a compiled one in its own file.

The compiled twin speaks and keeps the drive's state; here it has faults.

It plays DRIVE_TRIPS, DRIVE_GAIN, DRIVE_LIES, DRIVE_CLAMP, DRIVE_HOLDS, STOP_BUTTON, WATCHDOG_DEAD, BUS, RESET and
SLOWING (it loses what it would have said).
"""

import math
import random

import numpy as np

from riderless.firmware_interface.calibration import TORQUE_READING
from riderless.firmware_interface.devices.link import RX_SIZE
from riderless.firmware_interface.messages import COMMAND_KIND_TORQUE
from riderless.firmware_interface.twins.faults import READING_NAMES, FaultKind
from riderless.firmware_interface.twins.quick import Quick, new_own_twin
from riderless.firmware_interface.twins.twin import TwinConfig, active_fault

TRIPPED, STOPPED = 0, 1  # places in the twin's memory: an error that stays, the stop that is wired to it


class CompiledTwin:
    """Twin of a drive; see `riderless.firmware_interface.twins.twin.Twin`.

    Parameters
    ----------
    config : TwinConfig
    quick : Quick
        Of its file.
    """

    def __init__(self, config: TwinConfig, quick: Quick) -> None:
        self.T, self.enabled = 0.0, False
        self.record = new_own_twin(quick, config)
        self._config, self._quick = config, quick
        self._readings = np.zeros(len(READING_NAMES))
        self._restarts = 0
        self._chances = random.Random(0)

    def hear(self, data: bytes, t: float) -> bytes:
        """Take bytes; what they are answered with is said in `instant`, at the same time."""
        if not self._booting(t):
            self._quick.hear(self.record, np.frombuffer(bytearray(data), np.uint8), len(data), t, self._readings)
        return b""

    def instant(self, t: float, readings: np.ndarray) -> bytes:
        """Play instruments, watchdog and faults; returns what it says."""
        faults, record = self._config.faults, self.record
        resets = sum(fault.kind == FaultKind.RESET and t >= fault.start for fault in faults)
        if resets > self._restarts:
            self._restarts = resets
            self._quick.begin(record, self._config)
            record["fed"] = t
        if self._booting(t):
            self.T, self.enabled = 0.0, False
            return b""
        self._readings = readings.copy()
        bus = active_fault(faults, FaultKind.BUS, t)
        record["bus"] = bus.size if bus else self._config.bus
        record["watchdog"] = math.inf if active_fault(faults, FaultKind.WATCHDOG_DEAD, t) else self._config.watchdog
        record["memory"][TRIPPED] = active_fault(faults, FaultKind.DRIVE_TRIPS, t) is not None
        record["memory"][STOPPED] = active_fault(faults, FaultKind.STOP_BUTTON, t) is not None
        self._drive(t)
        answer = np.zeros(RX_SIZE, np.uint8)
        n = self._quick.tell(record, t, self._readings, answer)
        return b"" if self._too_slow(t) else answer[:n].tobytes()

    def _drive(self, t: float) -> None:
        faults, record = self._config.faults, self.record
        held = self.T
        self.enabled = bool(self._quick.output(record, t))
        commanded = T = float(record["made"])
        gain = active_fault(faults, FaultKind.DRIVE_GAIN, t) or active_fault(faults, FaultKind.DRIVE_LIES, t)
        clamp = active_fault(faults, FaultKind.DRIVE_CLAMP, t)
        T = T * gain.size if gain else T
        T = min(max(T, -clamp.size), clamp.size) if clamp else T
        if active_fault(faults, FaultKind.DRIVE_HOLDS, t):
            T, self.enabled = held, True
        self.T = T
        if active_fault(faults, FaultKind.DRIVE_LIES, t) and self._config.kind == COMMAND_KIND_TORQUE:
            self._readings[TORQUE_READING] = commanded

    def _booting(self, t: float) -> bool:
        return any(f.kind == FaultKind.RESET and f.start <= t < f.start + f.size for f in self._config.faults)

    def _too_slow(self, t: float) -> bool:
        slowing = active_fault(self._config.faults, FaultKind.SLOWING, t)
        if slowing is None:
            return False
        return self._chances.random() < slowing.chance * min(1.0, (t - slowing.start) / slowing.size)
