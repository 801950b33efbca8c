"""Reasons for refusing windows.

Also for refusing a part of a recording.
"""

import numpy as np

from riderless.experiments.analysis.windows.cut import cycle_rows
from riderless.experiments.analysis.windows.kicks import DetectedKick, is_led
from riderless.experiments.analysis.windows.rules import WindowRules
from riderless.experiments.datatypes import Rejected, Response, Window
from riderless.experiments.recordings.quality.artefacts import only_rounded
from riderless.models.array_types import Array, true_spans


def refusal_reason(
    response: Response, s: Array, before: DetectedKick | None, kick: DetectedKick, window: Window, rules: WindowRules
) -> str:
    """Reason why a window is refused; empty when it is not.

    Parameters
    ----------
    response : Response
    s : (n,)
        Lean rate without bias.
    before : DetectedKick or None
        The push before that still counts.
    kick : DetectedKick
        The one that begins the window.
    window : Window
    rules : WindowRules
    """
    part = window.rows
    length = window.duration
    change = window.v_end - window.v_start
    speeds = f"from {window.v_start:.2f} to {window.v_end:.2f} m/s"
    if response.free is not None and not response.free[kick.onset : window.stop].all():
        return "not free: the recording says so for a part of it"
    if not (np.isfinite(response.phi_dot[part]).all() and np.isfinite(response.v[part]).all()):
        return "values are missing in the lean rate or the speed"
    if before is not None and not (kick.marked or kick.released):
        last = response.t[before.onset]
        size = before.size / kick.size
        wait, least = (rules.rest, rules.soft) if size > rules.soft else (rules.calmed, rules.stirred)
        since = response.t[kick.onset] - last
        return (
            f"overlaps: {since:.1f} s after the push of {last:.2f} s, {size:.2g} times as hard; "
            f"wanted {wait:g} s after one of {least:g} times or more"
        )
    if change > rules.speed_rise * length:
        return f"not free: the speed rises {speeds}, somebody pushes"
    if abs(change) > rules.speed_change * abs(window.v_mean):
        return f"the speed changes too much, {speeds}"
    cycle = cycle_rows(s, kick, response.dt, rules) * response.dt
    if length < cycle:
        return f"too short: {length:.2f} s ({window.rule}), wanted one cycle, {cycle:.2f} s"
    return lost_signal(response.phi_dot, part, response.dt, rules)


def lost_signal(y: Array, part: slice, dt: float, rules: WindowRules) -> str:
    """Sentence about a clipped or stuck lean rate; empty when there is none.

    Parameters
    ----------
    y : (n,)
        Lean rate.
    part : slice
        Rows that matter.
    dt : float
        Sampling interval [s].
    rules : WindowRules
    """
    same = np.diff(y[part]) == 0.0
    for first, last in true_spans(same):
        value, count = y[part][first], last - first + 1
        if count >= rules.clipped and value in (np.nanmin(y), np.nanmax(y)):
            return f"clipped: {count} rows in a row at {value:.4g}, the limit of the recording"
        if count * dt >= rules.stuck and not only_rounded(y[part], first, first + count):
            return f"drop-out: the very same lean rate for {count * dt:.2f} s"
    return ""


def too_small(response: Response, kick: DetectedKick, needed: float) -> Rejected:
    """Refusal of a bump no higher than the unrest of the recording explains.

    Parameters
    ----------
    response : Response
    kick : DetectedKick
    needed : float
        Least peak, in the unit of the lean rate.
    """
    peak, unit = kick.size, response.phi_dot_unit
    return Rejected(
        response.source,
        float(response.t[kick.onset]),
        float(response.t[kick.end]),
        f"too small: {peak:.2g} {unit} at its peak, wanted {needed:.2g} in this recording",
    )


def rejected_not_free(response: Response) -> list[Rejected]:
    """Stretches that the recording itself marks as not free."""
    if response.free is None:
        return []
    return [
        Rejected(
            response.source,
            float(response.t[a]),
            float(response.t[b - 1]),
            f"{_why_not_free(response, a, b)}; speed {response.v[a]:.2f} to {response.v[b - 1]:.2f} m/s",
        )
        for a, b in true_spans(~response.free)
    ]


def _why_not_free(response: Response, first: int, last: int) -> str:
    """Say why the rows from first to last, excluded, are not free."""
    return "in a bend of its path" if is_led(response, first, last - 1) else "not free, says the recording"
