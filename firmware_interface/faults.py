"""What can go wrong on the wire, on purpose and repeatably: for tests of those who listen."""

import math
import random
from dataclasses import dataclass, fields

from firmware_interface.errors import DeviceError

SPLIT_GAP = 2e-3  # s


@dataclass(frozen=True)
class Faults:
    """Misbehaviour of the virtual node's sending side; nothing by default.

    Parameters
    ----------
    drop : float
        Probability that a frame is lost.
    flip : float
        Probability that a frame has one bit flipped.
    split : float
        Probability that a frame comes in two parts, ``SPLIT_GAP`` apart.
    garbage : float
        Probability that 1 to 40 random bytes come before a frame.
    burst : float
        s, frames are held and handed over together at multiples of this, as a USB adapter with its
        latency timer does (0.016).
    silent_from : float
        s of device time from which nothing is sent.
    stop_button_from : float
        s of device time from which the emergency stop is pressed.
    seed : int
    """

    drop: float = 0.0
    flip: float = 0.0
    split: float = 0.0
    garbage: float = 0.0
    burst: float = 0.0
    silent_from: float = math.inf
    stop_button_from: float = math.inf
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("drop", "flip", "split", "garbage"):
            if not 0 <= getattr(self, name) <= 1:
                raise DeviceError(f"fault {name} must be a probability from 0 to 1, found {getattr(self, name)!r}")
        for field in fields(self):
            if not getattr(self, field.name) >= 0:
                raise DeviceError(f"fault {field.name} must not be negative, found {getattr(self, field.name)!r}")


class Mischief:
    """Applies :class:`Faults` to one frame after the other."""

    def __init__(self, faults: Faults) -> None:
        self.faults = faults
        self._random = random.Random(faults.seed)

    def parts(self, frame: bytes, t: float) -> list[bytes]:
        """What is sent instead of ``frame`` at device time ``t``: nothing, or one or two parts."""
        faults, chance = self.faults, self._random.random
        if t >= faults.silent_from or chance() < faults.drop:
            return []
        if chance() < faults.flip:
            bit = self._random.randrange(8 * len(frame))
            damaged = bytearray(frame)
            damaged[bit // 8] ^= 1 << bit % 8
            frame = bytes(damaged)
        if chance() < faults.garbage:
            frame = self._random.randbytes(self._random.randint(1, 40)) + frame
        if chance() < faults.split:
            cut = self._random.randrange(1, len(frame))
            return [frame[:cut], frame[cut:]]
        return [frame]

    def release(self, due: float) -> float:
        """Time (s) at which something ready at ``due`` is handed over."""
        if self.faults.burst == 0:
            return due
        return math.ceil(due / self.faults.burst) * self.faults.burst
