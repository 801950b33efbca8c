"""Windows under a known torque, for identification.

Free motion and forced response are fitted together. A bicycle that its controller alone keeps upright falls from any
start under the torque as it was logged. Such a motion is cut into stretches in which an error of the start grows by
`MOST_GROWTH` at most, each with a start of its own.
"""

from collections.abc import Sequence

import numpy as np

from riderless.experiments.analysis.identification.output_error import AveragedWindow
from riderless.experiments.analysis.windows.cut import make_window
from riderless.experiments.analysis.windows.rules import WindowRules
from riderless.experiments.datatypes import Response, Segment, Window
from riderless.experiments.recordings.torque_law import played_parts
from riderless.models.array_types import Array
from riderless.models.errors import InputError

MAX_SPEED_CHANGE = 0.15  # m/s over a part; more, and the belt starts or stops in it
MOST_GROWTH = 20.0  # times, of an error of the start within one stretch
SHORTEST_STRETCH = 1.0  # s
LEAST_PLAYED = 0.05  # of the torque; noise alone leaves 0.03 (slow) to 0.2 (fast), steps of 0.1 N m 0.10 to 0.32
_ANSWERED = 8  # rows back that a controller's states reach
_ROWS_PER_UNKNOWN = 10  # fewer tell nothing
LEAST_MOVED = (
    0.35  # of the lean rate, by the torque's own; noise alone 0.08 to 0.15, steps of 0.03 to 0.1 N m 0.7 to 0.96
)
_MOVES_FOR = 2.0  # s that a torque of its own shows in the motion
_MEAN_OF = 0.05  # s of torque taken together
_ALTERNATE = 4.0  # s, by turns learnt from and told
BEFORE_KICK = 0.1  # s of a window before the drive kicks, in which the motion so far shows


def forced_windows(response: Response) -> list[AveragedWindow]:
    """Cut the parts of a recording with a known torque, each with its answer's end, at a steady speed."""
    windows = [
        make_window(response, first, last, "known torque")
        for a, b in played_parts(response)
        for first, last in _stretches(response, a, b)
    ]
    return _at_steady_speed(response, windows)


def _at_steady_speed(response: Response, windows: Sequence[Window]) -> list[AveragedWindow]:
    steady = [window for window in windows if abs(window.v_start - window.v_end) < MAX_SPEED_CHANGE]
    return [AveragedWindow.of(Segment(response, window)) for window in steady]


def kicked_windows(response: Response) -> list[AveragedWindow]:
    """Cut the windows of the drive's kicks, each from just before its kick until just before the next.

    The torque of the kick is known, so the window need not wait until it is over: how far the bicycle goes for so much
    torque says more of the drive than how it swings afterwards. None where anything else was not free.
    """
    if response.T_played is None or response.free is None or response.own_theory.dynamics().command is None:
        return []
    rules, dt = WindowRules(), response.dt
    on = np.abs(response.T_played) > 0.0
    starts = np.flatnonzero(~on[:-1] & on[1:]) + 1
    before, longest = round(BEFORE_KICK / dt), round(rules.longest / dt)
    usable, windows = response.free | on, []
    usable[:-1] |= on[1:]  # a row beside a kick may be one of it by its time, and not by its torque
    usable[1:] |= on[:-1]
    if not len(starts):
        return []
    for start, following in zip(starts.tolist(), [*starts[1:].tolist(), len(on) + before], strict=True):
        first, last = start - before, min(following - before, start + longest)
        last = last if usable[start:last].all() else start + int(np.argmin(usable[start:last]))
        if first >= 0 and usable[first:start].all() and (last - start) * dt >= rules.rest / 2.0:
            windows.append(make_window(response, first, last, f"kick by the drive at {response.t[start]:.2f} s"))
    return _at_steady_speed(response, windows)


def require_known_input(response: Response, windows: Sequence[AveragedWindow]) -> None:
    """Refuse a log in which nothing was played: a torque that only answers what was measured carries its noise back.

    Of logs with the whole torque of a controller. Where no signal of its own moves the bicycle, torque and noise go
    together and output error finds a confident wrong answer (Ljung 1999, System Identification, section 13.4). What is
    played shows in the torque as what no linear answer to the last measured rows makes; and that moves the bicycle.
    Noise of an instrument that the log lacks, such as a yaw gyro, is in the torque too, and moves the bicycle little.

    Parameters
    ----------
    response : Response
    windows : sequence of AveragedWindow
        Its parts with a known torque, as `forced_windows` cuts them.

    Raises
    ------
    InputError
        Less than `LEAST_PLAYED` of the torque is its own, or that explains less than `LEAST_MOVED` of the lean rate.
    """
    whole = [window.window for window in windows if window.filter is None]
    if not whole or response.T_played is None or response.delta is None or response.phi_dot_unit != "rad/s":
        return
    parts = _joined([(window.start, window.stop) for window in whole])
    k = np.concatenate([np.arange(start + _ANSWERED, stop) for start, stop in parts])
    torque, measured = response.T_played, (response.phi_dot, response.delta)
    past = [y[k - i] for y in (torque, *measured) for i in range(1, _ANSWERED + 1)]
    rows = np.column_stack([*past, *(y[k] for y in measured), np.ones(len(k))])
    if len(k) < _ROWS_PER_UNKNOWN * rows.shape[1]:
        return
    own = np.zeros(len(torque))
    own[k] = torque[k] - rows @ np.linalg.lstsq(rows, torque[k], rcond=None)[0]
    share = float(np.std(own[k])) / max(float(np.std(torque[k])), np.finfo(float).tiny)
    moved = _moved_by(own, response.phi_dot, parts, response.dt)
    if share < LEAST_PLAYED or moved < LEAST_MOVED:
        reason = (
            f"all but {100.0 * share:.1f} % of the logged torque answers lean rate and steer, wanted "
            f"{100.0 * LEAST_PLAYED:.0f} %"
            if share < LEAST_PLAYED
            else f"the torque beside its answers explains {max(100.0 * moved, 0.0):.0f} % of the lean rate, wanted "
            f"{100.0 * LEAST_MOVED:.0f} %"
        )
        raise InputError(
            f"no known input moves the bicycle: {reason}, and noise that comes back as torque misleads; play a torque "
            "on top of the controller's, or kick the bicycle, and record again"
        )


def _joined(parts: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Parts of a recording, first row and one past the last, with those that touch made one."""
    spans: list[tuple[int, int]] = []
    for start, stop in sorted(parts):
        if spans and start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(stop, spans[-1][1]))
        else:
            spans.append((start, stop))
    return spans


def _moved_by(own: Array, y: Array, parts: Sequence[tuple[int, int]], dt: float) -> float:
    """Share of the variance of a signal (n,) that the torque's own part (n,) explains; 1 where parts are too short.

    Learnt in every second stretch of `_ALTERNATE` seconds and told in the others: what is learnt of chance fails there.
    """
    block, lags = max(1, round(_MEAN_OF / dt)), round(_MOVES_FOR / _MEAN_OF)
    total = np.concatenate([[0.0], np.cumsum(own)])
    reach = block * lags + _ANSWERED
    k = np.concatenate([np.arange(min(start + reach, stop), stop) for start, stop in parts])
    learnt = (k // max(1, round(_ALTERNATE / dt))) % 2 == 0
    if min(learnt.sum(), (~learnt).sum()) < _ROWS_PER_UNKNOWN * (lags + 1):
        return 1.0
    rows = np.column_stack([*(total[k - block * i] - total[k - block * (i + 1)] for i in range(lags)), np.ones(len(k))])
    predicted = rows[~learnt] @ np.linalg.lstsq(rows[learnt], y[k][learnt], rcond=None)[0]
    y = y[k][~learnt]
    return 1.0 - float(np.mean((y - predicted) ** 2)) / max(float(np.var(y)), np.finfo(float).tiny)


def _stretches(response: Response, a: int, b: int) -> list[tuple[int, int]]:
    """First row and one past the last of equal stretches of a part, as short as an unstable theory asks for."""
    dynamics = response.own_theory.dynamics()
    growth = dynamics.growth(float(response.v[a:b].mean()))
    if dynamics.dt is not None or growth * (b - a) * response.dt <= np.log(MOST_GROWTH):
        return [(a, b)]
    longest = max(np.log(MOST_GROWTH) / growth, SHORTEST_STRETCH)
    edges = np.linspace(a, b, int(np.ceil((b - a) * response.dt / longest)) + 1).astype(int)
    return list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
