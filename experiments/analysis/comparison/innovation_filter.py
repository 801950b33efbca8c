"""Residual of a window for estimating random torques.

It compares lean rate and steer with any free motion of the model. The rows of a window, averaged, less theory's motion
from the best start, have the covariance S0 + sum_ij Gamma_ij K_ij: S0 from the noise of the readings and the motion
that feedback makes of it, K_ij from unit torques on lean and steer (`riderless.experiments.theory.process_noise`). They
are whitened by S0, and everything that another start or offset would explain is projected out. What another machine
would explain is kept beside them, to be projected out over all windows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from riderless.experiments.analysis.comparison.noise_covariance import loop_noise
from riderless.experiments.analysis.identification.initial_state import (
    InitialState,
    estimate_initial_state,
    machine_in,
    nonlinear_initial_state,
)
from riderless.experiments.analysis.windows.cut import measured_speed
from riderless.experiments.datatypes import Comparison, Dynamics, ProcessNoise, Response, Window
from riderless.experiments.theory.free_response import free_response
from riderless.experiments.theory.kalman import settled_root
from riderless.experiments.theory.process_noise import TORQUES, impulse_responses, torque_rows
from riderless.models.array_types import Array
from riderless.models.noise_statistics import white_noise_variance

ROW_TIME = 0.04  # s over which samples are averaged: a weave of 10 rad/s turns by two fifths of a radian
SHARED_SPEED_STEP = 0.05  # m/s: windows of speeds that are nearer share what other machines, noises and torques do
TORQUE_TIMES = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0)  # s over which torques may forget themselves
CERTAINTY = 1e-14  # of the mean variance, added to every row's: an encoder in its dead band shows no noise
DEPENDENT = 1e-9  # of the largest singular value: columns that add nothing
LEAST_SHARE = 1e-6  # of the direction that torques move most: less is left to the readings' noise


@dataclass(frozen=True)
class Stretch:
    """Readings of a window in directions, of variance 1 without random torques.

    Attributes
    ----------
    columns : (r, 1 + q)
        What is left of the measurement, and what each of q changes of the machine moves it by, in the directions that
        torques move.
    torques : (T, 3, r, r)
        Covariances by lean torque, steer torque and the two together, of unit size, for each of `TORQUE_TIMES`.
    rest : (1 + q, 1 + q)
        Products of those columns in all other directions.
    """

    columns: Array
    torques: Array
    rest: Array


class OtherMachines:
    """Free motions of a recording by machines that are a little other, kept for windows of one speed.

    What noises and torques do at that speed is kept beside them.
    """

    def __init__(self, dynamics: Dynamics, others: Sequence[Dynamics], dt: float) -> None:
        """Compare dynamics with q others, in averages of samples every ``dt`` [s]."""
        self.dynamics = dynamics
        self._all = (dynamics, *others)
        self._dt = dt
        self._kept: dict[tuple[float, float], Array] = {}
        self._driven: dict[tuple[float, int], tuple[Array, list[Array]]] = {}

    def changes(self, window: Window, x: Array, k: int) -> Array:
        """Changes (n, 2, q) of lean rate and steer of a window that began with a start x (s,), in means of k rows."""
        first, last = (_shared_speed(v) for v in (window.v_start, window.v_end))
        n = (window.stop - window.start) // k
        changes = self._kept.get((first, last))
        if changes is None or len(changes) < n:
            v = np.linspace(first, last, window.stop - window.start)
            motions = [
                _averaged(_motions(machine, free_response(machine, v, self._dt), window.v_mean), k)
                for machine in self._all
            ]
            changes = self._kept[first, last] = np.stack([motion - motions[0] for motion in motions[1:]], axis=2)
        return np.asarray(changes[:n] @ x)

    def driven(self, response: Response, v: float, k: int, n: int) -> tuple[Array, list[Array]]:
        """Covariance (2 n, 2 n) of readings in means of k rows, and roots (2 n, m) of what unit torques add to it.

        The roots are of lean and steer torque for each of `TORQUE_TIMES`. What n rows show is the beginning of what
        more rows would.

        Parameters
        ----------
        response : Response
            For the noise of its readings, where theory knows none.
        v : float
            Mean speed of the window [m/s].
        k : int
            Rows of the recording in a mean.
        n : int
            Means.
        """
        v = _shared_speed(v)
        known = self._driven.get((v, k))
        if known is None or len(known[0]) < 2 * n:
            covariance = _reading_covariance(response, self.dynamics, v, k, n)
            roots = [root for time in TORQUE_TIMES for root in _torque_roots(self.dynamics, time, v, k * self._dt, n)]
            known = self._driven[v, k] = covariance, roots
        return known[0][: 2 * n, : 2 * n], [root[: 2 * n] for root in known[1]]


def make_stretch(c: Comparison, others: OtherMachines) -> Stretch:
    """Make the stretch of a window, beside what other machines would make of its motion.

    Parameters
    ----------
    c : Comparison
        Of a window with lean rate and steer in SI.
    others : OtherMachines
        Of its recording.
    """
    dynamics, segment, window = others.dynamics, c.segment, c.window
    k = max(1, round(ROW_TIME / segment.dt))
    linear = estimate_initial_state(segment, dynamics)
    v, misread = measured_speed(segment)
    motions = _averaged(_motions(dynamics, free_response(dynamics, v, segment.dt, misread), window.v_mean), k)
    n, readings, starts = motions.shape
    moved = others.changes(window, linear.x, k).reshape(n * readings, -1)
    y = _left(c, dynamics, linear, k)
    offsets = np.tile(np.eye(readings), (n, 1))
    own = np.column_stack([motions.reshape(n * readings, starts), offsets])
    S0, torque_roots = others.driven(segment.response, window.v_mean, k, n)
    factor = np.linalg.cholesky(S0 + CERTAINTY * np.trace(S0) / len(S0) * np.eye(len(S0)))
    projection = _complement(_whiten(factor, own))
    columns = projection @ _whiten(factor, np.column_stack([y.ravel(), moved]))
    roots = [projection @ _whiten(factor, root) for root in torque_roots]
    sizes, vectors = np.linalg.eigh(sum(root @ root.T / np.sum(root**2) for root in roots))
    felt = sizes > LEAST_SHARE * sizes[-1]
    directions, others_columns = vectors[:, felt].T, vectors[:, ~felt].T @ columns
    both = zip(roots[::TORQUES], roots[1::TORQUES], strict=True)
    pairs = [(directions @ lean, directions @ steer) for lean, steer in both]
    torques = [(a @ a.T, b @ b.T, a @ b.T + b @ a.T) for a, b in pairs]
    return Stretch(directions @ columns, np.array(torques), others_columns.T @ others_columns)


def _shared_speed(v: float) -> float:
    """Speed [m/s] that stands for those near it."""
    return SHARED_SPEED_STEP * round(v / SHARED_SPEED_STEP)


def _left(c: Comparison, dynamics: Dynamics, linear: InitialState, k: int) -> Array:
    """Lean rate and steer (n, 2) less the motion that explains the window best, averaged."""
    segment, start = c.segment, linear
    if c.prediction.nonlinear:
        start = nonlinear_initial_state(segment, machine_in(segment, dynamics), linear) or linear
    assert segment.delta is not None
    return _averaged(np.stack([segment.phi_dot - start.lean_rate, segment.delta - start.steer], 1), k)


def _motions(dynamics: Dynamics, states: Array, v: float) -> Array:
    """Lean rate and steer (n, 2, s) in states (n, m, s) at a mean speed [m/s]."""
    lean_rate = np.einsum("m,nms->ns", dynamics.lean_rate_read(v), states)
    return np.stack([lean_rate, states[:, dynamics.states.index("delta")]], axis=1)


def _averaged(y: Array, k: int) -> Array:
    """Means of k rows each; what is left over at the end is left out."""
    n = len(y) // k
    return np.asarray(y[: n * k].reshape(n, k, *y.shape[1:]).mean(axis=1))


def _reading_covariance(response: Response, dynamics: Dynamics, v: float, k: int, n: int) -> Array:
    """Covariance (2 n, 2 n) of averaged readings from their noise, and from the motion that feedback makes of it.

    Where no theory of the noise is known it is white, as third differences show it.
    """
    if dynamics.noise is None or dynamics.dt is None:
        assert response.delta is not None
        return np.diag(np.tile([white_noise_variance(y) / k for y in (response.phi_dot, response.delta)], n))
    loop = loop_noise(dynamics, v, k * response.dt)
    root = _root(*impulse_responses(loop, settled_root(loop), n))
    return np.asarray(root @ root.T)


def _torque_roots(dynamics: Dynamics, time: float, v: float, dt: float, n: int) -> list[Array]:
    """Roots (2 n, n + 1) of the covariances by a unit torque on the lean, and on the steer."""
    impulses, before = impulse_responses(*torque_rows(dynamics, ProcessNoise(np.eye(TORQUES), time), v, dt), n)
    return [_root(impulses[..., i : i + 1], before[..., i : i + 1]) for i in range(TORQUES)]


def _root(impulses: Array, before: Array) -> Array:
    """Root (c n, e n + b) of a covariance of n rows from what each noise (n, c, e) and each start (n, c, b) shows."""
    n, c, e = impulses.shape
    padded = np.concatenate([np.zeros((n - 1, c, e)), impulses])
    later = np.arange(n)[:, None] - np.arange(n)  # rows since each noise
    driven = padded[n - 1 + later].transpose(0, 2, 1, 3).reshape(c * n, n * e)
    return np.hstack([driven, before.reshape(c * n, -1)])


def _whiten(factor: Array, columns: Array) -> Array:
    """Columns in units of a noise with this Cholesky factor."""
    return np.asarray(solve_triangular(factor, columns, lower=True))


def _complement(columns: Array) -> Array:
    """Orthonormal rows that span what is orthogonal to some columns."""
    u, sizes, _ = np.linalg.svd(columns / np.maximum(np.linalg.norm(columns, axis=0), np.finfo(float).tiny))
    return np.asarray(u[:, int(np.sum(sizes > DEPENDENT * sizes[0])) :].T)
