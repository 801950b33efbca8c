"""Serial line at its baud rate.

It is played on a pseudo-terminal, which itself has no speed.
"""

import os
import time
from collections.abc import Sequence

import numpy as np

from riderless.firmware_interface.framing import BITS_PER_BYTE
from riderless.firmware_interface.twins.faulty_link import fetch, next_arrival

MADE_UP = 0.012  # s of a late instant, made up for: half of the usual watchdog, so that a drive misses no command


def bytes_carried(duration: float, baud: int) -> int:
    """Bytes a line of ``baud`` bit/s carries in ``duration`` s."""
    return max(1, int(duration * baud / BITS_PER_BYTE))


class PacedLine:
    """End of the line at the node: it never blocks, and hands over what is due.

    Parameters
    ----------
    fd : int
        Non-blocking file descriptor.
    mail : record of ``MAIL``
        What is under way to the other end, on the monotonic clock.

    Attributes
    ----------
    bytes_dropped : int
        Bytes the other end left no room for.
    """

    def __init__(self, fd: int, mail: np.void) -> None:
        self.bytes_dropped = 0
        self._fd = fd
        self._mail = mail
        self._out = np.zeros(4096, np.uint8)

    def read(self, rx: np.ndarray) -> int:
        """Read what has come in, at most ``len(rx)`` bytes; returns their number."""
        try:
            return os.readv(self._fd, [rx.data])
        except BlockingIOError:
            return 0

    def carry(self, now: float) -> bool:
        """Hand over what is due; False if there was nothing."""
        n = fetch(self._mail, now, self._out)
        if n > 0:
            self._hand_over(self._out[:n])
        return n > 0

    @property
    def next_due(self) -> float:
        """Time at which the next bytes arrive (s, monotonic); infinite if none are under way."""
        return float(next_arrival(self._mail))

    def _hand_over(self, data: np.ndarray) -> None:
        try:
            written = os.write(self._fd, data.data)
        except BlockingIOError:
            written = 0
        self.bytes_dropped += len(data) - written


def carry_until(lines: Sequence[PacedLine], due: float) -> float:
    """Sleep until ``due`` (s, monotonic), handing bytes over on all ``lines`` as they arrive; returns the time."""
    while True:
        now = time.monotonic()
        carried = [line.carry(now) for line in lines]
        if any(carried):
            continue
        if now >= due:
            return now
        time.sleep(max(0.0, min(due, *(line.next_due for line in lines)) - now))


class SamplingSchedule:
    """Sampling instants of a twin on the host's clock, one period apart.

    What an instant is late is made up for, up to `MADE_UP`, so that the device's clock goes on as the host's does; by
    what exceeds that the schedule is moved along: so long the device's clock stands still.

    Attributes
    ----------
    slips : int
        Times the schedule was moved along.
    """

    def __init__(self, period: float) -> None:
        self.slips = 0
        self._period, self._due = period, 0.0

    def begin(self) -> None:
        """Let the first instant be due now."""
        self._due = time.monotonic()

    def wait(self, lines: Sequence[PacedLine]) -> float:
        """Sleep until the next instant, handing bytes over on all ``lines``; returns the time (s, monotonic)."""
        now = carry_until(lines, self._due)
        if now - self._due > MADE_UP:
            self.slips += 1
            self._due = now - MADE_UP
        self._due += self._period
        return now
