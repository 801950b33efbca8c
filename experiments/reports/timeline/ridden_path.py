"""Planned and ridden path of a run.

The ridden one is by the run's own estimate; both come from its header and rows.
"""

from dataclasses import dataclass

import numpy as np

from riderless.hil.guidance.path import Path
from riderless.hil.logs.log import Run
from riderless.hil.logs.stored_rows import StoredRows
from riderless.hil.loop.states import State
from riderless.models.array_types import Array

_PLACE_COLUMNS = ("t", "state", "x_est", "y_est", "psi_est")
_REACH = 2.0  # m along the path that a bicycle cannot pass within a row


@dataclass(frozen=True, eq=False)
class RiddenPath:
    """Path asked and path ridden, in metres from where control began; x along the lane, y to its right.

    Attributes
    ----------
    name : str
    speed : float
        For which it was planned [m/s].
    asked_x, asked_y : (m,) arrays
        Path asked [m].
    t : (n,) array
        Time of each row under control [s, device's clock].
    x, y : (n,) arrays
        Estimated place of the rear contact [m].
    lateral : (n,) array
        How far to the right of the path that is [m].
    """

    name: str
    speed: float
    asked_x: Array
    asked_y: Array
    t: Array
    x: Array
    y: Array
    lateral: Array

    @property
    def rms(self) -> float:
        """Root of the mean square of ``lateral`` [m]."""
        return float(np.sqrt(np.mean(self.lateral**2)))

    @property
    def most(self) -> float:
        """Largest distance from the path [m]."""
        return float(np.abs(self.lateral).max())


def ridden_path(run: Run) -> RiddenPath | None:
    """Find the path that a run rode; None where it was asked for none, or was never under control."""
    route = run.header.route
    rows = _rows(run)
    if not route.rows or rows is None or len(rows) < 2:
        return None
    table = route.table()
    s, x, y, psi, kappa = (np.ascontiguousarray(column) for column in table.T[:5])
    path = Path(route.name, s - s[0], x, y, psi, kappa)
    here_x, here_y = rows["x_est"] - rows["x_est"][0], rows["y_est"]
    lateral, along = np.empty(len(rows)), route.entered_at  # not by x, for a path may come back
    for i in range(len(rows)):
        on = path.nearest(float(here_x[i]), float(here_y[i]), float(rows["psi_est"][i]), along, _REACH)
        lateral[i], along = on.lateral, on.s
    return RiddenPath(route.name, route.speed, x, y, np.array(rows["t"]), np.array(here_x), np.array(here_y), lateral)


def _rows(run: Run) -> np.ndarray | None:
    """Rows under control, of the columns wanted; None where the run has them not."""
    if not set(_PLACE_COLUMNS) <= set(run.ticks.dtype.names or ()):
        return None
    if isinstance(run.ticks, StoredRows):
        parts = [_running(part) for part in run.ticks.stretches(_PLACE_COLUMNS, max(len(run.ticks), 1))]
        return np.concatenate(parts) if parts else None
    return _running(run.ticks)


def _running(ticks: np.ndarray) -> np.ndarray:
    """Rows under control with a place."""
    return np.asarray(ticks[(ticks["state"] == State.RUNNING) & np.isfinite(ticks["x_est"])])
