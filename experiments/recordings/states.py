"""Supervisor's states over a run.

On the device's clock, from its rows or from the few of them that tell. And the rows in which the bicycle, or its lane,
was left to itself, or was led through the bends of a path.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from riderless.experiments.datatypes import Response, StateSpan
from riderless.hil.guidance.route import Route
from riderless.hil.loop.states import State, Verdict
from riderless.hil.rig.rig import Rig
from riderless.models.array_types import Array

WHERE_COLUMNS = ("t", "x_est", "y_est", "psi_est")
WHERE_STEP = 0.1  # s
STATE_COLUMNS = ("t", "t_host", "valid", "state")
_FADED = 5.0  # time constants of the drive after which a torque that was switched off is gone


def state_spans(ticks: np.ndarray) -> tuple[StateSpan, ...]:
    """Times of the states in rows (n,), on the device's clock that the samples carry."""
    state, valid = ticks["state"], np.flatnonzero(ticks["valid"] == 1)
    if not len(valid):
        return ()
    starts = np.flatnonzero(np.diff(state, prepend=state[0] + 1))
    ends = np.append(starts[1:], len(state) - 1)
    host = ticks["t_host"]
    on_device = np.interp(host[np.append(starts, ends)], host[valid], ticks["t"][valid])
    return tuple(
        StateSpan(float(a), float(b), State(int(state[i])))
        for a, b, i in zip(on_device[: len(starts)], on_device[len(starts) :], starts, strict=True)
    )


def telling_rows(ticks: np.ndarray) -> np.ndarray:
    """Rows from which alone `state_spans` finds the same: changes of the state, the ends, and samples next to these.

    So a long run's rows can be forgotten stretch by stretch, and what is kept of each put together.
    """
    if not len(ticks):
        return np.zeros(0, [(name, ticks.dtype[name]) for name in STATE_COLUMNS])
    state, valid = ticks["state"], np.flatnonzero(ticks["valid"] == 1)
    wanted = np.append(np.flatnonzero(np.diff(state, prepend=state[0] + 1)), len(state) - 1)
    if len(valid):
        after = np.searchsorted(valid, wanted)
        beside = [valid[np.clip(i, 0, len(valid) - 1)] for i in (after - 1, after)]
        wanted = np.unique(np.concatenate([wanted, *beside]))
    kept = np.zeros(len(wanted), [(name, ticks.dtype[name]) for name in STATE_COLUMNS])
    for name in STATE_COLUMNS:
        kept[name] = ticks[name][wanted]
    return kept


def released_rows(ticks: np.ndarray, rate: float, drive_lag: float) -> Array:
    """1 at the rows in which the bicycle was left to itself and the drive's torque has died away, else 0, (n,)."""
    released = (ticks["verdict"].astype(np.int64) & Verdict.RELEASED) > 0
    fading = np.ones(round((_FADED * drive_lag + 2.0 / rate) * rate) + 1)
    torque = np.abs(np.where(released, ticks["T_cmd"], np.inf)) > 0.0
    return np.where(np.convolve(torque, fading)[: len(ticks)] > 0.5, 0.0, 1.0)


def places_now_and_then(ticks: np.ndarray, route: Route) -> np.ndarray:
    """Rows under control ten times a second, for `led_spans`; none where no path was ridden, or no place is known."""
    names = ticks.dtype.names or ()
    if not route.rows or not set(WHERE_COLUMNS) <= set(names):
        return np.zeros(0)
    rows = ticks[(ticks["state"] == State.RUNNING) & np.isfinite(ticks["x_est"]) & np.isfinite(ticks["t"])]
    if len(rows) < 2:
        return np.zeros(0)
    places = np.zeros(len(rows), [(name, float) for name in WHERE_COLUMNS])
    for name in WHERE_COLUMNS:
        places[name] = rows[name]
    return places[:: max(round(WHERE_STEP / float(np.median(np.diff(places["t"])))), 1)]


def led_spans(places: np.ndarray, route: Route) -> tuple[tuple[float, float], ...]:
    """Times [s, device's clock] between which a path led a bicycle through its bends, from `places_now_and_then`."""
    if not len(places):
        return ()
    t, x = places["t"], places["x_est"] - places["x_est"][0]
    return tuple(route.bends(t, x, places["y_est"], places["psi_est"]))


def left_free(response: Response, bends: Sequence[tuple[float, float]]) -> Response:
    """Response whose rows in the bends of a path, times in s, are not free."""
    if not bends or response.free is None:
        return response
    free = np.array(response.free)
    for begin, end in bends:
        free[np.searchsorted(response.t, begin) : np.searchsorted(response.t, end)] = False
    return replace(response, free=free, bends=tuple(bends))


def held_back_rows(ticks: np.ndarray, rig: Rig) -> Array:
    """1 at the rows in which the lane was held back, and the torque of before has died away, else 0, (n,)."""
    held = (ticks["verdict"].astype(np.int64) & Verdict.LANE_HELD_BACK) > 0
    fading = np.ones(round((_FADED * rig.drive_lag + 2.0 / rig.rate) * rig.rate) + 1)
    return np.where(np.convolve(~held, fading)[: len(ticks)] > 0.5, 0.0, 1.0)
