"""Steady turns without steer torque.

Such postures, where gravity and motion are in line (`riderless.models.nonlinear.steady_turns`), are curves in the plane
of lean and steer. They are followed from the straight running where they begin, at the capsize speed with the handlebar
forward or reversed, and from wherever else a scan of the plane meets them. Basu-Mandal, Chatterjee and Papadopoulos
(2007) describe the three families of the benchmark bicycle. A posture mirrored, (-phi, -delta), turns the other way and
is not listed again: steer is to the right, between 0 and pi.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import copysign, hypot, pi, sin
from typing import TYPE_CHECKING

import numpy as np

from riderless.models.array_types import Array
from riderless.models.bicycle_file import is_number, shortened
from riderless.models.errors import InputError
from riderless.models.nonlinear.steady_turns import LEAN_MAX, Model, SteadyTurn, posture, turn_at_posture
from riderless.models.parameters import Bicycle
from riderless.models.tables import data_frame, describe_range, html_table

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped,unused-ignore]

FAMILY_SPEED_MAX = 40.0  # m/s, where a family is followed no further
SHORTEST_STRIDE, LONGEST_STRIDE = 1e-3, 0.1  # rad; shorter takes minutes, longer leaps to another family
FIRST_TURN_DISTANCE = 2e-3  # rad from straight running, where the first turn of a family is
SCAN_STEP = 0.05  # rad, of the scan for families that meet no straight running
MISALIGNMENT_STEP = 1e-6  # rad, step of differences
END_TOLERANCE = 1e-9  # rad, how close to its end a family is followed


@dataclass(frozen=True)
class TurnFamily:
    """Hands-free turns, each leading to the next.

    Where a family passes through pivoting about the rear contact (v = 0 at a yaw rate that is not), the bicycle would
    roll backward beyond; such turns are given as those rolling forward, with the yaw the other way.

    Attributes
    ----------
    start, end : str
        State at the two ends: ``straight`` or ``reversed`` (running straight, with the handlebar so), ``at rest``,
        ``lying down``, ``fast`` (more than 40 m/s), ``straight ahead`` or ``turned round`` (leaning, without steer or
        with 180 deg of it), ``the edge of the model``, ``a corner`` of the curve, or ``itself`` when the family is
        a ring.
    turns : tuple of SteadyTurn
        At least two, a few hundredths of a radian apart.
    """

    start: str
    end: str
    turns: tuple[SteadyTurn, ...]

    def __repr__(self) -> str:
        speeds = describe_range([turn.v for turn in self.turns], "m/s")
        return f"TurnFamily({self.start!r} to {self.end!r}, {len(self.turns)} turns, {speeds})"

    def _repr_html_(self) -> str:
        heads = ("v [m/s]", "phi [rad]", "delta [rad]", "theta [rad]", "radius [m]", "stable")
        rows = [(t.v, t.phi, t.delta, t.theta, t.radius, t.stable) for t in self.turns]
        return html_table(f"Turns without steer torque, {self.start} to {self.end}", heads, rows)

    def to_frame(self) -> "pandas.DataFrame":
        """Turns as a pandas data frame, one row each in the order of the family; SI.

        Raises
        ------
        InputError
            When pandas is not installed.
        """
        names = ("v", "psi_dot", "radius", "phi", "delta", "theta", "rear_rate", "front_rate", "T_delta", "stable")
        columns = {name: [getattr(turn, name) for turn in self.turns] for name in names}
        units = {"v": "m/s", "radius": "m", "T_delta": "N m", **dict.fromkeys(("phi", "delta", "theta"), "rad")}
        units |= dict.fromkeys(("psi_dot", "rear_rate", "front_rate"), "rad/s")
        return data_frame({"turn": range(len(self.turns)), **columns}, "turn", units)


def hands_free_families(bicycle: Bicycle, stride: float = 0.02) -> tuple[TurnFamily, ...]:
    """Find all hands-free families of a bicycle, those that begin in straight running first.

    ``stride`` is the distance from turn to turn in the plane of lean and steer [rad].

    Raises
    ------
    InputError
        A stride that is no number from `SHORTEST_STRIDE` to `LONGEST_STRIDE`.
    """
    if not (is_number(stride) and SHORTEST_STRIDE <= stride <= LONGEST_STRIDE):
        raise InputError(
            f"the stride from turn to turn must be a number from {SHORTEST_STRIDE:g} to {LONGEST_STRIDE:g} rad, found "
            f"{shortened(stride)}: give for example 0.02"
        )
    model = Model.of(bicycle)
    curves: list[tuple[str, str, Array]] = []
    for name, steer in (("straight", 0.0), ("reversed", pi)):
        for seed in _births(model, steer):
            if not _known(seed, curves, 2.0 * FIRST_TURN_DISTANCE):
                points, end = _follow(model, seed, seed - (0.0, steer), stride)
                curves.append((name, end, points))
    for seed in _scan(model):
        if not _known(seed, curves, 2.0 * stride):
            along = _tangent(model, seed)
            forth, end = _follow(model, seed, along, stride)
            ring = end == "itself"
            back, start = (forth[:1], end) if ring else _follow(model, seed, -along, stride)
            curves.append((start, end, np.vstack([back[::-1], forth[1:]])))
    return tuple(
        TurnFamily(start, end, tuple(_turn(model, point) for point in points))
        for start, end, points in curves
        if len(points) > 1
    )


def _misalignment(model: Model, point: Array) -> float:
    """Misalignment of gravity and motion, zero where they are in line: cross product over the sine of the steer.

    Without steer there is no motion to speak of, so the product vanishes there for no reason of interest.
    """
    at = posture(model, point[0], point[1])
    return float(at.gravity[0] * at.motion[1] - at.gravity[1] * at.motion[0]) / sin(point[1])


def _square(model: Model, point: Array) -> float:
    """Square of the speeds for balance; negative where motion would help gravity to fell the bicycle."""
    at = posture(model, point[0], point[1])
    return -float(at.gravity @ at.motion) / float(at.motion @ at.motion)


def _speed(model: Model, point: Array) -> float:
    """Forward speed [m/s]; below zero where there is no turn."""
    k = _square(model, point)
    return copysign(abs(k) ** 0.5, k) * float(posture(model, point[0], point[1]).u[0])


def _turn(model: Model, point: Array) -> SteadyTurn:
    return turn_at_posture(model, posture(model, point[0], point[1]), _square(model, point), 0.0)


def _gradient(model: Model, point: Array) -> Array:
    return np.array(
        [
            (_misalignment(model, point + d) - _misalignment(model, point - d)) / (2.0 * MISALIGNMENT_STEP)
            for d in MISALIGNMENT_STEP * np.eye(2)
        ]
    )


def _tangent(model: Model, point: Array) -> Array:
    across = _gradient(model, point)
    return np.array([-across[1], across[0]]) / hypot(*across)


def _births(model: Model, steer: float) -> Iterator[Array]:
    """First postures of the families that begin in straight running with this steer, as seen from there.

    They are the directions of lean and steer in which gravity and motion are in line.
    """
    centre = np.array([0.0, steer])
    side = 1.0 if steer == 0.0 else -1.0  # towards more or less steer: right turns either way
    angles = side * np.linspace(0.0, pi, 181)[1:-1]
    yield from _crossings(model, centre + FIRST_TURN_DISTANCE * np.column_stack([np.cos(angles), np.sin(angles)]))


def _scan(model: Model) -> Iterator[Array]:
    """Hands-free postures along lines of constant lean."""
    steer = np.arange(SCAN_STEP, pi - SCAN_STEP / 2.0, SCAN_STEP)
    for lean in np.arange(-LEAN_MAX + SCAN_STEP, LEAN_MAX, SCAN_STEP):
        yield from _crossings(model, np.column_stack([np.full_like(steer, lean), steer]))


def _crossings(model: Model, points: Array) -> Iterator[Array]:
    """Hands-free postures between neighbouring points (n, 2), by bisection, where a turn exists."""
    values = np.array([_misalignment(model, point) for point in points])
    for i in np.flatnonzero(values[:-1] * values[1:] < 0.0):
        low, high = points[i], points[i + 1]
        for _ in range(40):
            middle = (low + high) / 2.0
            if _misalignment(model, middle) * values[i] > 0.0:
                low = middle
            else:
                high = middle
        jump = abs(_misalignment(model, low) - _misalignment(model, high))
        if jump < 1e-6 * abs(values[i] - values[i + 1]) and 0.0 < _speed(model, low) < FAMILY_SPEED_MAX:
            yield low


def _known(seed: Array, curves: list[tuple[str, str, Array]], near: float) -> bool:
    """Check whether a seed lies on a curve already followed."""
    return any(np.min(np.hypot(*(points - seed).T)) < near for _, _, points in curves)


def _follow(model: Model, seed: Array, along: Array, stride: float) -> tuple[Array, str]:
    """Postures (n, 2) from ``seed`` in the direction ``along`` until the family ends, and how it does.

    Each step goes along the curve and back to it from the side, and is shortened where the curve bends, or ends. The
    side on which `_misalignment` is positive stays on the same hand, which a neighbouring curve would give away.
    """
    points, step = [seed], stride
    ahead = _tangent(model, seed)
    hand = copysign(1.0, ahead @ along)
    while True:
        point = _correct(model, points[-1] + step * hand * ahead, step)
        end = _ending(model, point)
        if not end and _tangent(model, point) @ ahead > 0.8:
            first = points[min(1, len(points) - 1)] - seed
            way, home = point - points[-1], seed - points[-1]
            if hypot(*home) < hypot(*way) and home @ way > 0.0 and first @ way > 0.0:
                return np.array([*points, seed]), "itself"
            points.append(point)
            ahead = _tangent(model, point)
            step = min(stride, 2.0 * step)
        elif step > END_TOLERANCE:
            step /= 2.0
        else:
            return np.array(points), end or "a corner"


def _correct(model: Model, guess: Array, reach: float) -> Array:
    """Posture on the curve nearest to a guess, by Newton's method across it; nan beyond ``reach``."""
    point = guess
    for _ in range(12):
        across = _gradient(model, point)
        change = _misalignment(model, point) * across / (across @ across)
        point = point - change
        if not hypot(*(point - guess)) < 0.5 * reach:
            break
        if hypot(*change) < 1e-13:
            return point
    return np.full(2, np.nan)


def _ending(model: Model, point: Array) -> str:
    """Name the end that a family has come to at a posture; empty while it goes on."""
    phi, delta = point
    if not np.isfinite(phi):
        return "the edge of the model"
    if hypot(phi, delta) < FIRST_TURN_DISTANCE:
        return "straight"
    if hypot(phi, pi - delta) < FIRST_TURN_DISTANCE:
        return "reversed"
    if abs(phi) > LEAN_MAX:
        return "lying down"
    if not 0.0 < delta < pi:
        return "straight ahead" if delta < 1.0 else "turned round"
    v = _speed(model, point)
    if v > FAMILY_SPEED_MAX:
        return "fast"
    if v < 0.0:
        return "at rest"
    return "" if np.isfinite(v) else "the edge of the model"
