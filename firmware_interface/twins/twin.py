"""Interface of a twin.

A twin is the behaviour of a device without its line, at each step of the emulated machine. One process (`machine.py`)
holds the plant and the twins of all ports, so that they stand on one bicycle. It steps at ``STEP_RATE``: hands each
twin the bytes that came in, lets the plant advance under the torque of the twin that drives, and asks each twin what it
says of the new readings. The line's speed and its damage are played by the machine, for all twins alike; a twin plays
what can be wrong with the device itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from riderless.firmware_interface.calibration import Calibration
from riderless.firmware_interface.messages import COMMAND_KIND_TORQUE
from riderless.firmware_interface.twins.faults import Fault, FaultKind, Faults

STEP_RATE = 1000  # Hz


class Twin(Protocol):
    """Emulated device; a drive makes ``T`` [N m on the steer, positive to the right] while ``enabled``.

    A drive that is told a rate or an angle hands that on in ``T`` [rad/s, rad], to a plant with such an inner loop.
    """

    T: float
    enabled: bool

    def hear(self, data: bytes, t: float) -> bytes:
        """Take bytes from the computer at device time ``t`` [s]; returns what it answers at once."""

    def instant(self, t: float, readings: np.ndarray) -> bytes:
        """Go one step on at ``t`` [s]: watchdogs, and what it says unasked.

        ``readings`` are the nine of ``calibration.to_counts``, in the axes of the bicycle: lean, pitch and yaw
        rate [rad/s], specific force [m/s^2], steer [rad], wheel rate [rad/s], torque of the drive [N m].
        """


@dataclass(frozen=True, kw_only=True)
class TwinConfig:
    """Configuration of a twin: the device it stands in for.

    ``calibration`` is the truth of the device: how its sensor is mounted, its offsets, its signs. A rig file that says
    otherwise is wrong, and checks and calibrations should find it.
    """

    carries: int  # bits, see `devices.link`
    calibration: Calibration
    rate_hz: int
    watchdog: float  # s, time-out of the drive
    torque_limit: float  # N m on the steer
    settings: Mapping[str, float] = field(default_factory=dict)  # of the device, all of them
    bus: float = 24.0  # V
    faults: Faults = ()
    kind: int = COMMAND_KIND_TORQUE  # of command that the drive of the plant obeys; a twin makes nothing of others
    rate_limit: float | None = None  # rad/s of the steer; None where it obeys no rate
    angle_limit: float | None = None  # rad of the steer from its encoder's zero; None where it obeys no angle


def active_fault(faults: Faults, kind: FaultKind, t: float) -> Fault | None:
    """Fault of this kind that is on at ``t`` [s], or None."""
    return next((fault for fault in faults if fault.kind == kind and fault.start <= t < fault.stop), None)
