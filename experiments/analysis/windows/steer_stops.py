"""Arrests of the handlebar at its stops.

It comes to rest at once, at one angle that it never passes, and stays there. A free steer turns at its peak as softly
as it came: 25 ms before it moves at omega^2 A 25 ms, and it leaves the peak likewise. At a stop it arrives with a speed
that would have carried it on, and dwells. Dry friction holds it too, but softly, and at any angle; so what counts is an
arrest at the greatest angle of its side, and more than one there.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from riderless.experiments.datatypes import OURS, Rejected, Response, Window
from riderless.models.array_types import Array, true_spans

LEAST_ANGLE = 0.01  # rad: below it encoders and play decide
BEFORE_PEAK = 0.025  # s before the peak, about which the speed of arrival is read
SPAN = 0.02  # s over which it is read
DWELL_BAND = 0.06  # of the angle, that a stop gives and springs back by
SAME_ANGLE = 0.04  # of the greatest angle of a side: peaks within it count as the same angle
CARRIED_ON = 0.35  # of the angle, by which it would have gone on in the time that it dwelt; free 0.12, in friction 0.23
FEWEST = 2  # arrests, of both sides, that make stops
EXCURSION = 0.5  # of the greatest angle of a side: a turn of the steer to that side


@dataclass(frozen=True)
class Arrest:
    """Turn of the steer to one side that ended at its greatest angle."""

    source: str
    t_start: float  # s, of its peak
    t_end: float  # s, when it left
    angle: float  # rad, where it dwelt, without sign
    carried_on: float  # share of that angle by which it would have gone on while it dwelt


@dataclass(frozen=True)
class SteerStop:
    """Stop of one side that a handlebar met."""

    side: str  # "right" is positive
    angle: float  # rad, without sign
    arrests: tuple[Arrest, ...]

    def met_in(self, source: str, window: Window) -> bool:
        """Did the steer lie against it within a window of a recording?"""
        return any(a.source == source and a.t_start < window.t_end and a.t_end > window.t_start for a in self.arrests)

    @property
    def phrase(self) -> str:
        """Say it: "a stop to the right at 0.06 rad (4 times)"."""
        return f"a stop to the {self.side} at {self.angle:.3g} rad ({len(self.arrests)} times)"


def find_steer_stops(responses: Sequence[Response]) -> list[SteerStop]:
    """Find the stops that the steer of one bicycle met in runs of ours; most often none.

    Others' logs are left out: hands on the bars, and steer that is filtered or clipped, stop it as well.
    """
    ours = [r for r in responses if r.kind == OURS and r.delta is not None and np.isfinite(r.delta).any()]
    stops = []
    for side, sign in (("right", 1.0), ("left", -1.0)):
        greatest = max((_furthest(r.delta, sign) for r in ours if r.delta is not None), default=0.0)
        if greatest < LEAST_ANGLE:
            continue
        hard = [arrest for r in ours for arrest in arrests_of(r, sign, greatest) if arrest.carried_on > CARRIED_ON]
        if hard:
            stops.append(SteerStop(side, float(np.median([arrest.angle for arrest in hard])), tuple(hard)))
    return stops if sum(len(stop.arrests) for stop in stops) >= FEWEST else []


def stops_by_bicycle(responses: Sequence[Response]) -> dict[str, list[SteerStop]]:
    """Stops that the steer of each bicycle met, by its name; bicycles whose steer met none are left out."""
    by_name: dict[str, list[Response]] = {}
    for response in responses:
        if response.kind == OURS:
            by_name.setdefault(response.own_theory.bicycle.name, []).append(response)
    stops_of = {name: find_steer_stops(own) for name, own in by_name.items()}
    return {name: stops for name, stops in stops_of.items() if stops}


def without_stops(
    response: Response, windows: Sequence[Window], stops: Sequence[SteerStop]
) -> tuple[list[Window], list[Rejected]]:
    """Windows of a response in which the steer met no stop, and the others, refused.

    Parameters
    ----------
    response : Response
    windows : sequence of Window
    stops : sequence of SteerStop
        Of its bicycle.
    """
    kept, refused = [], []
    for window in windows:
        met = next((stop for stop in stops if stop.met_in(response.source, window)), None)
        if met is None:
            kept.append(window)
        else:
            reason = f"the steer met a stop at {met.angle:.3g} rad in it, of which theory knows nothing"
            refused.append(Rejected(response.source, window.t_start, window.t_end, reason))
    return kept, refused


def _furthest(delta: Array, sign: float) -> float:
    """Greatest angle [rad] to one side."""
    return float(np.nanmax(delta) if sign > 0.0 else -np.nanmin(delta))


def arrests_of(response: Response, sign: float, greatest: float) -> list[Arrest]:
    """Turns of the steer to one side (``sign``) that ended within `SAME_ANGLE` of its greatest angle there [rad]."""
    assert response.delta is not None
    dt, y, arrests = response.dt, sign * response.delta, []
    back, span = max(1, round(BEFORE_PEAK / dt)), max(1, round(0.5 * SPAN / dt))
    for first, stop in true_spans(y > EXCURSION * greatest):
        peak = first + int(np.argmax(y[first:stop]))
        if y[peak] < (1.0 - SAME_ANGLE) * greatest or peak - back - span < 0:
            continue
        speed = (y[peak - back + span] - y[peak - back - span]) / (2.0 * span * dt)
        outside = y[peak:] < (1.0 - DWELL_BAND) * y[peak]
        end = peak + (int(np.argmax(outside)) if outside.any() else len(outside) - 1)
        if end <= peak:
            continue
        angle = float(np.median(y[peak : end + 1]))
        carried = float(speed * (end - peak) * dt / angle)
        arrests.append(Arrest(response.source, float(response.t[peak]), float(response.t[end]), angle, carried))
    return arrests
