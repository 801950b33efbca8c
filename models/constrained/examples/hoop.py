"""Hoop that rolls on a curve.

After Matrosov, Morozov, Pesterev 2021, section 4: the error of every constraint is made to decay. The hoop (centre x,
z; spin omega) touches the profile z = F(x) where its radius at the angle alpha meets it. Newton's and Euler's equations
leave four unknowns N = (R_x, R_z, Q, U): the reaction, its moment, and the rate of alpha::

    m x'' = R_x,    m z'' = R_z - m g,    I omega' = Q,    alpha' = U

Four constraints determine them, each differentiated until an unknown appears and then told to decay:

=========  ==========================================================  ===============================
name       residual f, with P = (x, z) + r (cos alpha, sin alpha)      replaced by
=========  ==========================================================  ===============================
profile    F(P_x) - P_z                                                f'' + 2 lam f' + lam^2 f = 0
energy     m (x'^2 + z'^2) / 2 + I omega^2 / 2 + m g z - E             f' + lam f = 0
slip       (1, F') . velocity of the hoop's material point at P        f' + lam f = 0
normal     (1, F') . (cos alpha, sin alpha)                            f' + lam f = 0
=========  ==========================================================  ===============================

Together they are four linear equations A N = -phi(lam). Where the radius is normal to the profile, moving alpha
slides P along the tangent, so U drops out of the profile's f', which is then the normal velocity of the centre.

A step h of the midpoint rule leaves a residual of h^2 / 8 times its second derivative in the direction of motion,
whatever lam is between the hoop's own rates and 1 / h; lam decides how soon errors are forgotten.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from riderless.firmware_interface.kernels import njit
from riderless.models.constrained.control_form import ControlForm, DecayingConstraint
from riderless.models.errors import InputError

HOOP_CONSTRAINTS = ("profile", "energy", "slip", "normal")


class Hoop(NamedTuple):
    """Hoop, its profile z = x^4 + a x^3 - b x^2 - a x - (1 - b), and gravity.

    The paper's numbers by default, in units of its own: gravity is 1.
    """

    m: float = 1.0
    r: float = 0.01
    a: float = 0.13
    b: float = 0.5
    g: float = 1.0


class Roll(NamedTuple):
    """Result of `roll`.

    residuals : (4,) array, largest size of each residual after the settling time
    traversals : int, reversals of the motion in x
    left_at : float, time at which the contact point was off the profile by more than `limit`, or nan
    state : (6,) array, the last x, z, alpha, x', z', omega
    """

    residuals: NDArray
    traversals: int
    left_at: float
    state: NDArray


@njit(cache=True, nogil=True, error_model="numpy")
def hoop_profile(hoop, x):
    """Height of the profile and its first two derivatives at x."""
    F = (((x + hoop.a) * x - hoop.b) * x - hoop.a) * x - (1.0 - hoop.b)
    F1 = ((4.0 * x + 3.0 * hoop.a) * x - 2.0 * hoop.b) * x - hoop.a
    F2 = (12.0 * x + 6.0 * hoop.a) * x - 2.0 * hoop.b
    return F, F1, F2


@njit(cache=True, nogil=True, error_model="numpy")
def hoop_energy(hoop, s):
    """Kinetic and potential energy; the hoop's moment of inertia is m r^2."""
    _, z, _, vx, vz, omega = s
    return hoop.m * (0.5 * (vx * vx + vz * vz + (hoop.r * omega) ** 2) + hoop.g * z)


@njit(cache=True, nogil=True, error_model="numpy")
def hoop_residuals(hoop, E, s):
    """Residuals f (four), in the order of `HOOP_CONSTRAINTS`."""
    x, z, alpha, vx, vz, omega = s
    ex, ez = np.cos(alpha), np.sin(alpha)
    F, F1, _ = hoop_profile(hoop, x + hoop.r * ex)
    slip = vx - hoop.r * omega * ez + F1 * (vz + hoop.r * omega * ex)
    return F - z - hoop.r * ez, hoop_energy(hoop, s) - E, slip, ex + F1 * ez


@njit(cache=True, nogil=True, error_model="numpy")
def hoop_unknowns(hoop, E, lam, s, A):
    """Solve A N = -phi for the unknowns R_x, R_z, Q, U.

    Parameters
    ----------
    hoop : Hoop
    E : float
        Energy to be kept.
    lam : float
        Decay rate of the residuals.
    s : tuple of six
        State x, z, alpha, x', z', omega.
    A : (4, 5) array
        Working space; -phi is its last column.
    """
    x, z, alpha, vx, vz, omega = s
    m, r = hoop.m, hoop.r
    ex, ez = np.cos(alpha), np.sin(alpha)
    F, F1, F2 = hoop_profile(hoop, x + r * ex)
    drift = F2 * vx  # of F' at P while alpha stands still
    swing = -F2 * r * ez  # of F' at P per U
    across = F1 * ex - ez
    along = ex + F1 * ez

    # profile: f' = F' x' - z'
    A[0, 0], A[0, 1], A[0, 2], A[0, 3] = F1 / m, -1.0 / m, 0.0, swing * vx
    A[0, 4] = -(drift * vx + hoop.g + 2.0 * lam * (F1 * vx - vz) + lam * lam * (F - z - r * ez))
    # energy: the reaction's power; at rest, its power in the rolling to come
    if vx == 0.0 and vz == 0.0 and omega == 0.0:
        A[1, 0], A[1, 1], A[1, 2], A[1, 3], A[1, 4] = r * ez, -r * ex, 1.0, 0.0, 0.0
    else:
        A[1, 0], A[1, 1], A[1, 2], A[1, 3] = vx, vz, omega, 0.0
        A[1, 4] = -lam * (hoop_energy(hoop, s) - E)
    # slip: f = x' + F' z' + r omega across
    lever = vz + r * omega * ex
    A[2, 0], A[2, 1], A[2, 2], A[2, 3] = 1.0 / m, F1 / m, across / (m * r), swing * lever - r * omega * along
    A[2, 4] = -(drift * lever - F1 * hoop.g + lam * (vx + F1 * vz + r * omega * across))
    # normal: f = along
    A[3, 0], A[3, 1], A[3, 2], A[3, 3] = 0.0, 0.0, 0.0, across + swing * ez
    A[3, 4] = -(drift * ez + lam * along)

    _eliminate(A)
    return A[0, 4], A[1, 4], A[2, 4], A[3, 4]


@njit(cache=True, nogil=True, error_model="numpy")
def _hoop_derivative(hoop, E, lam, s, A):
    """Rate of the state.

    Parameters
    ----------
    hoop : Hoop
    E : float
        Energy to be kept.
    lam : float
        Decay rate of the residuals.
    s : tuple of six
        State x, z, alpha, x', z', omega.
    A : (4, 5) array
        Working space.
    """
    R_x, R_z, Q, U = hoop_unknowns(hoop, E, lam, s, A)
    return s[3], s[4], U, R_x / hoop.m, R_z / hoop.m - hoop.g, Q / (hoop.m * hoop.r * hoop.r)


@njit(cache=True, nogil=True, error_model="numpy")
def _hoop_euler_step(s, h, k):
    """State reached from `s` in the time `h` at the constant rate `k`."""
    return s[0] + h * k[0], s[1] + h * k[1], s[2] + h * k[2], s[3] + h * k[3], s[4] + h * k[4], s[5] + h * k[5]


@njit(cache=True, nogil=True, error_model="numpy")
def _roll(hoop, lam, s, h, steps, settled, limit, worst):
    """March `steps` midpoint steps (second-order Runge-Kutta); see `roll`."""
    A = np.empty((4, 5))
    E = hoop_energy(hoop, s)
    traversals = 0
    for k in range(steps):
        before = s[3]
        middle = _hoop_euler_step(s, 0.5 * h, _hoop_derivative(hoop, E, lam, s, A))
        s = _hoop_euler_step(s, h, _hoop_derivative(hoop, E, lam, middle, A))
        traversals += before * s[3] < 0.0
        f = hoop_residuals(hoop, E, s)
        if not abs(f[0]) <= limit:
            return k + 1, traversals, s
        if k >= settled:
            for i in range(4):
                worst[i] = max(worst[i], abs(f[i]))
    return -1, traversals, s


def hoop_start(hoop: Hoop = Hoop(), x: float = -1.0, omega: float = -0.01) -> tuple[float, ...]:
    """State of a hoop that rolls with the spin `omega` (anticlockwise, so negative to the right), touching at `x`."""
    _, F1, _ = hoop_profile(hoop, float(x))
    slope = float(np.hypot(1.0, F1))
    ex, ez = F1 / slope, -1.0 / slope  # from the centre to the contact point
    centre = x - hoop.r * ex, hoop_profile(hoop, float(x))[0] - hoop.r * ez
    return (*centre, float(np.arctan2(ez, ex)), hoop.r * omega * ez, -hoop.r * omega * ex, omega)


def roll(
    hoop: Hoop = Hoop(),
    lam: float = 1e3,
    h: float = 1e-5,
    duration: float = 100.0,
    state: tuple[float, ...] | None = None,
    settling: float = 0.0,
    limit: float = 0.01,
) -> Roll:
    """Let the hoop roll from `state` (almost at rest at x = -1 by default) and watch the residuals.

    Parameters
    ----------
    hoop : Hoop
    lam : float
        Decay rate of every residual; 0 leaves the constraints to themselves.
    h, duration : float
        Step and length of the run.
    state : tuple of six
        x, z, alpha, x', z', omega. It may be at rest, where the energy says nothing of the reactions: their power in
        the rolling to come is then zero.
    settling : float
        First part of the run, which is not counted in the residuals.
    limit : float
        The run ends when the contact point is farther off the profile than this (by default the hoop's radius).

    Raises
    ------
    InputError
        A step that is not positive, or a negative decay rate.
    """
    if not (h > 0.0 and duration >= h):
        raise InputError(f"the step must be positive and at most the duration {duration}, found {h}; choose 1e-5")
    if not lam >= 0.0:
        raise InputError(f"the decay rate lam must be zero or more, found {lam}; choose about 1e3")
    s = hoop_start(hoop) if state is None else tuple(float(value) for value in state)
    worst = np.zeros(4)
    steps, settled = round(duration / h), round(settling / h)
    steps_left, traversals, s = _roll(hoop, float(lam), s, float(h), steps, settled, float(limit), worst)
    return Roll(worst, traversals, steps_left * h if steps_left >= 0 else np.nan, np.array(s))


def hoop_on(
    profile: Callable[[Any], Any],
    slope: Callable[[Any], Any],
    hoop: Hoop = Hoop(),
    E: float = 0.0,
    lam: Sequence[float] = (1e3, 1e3, 1e3, 1e3),
) -> ControlForm:
    """Hoop on any profile z = profile(x), in the general form; the state is x, z, alpha, x', z', omega.

    Parameters
    ----------
    profile, slope : function
        Height of the curve at x, and its slope; of smooth functions.
    hoop : Hoop
        Its mass, radius and gravity.
    E : float
        Energy to be kept.
    lam : sequence of four
        Decay rates, in the order of `HOOP_CONSTRAINTS`.
    """
    m, r = hoop.m, hoop.r

    def contact(s: NDArray) -> tuple[Any, Any]:
        return np.cos(s[2]), np.sin(s[2])

    def off_the_profile(s: NDArray) -> Any:
        ex, ez = contact(s)
        return profile(s[0] + r * ex) - s[1] - r * ez

    def energy(s: NDArray) -> Any:
        return hoop_energy.py_func(hoop, s) - E

    def slip(s: NDArray) -> Any:
        ex, ez = contact(s)
        return s[3] - r * s[5] * ez + slope(s[0] + r * ex) * (s[4] + r * s[5] * ex)

    def turned(s: NDArray) -> Any:
        ex, ez = contact(s)
        return ex + slope(s[0] + r * ex) * ez

    def to_come(s: NDArray) -> list[float]:
        ex, ez = contact(s)
        return [r * ez, -r * ex, 1.0, 0.0]

    B = np.zeros((6, 4))
    B[3, 0] = B[4, 1] = 1.0 / m
    B[5, 2], B[2, 3] = 1.0 / (m * r * r), 1.0
    residuals, orders, empty = (off_the_profile, energy, slip, turned), (2, 1, 1, 1), (None, to_come, None, None)
    goals = [DecayingConstraint(*each) for each in zip(HOOP_CONSTRAINTS, residuals, orders, lam, empty, strict=True)]
    return ControlForm(lambda s: np.array([s[3], s[4], 0.0 * s[3], 0.0, -hoop.g, 0.0]), lambda s: B, goals)


@njit(cache=True, nogil=True, error_model="numpy")
def _eliminate(A):
    """Solve in place the system whose matrix is `A[:, :-1]`; the solution replaces the last column.

    Partial pivoting, no allocation. A singular matrix gives inf or nan, for the caller to notice.
    """
    n = A.shape[0]
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[pivot, k]):
                pivot = i
        if pivot != k:
            for j in range(k, n + 1):
                A[k, j], A[pivot, j] = A[pivot, j], A[k, j]
        for i in range(k + 1, n):
            factor = A[i, k] / A[k, k]
            for j in range(k + 1, n + 1):
                A[i, j] -= factor * A[k, j]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            A[k, n] -= A[k, j] * A[j, n]
        A[k, n] /= A[k, k]
