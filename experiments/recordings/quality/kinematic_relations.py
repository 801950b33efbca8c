"""Physical relations between recorded quantities.

With them, how well a recording keeps them. Both sides of a relation go through the same band-pass (about 0.3 to 3 Hz,
where a bicycle swings), so that biases, drift, noise and vibration do not matter. A relation is one function and one
line of `KINEMATIC_RELATIONS`.

A push is no part of the equations of motion, and the band-pass spreads it over a second on either side. Where a motion
is over in that time, as under a stiff steer drive, next to nothing would be left to judge. So what one push in each
window makes of both sides is taken out first, wherever it explains much of what the equations leave.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import cos, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from riderless.experiments.recordings.quality.checked import Recorded
from riderless.models.array_types import Array
from riderless.models.linear.whipple import canonical_matrices
from riderless.models.noise_statistics import weighted_median

COARSEST_STEP = 0.01  # s; faster recordings are averaged to about this
MOST_ROWS_CHECKED = 60_000  # rows of that, ten minutes, looked at
NARROW_WIDTH, BROAD_WIDTH, KERNEL_REACH = (
    0.05,
    0.3,
    4.0,
)  # s: widths of the two Gaussians of the band-pass; widths at which they end
LEAST_TIME_CHECKED = 4.0  # s of usable rows, below which nothing can be told
SPREAD_PARTS = 8  # parts of a recording, whose factors give the spread
THINNING = 5  # rows, of which one says as much as all within the band
PUSH_WIDTHS = (0.03, 0.055, 0.08)  # s, standard deviations of pushes: half a sine of 0.1, 0.2 and 0.3 s
PUSH_EXPLAINS = 0.8  # of what the relation leaves unexplained beside it, from which on there was a push
OUTLIER_SHARE = 0.2  # of the rows, which something else may have moved
MOVING_SPEED = 0.3  # m/s
CLEAR_CORRELATION = 0.7  # correlation from which on a factor is believed
RELATED_CORRELATION = 0.3  # below which two signals are strangers, not one and its noise


@dataclass(frozen=True)
class CheckedRelation:
    """One relation on one recording: measured = factor * expected."""

    name: str
    left: str  # quantity measured
    right: str  # what is expected, with {quantities}
    factor: float
    spread: float  # of the factor, between parts of the recording
    correlation: float
    within: float  # a factor of that much, either way, is no mistake
    needs: float  # correlation of a recording that keeps it

    @property
    def agrees(self) -> bool:
        """Does it hold, as far as can be told?"""
        return self.correlation >= self.needs and abs(log(max(self.factor, 1e-9))) <= log(self.within)

    @property
    def noise_explains(self) -> bool:
        """Would noise alone make such a factor of a true one of 1?

        Noise of what is expected lowers a factor, at most to the square of the correlation; noise of what is measured
        leaves it.
        """
        least = self.correlation**2 / self.within
        return self.correlation >= RELATED_CORRELATION and least <= self.factor <= self.within

    @property
    def alarms(self) -> bool:
        """Do both sides clearly belong together, and clearly not as they stand?"""
        return abs(self.correlation) >= CLEAR_CORRELATION and not self.agrees and not self.noise_explains


@dataclass(frozen=True, eq=False)
class BandPassed:
    """Band-passed signals of a recording; ``undone`` are factors on quantities, ``time`` is one on time."""

    recorded: Recorded
    dt: float
    average: int  # rows that become one
    cache: dict[tuple[str, int | None], Array] = field(default_factory=dict)
    undone: Mapping[str, float] = field(default_factory=dict)
    time: float = 1.0

    def has(self, *quantities: str) -> bool:
        """Are all of them recorded?"""
        return all(self.recorded.signal(quantity) is not None for quantity in quantities)

    def raw(self, quantity: str) -> Array:
        """Signal as recorded, averaged."""
        return self.undone.get(quantity, 1.0) * self._cached(quantity, None)

    def band(self, quantity: str, derivative: int = 0) -> Array:
        """Signal through the band-pass, differentiated ``derivative`` times; integrated where that is -1."""
        return self.undone.get(quantity, 1.0) * self.time**-derivative * self._cached(quantity, derivative)

    def _cached(self, quantity: str, derivative: int | None) -> Array:
        key = quantity, derivative
        if key not in self.cache:
            if derivative is None:
                values = self.recorded.signal(quantity)
                assert values is not None
                self.cache[key] = _block_means(values, self.average)
            else:
                self.cache[key] = np.convolve(
                    self._cached(quantity, None), band_pass_kernel(self.dt, derivative), "same"
                )
        return self.cache[key]


class _Relation(NamedTuple):
    """Relation between quantities: how it is computed, and what is asked of it."""

    left: str
    right: str
    free: bool  # holds only while nobody holds it and the law is in force
    within: float
    needs: float
    sides: Callable[[BandPassed], tuple[Array, Array] | None]
    pushed: bool = False  # a push adds to what is measured


def _lean_sides(s: BandPassed) -> tuple[Array, Array] | None:
    """Lean rate and derivative of lean."""
    return (s.band("phi_dot"), s.band("phi", 1)) if s.has("phi") else None


def _steer_sides(s: BandPassed) -> tuple[Array, Array] | None:
    """Steer rate and derivative of steer."""
    return (s.band("delta_dot"), s.band("delta", 1)) if s.has("delta", "delta_dot") else None


def _yaw_sides(s: BandPassed) -> tuple[Array, Array] | None:
    """Yaw rate and (v delta + c delta_dot) cos(lam) / w, Meijaard et al. (2007), appendix B."""
    b = s.recorded.response.bicycle
    if b is None or not s.has("psi_dot", "delta"):
        return None
    return s.band("psi_dot"), (s.raw("v") * s.band("delta") + b.c * s.band("delta", 1)) * cos(b.lam) / b.w


def _law_sides(s: BandPassed) -> tuple[Array, Array] | None:
    """Steer torque, and what the law makes of the motion."""
    law = s.recorded.law
    if law is None or not s.has("T_delta", *law.needs):
        return None
    zero = 0.0 * s.raw("v")
    phi = s.band("phi") if "phi" in law.needs else zero
    delta, delta_dot = (s.band("delta", order) if "delta" in law.needs else zero for order in (0, 1))
    return s.band("T_delta"), law.torque(s.raw("v"), phi, delta, s.band("phi_dot"), delta_dot)


def _balance_sides(s: BandPassed) -> tuple[Array, Array] | None:
    """Lean acceleration measured, and by the first row of Meijaard et al. (2007), eq. (5.3).

    Within the band, lean is the integral of its rate where it was not recorded.
    """
    bicycle = s.recorded.response.bicycle
    if bicycle is None or not s.has("delta"):
        return None
    phi = s.band("phi") if s.has("phi") else s.band("phi_dot", -1)
    M, C1, K0, K2 = canonical_matrices(bicycle)
    v, g = s.raw("v"), bicycle.g
    moment = M[0, 1] * s.band("delta", 2) + v * C1[0, 1] * s.band("delta", 1)
    moment = moment + g * K0[0, 0] * phi + (g * K0[0, 1] + v**2 * K2[0, 1]) * s.band("delta")
    return s.band("phi_dot", 1), -moment / M[0, 0]


def _wheel_sides(s: BandPassed) -> tuple[Array, Array] | None:
    """Speed and turning rate of the rear wheel times its radius; values, for their changes are small."""
    bicycle = s.recorded.response.bicycle
    return (s.raw("v"), bicycle.rR * s.raw("wheel")) if bicycle is not None and s.has("wheel") else None


KINEMATIC_RELATIONS: dict[str, _Relation] = {
    "lean": _Relation("phi_dot", "the derivative of {phi}", False, 1.4, CLEAR_CORRELATION, _lean_sides),
    "steer": _Relation("delta_dot", "the derivative of {delta}", False, 1.4, CLEAR_CORRELATION, _steer_sides),
    "yaw": _Relation("psi_dot", "the yaw rate that {delta} and {v} make", False, 1.5, CLEAR_CORRELATION, _yaw_sides),
    "wheel": _Relation("v", "the speed that {wheel} makes", False, 1.25, CLEAR_CORRELATION, _wheel_sides),
    "law": _Relation(
        "T_delta", "the torque that the law makes of {phi_dot} and {v}", True, 1.5, CLEAR_CORRELATION, _law_sides
    ),
    "balance": _Relation(
        "phi_dot",
        "what {phi}, {delta} and {v} make of it by the equations of motion",
        True,
        1.8,
        0.6,
        _balance_sides,
        pushed=True,
    ),
}


def band_passed(recorded: Recorded) -> BandPassed:
    """Prepare the signals of a recording for `check_relations`."""
    dt = recorded.response.dt
    average = max(1, int(COARSEST_STEP / dt + 1e-9))
    return BandPassed(recorded, dt * average, average)


def check_relations(s: BandPassed, spread: bool = True) -> Iterator[CheckedRelation]:
    """Find the factor of each relation whose quantities were recorded, and if wanted its spread; the quickest first."""
    response = s.recorded.response
    moving = _block_means(np.abs(response.v) > MOVING_SPEED, s.average) > 0.99
    free = moving if response.free is None else moving & (_block_means(response.free, s.average) > 0.99)
    half = len(band_pass_kernel(s.dt, 0)) // 2
    usable = {False: _erode_mask(moving, half), True: _erode_mask(free, half)}
    for name, relation in KINEMATIC_RELATIONS.items():
        rows = usable[relation.free]
        sides = relation.sides(s) if rows.sum() * s.dt >= LEAST_TIME_CHECKED else None
        if sides is not None:
            if relation.pushed:
                sides = without_pushes(*sides, rows, s.dt)
            measured, expected = sides[0][rows][::THINNING], sides[1][rows][::THINNING]
            factor, correlation = robust_factor(measured, expected)
            between = factor_spread(measured, expected) if spread else 0.0
            needs, within = relation.needs, relation.within
            yield CheckedRelation(name, relation.left, relation.right, factor, between, correlation, within, needs)


def without_pushes(measured: Array, expected: Array, rows: NDArray[np.bool_], dt: float) -> tuple[Array, Array]:
    """Take out of both sides (n,) what pushes of unknown strength make of them, one in each window of the kernel.

    Around each moment measured = factor * expected + strength * push is fitted, with a factor of its own, so that a
    wrong unit is not taken for a push. The pushes that explain most come first.

    Parameters
    ----------
    measured, expected : (n,) array
        Band-passed.
    rows : (n,) array of bool
        That are usable; a push may be beside them.
    dt : float
        s
    """
    pushes = _pushes(dt)
    half = len(pushes[0]) // 2
    if len(rows) < len(pushes[0]):
        return measured, expected
    y, x = np.where(rows, measured, 0.0), np.where(rows, expected, 0.0)
    yy, xy, xx = (_window_sums(product, half) for product in (y * y, x * y, x * x))
    tiny = np.finfo(float).tiny
    xx = np.maximum(xx, tiny)
    unexplained = np.maximum(yy - xy**2 / xx, tiny)
    explained, kinds = np.zeros(len(rows)), np.zeros(len(rows), int)
    for kind, push in enumerate(pushes):  # a push is symmetric in time, so that a convolution is a correlation
        py, px = np.convolve(y, push, "same"), np.convolve(x, push, "same")
        pp = np.convolve(rows, push**2, "same")
        gain = (py - px * xy / xx) ** 2 / np.maximum(pp - px**2 / xx, 1e-3 * push @ push)
        kinds[gain > explained] = kind
        explained = np.maximum(explained, gain)
    highest = np.append(explained[:-1] >= explained[1:], True) & np.append(True, explained[1:] > explained[:-1])
    candidates = np.flatnonzero(highest & (explained > PUSH_EXPLAINS * unexplained))
    y, x, assigned = measured.copy(), expected.copy(), np.zeros(len(rows), bool)
    for at in candidates[np.argsort(-explained[candidates], kind="stable")].tolist():
        first, last = max(at - half, 0), min(at + half + 1, len(rows))
        if assigned[first:last].any():
            continue
        assigned[first:last] = True
        push = pushes[kinds[at]][first - at + half : last - at + half] * rows[first:last]
        for side in (y, x):
            side[first:last] -= push * (push @ side[first:last]) / (push @ push)
    return y, x


@lru_cache(4)
def _pushes(dt: float) -> tuple[Array, ...]:
    """Band-passed pushes of `PUSH_WIDTHS`, for signals every ``dt`` [s]."""
    return tuple(band_pass_kernel(dt, 0, width) for width in PUSH_WIDTHS)


def _window_sums(values: Array, half: int) -> Array:
    """Sum (n,) of the values within ``half`` rows on either side."""
    total = np.concatenate([np.zeros(half + 1), np.cumsum(values), np.full(half, values.sum())])
    return total[2 * half + 1 :] - total[: len(values)]


def robust_factor(measured: Array, expected: Array) -> tuple[float, float]:
    """Find (factor, correlation) of measured = factor * expected, through zero.

    The factor has the least sum of absolute deviations, and the correlation leaves out the `OUTLIER_SHARE` of greatest
    ones: what else happened to the bicycle must not hide what the rest says.
    """
    if not (np.any(expected) and np.any(measured)):
        return 0.0, 0.0
    factor = _factor(measured, expected)
    off = np.abs(measured - factor * expected)
    usual = off <= np.quantile(off, 1.0 - OUTLIER_SHARE)
    y, x = measured[usual], expected[usual]
    size = float(np.sqrt((x @ x) * (y @ y)))
    return factor, float(x @ y) / size if size else 0.0


def factor_spread(measured: Array, expected: Array) -> float:
    """Standard deviation of the factor between parts of a recording in which something moves."""
    strong = float(expected @ expected) / len(expected)
    parts = [
        _factor(y, x)
        for y, x in zip(np.array_split(measured, SPREAD_PARTS), np.array_split(expected, SPREAD_PARTS), strict=True)
        if x @ x > 0.05 * strong * len(x)
    ]
    return float(np.std(parts)) if len(parts) > 1 else 0.0


def _factor(measured: Array, expected: Array) -> float:
    """Least absolute deviations through zero: the median of the ratios, weighted with what is expected."""
    there = expected != 0.0
    if not there.any():
        return 0.0
    return weighted_median(measured[there] / expected[there], np.abs(expected[there]))


def band_pass_kernel(dt: float, derivative: int, longer: float = 0.0) -> Array:
    """Band-pass (a narrow Gaussian less a broad one), differentiated ``derivative`` times, for signals every dt.

    A ``derivative`` of -1 integrates; the integral of what passes the band ends where it began. With ``longer`` [s] it
    is the band-passed pulse that is a Gaussian as wide.
    """
    half = round(KERNEL_REACH * BROAD_WIDTH / dt)
    t = np.arange(-half, half + 1) * dt
    total = np.zeros(len(t))
    for width, sign in ((float(np.hypot(NARROW_WIDTH, longer)), 1.0), (float(np.hypot(BROAD_WIDTH, longer)), -1.0)):
        bell = np.exp(-0.5 * (t / width) ** 2)
        bell *= sign / bell.sum()
        total += (bell, -t / width**2 * bell, (t**2 / width**4 - width**-2) * bell)[max(derivative, 0)]
    return total if derivative >= 0 else dt * (np.cumsum(total) - total / 2)


def _block_means(values: Array | NDArray[np.bool_], rows: int) -> Array:
    """Means of so many rows at a time, of the part of a recording that is looked at."""
    n = min(len(values) // rows, MOST_ROWS_CHECKED)
    return np.asarray(values[: n * rows], dtype=float).reshape(n, rows).mean(axis=1)


def _erode_mask(mask: NDArray[np.bool_], half: int) -> NDArray[np.bool_]:
    """Rows whose ``half`` neighbours on either side are all there."""
    total = np.concatenate([[0], np.cumsum(~mask)])
    out = np.zeros(len(mask), bool)
    n = len(mask)
    if n > 2 * half:
        out[half : n - half] = total[2 * half + 1 :] == total[: n - 2 * half]
    return out
