"""Serial line as slow as its baud rate, played on a pseudo-terminal, which itself has no speed."""

import os
import time
from collections.abc import Sequence

import numpy as np

from firmware_interface.framing import BITS_PER_BYTE
from firmware_interface.twins.faulty_link import fetch, next_arrival

# s late, up to which a twin makes up for it and its clock goes on as that of a device does; later, and its clock stood
# still. Half of the usual watchdog: a drive that makes up for it misses no command.
MADE_UP = 0.012


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

    def wait(self, due: float) -> float:
        """Sleep until ``due`` (s, monotonic), handing bytes over as they arrive; returns the time."""
        return carry_until([self], due)

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
