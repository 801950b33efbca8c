"""Rows of a log as the messages that pages read."""

from typing import Any

import numpy as np

from riderless.experiments.live.rows import CODES, SHOWN
from riderless.experiments.live.schema import ROW_COLUMNS, LiveRows


def rows_message(rows: np.ndarray, zero: float) -> LiveRows:
    """Message of rows (n,) of a log, older ones too; times counted from ``zero`` [s, host clock]."""
    names = rows.dtype.names or ()

    def column(name: str) -> list[float | None]:
        if name not in names:
            return [None] * len(rows)
        values = np.round(rows[name].astype(float), 5)
        return [float(x) if np.isfinite(x) else None for x in values]

    columns: dict[str, Any] = {name: column(SHOWN[name]) for name in ROW_COLUMNS}
    columns |= {name: [int(x) for x in rows[name]] for name in CODES}
    return LiveRows(t=[round(float(t) - zero, 4) for t in rows["t_host"]], **columns)
