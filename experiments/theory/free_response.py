"""Free response of a theory.

From unit initial states, through a speed that may change.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import expm

from riderless.experiments.datatypes import OURS, Response, Theory
from riderless.experiments.dynamics import Dynamics
from riderless.firmware_interface.kernels import njit
from riderless.models.array_types import Array
from riderless.models.coordinates import DELTA, PHI, STATES
from riderless.models.errors import InputError
from riderless.models.linear.zero_order_hold import zoh

MAP_SPEED_STEP = 0.02  # m/s between computed maps; linear between them (error of an eigenvalue < 1e-4 1/s)
STEADY = 0.01  # m/s^2: a slower change of speed moves an eigenvalue by less than 0.01 1/s
ONE_SPEED = 1e-6  # m/s: speeds that differ by less are one
DT_TOLERANCE = 0.01  # of a sampling interval: crystals differ by far less, wrong rates by far more

N_BICYCLE_STARTS = len(STATES)
BICYCLE_STARTS = slice(N_BICYCLE_STARTS)  # columns that start as unit states of the bicycle; hidden starts follow


def free_response(dynamics: Dynamics, v: Array, dt: float, misread: Array | None = None) -> Array:
    """Simulate the whole state that follows from each unit state of the bicycle, at the speeds ``v``.

    Parameters
    ----------
    dynamics : Dynamics
    v : (n,) array
        Speed at each sample [m/s].
    dt : float
        Sampling interval [s]; for sampled dynamics a whole multiple of theirs.
    misread : (n,) array, optional
        Speed the controller went by, minus ``v`` [m/s]; a noisy wheel makes noise of gains.

    Returns
    -------
    (n, m, 4 + k) array
        Column j started as unit j of (phi, delta, phi_dot, delta_dot); then the k hidden starts.

    Raises
    ------
    InputError
        If the sampling interval does not fit the dynamics.
    """
    return free_responses([dynamics], v, dt, misread)[0]


def simulate_free_response(
    theory: Theory,
    v: float | Array = 5.0,
    start: Sequence[float] = (0.0, 0.0, 0.5, 0.0),
    duration: float = 4.0,
    dt: float = 0.005,
) -> Response:
    """Simulate the free response of a theory as a recording without noise, ready to be cut, fitted and compared.

    Parameters
    ----------
    theory : Theory
    v : float or (n,) array
        Speed [m/s]; one for all samples, or that of each.
    start : (4,)
        Initial state phi, delta, phi_dot, delta_dot [rad, rad/s].
    duration : float
        Time from the first to the last sample [s]; not used where ``v`` is an array.
    dt : float
        Sampling interval [s]; for sampled dynamics a whole multiple of theirs.

    Raises
    ------
    InputError
        If the sampling interval does not fit the dynamics.
    """
    dynamics = theory.dynamics()
    speeds = np.full(round(duration / dt) + 1, v) if np.ndim(v) == 0 else np.asarray(v, float)
    states = free_response(dynamics, speeds, dt)[..., BICYCLE_STARTS] @ np.asarray(start, float)
    return Response(
        source=f"theory of {theory.bicycle.name}",
        kind=OURS,
        t=dt * np.arange(len(speeds), dtype=np.float64),
        phi_dot=states @ dynamics.lean_rate_read(float(speeds.mean())),
        v=speeds,
        phi=states[:, PHI],
        delta=states[:, DELTA],
        bicycle=theory.bicycle,
        theory=replace(theory, linear=True),  # of this motion
        label=f"{theory.bicycle.name} {theory.name}",
    )


def free_responses(several: Sequence[Dynamics], v: Array, dt: float, misread: Array | None = None) -> Array:
    """`free_response` of q dynamics at once, (q, n, m, 4 + k).

    Parameters
    ----------
    several : sequence of Dynamics
        All continuous or all sampled, with the same hidden starts.
    v : (n,) array
        Speed at each sample [m/s].
    dt : float
        Sampling interval [s].
    misread : (n,) array, optional
        Speed the controller went by, minus ``v`` [m/s].
    """
    # A continuous system takes each step at the speed in its middle; a sampled loop at the speed it read.
    at = v if several[0].dt is not None else np.append(0.5 * (v[1:] + v[:-1]), v[-1])
    m = max(len(machine.states) for machine in several)
    off = np.zeros(len(v)) if misread is None else misread
    acceleration = mean_acceleration(v, dt)
    states = []
    for machine in several:
        X = starts_at(machine, v)
        F, below, weight = step_maps(machine, at, dt, acceleration, heading=True)
        change = (
            np.zeros((len(X), len(X)))
            if misread is None
            else map_change_by_misread(machine, float(0.5 * (v.min() + v.max())), dt)
        )
        rows = len(F[0]) - len(X)  # the heading's, where it acts; a window begins along the belt
        X0, change, still = np.pad(X, ((0, rows), (0, 0))), np.pad(change, (0, rows)), np.zeros((0, len(F[0])))
        motion = propagate(F, below, weight, X0, change, off, still)[:, : len(X)]
        states.append(np.pad(motion, ((0, 0), (0, m - len(X)), (0, 0))) if len(X) < m else motion)
    return states[0][None] if len(states) == 1 else np.array(states)


def step_maps(
    dynamics: Dynamics, v: Array, dt: float, acceleration: float = 0.0, heading: bool = False, bends: bool = False
) -> tuple[Array, Array, Array]:
    """Transition matrices over ``dt`` seconds at a few speeds, and the place of each speed ``v`` (n,) among them.

    Parameters
    ----------
    dynamics : Dynamics
    v : (n,) array
        m/s.
    dt : float
        s.
    acceleration : float
        m/s^2, mean rate of the speed, as of `mean_acceleration`.
    heading : bool
        With the heading as one more state, where it acts on the others.
    bends : bool
        The terms of a floor's acceleration are left to the nonlinear bicycle.

    Returns
    -------
    maps : (k, m, m)
    below : (n,) int
        The node below each speed.
    weight : (n,)
        The share of the next one; 0 where there is one node only.
    """
    nodes = speed_nodes(v)
    matrices = np.array([dynamics.matrix(float(node)) for node in nodes])
    shared = max(round(float(v.mean()), 1), 0.1)  # what follows hardly depends on the speed, which windows can share
    if acceleration and dynamics.by_acceleration is not None and (dynamics.on_belt or not bends):
        matrices += acceleration * dynamics.by_acceleration(shared)
    if acceleration and dynamics.by_retarding is not None:
        matrices += dynamics.by_retarding(shared, acceleration)
    if heading and dynamics.heading is not None:
        acting = np.array([dynamics.heading(float(node), acceleration) for node in nodes])
        matrices = _with_heading(matrices, acting * (dynamics.dt or 1.0), dynamics.dt is not None)
    if dynamics.dt is None:
        at_nodes = expm(matrices * dt)
    else:
        ratio = dt / dynamics.dt
        steps = round(ratio)
        if steps < 1 or abs(ratio - steps) > DT_TOLERANCE * steps:
            raise InputError(
                f"wanted a recording sampled at a whole multiple of the loop's {dynamics.dt * 1e3:g} ms, "
                f"found {dt * 1e3:g} ms; give the log as it was recorded."
            )
        at_nodes = np.linalg.matrix_power(matrices, steps)
    below, weight = _among(nodes, v)
    return at_nodes, below, weight


def _with_heading(matrices: Array, acting: Array, sampled: bool) -> Array:
    """Matrices (k, m + 1, m + 1) with a heading, of a sampled loop to first order in its step.

    Parameters
    ----------
    matrices : (k, m, m) array
    acting : (k, 2, m) array
        What a heading does to the states, and they to it.
    sampled : bool
    """
    if not acting[:, 0].any():
        return matrices
    k, m, _ = matrices.shape
    bordered = np.zeros((k, m + 1, m + 1))
    bordered[:, :m, :m], bordered[:, :m, m], bordered[:, m, :m] = matrices, acting[:, 0], acting[:, 1]
    bordered[:, m, m] = float(sampled)
    return bordered


def speed_nodes(v: Array) -> Array:
    """Speeds (k,) about the speeds ``v`` (n,) whose maps are computed: round ones, so that windows share them.

    Of one speed all the time, that.
    """
    least, most = float(v.min()), float(v.max())
    if most - least <= ONE_SPEED:
        return v[:1]
    first, last = np.floor(least / MAP_SPEED_STEP), np.ceil(most / MAP_SPEED_STEP)
    nodes = MAP_SPEED_STEP * np.arange(first, last + 1.0)
    nodes[0] = max(nodes[0], min(least, MAP_SPEED_STEP))  # at rest a controller has no gains
    return nodes


def starts_at(dynamics: Dynamics, v: Array) -> Array:
    """Whole states (m, 4 + k) in which a motion at the speeds ``v`` (n,) may start, as `Dynamics.starts` has them."""
    nodes = speed_nodes(v)
    (below,), (weight,) = _among(nodes, v[:1])
    here = dynamics.starts(float(nodes[below]))
    return here if weight == 0.0 else here + weight * (dynamics.starts(float(nodes[below + 1])) - here)


def _among(nodes: Array, v: Array) -> tuple[Array, Array]:
    """Node below each speed ``v`` (n,), and the share of the next one; 0 where there is one node only."""
    if len(nodes) == 1:
        return np.zeros(len(v), dtype=int), np.zeros(len(v))
    below: Array = np.clip(np.searchsorted(nodes, v, side="right") - 1, 0, len(nodes) - 2)
    return below, (v - nodes[below]) / (nodes[below + 1] - nodes[below])


def mean_acceleration(v: Array, dt: float) -> float:
    """Mean rate [m/s^2] of the speeds ``v`` (n,), ``dt`` seconds apart; 0 where it is as good as none."""
    rate = float(v[-1] - v[0]) / (dt * max(len(v) - 1, 1))
    return rate if abs(rate) > STEADY else 0.0


def map_change_by_misread(dynamics: Dynamics, v: float, dt: float) -> Array:
    """Derivative (m, m) of the transition matrix over ``dt`` s by the error of the speed that the controller reads.

    Per m/s, at the speed ``v`` [m/s]. The effect is small, so it is taken at a speed nearby that windows can share.
    """
    if dynamics.misread is None or dynamics.dt is None:
        return np.zeros((len(dynamics.states),) * 2)
    v = max(round(v, 1), 0.1)
    M, steps = dynamics.matrix(v), round(dt / dynamics.dt)
    slower, other = np.linalg.matrix_power(np.array([M, M + MAP_SPEED_STEP * dynamics.misread(v)]), steps)
    return np.asarray((other - slower) / MAP_SPEED_STEP)


@njit(cache=True, nogil=True)
def propagate(F: Array, below: Array, weight: Array, X: Array, change: Array, off: Array, pushes: Array) -> Array:
    """Propagate initial states through the transition matrices of `step_maps`; (n, m, c).

    Parameters
    ----------
    F : (k, m, m)
        Transition matrices at the speeds of the nodes.
    below : (n,) int
        Node below the speed of each sample.
    weight : (n,)
        Share of the next node.
    X : (m, c)
        Initial states, which are the first of those returned.
    change : (m, m)
        Derivative of the transition matrix by the speed misread, per m/s.
    off : (n,)
        Speed misread [m/s].
    pushes : (n, m)
        What known inputs add to every column over each step; of no rows where there are none.
    """
    m, columns = X.shape
    states = np.empty((len(below), m, columns))
    states[0] = X
    step = np.empty((m, m))
    for i in range(len(below) - 1):
        here, share = below[i], weight[i]
        for a in range(m):
            for b in range(m):
                step[a, b] = F[here, a, b] + change[a, b] * off[i]
                if share != 0.0:
                    step[a, b] += share * (F[here + 1, a, b] - F[here, a, b])
        np.dot(step, states[i], states[i + 1])
        if len(pushes) > 0:
            for a in range(m):
                for c in range(columns):
                    states[i + 1, a, c] += pushes[i, a]
    return states


def propagate_evenly(F: Array, X: Array, n: int, pushes: Array | None = None) -> Array:
    """`propagate` at one speed.

    Parameters
    ----------
    F : (m, m)
        Map over a row.
    X : (m, c)
        Initial states.
    n : int
        Rows.
    pushes : (n, m), optional
        What known inputs add to every column over each row.
    """
    m, still = len(F), np.zeros(n)
    pushes = np.zeros((0, m)) if pushes is None else pushes
    return propagate(np.ascontiguousarray(F)[None], np.zeros(n, int), still, X, np.zeros((m, m)), still, pushes)


# Forced response of a theory: the motion from rest under known torques.


class RowMap(NamedTuple):
    """Motion from row to row of a recording at one speed, and what torques do that are held over a row."""

    F: Array  # (m, m)
    on_steer: Array  # (m,) per N m on the steer axis
    commanded: Array | None  # (m,) per unit added to the command of a sampled loop; None of continuous dynamics


def row_map(dynamics: Dynamics, v: float, dt: float) -> RowMap:
    """Map over a row of ``dt`` seconds at speed ``v`` [m/s]; of sampled dynamics that is a whole multiple of theirs.

    Raises
    ------
    InputError
        The dynamics know no torque on the steer axis.
    """
    if dynamics.steer_torque is None:
        raise InputError(f"the theory {dynamics.name} says nothing of a known torque on the steer axis")
    if dynamics.dt is None:
        F, B = zoh(dynamics.matrix(v), dynamics.steer_torque(v)[:, np.newaxis], dt)
        return RowMap(F, B[:, 0], None)
    F, n = dynamics.matrix(v), max(round(dt / dynamics.dt), 1)
    held = sum((np.linalg.matrix_power(F, i) for i in range(n)), np.zeros_like(F))
    commanded = None if dynamics.command is None else held @ dynamics.command(v)
    return RowMap(np.linalg.matrix_power(F, n), held @ dynamics.steer_torque(v), commanded)


def forced_response(row: RowMap, on_steer: Array, commanded: Array | None = None) -> Array:
    """Simulate the states (n, m) from rest under torques (n,), on the steer axis [N m] and added to the command."""
    pushes = np.outer(on_steer, row.on_steer)
    if commanded is not None:
        assert row.commanded is not None
        pushes += np.outer(commanded, row.commanded)
    return propagate_evenly(row.F, np.zeros((len(row.F), 1)), len(pushes), pushes)[..., 0]
