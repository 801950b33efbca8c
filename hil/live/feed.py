"""Shared memory of a run, written side.

The run's view of the memory that it shares with observers. The loop fills the ring of rows in it as it would fill one
of its own, so looking on costs it nothing; and it reads one number of the area of orders before each tick: how often
STOP was pressed. All else is written by the program around it.
"""

import json
import mmap
import os
import sys
import weakref
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import count
from math import isnan, nan
from typing import Any

import numpy as np

from riderless.hil.live import layout
from riderless.hil.logs.writer import LogSink
from riderless.hil.loop.tick_record import TICK
from riderless.models.array_types import Array

RING_ROWS = 8192  # as of a recorder's own ring
MARKERS_KEPT = 40
_F_SEAL_SHRINK, _F_SEAL_GROW = 0x0002, 0x0004
_F_SEAL_FUTURE_WRITE = 0x0010  # Linux 5.1; the standard library has no name for it
_NUMBERS = count(1)  # of the feeds of this process
_LETTERS = {"u8": "Q", "i8": "q", "f8": "d", "u4": "I"}  # of `struct`


class LiveFeed:
    """Shared memory of this process; `open_feed` makes it. Others find the newest one, for as long as it is kept.

    Attributes
    ----------
    ring : (RING_ROWS,) array of TICK
        For the loop to fill.
    flow : (COUNTER_PLACES,) array of int64
        Counters of the loop; the first is that of rows made.
    presses : (n,) array of int64
        Orders of others; the first is how often STOP was pressed.
    can : list of str
        Things that a page may do to the machine, beside STOP.
    """

    def __init__(self) -> None:
        self._rows_fd, rows = _new_area(layout.ROWS_AREA, layout.RING_AT + RING_ROWS * TICK.itemsize)
        self._orders_fd, orders = _new_area(layout.ORDERS_AREA, layout.ORDERS_BYTES)
        weakref.finalize(self, _close_all, (self._rows_fd, self._orders_fd))  # a feed that is gone is not found
        self._memory, self._orders = rows, orders
        self.ring = np.frombuffer(rows, TICK, RING_ROWS, layout.RING_AT)
        self.flow = np.frombuffer(rows, np.int64, layout.COUNTER_PLACES, layout.COUNTERS_AT)
        self.presses = np.frombuffer(orders, np.int64)
        self.ring[:] = np.zeros(1, TICK)  # every page of it is there before the loop needs it
        self.can: list[str] = []
        self._asked = 0
        self._markers: deque[tuple[int, float, str, str]] = deque(maxlen=MARKERS_KEPT)
        self._marked = 0
        columns = {name: (TICK.fields[name][1], _LETTERS[TICK[name].str[1:]]) for name in TICK.names or ()}  # type: ignore[index]
        described = {
            "version": layout.LAYOUT_VERSION,
            "pid": os.getpid(),
            "number": next(_NUMBERS),
            "orders_fd": self._orders_fd,
            "columns": columns,
            "row_bytes": TICK.itemsize,
            "ring_rows": RING_ROWS,
            "head": 0,
        }
        layout.write_shared_text(rows, layout.DESCRIPTION, json.dumps(described))
        _seal(self._rows_fd, _F_SEAL_FUTURE_WRITE)  # from here on nobody else can write what the loop relies on

    def begin(self, run: Mapping[str, Any]) -> None:
        """Begin another run; ``run`` holds its folder, rate and header. A STOP pressed before holds for it too."""
        self.flow[:] = 0
        self._markers.clear()
        layout.write_shared_text(self._memory, layout.DIGEST_TEXT, "{}")
        layout.write_shared_text(self._memory, layout.RUN_TEXT, json.dumps(run))
        self.presses[layout.HERE_AT] = 0

    def finish(self) -> None:
        """End a run: the STOP that ended it does not hold for the next."""
        self.presses[layout.STOP_PRESSES] = 0

    def tell(self, digest: Mapping[str, Any]) -> None:
        """Publish what no row tells: who waits for what, recording, disk. About ten times a second."""
        markers = list(self._markers)
        layout.write_shared_text(self._memory, layout.DIGEST_TEXT, json.dumps({**digest, "markers": markers}))

    def tell_campaign(self, campaign: Mapping[str, Any]) -> None:
        """Publish how far a campaign is."""
        layout.write_shared_text(self._memory, layout.CAMPAIGN_TEXT, json.dumps(campaign))

    def mark(self, t: float, kind: str, text: str) -> None:
        """Publish a marker of the log with the next digest."""
        self._marked += 1
        self._markers.append((self._marked, t, kind, text))

    def beheld(self, now: float) -> float:
        """Time since somebody at a page last said to be there [s]; ``now`` is of the clock of `t_host`."""
        at = int(self.presses[layout.HERE_AT])
        return now - at * 1e-9 if at else float("inf")

    def wishes(self) -> Iterator[dict[str, Any]]:
        """Give what was asked of an emulated machine since the last call."""
        requested = int(self.presses[layout.ASKED])
        for number in range(max(self._asked, requested - layout.ASKED_SLOTS), requested):
            at = layout.ASKED_AT + (number % layout.ASKED_SLOTS) * layout.ASKED_BYTES
            with suppress(ValueError):
                wish = json.loads(layout.read_shared_text(self._orders, (at, layout.ASKED_BYTES))[1])
                if isinstance(wish, dict):
                    yield wish
        self._asked = requested


class SharedSink:
    """Sink that passes a run on to its log, and shows its markers to whoever looks on."""

    def __init__(self, sink: LogSink, feed: LiveFeed) -> None:
        self._sink, self._feed = sink, feed
        self.t_zero = nan

    def write(self, rows: np.ndarray, tape: np.ndarray) -> None:
        """Pass rows on."""
        if isnan(self.t_zero) and len(rows):
            self.t_zero = float(rows["t_host"][0])
        self._sink.write(rows, tape)

    def marker(self, t: float, kind: str, text: str = "") -> None:
        """Pass a marker on, and show it."""
        self._sink.marker(t, kind, text)
        self._feed.mark(t, kind, text)


def open_feed() -> LiveFeed | None:
    """Make the shared memory of this process; None on a system that has no such memory."""
    if sys.platform != "linux":
        return None
    with suppress(OSError):
        return LiveFeed()
    return None


def no_presses() -> Array:
    """Orders of nobody, for a loop that shares nothing."""
    return np.zeros(1, np.int64)


def _new_area(name: str, size: int) -> tuple[int, mmap.mmap]:
    """Make memory that nobody can shrink while a loop writes to it."""
    fd = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, size)
    _seal(fd, _F_SEAL_SHRINK | _F_SEAL_GROW)
    return fd, mmap.mmap(fd, size)


def _close_all(fds: tuple[int, ...]) -> None:
    for fd in fds:
        os.close(fd)


def _seal(fd: int, seals: int) -> None:
    import fcntl  # here, as Windows has none

    with suppress(OSError):  # a kernel that does not know one of them
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
