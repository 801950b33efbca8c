"""Recorder of the loop's ring and tape.

It empties them into the log, in a thread of its own. One writer (the loop), one reader (this thread), nobody waits for
the other: when the ring is full the loop counts what it had to leave out.
"""

import threading
from collections.abc import Callable

import numpy as np

from riderless.hil.live.feed import RING_ROWS, LiveFeed
from riderless.hil.loop.tick_record import TICK

Rows = np.ndarray  # (n,) of TICK
TAPE_BYTES = 1 << 20
MOST_WAITING_ROWS = 1024  # rows that may wait before the log counts as hanging: 5 s at 200 Hz
RING_HEAD, RING_TAIL, TAPE_HEAD, TAPE_TAIL, DROPPED_ROWS = range(5)
FLOWS = 5  # places of the flow that are the recorder's
_DRAIN = 0.05  # s between two visits


class Recorder:
    """Recorder of a running loop: ring of rows and tape of bytes on their way to the log.

    Parameters
    ----------
    record : callable
        Given each batch of rows (n,) of TICK and the tape that belongs to it. What it raises stops the
        recording, not the loop; the supervisor then ramps the torque down.
    flows : int
        Places in ``flow``, of which the recorder needs the first `FLOWS`.
    feed : LiveFeed or None
        Its ring and flow are taken, so that others see the rows too.
    """

    def __init__(
        self, record: Callable[[Rows, np.ndarray], None], flows: int = FLOWS, feed: LiveFeed | None = None
    ) -> None:
        self.ring = np.zeros(RING_ROWS, TICK) if feed is None else feed.ring
        self.tape = np.zeros(TAPE_BYTES, np.uint8)
        self.flow = np.zeros(flows, np.int64) if feed is None else feed.flow
        self.failure: Exception | None = None
        self.loop_failure: Exception | None = None  # of the loop whose rows these are
        self._record = record
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="recorder", daemon=True)

    @property
    def keeps_up(self) -> bool:
        """True while the log takes what it is given, and fast enough."""
        waiting = int(self.flow[RING_HEAD] - self.flow[RING_TAIL])
        tape = int(self.flow[TAPE_HEAD] - self.flow[TAPE_TAIL])
        return (
            self.failure is None and self._thread.is_alive() and waiting < MOST_WAITING_ROWS and tape < TAPE_BYTES // 2
        )

    @property
    def dropped(self) -> int:
        """Rows that were made and could not be kept."""
        return int(self.flow[DROPPED_ROWS] + (self.flow[RING_HEAD] - self.flow[RING_TAIL]))

    def newest(self) -> np.void | None:
        """Copy of the latest row, None before the first."""
        head = int(self.flow[RING_HEAD])
        return self.ring[(head - 1) % RING_ROWS].copy() if head else None

    def start(self) -> None:
        self._thread.start()

    def finish(self) -> None:
        """Record what is left and end; harmless when it has not been started."""
        self._over.set()
        if self._thread.ident is not None:
            self._thread.join()

    def drain(self) -> None:
        """Hand over what has been recorded since the last call, then free its place."""
        head, tail = int(self.flow[RING_HEAD]), int(self.flow[RING_TAIL])
        if head == tail:
            return
        rows = self.ring[np.arange(tail, head) % RING_ROWS].copy()
        start = int(self.flow[TAPE_TAIL])
        end = start + int(rows["n_wire"].sum(dtype=np.int64))
        self._record(rows, self.tape[np.arange(start, end) % TAPE_BYTES])
        self.flow[TAPE_TAIL] = end
        self.flow[RING_TAIL] = head

    def _serve(self) -> None:
        try:
            while not self._over.wait(_DRAIN):
                self.drain()
            self.drain()
        except Exception as failure:  # whatever it is, the loop must hear of it and the caller be told
            self.failure = failure
