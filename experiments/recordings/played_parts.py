"""Parts of a recording in which a known torque was added to the controller's: a hand that shook the bars, a drive."""

import numpy as np

from riderless.experiments.datatypes import Response
from riderless.models.array_types import Array

ROUNDED_TORQUE = 1e-3  # N m; less is rounding
LONGEST_PAUSE = 0.3  # s without torque inside one part
SHORTEST_PART = 1.5  # s; less is the knock of a kick that reached the bars
BEFORE, AFTER = 0.3, 1.2  # s beside a part, at rest and while its answer dies away


def played_rows(torque: Array, dt: float) -> list[tuple[int, int]]:
    """First row and one past the last of each part with a torque (n,) [N m] of at least `SHORTEST_PART`."""
    on = np.flatnonzero(np.abs(torque) > ROUNDED_TORQUE)
    if not len(on):
        return []
    breaks = np.flatnonzero(np.diff(on) * dt > LONGEST_PAUSE)
    first, last = on[np.append(0, breaks + 1)], on[np.append(breaks, len(on) - 1)]
    return [(int(a), int(b) + 1) for a, b in zip(first, last, strict=True) if (b - a) * dt >= SHORTEST_PART]


def played_parts(response: Response) -> list[tuple[int, int]]:
    """Rows of each part of a recording with a known torque, with a moment of rest before it and its answer after."""
    if response.T_played is None:
        return []
    before, after = (round(time / response.dt) for time in (BEFORE, AFTER))
    n, end, parts = len(response.t), 0, []
    for a, b in played_rows(response.T_played, response.dt):
        parts.append((max(a - before, end), min(b + after, n)))
        end = parts[-1][1]
    return parts
