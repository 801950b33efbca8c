"""Lean, steer and torque demanded by a path.

They are computed before anybody rides it. The rear contact shall run along the path at constant speed. So the yaw rate
is v kappa, rolling without slip gives the steer, the lean equation the lean that goes with it, and the steer equation
the torque (Meijaard et al. 2007, eq. 5.3)::

    c delta' + v delta = v kappa w / cos(lam)
    M11 phi'' + v C1_11 phi' + (g K0_11 + v^2 K2_11) phi = -(M12 delta'' + v C1_12 delta' + (g K0_12 + v^2 K2_12) delta)

The lean equation falls over, so it is solved from both ends at once: the bounded lean begins before the turn. With a
negative trail the steer equation falls over too, and its bounded solution, from the end backwards, begins before the
turn. The trail rounds the kinks of a path's curvature; where it is shorter than `KINK_ROUNDING` or zero, the steer
would follow them in jerks that no torque makes, so the curvature is averaged over what is missing.
Linear: good to some per cent up to a lean of 20 degrees.
"""

from dataclasses import dataclass
from math import cos

import numpy as np

from riderless.hil.guidance.path import Path
from riderless.models.array_types import Array
from riderless.models.errors import InputError
from riderless.models.linear.whipple import canonical_matrices
from riderless.models.parameters import Bicycle

RUN_UP = 3.0  # s, of straight running before and after an open path, and of more rounds of a closed one
DEMAND_STEP = 0.005  # s
SLOWEST_RIDE = 0.3  # m/s
KINK_ROUNDING = 0.04  # m; less than the contact of a tyre, and than any trail of the catalogue but 0


@dataclass(frozen=True, eq=False)
class PathDemand:
    """Motion along a path, each (n,), at equal steps of time.

    Attributes
    ----------
    s : array
        Length along the path [m]; below 0 and beyond its end on the straights before and after.
    phi, delta : array
        Lean and steer [rad], positive to the right.
    phi_dot, delta_dot : array
        Their rates [rad/s].
    T_delta : array
        Steer torque [N m]; its peak at a kink of the curvature is a mean over two of these steps.
    """

    s: Array
    phi: Array
    delta: Array
    phi_dot: Array
    delta_dot: Array
    T_delta: Array


def path_demand(bicycle: Bicycle, path: Path, v: float) -> PathDemand:
    """Find the motion of a bicycle whose rear contact runs along a path at the speed ``v`` [m/s].

    Raises
    ------
    InputError
        A speed at which the lean does not follow from the path.
    """
    if not (np.isfinite(v) and v >= SLOWEST_RIDE):
        raise InputError(f"a path is ridden at {SLOWEST_RIDE:g} m/s or more, found {v!r} m/s")
    trail = abs(bicycle.c)
    h = min(DEMAND_STEP, 0.2 * max(trail, KINK_ROUNDING) / v)
    t = np.arange(-RUN_UP, path.length / v + RUN_UP, h)
    kappa = _mean_curvature(path, v * t, KINK_ROUNDING - trail) if trail < KINK_ROUNDING else curvature(path, v * t)
    steady = kappa * bicycle.w / cos(bicycle.lam)  # steer of a turn as tight
    if bicycle.c > 0.0:
        delta = _followed(steady, h * v / trail)
    elif bicycle.c < 0.0:  # unstable forwards, stable backwards
        delta = _followed(steady[::-1], h * v / trail)[::-1]
    else:
        delta = steady
    delta_dot, delta_ddot = _rates(delta, h)
    M, C1, K0, K2 = canonical_matrices(bicycle)
    K = bicycle.g * K0 + v**2 * K2
    forcing = -(M[0, 1] * delta_ddot + v * C1[0, 1] * delta_dot + K[0, 1] * delta)
    if K[0, 0] >= 0.0:
        raise InputError(f"{bicycle.name} stands by itself at {v:g} m/s, so its lean does not follow from a path")
    phi = _bounded(forcing, M[0, 0], v * C1[0, 0], K[0, 0], h)
    phi_dot, phi_ddot = _rates(phi, h)
    T_delta = (
        M[1, 0] * phi_ddot
        + M[1, 1] * delta_ddot
        + v * (C1[1, 0] * phi_dot + C1[1, 1] * delta_dot)
        + K[1, 0] * phi
        + K[1, 1] * delta
    )
    return PathDemand(v * t, phi, delta, phi_dot, delta_dot, T_delta)


def curvature(path: Path, s: Array) -> Array:
    """Curvature [1/m] at lengths ``s`` [m]: zero beyond the ends of an open path."""
    if path.closed:
        return np.interp(s % path.length, path.s, path.kappa)
    return np.interp(s, path.s, path.kappa, left=0.0, right=0.0)


def _mean_curvature(path: Path, s: Array, over: float) -> Array:
    """Mean curvature [1/m] of a path over a length ``over`` [m] with its middle at ``s`` [m], exactly."""
    step, kappa = np.diff(path.s), path.kappa
    turned = np.concatenate([[0.0], np.cumsum(0.5 * step * (kappa[1:] + kappa[:-1]))])

    def heading(at: Array) -> Array:
        """Integral of the curvature from the beginning of the path, a quadratic function between two points."""
        rounds = np.floor(at / path.length) if path.closed else np.zeros_like(at)
        inside = np.clip(at - rounds * path.length, 0.0, path.length)
        i = np.clip(np.searchsorted(path.s, inside, side="right") - 1, 0, len(step) - 1)
        along = inside - path.s[i]
        bend = (kappa[i + 1] - kappa[i]) / step[i]
        return np.asarray(rounds * turned[-1] + turned[i] + along * (kappa[i] + 0.5 * along * bend))

    return (heading(s + 0.5 * over) - heading(s - 0.5 * over)) / over


def _followed(steady: Array, share: float) -> Array:
    """Steer behind the steady one by the trail: a first-order lag over ``share`` of its length a sample, exactly."""
    from scipy.signal import lfilter  # most of a second to load: a run without a path does not wait for it

    keep = np.exp(-share)
    ramp = 1.0 - (1.0 - keep) / share  # of a straight line between two samples
    begun = [keep * steady[0] + (1.0 - keep - ramp) * steady[0]]  # it was steady before
    delta, _ = lfilter([ramp, 1.0 - keep - ramp], [1.0, -keep], steady, zi=begun)
    return np.asarray(delta)


def _rates(x: Array, h: float) -> tuple[Array, Array]:
    """First and second derivative by central differences."""
    first, second = np.gradient(x, h), np.zeros_like(x)
    second[1:-1] = (x[2:] - 2.0 * x[1:-1] + x[:-2]) / h**2
    return first, second


def _bounded(forcing: Array, m: float, c: float, k: float, h: float) -> Array:
    """Bounded solution of m x'' + c x' + k x = forcing, with k < 0; steady at both ends."""
    from scipy.linalg import solve_banded  # a run without a path does not wait for it

    n = len(forcing)
    bands, right = np.zeros((3, n)), forcing.copy()
    bands[0, 2:] = m / h**2 + 0.5 * c / h
    bands[1, 1:-1] = k - 2.0 * m / h**2
    bands[2, :-2] = m / h**2 - 0.5 * c / h
    bands[1, [0, -1]] = k
    return np.asarray(solve_banded((1, 1), bands, right))
