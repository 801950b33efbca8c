"""A serial line as slow as its baud rate, played on a pseudo-terminal, which itself has no speed."""

import os
import time
from collections import deque

import numpy as np

from firmware_interface.faults import SPLIT_GAP, Faults, Mischief

BITS_PER_BYTE = 10  # start, eight data, stop


def bytes_per(duration: float, baud: int) -> int:
    """Bytes a line of ``baud`` bit/s carries in ``duration`` s."""
    return max(1, int(duration * baud / BITS_PER_BYTE))


class Line:
    """The node's end of the line: non-blocking, paced, and as faulty as asked for.

    Parameters
    ----------
    fd : int
        Non-blocking file descriptor.
    baud : int
        bit/s.
    faults : Faults

    Attributes
    ----------
    bytes_dropped : int
        Bytes the other end left no room for.
    """

    def __init__(self, fd: int, baud: int, faults: Faults) -> None:
        self.bytes_dropped = 0
        self._fd = fd
        self._byte_time = BITS_PER_BYTE / baud
        self._mischief = Mischief(faults)
        self._queue: deque[tuple[float, bytes]] = deque()  # time of arrival, bytes
        self._free = 0.0  # time at which the line has carried all it was given

    def read(self, rx: np.ndarray) -> int:
        """Read what has come in, at most ``len(rx)`` bytes; returns their number."""
        try:
            return os.readv(self._fd, [rx.data])
        except BlockingIOError:
            return 0

    def send(self, frame: bytes, now: float, t: float) -> None:
        """Give a frame to the line at time ``now`` (s, monotonic), ``t`` on the device's clock."""
        gap = 0.0
        for part in self._mischief.parts(frame, t):
            self._free = max(self._free, now) + gap + len(part) * self._byte_time
            self._queue.append((self._mischief.release(self._free), part))
            gap = SPLIT_GAP

    def wait(self, due: float) -> float:
        """Sleep until ``due`` (s, monotonic), handing frames over as they arrive; returns the time."""
        while True:
            now = time.monotonic()
            while self._queue and self._queue[0][0] <= now:
                self._hand_over(self._queue.popleft()[1])
            if now >= due:
                return now
            wake = min(due, self._queue[0][0]) if self._queue else due
            time.sleep(wake - now)

    def _hand_over(self, part: bytes) -> None:
        try:
            written = os.write(self._fd, part)
        except BlockingIOError:
            written = 0
        self.bytes_dropped += len(part) - written
