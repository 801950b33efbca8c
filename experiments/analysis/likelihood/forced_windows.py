"""Windows of motion forced by a known torque, for identification: free motion and forced answer are fitted together.

A bicycle that its controller alone keeps upright falls from any start under the torque as it was logged. Such a motion
is cut into stretches in which an error of the start grows by `MOST_GROWTH` at most, each with a start of its own.
"""

from collections.abc import Sequence

import numpy as np

from experiments.analysis.output_error import Segment
from experiments.analysis.windows import WindowRules, make_window
from experiments.datatypes import Response
from experiments.recordings.played_parts import played_parts
from experiments.theory.theory import theory_for
from models.errors import InputError

MAX_SPEED_CHANGE = 0.15  # m/s over a part; more, and the belt starts or stops in it
MOST_GROWTH = 20.0  # times, of an error of the start within one stretch
SHORTEST_STRETCH = 1.0  # s
LEAST_PLAYED = 0.05  # of the torque; noise alone leaves 0.03 (slow) to 0.09 (fast), steps of 0.1 N m 0.10 to 0.29
_ANSWERED = 8  # rows back that a controller's states reach
_ROWS_PER_UNKNOWN = 10  # fewer tell nothing
BEFORE_KICK = 0.1  # s of a window before the drive kicks, in which the motion so far shows


def forced_segments(response: Response) -> list[Segment]:
    """Cut the parts of a recording with a known torque, each with its answer's end, at a steady speed."""
    windows = [
        make_window(response, first, last, "known torque")
        for a, b in played_parts(response)
        for first, last in _stretches(response, a, b)
    ]
    return [Segment.of(response, one) for one in windows if abs(one.v_start - one.v_end) < MAX_SPEED_CHANGE]


def kicked_segments(response: Response) -> list[Segment]:
    """Cut the windows of the drive's kicks, each from just before its kick until just before the next.

    The torque of the kick is known, so the window need not wait until it is over: how far the bicycle goes for so much
    torque says more of the drive than how it swings afterwards. None where anything else was not free.
    """
    if response.T_played is None or response.free is None or theory_for(response).dynamics().command is None:
        return []
    rules, dt = WindowRules(), response.dt
    on = np.abs(response.T_played) > 0.0
    starts = np.flatnonzero(~on[:-1] & on[1:]) + 1
    before, longest = round(BEFORE_KICK / dt), round(rules.longest / dt)
    usable, found = response.free | on, []
    for start, following in zip(starts.tolist(), [*starts[1:].tolist(), len(on) + before], strict=True):
        first, last = start - before, min(following - before, start + longest)
        last = last if usable[start:last].all() else start + int(np.argmin(usable[start:last]))
        if first >= 0 and usable[first:start].all() and (last - start) * dt >= rules.rest / 2.0:
            found.append(make_window(response, first, last, f"kick by the drive at {response.t[start]:.2f} s"))
    return [Segment.of(response, one) for one in found if abs(one.v_start - one.v_end) < MAX_SPEED_CHANGE]


def require_known_input(response: Response, segments: Sequence[Segment]) -> None:
    """Refuse a log in which nothing was played: a torque that only answers what was measured carries its noise back.

    Of logs with the whole torque of a controller. Where no signal of its own moves the bicycle, torque and noise go
    together and output error finds a confident wrong answer (Ljung 1999, System Identification, section 13.4). What is
    played shows in the torque as what no linear answer to the last measured rows makes.

    Parameters
    ----------
    response : Response
    segments : sequence of Segment
        Its parts with a known torque, as `forced_segments` cuts them.

    Raises
    ------
    InputError
        Less than `LEAST_PLAYED` of the torque is its own.
    """
    whole = [one.window for one in segments if one.filter is None]
    if not whole or response.T_played is None or response.delta is None or response.phi_dot_unit != "rad/s":
        return
    k = np.concatenate([np.arange(window.start + _ANSWERED, window.stop) for window in whole])
    torque, measured = response.T_played, (response.phi_dot, response.delta)
    past = [y[k - i] for y in (torque, *measured) for i in range(1, _ANSWERED + 1)]
    rows = np.column_stack([*past, *(y[k] for y in measured), np.ones(len(k))])
    if len(k) < _ROWS_PER_UNKNOWN * rows.shape[1]:
        return
    answer = rows @ np.linalg.lstsq(rows, torque[k], rcond=None)[0]
    own = float(np.std(torque[k] - answer)) / max(float(np.std(torque[k])), np.finfo(float).tiny)
    if own < LEAST_PLAYED:
        raise InputError(
            f"no known input moves the bicycle: all but {100.0 * own:.1f} % of the logged torque answers lean rate and "
            f"steer, wanted {100.0 * LEAST_PLAYED:.0f} %, and noise that comes back as torque misleads; play a torque "
            "on top of the controller's, or kick the bicycle, and record again"
        )


def _stretches(response: Response, a: int, b: int) -> list[tuple[int, int]]:
    """First row and one past the last of equal stretches of a part, as short as an unstable theory asks for."""
    dynamics = theory_for(response).dynamics()
    growth = float(np.linalg.eigvals(dynamics.matrix(float(response.v[a:b].mean()))).real.max())
    if dynamics.dt is not None or growth * (b - a) * response.dt <= np.log(MOST_GROWTH):
        return [(a, b)]
    longest = max(np.log(MOST_GROWTH) / growth, SHORTEST_STRETCH)
    edges = np.linspace(a, b, int(np.ceil((b - a) * response.dt / longest)) + 1).astype(int)
    return list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
