"""Nonlinear free response of a machine.

In one window: nonlinear bicycle, friction, losses of a drive. The machine is that of a theory's linear dynamics, with
its drive, delay, hold, observer and gains, at a speed that may change. To the linear map over one step is added what
the machine does beyond it:

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

from riderless.experiments.datatypes import Dynamics
from riderless.experiments.dynamics import Mechanics
from riderless.experiments.theory.free_response import (
    map_change_by_misread,
    mean_acceleration,
    speed_nodes,
    starts_at,
    step_maps,
)
from riderless.experiments.theory.kalman import row_noise, settled_root
from riderless.experiments.theory.machine_steps import (
    LATERAL_FORCE,
    N_INSTRUMENTS,
    SHOWN_LEAN_RATE,
    SHOWN_STEER,
    SHOWN_YAW_RATE,
    MachineTables,
    Nonlinearities,
    simulate_machine,
)
from riderless.hil.design.loop_parts.instruments import yaw_rate
from riderless.models.array_types import Array
from riderless.models.coordinates import DELTA, STATES
from riderless.models.errors import InputError
from riderless.models.linear.perturbed import Variant
from riderless.models.nonlinear.parameters import pack_bicycle

LEAST_KEPT = 1e-6
LONGEST_RESPONSE_STEP = 0.005  # s; of a weave of 10 rad/s the third harmonic turns by 0.15 rad in it


class WindowMotion(NamedTuple):
    """Motions of a machine in a window, one column for each start; nan from where a bicycle has fallen over."""

    phi_dot: Array  # (n, c) rad/s, as the roll gyro shows it
    delta: Array  # (n, c) rad
    psi_dot: Array  # (n, c) rad/s, as the yaw gyro shows it


class Shaking(NamedTuple):
    """Changes of the whole states of c motions by noise."""

    before: Array  # (m, c) what earlier noise left where the window begins
    steps: Array  # (n steps, m, c) over each step


@dataclass(frozen=True)
class WindowMachine:
    """Machine of a theory, made ready for the speeds of one window; `simulate` as often as wanted."""

    tables: MachineTables
    nonlinearities: Nonlinearities
    embed: Array  # (m, 4 + k)
    rest: Array  # (m,) where the machine is at rest under the offset of its drive
    gyros: Array  # (2, 2) roll and yaw rate as they are read

    def simulate(self, starts: Array, shaking: Shaking | None = None) -> WindowMotion:
        """Simulate the motions from starts (4 + k, c): lean, steer [rad], their rates [rad/s], hidden starts.

        Parameters
        ----------
        starts : (4 + k, c) array
        shaking : Shaking, optional
            Without it there is no noise.
        """
        whole = self.embed @ starts + self.rest[:, np.newaxis]
        shaken = np.zeros((0, *whole.shape)) if shaking is None else shaking.steps
        begin = whole if shaking is None else whole + shaking.before
        shown = simulate_machine(begin, self.tables, self.nonlinearities, shaken)
        roll, yaw = np.einsum("ab,nbc->anc", self.gyros, shown[:, [SHOWN_LEAN_RATE, SHOWN_YAW_RATE]])
        return WindowMotion(roll, shown[:, SHOWN_STEER], yaw)


def nonlinear_response(
    dynamics: Dynamics,
    v: Array,
    dt: float,
    start: Sequence[float] | Array,
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
    return window_machine(dynamics, v, dt, nonlinearities=nonlinearities).simulate(columns)


def window_machine(
    dynamics: Dynamics,
    v: Array,
    dt: float,
    misread: Array | None = None,
    nonlinearities: Nonlinearities = Nonlinearities(),
) -> WindowMachine:
    """Make a machine ready for the speeds of a window; other arguments and errors as of `nonlinear_response`.

    Parameters
    ----------
    dynamics : Dynamics
    v : (n,) array
    dt : float
    misread : (n,) array, optional
        Speed the controller went by, minus ``v`` [m/s].
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
    bends = nonlinearities.bicycle  # whose accelerations have those of a speed that changes on a floor
    F, below, weight = step_maps(dynamics, at, step, mean_acceleration(v, dt), bends=bends)
    nodes = speed_nodes(at)
    torque = np.zeros(m) if mechanics.torque is None else mechanics.torque
    parts = [_at_speed(mechanics, float(node), torque, step) for node in nodes]
    rows, forced, more, steer = map(np.array, zip(*parts, strict=True))
    reached = mechanics.readings or (lambda node: np.zeros((m, N_INSTRUMENTS)))
    middle = float(0.5 * (v.min() + v.max()))
    scale = mechanics.speed_scale
    tables = MachineTables(
        F=F,
        left=below,
        weight=weight,
        change=np.zeros((m, m)) if misread is None else map_change_by_misread(dynamics, middle, step),
        off=np.zeros(len(v)) if misread is None else np.asarray(misread, float),
        v=scale * at,
        v_dot=0.0 * at if dynamics.on_belt else scale * np.gradient(v, dt),
        per_sample=round(dt / step),
        rows=rows,
        readings=np.array([reached(float(node)) for node in nodes]),
        forced=forced,
        more=more,
        steer=steer,
        felt=np.array([linear[2] @ torque for linear in rows]) / max(float(torque @ torque), np.finfo(float).tiny),
        torque=np.ascontiguousarray(torque, float),
        keeps=_kept_torque(F[0], torque),
        packed=pack_bicycle(mechanics.bicycle),
        place=(mechanics.bicycle.lam, mechanics.x_imu, mechanics.z_imu),
    )
    rest = _rest(F[0], forced[0][0] @ steer[0], nonlinearities)
    return WindowMachine(tables, nonlinearities, starts_at(dynamics, v), rest, mechanics.gyros)


def _at_speed(mechanics: Mechanics, v: float, torque: Array, step: float) -> tuple[Array, Array, Array, Array]:
    """Linear parts of a machine at a speed: rates and force, a forced step, M, C and K beyond the bicycle's, the steer.

    Parameters
    ----------
    mechanics : Mechanics
    v : float
        Speed [m/s].
    torque : (m,) array
        Torque of the drive, of the state.
    step : float
        s.
    """
    bicycle, scale = mechanics.bicycle, mechanics.speed_scale
    mass, damping, stiffness = mechanics.matrices(v)
    inverse = np.linalg.inv(mass)
    A = np.zeros((4, 4))
    A[:2, 2:], A[2:, :2], A[2:, 2:] = np.eye(2), -inverse @ stiffness, -inverse @ damping
    linear: Array = np.zeros((4, len(torque)))
    linear[:2, :4] = A[2:]
    linear[:2] += np.outer(inverse[:, 1], torque)
    linear[3, :4] = yaw_rate(Variant(bicycle, speed_scale=scale), v)
    if mechanics.instruments is not None:
        linear[2] = mechanics.instruments(v)[LATERAL_FORCE]
    more = np.array([mass, damping, stiffness]) - Variant(bicycle).matrices(scale * v)
    return linear, _forced(A, step), more, np.asarray(inverse[:, 1], float)


def _kept_torque(F: Array, torque: Array) -> float:
    """Share of the drive's torque (m,) that is left after a step of a lag; 0 where the torque is no state with one."""
    own = np.flatnonzero(torque)
    kept = float(F[own[0], own[0]]) if len(own) == 1 else 0.0
    return kept if LEAST_KEPT < kept < 1.0 else 0.0


def _rest(F: Array, forced: Array, nonlinearities: Nonlinearities) -> Array:
    """State (m,) in which the machine is at rest under what its dead band leaves of an offset; 0 where it leaves none.

    Parameters
    ----------
    F : (m, m) array
        Map over one step.
    forced : (4,) array
        Bicycle's states after one step per torque on the steer [N m].
    nonlinearities : Nonlinearities
    """
    offset = nonlinearities.offset - np.clip(nonlinearities.offset, -nonlinearities.dead_band, nonlinearities.dead_band)
    if offset == 0.0:
        return np.zeros(len(F))
    after = np.concatenate([forced, np.zeros(len(F) - len(STATES))])
    return np.asarray(np.linalg.lstsq(np.eye(len(F)) - F, offset * after, rcond=1e-10)[0])


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


# Motions of a machine whose drive has losses, with its sensors' noise: many at once, by chance of a fixed seed.
#
# Noise does not go through dead band, hysteresis and friction as through linear equations: it dithers them, so that a
# motion with noise is, on average, not the motion without it, and feedback makes another motion of it.


PAIRS = 64  # of motions, one with a noise and one with minus that: what is in proportion to it has mean zero
NOISE_SEED = 20261123  # the same chance for each window and bicycle, so that results differ by what differs


def noise_effects(dynamics: Dynamics, machine: WindowMachine, v: float, dt: float, start: Array) -> WindowMotion:
    """Simulate what noise changes in readings (n, 2 `PAIRS`) of one motion; nan from where a bicycle has fallen over.

    The yaw rate is left as it is without the gyro's own noise.

    Parameters
    ----------
    dynamics : Dynamics
        Sampled, with the noise of its sensors.
    machine : WindowMachine
        Of the dynamics.
    v : float
        Mean speed of the window [m/s].
    dt : float
        Sampling interval of the recording [s].
    start : (4 + k,) array
        Of the motion without noise.
    """
    assert dynamics.noise is not None
    assert dynamics.dt is not None
    noise, n = dynamics.noise(v), len(machine.tables.v)
    e = noise.shape[1]
    steer = np.eye(len(dynamics.states))[DELTA]
    before = settled_root(row_noise(dynamics, {"phi_dot": dynamics.lean_rate_read(v), "delta": steer}, v, dt))
    chance = np.random.default_rng(NOISE_SEED)
    within = _both_ways(chance.standard_normal((n * machine.tables.per_sample, e, PAIRS)))
    earlier = _both_ways(chance.standard_normal((before.shape[1], PAIRS)))
    shaking = Shaking(before @ earlier, np.ascontiguousarray(noise @ within))
    noisy = machine.simulate(np.repeat(start[:, np.newaxis], 2 * PAIRS, axis=1), shaking)
    still = machine.simulate(start[:, np.newaxis])
    read = within[:: machine.tables.per_sample]
    shown = [noisy.phi_dot - still.phi_dot, noisy.delta - still.delta]
    for name, signal in zip(("phi_dot", "delta"), shown, strict=True):
        if name in dynamics.reading:
            signal += np.einsum("e,nec->nc", dynamics.reading[name], read)
    return WindowMotion(shown[0], shown[1], noisy.psi_dot - still.psi_dot)


def _both_ways(drawn: Array) -> Array:
    """Noise (..., c), and minus the same beside it."""
    return np.concatenate([drawn, -drawn], axis=-1)
