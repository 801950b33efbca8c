"""Windows of motion forced by a known torque, for identification: free motion and forced answer are fitted together.

A bicycle that its controller alone keeps upright falls from any start under the torque as it was logged. Such a motion
is cut into stretches in which an error of the start grows by `MOST_GROWTH` at most, each with a start of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from experiments.analysis.output_error import Segment, linearise
from experiments.analysis.windows import WindowRules, make_window
from experiments.datatypes import Response
from experiments.recordings.played_parts import played_parts
from experiments.theory.theory import theory_for
from models.errors import InputError

MAX_SPEED_CHANGE = 0.15  # m/s over a part; more, and the belt starts or stops in it
MOST_GROWTH = 20.0  # times, of an error of the start within one stretch
SHORTEST_STRETCH = 1.0  # s
LEAST_EXPLAINED = (
    0.3  # of the lean rate, by the torque: with 0.24 a mass was off by 2.5 standard deviations, with 0.4 by 0.9
)
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


def require_known_input(segments: Sequence[Segment], values: Mapping[str, float]) -> None:
    """Refuse logs in which the known torque hardly moves the bicycle: then noise does, which came back as that torque.

    Of logs with the whole torque of a controller, which answers the noise of its own sensors. Where nothing else moves
    the bicycle the two go together, and output error finds a confident wrong answer.

    Parameters
    ----------
    segments : sequence of Segment
        All that was identified from.
    values : mapping of str to float
        Quantities as found, SI.

    Raises
    ------
    InputError
        The torque explains less than `LEAST_EXPLAINED` of the lean rate.
    """
    forced = [one for one in segments if one.played is not None and one.filter is None]
    if not forced:
        return
    left, without = 0.0, 0.0  # sums of squares of the lean rate
    for one in forced:
        y = one.channels["phi_dot"]
        for torque in (True, False):
            asked = one if torque else replace(one, played=None)
            curve = linearise(asked, values, (), np.empty(0), {}).curves["phi_dot"]
            squares = float(np.sum((y - curve) ** 2))
            left, without = (left + squares, without) if torque else (left, without + squares)
    explained = 1.0 - left / max(without, np.finfo(float).tiny)
    if explained < LEAST_EXPLAINED:
        raise InputError(
            f"no known input moves the bicycle: the logged torque explains {100.0 * max(explained, 0.0):.0f} % of the "
            f"lean rate, wanted {100.0 * LEAST_EXPLAINED:.0f} %, and noise that comes back as torque misleads; play a "
            "torque on top of the controller's, or kick the bicycle, and record again"
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
