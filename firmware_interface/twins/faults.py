"""Faults of a node, played on purpose.

They are repeatable: one description for every runner.

A :class:`Fault` is played by the compiled hooks of ``faulty_link.py`` (bytes under way) and ``faulty_node.py``
(node, sensors, drive), in simulated time and on a pseudo-terminal alike.
"""

import math
from dataclasses import dataclass, fields
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from riderless.firmware_interface.errors import DeviceError

TO_COMPUTER, TO_NODE, BOTH_WAYS = 1, 2, 3  # ways of the bytes: node to computer, computer to node
READING_NAMES = ("phi_dot", "theta_dot", "psi_dot", "a_x", "a_y", "a_z", "delta", "wheel_rate", "T")


class FaultKind(IntEnum):
    """Kind of a fault. The comment says what its size is."""

    # bytes under way, each frame with probability `chance`
    FLIP = 0  # bits flipped anywhere in the frame
    GARBLE = 1  # bytes in a row replaced by noise
    TRUNCATE = 2  # bytes missing at the end, at most
    DROP = 3  # -
    DUPLICATE = 4  # -
    REORDER = 5  # -; the frame comes behind the next one
    DELAY = 6  # s
    BURST = 7  # s; handed over together at multiples of this, as a USB adapter with a latency timer does
    SPLIT = 8  # s between the two parts
    NOISE = 9  # bytes of noise before the frame, at most
    VERSION = 10  # version number, with a CRC to match
    # the node
    SLOWING = 11  # s, until it misses samples with probability `chance`, growing from none; its drive goes on
    RESET = 12  # s it takes to boot
    CLOCK_JUMP = 13  # s, added to its time stamps
    CLOCK_WRAP = 14  # -; its time stamps wrap at `start`
    SEQ_WRAP = 15  # -; its sample numbers wrap at `start`
    HELLO_NAN = 16  # -; it says that its gyro's scale is not a number
    STOP_BUTTON = 17  # -
    WATCHDOG_DEAD = 18  # -
    BUS = 19  # V
    # its instruments; `channel` says which
    STUCK = 20  # -
    BIAS = 21  # added, in the reading's unit
    SCALE = 22  # factor
    NOISY = 23  # standard deviation, in the reading's unit
    SLIP = 24  # added from `start` on for good, in the reading's unit
    READS = 25  # what it reads whatever is true; not a number for no reading
    # its drive
    DRIVE_GAIN = 26  # torque made per torque asked for; its own report is true
    DRIVE_LIES = 27  # the same; its own report says what was asked for
    DRIVE_CLAMP = 28  # N m it makes at most
    DRIVE_TRIPS = 29  # -
    DRIVE_HOLDS = 30  # -; it makes what it made last, even when switched off
    # its instruments again
    DRIFT = 31  # added at `stop` and for good from then on, in the reading's unit; grows evenly from none at `start`
    # somebody else on the line, or a host that has crashed; nothing else harms what they send
    REPLAY = 32  # s; what was sent so long ago is sent again, beside what is sent now
    LOOP = 33  # frames; the last so many are sent in turn in place of new ones, as by a circular buffer
    FORGE = 34  # N m in the drive's sense; a command of this torque behind each one, well-formed, of the same session
    # its drive again, where it obeys a steer rate or angle
    DRIVE_ZERO = 35  # added to what it was asked for, as carried [N m, rad/s or 0.1 rad]: it has lost its zero


ATTACKS = (FaultKind.REPLAY, FaultKind.LOOP, FaultKind.FORGE)
LINK_KINDS = (*(kind for kind in FaultKind if kind <= FaultKind.VERSION), *ATTACKS)  # of the bytes under way


class _Size(NamedTuple):
    """Range of sizes that a kind of fault can have."""

    unit: str
    lowest: float
    highest: float


_NO_SIZE = _Size("", 0.0, 0.0)
_SIZES = {
    FaultKind.FLIP: _Size("bits", 1, 2000),
    FaultKind.GARBLE: _Size("bytes", 1, 250),
    FaultKind.TRUNCATE: _Size("bytes", 1, 250),
    FaultKind.DELAY: _Size("s", 0.0, 0.1),
    FaultKind.BURST: _Size("s", 1e-4, 0.1),
    FaultKind.SPLIT: _Size("s", 1e-4, 0.1),
    FaultKind.NOISE: _Size("bytes", 1, 250),
    FaultKind.VERSION: _Size("", 0, 255),
    FaultKind.SLOWING: _Size("s", 1e-3, 3600.0),
    FaultKind.RESET: _Size("s", 0.0, 60.0),
    FaultKind.CLOCK_JUMP: _Size("s", -2000.0, 2000.0),
    FaultKind.BUS: _Size("V", 0.0, 65.535),
    FaultKind.BIAS: _Size("", -1e9, 1e9),
    FaultKind.SCALE: _Size("", -1e6, 1e6),
    FaultKind.NOISY: _Size("", 0.0, 1e9),
    FaultKind.SLIP: _Size("", -1e9, 1e9),
    FaultKind.READS: _Size("", -1e12, 1e12),
    FaultKind.DRIVE_GAIN: _Size("", -10.0, 10.0),
    FaultKind.DRIVE_LIES: _Size("", -10.0, 10.0),
    FaultKind.DRIVE_CLAMP: _Size("N m", 0.0, 1000.0),
    FaultKind.DRIFT: _Size("", -1e9, 1e9),
    FaultKind.DRIVE_ZERO: _Size("", -32.0, 32.0),
    FaultKind.REPLAY: _Size("s", 0.0, 10.0),
    FaultKind.LOOP: _Size("frames", 1, 1000),
    FaultKind.FORGE: _Size("N m", -32.0, 32.0),
}


@dataclass(frozen=True)
class Fault:
    """Fault that lasts for a while.

    Parameters
    ----------
    kind : FaultKind
    size : float
        How much, as told beside the kind; 0 where that says nothing.
    start, stop : float
        s of device time since power-up between which it lasts; a DRIFT has grown to its size at ``stop``.
    chance : float
        Probability with which a frame (or, for SLOWING, a sampling instant) is affected.
    channel : str
        Name in ``READING_NAMES`` of what is disturbed, for the kinds that disturb a reading.
    way : int
        TO_COMPUTER, TO_NODE or BOTH_WAYS: which bytes, for the kinds that disturb bytes.
    seed : int
        Of its chances and noise; the same seed does the same damage.

    Raises
    ------
    DeviceError
        For a value that means nothing.
    """

    kind: FaultKind
    size: float = 0.0
    start: float = 0.0
    stop: float = math.inf
    chance: float = 1.0
    channel: str = "phi_dot"
    way: int = TO_COMPUTER
    seed: int = 0

    def __post_init__(self) -> None:
        unit, lowest, highest = _SIZES.get(self.kind, _NO_SIZE)
        missing = self.kind is FaultKind.READS and math.isnan(self.size)
        if not (lowest <= self.size <= highest or missing):
            allowed = f"from {lowest:g} to {highest:g} {unit}".strip() if highest > lowest else "0: it has none"
            raise DeviceError(f"the size of fault {self.kind.name} must be {allowed}, found {self.size!r}")
        if not 0 <= self.chance <= 1:
            raise DeviceError(f"the chance of a fault must be a probability from 0 to 1, found {self.chance!r}")
        if not 0 <= self.start <= self.stop:
            raise DeviceError(
                f"a fault must start at 0 s or later and not stop before, found {self.start!r} to {self.stop!r} s"
            )
        if self.kind is FaultKind.DRIFT and not self.stop < math.inf:
            raise DeviceError(
                f"a fault DRIFT must say when it has grown to its size of {self.size:g}, found no end: give `stop` in s"
            )
        if self.channel not in READING_NAMES:
            raise DeviceError(f"a fault's channel must be one of {', '.join(READING_NAMES)}, found {self.channel!r}")
        if self.way not in (TO_COMPUTER, TO_NODE, BOTH_WAYS):
            raise DeviceError(
                f"a fault's way must be {TO_COMPUTER} (up), {TO_NODE} (down) or {BOTH_WAYS} (both), found {self.way!r}"
            )
        if self.seed < 0:
            raise DeviceError(f"a fault's seed must be a whole number from 0, found {self.seed!r}")

    def __repr__(self) -> str:
        """Kind, and what is not the default."""
        return f"Fault({self})"

    def __str__(self) -> str:
        """Description for a person, on one line."""
        shown = [f"{f.name} {getattr(self, f.name)!r}" for f in fields(self)[1:] if getattr(self, f.name) != f.default]
        return ", ".join([self.kind.name, *shown])


Faults = tuple[Fault, ...]

FAULT_RECORD = np.dtype(
    [
        ("kind", "i8"),
        ("size", "f8"),
        ("start", "f8"),
        ("stop", "f8"),
        ("chance", "f8"),
        ("channel", "i8"),  # index in READING_NAMES
        ("way", "i8"),
        # what it remembers
        ("word", "u8"),  # of its own stream of random numbers
        ("begun", "i8"),
        ("held", "f8"),  # value at its start
    ],
    align=True,
)


def pack_faults(faults: Faults) -> np.ndarray:
    """Pack faults for compiled code, an array of ``FAULT_RECORD``, each with a stream of random numbers of its own."""
    packed = np.zeros(len(faults), FAULT_RECORD)
    for i, fault in enumerate(faults):
        for name in ("kind", "size", "start", "stop", "chance", "way"):
            packed[name][i] = getattr(fault, name)
        packed["channel"][i] = READING_NAMES.index(fault.channel)
        packed["word"][i] = np.random.SeedSequence([fault.seed, i]).generate_state(1, np.uint64)[0]
    return packed
