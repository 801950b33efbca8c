"""Rows of a run from shared memory.

The live server reads them; a page's orders to the run go the other way.
"""

import json
import math
import mmap
import struct
import time
from typing import Any

from riderless.experiments.live.schema import ROW_COLUMNS
from riderless.hil.live import layout

MOST_ROWS_PER_SECOND = 100.0  # that a page is sent; a loop may make a thousand
LONGEST_BATCH = 400  # rows; whoever is farther behind misses the oldest
SHOWN = {  # column of a page: column of the log
    "phi": "phi_est",
    "delta": "delta_est",
    "phi_dot": "phi_dot_est",
    "delta_dot": "delta_dot_est",
    "torque": "T_cmd",
    "v": "v_est",
    "y": "y_est",
    "psi": "psi_est",
}
CODES = ("state", "cause")
_DIGITS = {"t": 4, "phi": 5, "delta": 5, "phi_dot": 4, "delta_dot": 4, "torque": 3, "v": 4, "y": 4, "psi": 5}


class SharedRun:
    """Run whose memory this process has open.

    Parameters
    ----------
    rows, orders : str
        Paths of its areas, as `riderless.hil.live.layout.find_shared_areas` finds them.

    Raises
    ------
    OSError
        It has ended.
    ValueError
        Another version of riderless runs it.
    """

    def __init__(self, rows: str, orders: str) -> None:
        described = layout.read_description(rows)
        self.columns: dict[str, tuple[int, str]] = {name: tuple(at) for name, at in described["columns"].items()}
        self.row_bytes, self.ring_rows = int(described["row_bytes"]), int(described["ring_rows"])
        self.rate = float("inf")
        self._head = int(described["head"])
        self.memory: mmap.mmap = layout.open_area(rows)
        self._orders: mmap.mmap = layout.open_area(orders, writable=True)
        self._structs = {name: struct.Struct(f"<{kind}") for name, (_, kind) in self.columns.items()}
        self._run, self._next, self._zero = 0, 0, math.nan

    def close(self) -> None:
        """Give the memory back."""
        self.memory.close()
        self._orders.close()

    @property
    def made(self) -> int:
        """Rows made so far."""
        return layout.read_counter(self.memory, self._head)

    @property
    def is_behind(self) -> bool:
        """Have more rows come than a page that opens now should hear of?"""
        return self.made - self._next > 4 * LONGEST_BATCH

    def run_text(self) -> dict[str, Any]:
        """Description of the run that it makes now: folder and header; empty before the first."""
        return dict(json.loads(layout.read_shared_text(self.memory, layout.RUN_TEXT)[1] or "{}"))

    def zero(self) -> float:
        """Host clock of the run's first row, from which a page counts [s]; not a number before there is one."""
        return self._first_time(math.nan) if self.made else math.nan

    def batch(self) -> str:
        """Make the message with the rows since the last one; empty where there are none."""
        run = layout.text_number(self.memory, layout.RUN_TEXT)
        if run % 2 or not run:
            return ""
        if run != self._run:
            self._run, self._next, self._zero = run, 0, math.nan
            self.rate = float(self.run_text().get("rate", 200.0))
        made = self.made
        if made < self._next:
            self._next = 0
        step = max(1, round(self.rate / MOST_ROWS_PER_SECOND))
        first = max(self._next, made - LONGEST_BATCH * step, made - self.ring_rows // 2)
        first += -first % step
        rows = [row for i in range(first, made, step) if (row := self._row(i)) is not None]
        self._next = made
        if not rows:
            return ""
        names = ("t", *ROW_COLUMNS, *CODES)
        columns = {name: [row[j] for row in rows] for j, name in enumerate(names)}
        return json.dumps({"type": "rows", **columns}, separators=(",", ":"))

    def _row(self, i: int) -> tuple[float | int | None, ...] | None:
        """Row ``i`` as a page wants it; None where the loop has written over it meanwhile."""
        at = layout.RING_AT + (i % self.ring_rows) * self.row_bytes
        k = self._value("k", at)
        t = float(self._value("t_host", at))
        if math.isnan(self._zero):
            self._zero = self._first_time(t)
        shown = (_rounded(name, self._value(SHOWN[name], at)) for name in ROW_COLUMNS)
        row = (round(t - self._zero, _DIGITS["t"]), *shown, *(int(self._value(name, at)) for name in CODES))
        torn = self._value("k", at) != k or self.made - i >= self.ring_rows
        return None if torn else row

    def _first_time(self, t: float) -> float:
        """Host clock of the run's first row: it is in the ring, or the run tells it; else of the first seen [s]."""
        if self.made < self.ring_rows:
            return float(self._value("t_host", layout.RING_AT))
        _, text = layout.read_shared_text(self.memory, layout.DIGEST_TEXT)
        return float((json.loads(text) if text else {}).get("t_zero", t))

    def _value(self, name: str, at: int) -> Any:
        return self._structs[name].unpack_from(self.memory, at + self.columns[name][0])[0]

    def newest(self, first: int) -> Any:
        """Rows of TICK from ``first`` on, (n,), those that are still there and whole; numpy's, unlike all else here."""
        import numpy as np

        made = self.made
        at = np.arange(max(0 if made < first else first, made - self.ring_rows // 2), made) % self.ring_rows
        layout_of_row = np.dtype(
            {
                "names": list(self.columns),
                "formats": [f"<{kind}" for _, kind in self.columns.values()],  # struct and numpy have the same letters
                "offsets": [offset for offset, _ in self.columns.values()],
                "itemsize": self.row_bytes,
            }
        )
        ring = np.frombuffer(self.memory, layout_of_row, self.ring_rows, layout.RING_AT)
        rows = ring[at]
        del ring  # it would keep the memory open
        return rows

    def stop(self) -> None:
        """Press STOP: the loop ramps down, at the second time it switches off."""
        pressed = layout.read_order(self._orders, layout.STOP_PRESSES)
        layout.write_order(self._orders, layout.STOP_PRESSES, pressed + 1)

    def here(self) -> None:
        """Say that somebody is there, by the clock that both processes share."""
        layout.write_order(self._orders, layout.HERE_AT, time.monotonic_ns())

    def ask(self, text: str) -> None:
        """Leave a wish for an emulated machine; the newest ones are kept."""
        number = layout.read_order(self._orders, layout.ASKED)
        place = layout.ASKED_AT + (number % layout.ASKED_SLOTS) * layout.ASKED_BYTES
        layout.write_shared_text(self._orders, (place, layout.ASKED_BYTES), text)
        layout.write_order(self._orders, layout.ASKED, number + 1)


def _rounded(name: str, value: float) -> float | None:
    return round(value, _DIGITS[name]) if math.isfinite(value) else None
