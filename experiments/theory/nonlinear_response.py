"""Free response of a machine whose motion is not small: nonlinear bicycle, dry friction, dead band; in one window.

The machine is that of a theory's linear dynamics, with its drive, delay, hold, observer and gains, at a speed that may
change. To the linear map over one step is added what the machine does beyond it:

    x[k+1] = F x[k] + N d[k] + G0 r[k] + G1 (r[k+1] - r[k])

with r the accelerations of lean and steer beyond the linear ones, which act throughout the step (G0) and change
linearly in it (G1; Cox and Matthews 2002, a second-order exponential integrator), and d the readings beyond the linear
ones, which reach observer and controller (N). Small motions are therefore exactly those of the linear theory. Dry
friction is the set-valued law, taken at the end of each step (Moreau 1988): the torque that would stop the steer, as
far as friction reaches.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import expm

from experiments.datatypes import Dynamics
from experiments.theory.free_response import map_change_by_misread, step_maps
from experiments.theory.nonlinear_bicycle import kept_speed_accelerations
from hil.design.closed_loop import MEASURED_CHANNELS, yaw_rate
from models.array_types import Array
from models.coordinates import DELTA, DELTA_DOT, PHI, PHI_DOT, STATES
from models.errors import InputError
from models.linear.perturbed import Variant
from models.nonlinear.parameters import pack_bicycle
from models.nonlinear.vectors import compiled

LONGEST_RESPONSE_STEP = 0.005  # s; of a weave of 10 rad/s the third harmonic turns by 0.15 rad in it
ROLL_GYRO, YAW_GYRO, LATERAL_FORCE = 0, 1, 3  # of `hil.design.closed_loop.MEASURED_CHANNELS`
N_INSTRUMENTS = len(MEASURED_CHANNELS)
N_SHOWN, SHOWN_LEAN_RATE, SHOWN_STEER, SHOWN_YAW_RATE = 3, 0, 1, 2  # of the motion returned


@dataclass(frozen=True)
class Nonlinearities:
    """Nonlinearities of a machine, beyond the linear theory of it.

    Attributes
    ----------
    bicycle : bool
        The bicycle leans and steers by its nonlinear equations of motion.
    coulomb : float
        Dry friction of the steer axis [N m], at rest and in motion.
    dead_band : float
        Torque of the drive [N m] below which none arrives at the steer axis; of a larger one the rest.
    """

    bicycle: bool = True
    coulomb: float = 0.0
    dead_band: float = 0.0


class WindowMotion(NamedTuple):
    """Motions of a machine in a window, one column for each start; nan from where a bicycle has fallen over."""

    phi_dot: Array  # (n, c) rad/s, as the roll gyro shows it
    delta: Array  # (n, c) rad
    psi_dot: Array  # (n, c) rad/s, as the yaw gyro shows it


@dataclass(frozen=True)
class WindowMachine:
    """Machine of a theory, made ready for the speeds of one window; `simulate` as often as wanted."""

    maps: tuple[Array, Array, Array]
    change: Array
    off: Array
    v: Array  # (n,) m/s, true
    v_dot: Array  # (n,) m/s^2
    embed: Array  # (m, 4 + k)
    steps: int  # within a sampling interval
    rows: Array  # (k, 2 + 2, m): accelerations of lean and steer, lateral force and yaw rate as read, all linear
    readings: Array  # (k, m, 4)
    forced: Array  # (k, 2, 4, 2): states after accelerations constant, and growing from 0 to 1, over one step
    more: Array  # (k, 3, 2, 2)
    steer: Array  # (k, 2) accelerations per steer torque
    torque: Array  # (m,)
    packed: Array
    place: tuple[float, float, float]  # steer axis tilt [rad], sensor [m]
    nonlinearities: Nonlinearities

    def simulate(self, starts: Array) -> WindowMotion:
        """Simulate the motions from starts (4 + k, c): lean, steer [rad], their rates [rad/s], hidden starts."""
        F, left, weight = self.maps
        extra = self.nonlinearities
        shown = simulate_machine(
            self.embed @ starts,
            F,
            left,
            weight,
            self.change,
            self.off,
            self.v,
            self.v_dot,
            self.steps,
            self.rows,
            self.readings,
            self.forced,
            self.more,
            self.steer,
            self.torque,
            self.packed,
            self.place,
            extra.bicycle,
            extra.coulomb,
            extra.dead_band,
        )
        return WindowMotion(shown[:, SHOWN_LEAN_RATE], shown[:, SHOWN_STEER], shown[:, SHOWN_YAW_RATE])


def nonlinear_response(
    dynamics: Dynamics,
    v: Array,
    dt: float,
    start: Sequence[float] | Array,
    misread: Array | None = None,
    nonlinearities: Nonlinearities = Nonlinearities(),
) -> WindowMotion:
    """Simulate the motion of a machine in one window from a start, without noise.

    Parameters
    ----------
    dynamics : Dynamics
        With `mechanics`.
    v : (n,) array
        Measured speed at each sample [m/s].
    dt : float
        Sampling interval [s]; for sampled dynamics a whole multiple of theirs.
    start : (4 + k,) or (4 + k, c) array
        Lean, steer [rad], their rates [rad/s] and the dynamics' k hidden starts; in columns for several motions.
    misread : (n,) array, optional
        Speed the controller went by, minus ``v`` [m/s].
    nonlinearities : Nonlinearities

    Returns
    -------
    WindowMotion
        Of (n, c) arrays.

    Raises
    ------
    InputError
        If the sampling interval does not fit the dynamics, or their mechanics are not known.
    """
    columns = np.asarray(start, float).reshape(len(start), -1)
    return window_machine(dynamics, v, dt, misread, nonlinearities).simulate(columns)


def window_machine(
    dynamics: Dynamics,
    v: Array,
    dt: float,
    misread: Array | None = None,
    nonlinearities: Nonlinearities = Nonlinearities(),
) -> WindowMachine:
    """Make a machine ready for the speeds of a window; arguments and errors as of `nonlinear_response`.

    Parameters
    ----------
    dynamics : Dynamics
    v : (n,) array
    dt : float
    misread : (n,) array, optional
    nonlinearities : Nonlinearities
    """
    mechanics = dynamics.mechanics
    if mechanics is None:
        raise InputError(
            f"wanted the mechanics of '{dynamics.name}' for a motion that is not small, found linear dynamics alone: "
            "give its theory a bicycle"
        )
    m = len(dynamics.states)
    step = dynamics.dt or dt / np.ceil(dt / LONGEST_RESPONSE_STEP - 1e-9)
    at = v if dynamics.dt is not None else np.append(0.5 * (v[1:] + v[:-1]), v[-1])
    maps = step_maps(dynamics, at, step)
    nodes = _nodes(at, len(maps[0]))
    torque = np.zeros(m) if mechanics.torque is None else mechanics.torque
    rows, forced, more, steer = [], [], [], []
    for node in map(float, nodes):
        mass, damping, stiffness = mechanics.matrices(node)
        own = Variant(mechanics.bicycle).matrices(mechanics.speed_scale * node)
        inverse = np.linalg.inv(mass)
        A = np.zeros((4, 4))
        A[:2, 2:], A[2:, :2], A[2:, 2:] = np.eye(2), -inverse @ stiffness, -inverse @ damping
        linear = np.zeros((4, m))
        linear[:2, :4] = A[2:]
        linear[:2] += np.outer(inverse[:, 1], torque)
        linear[3, :4] = yaw_rate(Variant(mechanics.bicycle, speed_scale=mechanics.speed_scale), node)
        if mechanics.instruments is not None:
            linear[2] = mechanics.instruments(node)[LATERAL_FORCE]
        rows.append(linear)
        forced.append(_forced(A, step))
        more.append(np.array([mass, damping, stiffness]) - own)
        steer.append(inverse[:, 1])
    reached = mechanics.readings or (lambda node: np.zeros((m, N_INSTRUMENTS)))
    middle = float(0.5 * (v.min() + v.max()))
    scale = mechanics.speed_scale
    return WindowMachine(
        maps=maps,
        change=np.zeros((m, m)) if misread is None else map_change_by_misread(dynamics, middle, step),
        off=np.zeros(len(v)) if misread is None else np.asarray(misread, float),
        v=scale * at,
        v_dot=scale * np.gradient(v, dt),
        embed=dynamics.starts(float(v[0])),
        steps=round(dt / step),
        rows=np.array(rows),
        readings=np.array([reached(float(node)) for node in nodes]),
        forced=np.array(forced),
        more=np.array(more),
        steer=np.array(steer),
        torque=np.ascontiguousarray(torque, float),
        packed=pack_bicycle(mechanics.bicycle),
        place=(mechanics.bicycle.lam, mechanics.x_imu, mechanics.z_imu),
        nonlinearities=nonlinearities,
    )


def _nodes(v: Array, k: int) -> Array:
    """Speeds of the k maps of `step_maps`."""
    return np.linspace(v.min(), v.max(), k) if k > 1 else v[:1]


def _forced(A: Array, h: float) -> Array:
    """States (2, 4, 2) after h s of unit accelerations of lean and steer: constant, and growing from 0 to 1."""
    B = np.vstack([np.zeros((2, 2)), np.eye(2)])
    zero = np.zeros((2, 4))
    whole = expm(
        h
        * np.block(
            [
                [A, B, np.zeros((4, 2))],
                [zero, np.zeros((2, 2)), np.eye(2) / h],
                [zero, np.zeros((2, 4))],
            ]
        )
    )
    return np.array([whole[:4, 4:6], whole[:4, 6:8]])


@compiled
def simulate_machine(
    X, F, left, weight, change, off, V, V_dot, steps, rows, readings, forced, more, steer, torque, packed, place,
    curved, coulomb, dead_band,
):  # fmt: skip
    """Simulate motions (n, 3, c) from whole states: roll gyro, steer, yaw gyro.

    Parameters
    ----------
    X : (m, c) array
        Whole states at the first sample.
    F, left, weight : arrays
        Of `experiments.theory.free_response.step_maps`, for one step.
    change : (m, m) array
        Derivative of the map by the speed misread, per m/s.
    off : (n,) array
        Speed misread [m/s].
    V, V_dot : (n,) arrays
        True speed [m/s] and its rate [m/s^2].
    steps : int
        Within a sampling interval.
    rows, readings, forced, more, steer, torque, packed, place
        As of `WindowMachine`.
    curved : bool
        The bicycle is nonlinear.
    coulomb, dead_band : float
        As of `Nonlinearities`.
    """
    m, columns = X.shape
    n = len(left)
    shown = np.full((n, N_SHOWN, columns), np.nan)
    x, y, row = np.zeros(m), np.zeros(m), np.zeros(4)
    first, second = np.zeros(2), np.zeros(2)
    d = np.zeros(N_INSTRUMENTS)
    extra = np.zeros((3, 2, 2))
    for c in range(columns):
        x[:] = X[:, c]
        pitch = place[0]
        for i in range(n):
            here, share = left[i], weight[i]
            after = here + 1 if share != 0.0 else here
            for a in range(3):
                for e in range(2):
                    for f in range(2):
                        extra[a, e, f] = more[here, a, e, f] + share * (more[after, a, e, f] - more[here, a, e, f])
            for step in range(steps):
                pitch = _beyond(x, rows, here, after, share, extra, V[i], V_dot[i], pitch, torque, steer, packed,
                                place, curved, dead_band, row, first, d)  # fmt: skip
                if not np.isfinite(first[0] + first[1]):
                    break
                if step == 0:
                    shown[i, SHOWN_LEAN_RATE, c] = x[PHI_DOT] + d[ROLL_GYRO]
                    shown[i, SHOWN_STEER, c] = x[DELTA]
                    shown[i, SHOWN_YAW_RATE, c] = row[3] + d[YAW_GYRO]
                if i == n - 1:
                    break
                for a in range(m):
                    y[a] = 0.0
                    for b in range(m):
                        ab = F[here, a, b] + change[a, b] * off[i]
                        if share != 0.0:
                            ab += share * (F[after, a, b] - F[here, a, b])
                        y[a] += ab * x[b]
                    for b in range(N_INSTRUMENTS):
                        y[a] += readings[here, a, b] * d[b]
                for a in range(len(STATES)):
                    y[a] += forced[here, 0, a, 0] * first[0] + forced[here, 0, a, 1] * first[1]
                pitch = _beyond(y, rows, here, after, share, extra, V[i], V_dot[i], pitch, torque, steer, packed,
                                place, curved, dead_band, row, second, d)  # fmt: skip
                if not np.isfinite(second[0] + second[1]):
                    break
                for a in range(len(STATES)):
                    for b in range(2):
                        y[a] += forced[here, 1, a, b] * (second[b] - first[b])
                if coulomb > 0.0:
                    _rub(y, forced[here, 0], steer[here], coulomb)
                x[:] = y
            if not np.isfinite(first[0] + first[1] + second[0] + second[1]):
                break
    return shown


@compiled
def _beyond(
    x, rows, here, after, share, more, V, V_dot, pitch, torque, steer, packed, place, curved, dead_band, row, r, d
):
    """Fill accelerations ``r`` (2,) and readings ``d`` (4,) beyond the linear ones ``row`` (4,); returns the pitch.

    Parameters
    ----------
    x : (m,) array
        Whole state.
    rows, steer, torque, packed, place
        As of `WindowMachine`.
    here, after, share
        Speeds' nodes and the share of the second.
    more : (3, 2, 2) array
        Mass, damping and stiffness beyond the bicycle's own.
    V, V_dot : float
        Speed [m/s] and its rate [m/s^2].
    pitch : float
        rad, a guess.
    curved : bool
        The bicycle is nonlinear.
    dead_band : float
        Of the drive [N m].
    row, r, d : arrays
        Written.
    """
    m = len(x)
    for a in range(4):
        row[a] = 0.0
        for b in range(m):
            row[a] += (rows[here, a, b] + share * (rows[after, a, b] - rows[here, a, b])) * x[b]
    T, lost = 0.0, 0.0
    for b in range(m):
        T += torque[b] * x[b]
    if dead_band > 0.0:
        lost = min(max(T, -dead_band), dead_band)
    d[:] = 0.0
    if not curved:
        r[0], r[1] = -steer[here, 0] * lost, -steer[here, 1] * lost
        return pitch
    state = (x[PHI], x[DELTA], x[PHI_DOT], x[DELTA_DOT])
    phi_ddot, delta_ddot, roll, yaw, lateral, pitch, fits = kept_speed_accelerations(
        packed, place[0], place[1], place[2], more, state, pitch, V, V_dot, T - lost
    )
    r[0], r[1] = phi_ddot - row[0], delta_ddot - row[1]
    d[ROLL_GYRO], d[YAW_GYRO], d[LATERAL_FORCE] = roll - x[PHI_DOT], yaw - row[3], lateral - row[2]
    if not fits:
        r[0] = np.nan
    return pitch


@compiled
def _rub(y, forced, steer, coulomb):
    """Let dry friction act over the step that ends in the state ``y``, changed in place."""
    per_torque = forced[DELTA_DOT, 0] * steer[0] + forced[DELTA_DOT, 1] * steer[1]
    rub = min(max(-y[DELTA_DOT] / per_torque, -coulomb), coulomb)
    for a in range(len(STATES)):
        y[a] += rub * (forced[a, 0] * steer[0] + forced[a, 1] * steer[1])
