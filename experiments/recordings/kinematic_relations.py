"""Relations that physics sets between recorded quantities, and how well a recording keeps them.

Both sides of a relation go through the same band-pass (about 0.3 to 3 Hz, where a bicycle swings), so that biases,
drift, noise and vibration do not matter. A relation is one function and one line of `RELATIONS`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import cos, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.datatypes import Array
from experiments.recordings.checked import Recorded
from models.linear.whipple import canonical_matrices

COARSEST = 0.01  # s; faster recordings are averaged to about this
LONGEST = 60_000  # rows of that, ten minutes, looked at
FINE, BROAD, REACH = 0.05, 0.3, 4.0  # s: widths of the two Gaussians of the band-pass; widths at which they end
LEAST = 4.0  # s of usable rows, below which nothing can be told
BLOCKS = 8  # parts of a recording, whose factors give the spread
THIN = 5  # rows, of which one says as much as all within the band
RARE = 0.2  # of the rows, which something else may have moved
MOVING = 0.3  # m/s
CLEAR = 0.7  # correlation from which on a factor is believed


@dataclass(frozen=True)
class Kept:
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
    def alarms(self) -> bool:
        """Do both sides clearly belong together, and clearly not as they stand?"""
        return abs(self.correlation) >= CLEAR and not self.agrees


@dataclass(frozen=True, eq=False)
class Signals:
    """The signals of a recording through the band-pass; ``undone`` are factors on quantities, ``time`` one on time."""

    recorded: Recorded
    dt: float
    average: int  # rows that become one
    cache: dict[tuple[str, int], Array] = field(default_factory=dict)
    undone: Mapping[str, float] = field(default_factory=dict)
    time: float = 1.0

    def has(self, *quantities: str) -> bool:
        """Are all of them recorded?"""
        return all(self.recorded.signal(quantity) is not None for quantity in quantities)

    def raw(self, quantity: str) -> Array:
        """A signal as recorded, averaged."""
        return self.undone.get(quantity, 1.0) * self._cached(quantity, -1)

    def band(self, quantity: str, derivative: int = 0) -> Array:
        """A signal through the band-pass, differentiated so often."""
        return self.undone.get(quantity, 1.0) * self.time**-derivative * self._cached(quantity, derivative)

    def _cached(self, quantity: str, derivative: int) -> Array:
        key = quantity, derivative
        if key not in self.cache:
            if derivative < 0:
                values = self.recorded.signal(quantity)
                assert values is not None
                self.cache[key] = averaged(values, self.average)
            else:
                self.cache[key] = np.convolve(self._cached(quantity, -1), kernel(self.dt, derivative), "same")
        return self.cache[key]


class Relation(NamedTuple):
    """How a relation is computed, and what is asked of it."""

    left: str
    right: str
    free: bool  # holds only while nobody pushes and the law is in force
    within: float
    needs: float
    sides: Callable[[Signals], tuple[Array, Array] | None]


def lean(s: Signals) -> tuple[Array, Array] | None:
    """Lean rate and derivative of lean."""
    return (s.band("phi_dot"), s.band("phi", 1)) if s.has("phi") else None


def steer(s: Signals) -> tuple[Array, Array] | None:
    """Steer rate and derivative of steer."""
    return (s.band("delta_dot"), s.band("delta", 1)) if s.has("delta", "delta_dot") else None


def yaw(s: Signals) -> tuple[Array, Array] | None:
    """Yaw rate and (v delta + c delta_dot) cos(lam) / w, Meijaard et al. (2007), appendix B."""
    b = s.recorded.response.bicycle
    if b is None or not s.has("psi_dot", "delta"):
        return None
    return s.band("psi_dot"), (s.raw("v") * s.band("delta") + b.c * s.band("delta", 1)) * cos(b.lam) / b.w


def law(s: Signals) -> tuple[Array, Array] | None:
    """Steer torque and k (v0 - v) phi_dot."""
    if s.recorded.law is None or not s.has("T_delta"):
        return None
    k, v0 = s.recorded.law
    return s.band("T_delta"), k * np.maximum(v0 - s.raw("v"), 0.0) * s.band("phi_dot")


def balance(s: Signals) -> tuple[Array, Array] | None:
    """Lean acceleration measured, and by the first row of Meijaard et al. (2007), eq. (5.3)."""
    bicycle = s.recorded.response.bicycle
    if bicycle is None or not s.has("phi", "delta"):
        return None
    M, C1, K0, K2 = canonical_matrices(bicycle)
    v, g = s.raw("v"), bicycle.g
    moment = M[0, 1] * s.band("delta", 2) + v * C1[0, 1] * s.band("delta", 1)
    moment = moment + g * K0[0, 0] * s.band("phi") + (g * K0[0, 1] + v**2 * K2[0, 1]) * s.band("delta")
    return s.band("phi_dot", 1), -moment / M[0, 0]


def wheel(s: Signals) -> tuple[Array, Array] | None:
    """Speed and turning rate of the rear wheel times its radius; values, for their changes are small."""
    bicycle = s.recorded.response.bicycle
    return (s.raw("v"), bicycle.rR * s.raw("wheel")) if bicycle is not None and s.has("wheel") else None


RELATIONS: dict[str, Relation] = {
    "lean": Relation("phi_dot", "the derivative of {phi}", False, 1.4, CLEAR, lean),
    "steer": Relation("delta_dot", "the derivative of {delta}", False, 1.4, CLEAR, steer),
    "yaw": Relation("psi_dot", "the yaw rate that {delta} and {v} make", False, 1.5, CLEAR, yaw),
    "wheel": Relation("v", "the speed that {wheel} makes", False, 1.25, CLEAR, wheel),
    "law": Relation("T_delta", "the torque that the law makes of {phi_dot} and {v}", True, 1.5, CLEAR, law),
    "balance": Relation(
        "phi_dot", "what {phi}, {delta} and {v} make of it by the equations of motion", True, 1.8, 0.6, balance
    ),
}


def signals(recorded: Recorded) -> Signals:
    """The signals of a recording, ready for `kept`."""
    dt = recorded.response.dt
    average = max(1, int(COARSEST / dt + 1e-9))
    return Signals(recorded, dt * average, average)


def kept(s: Signals, spread: bool = True) -> list[Kept]:
    """The relations that can be looked at, with the factors found, and if wanted their spread."""
    response = s.recorded.response
    moving = averaged(np.abs(response.v) > MOVING, s.average) > 0.99
    free = moving if response.free is None else moving & (averaged(response.free, s.average) > 0.99)
    half = len(kernel(s.dt, 0)) // 2
    usable = {False: eroded(moving, half), True: eroded(free, half)}
    found = []
    for name, relation in RELATIONS.items():
        rows = usable[relation.free]
        sides = relation.sides(s) if rows.sum() * s.dt >= LEAST else None
        if sides is not None:
            measured, expected = sides[0][rows][::THIN], sides[1][rows][::THIN]
            factor, correlation = regression(measured, expected)
            between = spread_of(measured, expected) if spread else 0.0
            needs, within = relation.needs, relation.within
            found.append(Kept(name, relation.left, relation.right, factor, between, correlation, within, needs))
    return found


def regression(measured: Array, expected: Array) -> tuple[float, float]:
    """(factor, correlation) of measured = factor * expected, through zero.

    The factor has the least sum of absolute deviations, and the correlation leaves out the `RARE` greatest ones:
    a kick is no part of the equations of motion, and some kicks must not hide what the rest says.
    """
    if not (np.any(expected) and np.any(measured)):
        return 0.0, 0.0
    factor = _factor(measured, expected)
    off = np.abs(measured - factor * expected)
    usual = off <= np.quantile(off, 1.0 - RARE)
    y, x = measured[usual], expected[usual]
    size = float(np.sqrt((x @ x) * (y @ y)))
    return factor, float(x @ y) / size if size else 0.0


def spread_of(measured: Array, expected: Array) -> float:
    """Standard deviation of the factor between parts of a recording in which something moves."""
    strong = float(expected @ expected) / len(expected)
    parts = [
        _factor(y, x)
        for y, x in zip(np.array_split(measured, BLOCKS), np.array_split(expected, BLOCKS), strict=True)
        if x @ x > 0.05 * strong * len(x)
    ]
    return float(np.std(parts)) if len(parts) > 1 else 0.0


def _factor(measured: Array, expected: Array) -> float:
    """Least absolute deviations through zero: the median of the ratios, weighted with what is expected."""
    there = expected != 0.0
    ratios, weights = measured[there] / expected[there], np.abs(expected[there])
    order = np.argsort(ratios)
    total = np.cumsum(weights[order])
    return float(ratios[order][np.searchsorted(total, 0.5 * total[-1])]) if len(total) else 0.0


def kernel(dt: float, derivative: int) -> Array:
    """Band-pass (a narrow Gaussian less a broad one), differentiated ``derivative`` times, for signals every dt."""
    half = round(REACH * BROAD / dt)
    t = np.arange(-half, half + 1) * dt
    total = np.zeros(len(t))
    for width, sign in ((FINE, 1.0), (BROAD, -1.0)):
        bell = np.exp(-0.5 * (t / width) ** 2)
        bell *= sign / bell.sum()
        total += (bell, -t / width**2 * bell, (t**2 / width**4 - width**-2) * bell)[derivative]
    return total


def averaged(values: Array | NDArray[np.bool_], rows: int) -> Array:
    """Means of so many rows at a time, of the part of a recording that is looked at."""
    n = min(len(values) // rows, LONGEST)
    return np.asarray(values[: n * rows], dtype=float).reshape(n, rows).mean(axis=1)


def eroded(mask: NDArray[np.bool_], half: int) -> NDArray[np.bool_]:
    """Rows whose ``half`` neighbours on either side are all there."""
    total = np.concatenate([[0], np.cumsum(~mask)])
    out = np.zeros(len(mask), bool)
    n = len(mask)
    if n > 2 * half:
        out[half : n - half] = total[2 * half + 1 :] == total[: n - 2 * half]
    return out
