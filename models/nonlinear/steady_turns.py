"""Steady turns of the bicycle, and their stability.

Lean, steer and speed are constant. In one posture (lean phi and steer delta, the pitch following from both wheels being
on the ground) all speeds of a steady turn are in proportion. Its balance is linear in their square k and in the steer
torque,

    gravity(phi, delta) + k motion(phi, delta) + T_delta torque(phi, delta) = 0:

two equations, for the accelerations of lean and steer, whose coefficients the nonlinear kernel gives; the third, for
that of the rear wheel, follows from the energy. So a posture has at most one turn, found without iteration.

Speeds: v of the rear contact, forward; psi_dot yaw, positive to the right. Angles in rad. Turns without steer torque
are in `riderless.models.nonlinear.hands_free`.
"""

from dataclasses import dataclass
from math import hypot, inf, nan, pi, sqrt
from typing import NamedTuple

import numpy as np
from scipy.linalg import null_space

from riderless.models.array_types import Array
from riderless.models.bicycle_file import is_number, shortened
from riderless.models.coordinates import (
    ANGLE_STATES,
    PHI_DOT,
    Q_DELTA,
    Q_PHI,
    Q_PSI,
    Q_THETA,
    Q_THETA_F,
    Q_THETA_R,
    Q_X,
    RATE_STATES,
)
from riderless.models.errors import InputError
from riderless.models.nonlinear.equations import accelerations, dependent_speeds, energy, pitch
from riderless.models.nonlinear.parameters import pack_bicycle
from riderless.models.parameters import Bicycle
from riderless.models.tables import html_table

LEAN_MAX = 1.5  # rad; a bicycle that leans more lies on the ground
PITCH_MAX = 0.5  # rad from upright; with more the frame has tipped over a wheel, which is another way to stand
NEWTON_DIFFERENCE = 1e-5  # step of the differences inside Newton's method, rad
LINEARISATION_STEP = 1e-3  # step of the five-point differences that linearise, rad and rad/s
SMALLEST_RADIUS = 0.01  # m
FIRST_CURVATURE = 1e-3  # 1/m, a curvature at which Newton's method starts without doubt


@dataclass(frozen=True)
class SteadyTurn:
    """Steady turn of a bicycle.

    Attributes
    ----------
    phi, delta, theta : float
        Lean, steer and pitch [rad]; upright, the pitch is the steer axis tilt.
    v, psi_dot : float
        Forward speed of the rear contact [m/s] and yaw rate [rad/s].
    rear_rate, front_rate : float
        Wheel rates about the axles [rad/s], negative when rolling forward.
    T_delta : float
        Steer torque [N m] that holds the turn.
    eigenvalues : tuple of complex
        Four eigenvalues [1/s] of small motions about the turn under that constant torque, by rising real part. A fifth
        is zero, because energy is conserved, and left out: it leads to the neighbouring turns of other energies. All
        nan at the edge of the model, where a derivative cannot be taken.
    """

    phi: float
    delta: float
    theta: float
    v: float
    psi_dot: float
    rear_rate: float
    front_rate: float
    T_delta: float
    eigenvalues: tuple[complex, ...]

    def __repr__(self) -> str:
        return (
            f"SteadyTurn(phi={self.phi:.4g} rad, delta={self.delta:.4g} rad, v={self.v:.4g} m/s, "
            f"radius={self.radius:.4g} m, T_delta={self.T_delta:.4g} N m, {'stable' if self.stable else 'unstable'})"
        )

    def _repr_html_(self) -> str:
        rows = [
            ("phi", self.phi, "rad"),
            ("delta", self.delta, "rad"),
            ("theta", self.theta, "rad"),
            ("v", self.v, "m/s"),
            ("psi_dot", self.psi_dot, "rad/s"),
            ("radius", self.radius, "m"),
            ("T_delta", self.T_delta, "N m"),
            *(("eigenvalue", s, "1/s") for s in self.eigenvalues),
        ]
        return html_table("Steady turn", ("quantity", "value", "unit"), rows)

    @property
    def radius(self) -> float:
        """Radius [m] of the circle of the rear contact, positive to the right."""
        return self.v / self.psi_dot if self.psi_dot else inf

    @property
    def stable(self) -> bool:
        """True where small disturbances that keep the energy die out."""
        return all(s.real < 0.0 for s in self.eigenvalues)

    def state(self) -> tuple[Array, Array]:
        """Coordinates and speeds, each (8,), of the nonlinear model; at the origin, heading along x.

        A turn may steer by more than `riderless.models.nonlinear.simulation.simulate_nonlinear` takes.
        """
        q, u = np.zeros(8), np.zeros(8)
        q[[Q_PHI, Q_THETA, Q_DELTA]] = self.phi, self.theta, self.delta
        u[[Q_X, Q_PSI, Q_THETA_R, Q_THETA_F]] = self.v, self.psi_dot, self.rear_rate, self.front_rate
        return q, u


class Posture(NamedTuple):
    """Posture: its speeds, in proportion to one another, and their effect on lean and steer."""

    q: Array  # (8,) coordinates
    u: Array  # (8,) speeds, with a forward speed of 1 m/s or, in a tight turn, a yaw rate near 1 rad/s
    gravity: Array  # (2,) accelerations of lean and steer at rest, rad/s^2
    motion: Array  # what the speeds u add to them
    torque: Array  # what 1 N m at the steer adds to them


class Model(NamedTuple):
    """Bicycle as the kernel wants it, and what else is needed here."""

    p: Array
    lam: float  # rad, where the search for the pitch begins
    roll_R: float  # m of path per radian of the rear wheel; 1 for a skate, which has no radius

    @classmethod
    def of(cls, bicycle: Bicycle) -> "Model":
        """Make the model of a bicycle."""
        return cls(pack_bicycle(bicycle), bicycle.lam, bicycle.rR or 1.0)


def steady_turn_from_angles(bicycle: Bicycle, phi: float, delta: float) -> SteadyTurn:
    """Find the steady turn with lean ``phi`` and steer ``delta`` [rad].

    Raises
    ------
    InputError
        For angles outside the model, or that no speed balances.
    """
    shown = f"{np.degrees(phi):g} deg of lean and {np.degrees(delta):g} deg of steer"
    if not (abs(phi) <= LEAN_MAX and abs(delta) < pi):
        raise InputError(
            f"a turn has at most {np.degrees(LEAN_MAX):.0f} deg of lean and less than 180 deg of steer; found {shown}: "
            "give smaller angles"
        )
    if delta == 0.0:
        raise InputError(f"a turn needs a steer angle; found {shown}: without one a bicycle runs straight")
    model = Model.of(bicycle)
    balance = posture(model, phi, delta)
    if not np.all(np.isfinite(balance.motion)):
        raise InputError(f"both wheels cannot roll on the ground with {shown}: give smaller angles")
    k, T_delta = np.linalg.solve(np.column_stack([balance.motion, balance.torque]), -balance.gravity)
    if not k > 0.0:
        raise InputError(f"no speed balances {shown} of bicycle {bicycle.name!r}: lean and steer to the same side")
    return turn_at_posture(model, balance, float(k), float(T_delta))


def steady_turn_from_speed_and_radius(bicycle: Bicycle, v: float, radius: float) -> SteadyTurn:
    """Find the steady turn at ``v`` [m/s] with the rear contact on a circle of ``radius`` [m], positive to the right.

    Of several it is the one that straight running becomes when the circle is drawn closer.

    Raises
    ------
    InputError
        For a speed that is not positive, no radius, or one too small for a turn at this speed.
    """
    if not (is_number(v) and v > 0.0):
        raise InputError(f"the speed of a turn is a positive number of m/s; found {shortened(v)}: give another")
    if not (is_number(radius) and radius != 0.0):
        raise InputError(
            f"the radius of a turn is a number of metres, not zero; found {shortened(radius)}: give another"
        )
    if abs(radius) < SMALLEST_RADIUS:
        raise InputError(
            f"the radius of a turn is {SMALLEST_RADIUS:g} m at least; found {radius:g} m: give a larger one"
        )
    model, goal = Model.of(bicycle), 1.0 / abs(radius)
    known = [(0.0, np.zeros(3))]  # right turns: curvature, and lean, steer, steer torque
    step = min(goal, FIRST_CURVATURE)
    while known[-1][0] < goal:
        curvature = min(known[-1][0] + step, goal)
        turn = _at_curvature(model, v, curvature, _extrapolate(known[-2:], curvature))
        if turn is not None:
            known.append((curvature, turn))
            step *= 2.0
        elif step > 1e-4 * max(known[-1][0], FIRST_CURVATURE):
            step /= 4.0
        else:
            raise InputError(
                f"bicycle {bicycle.name!r} at {v:g} m/s cannot turn from straight running into a circle of "
                f"{abs(radius):g} m: the smallest has about {1.0 / known[-1][0]:.3g} m"
            )
    phi, delta, T_delta = known[-1][1] * np.sign(radius)
    found_posture = posture(model, phi, delta)
    return turn_at_posture(model, found_posture, (v / found_posture.u[Q_X]) ** 2, float(T_delta))


def _extrapolate(known: list[tuple[float, Array]], curvature: float) -> Array:
    """Extrapolate along the line through the known turns; with one turn, return it."""
    (c0, x0), (c1, x1) = known[0], known[-1]
    return x1 + (x1 - x0) * (curvature - c1) / (c1 - c0) if c1 > c0 else x1


def _at_curvature(model: Model, v: float, curvature: float, guess: Array) -> Array | None:
    """Lean, steer and steer torque (3,) at a speed and curvature, by Newton's method; None where it finds nothing."""

    def excess(x: Array) -> Array:
        turn = posture(model, x[0], x[1])
        balance = turn.gravity + (v / turn.u[Q_X]) ** 2 * turn.motion + x[2] * turn.torque
        return np.array([*balance, turn.u[Q_PSI] / turn.u[Q_X] - curvature])

    x, scale = guess, np.array([1.0, 1.0, 0.0])
    for _ in range(15):
        here = excess(x)
        slope = np.column_stack(
            [(excess(x + d) - excess(x - d)) / (2.0 * NEWTON_DIFFERENCE) for d in NEWTON_DIFFERENCE * np.eye(3)]
        )
        if not (np.all(np.isfinite(here)) and np.all(np.isfinite(slope))):
            return None
        change = np.linalg.lstsq(slope, here)[0]
        x = x - change
        moved = float(np.linalg.norm(scale * change))
        if abs(x[0]) > LEAN_MAX or abs(x[1]) > pi or moved > 0.5:
            return None
        if moved < 1e-13:
            return x
    return None


def posture(model: Model, phi: float, delta: float) -> Posture:
    """`Posture` of a lean and a steer [rad]; full of nan where the wheels cannot both roll on the ground."""
    q, u, at_rest, moving, pushed = np.zeros((5, 8))
    q[[Q_PHI, Q_DELTA]] = phi, delta
    q[Q_THETA] = theta = pitch(model.p, phi, delta, model.lam)
    if not abs(theta - model.lam) < PITCH_MAX:
        return Posture(q, *np.full((1, 8), nan), *np.full((3, 2), nan))
    none = np.zeros(3)
    accelerations(model.p, q, u, none, at_rest)
    accelerations(model.p, q, u, np.array([0.0, 0.0, 1.0]), pushed)
    u[Q_THETA_R] = -1.0 / model.roll_R
    dependent_speeds(model.p, q, u)
    u /= hypot(1.0, u[Q_PSI])
    accelerations(model.p, q, u, none, moving)
    two = [Q_PHI, Q_DELTA]
    return Posture(q, u, at_rest[two], (moving - at_rest)[two], (pushed - at_rest)[two])


def turn_at_posture(model: Model, at: Posture, k: float, T_delta: float) -> SteadyTurn:
    """Steady turn in a posture whose balance is known, with its eigenvalues.

    Parameters
    ----------
    model : Model
    at : Posture
    k : float
        Square of the speeds, per those of the posture.
    T_delta : float
        Steer torque, N m.
    """
    u = sqrt(k) * at.u
    return SteadyTurn(
        phi=float(at.q[Q_PHI]),
        delta=float(at.q[Q_DELTA]),
        theta=float(at.q[Q_THETA]),
        v=float(u[Q_X]),
        psi_dot=float(u[Q_PSI]),
        rear_rate=float(u[Q_THETA_R]),
        front_rate=float(u[Q_THETA_F]),
        T_delta=T_delta,
        eigenvalues=_eigenvalues(model, at.q, u, T_delta),
    )


def _eigenvalues(model: Model, q: Array, u: Array, T_delta: float) -> tuple[complex, ...]:
    """Eigenvalues of the turn, less the neutral one.

    State (phi, delta, phi_dot, delta_dot, rear wheel rate). With a constant steer torque, energy - T_delta delta is
    conserved: no motion that starts across its gradient leaves that plane, and the four eigenvalues are those in it.
    """
    torque = np.array([0.0, 0.0, T_delta])
    start = np.array([q[Q_PHI], q[Q_DELTA], 0.0, 0.0, u[Q_THETA_R]])

    def rates_and_invariant(x: Array) -> Array:
        q, u, u_dot = np.zeros((3, 8))
        q[[Q_PHI, Q_DELTA]], u[[Q_PHI, Q_DELTA, Q_THETA_R]] = x[ANGLE_STATES], x[PHI_DOT:]
        q[Q_THETA] = pitch(model.p, q[Q_PHI], q[Q_DELTA], model.lam)
        dependent_speeds(model.p, q, u)
        accelerations(model.p, q, u, torque, u_dot)
        return np.array(
            [*x[RATE_STATES], *u_dot[[Q_PHI, Q_DELTA, Q_THETA_R]], energy(model.p, q, u) - T_delta * q[Q_DELTA]]
        )

    def difference(step: Array) -> Array:
        return rates_and_invariant(start + step) - rates_and_invariant(start - step)

    steps = LINEARISATION_STEP * np.eye(5)
    slope = np.column_stack([(8.0 * difference(d) - difference(2.0 * d)) / (12.0 * LINEARISATION_STEP) for d in steps])
    if not np.all(np.isfinite(slope)):
        return (complex(nan, nan),) * 4
    jacobian, gradient = slope[:5], slope[5:]
    plane = null_space(gradient)
    return tuple(complex(s) for s in np.sort_complex(np.linalg.eigvals(plane.T @ jacobian @ plane)))
