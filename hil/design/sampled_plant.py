"""Sampled design model of bicycle and drive.

Bicycle, drive lag and one sample of computation delay, exactly sampled. State of the sampled loop, always in this order
(a schedule always has these six gains):

=============  =======  ==================================================================
``phi``        rad      the bicycle's four states, as in ``riderless.models.coordinates``
``delta``      rad
``phi_dot``    rad/s
``delta_dot``  rad/s
``T_drive``    N m      torque the drive makes now: dT/dt = (u - T) / drive_lag
``u_prev``     N m      command computed in the previous tick, which the drive follows now
=============  =======  ==================================================================
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from riderless.hil.controllers.timing import LoopTiming as LoopTiming
from riderless.models.array_types import Array
from riderless.models.coordinates import STATES as BICYCLE_STATES
from riderless.models.coordinates import T_DELTA
from riderless.models.errors import InputError
from riderless.models.linear.whipple import input_matrix, one_speed, system_matrix
from riderless.models.linear.zero_order_hold import zoh
from riderless.models.parameters import Bicycle

LOOP_STATES = (*BICYCLE_STATES, "T_drive", "u_prev")
LANE_GAIN_STATES = (*LOOP_STATES, "psi", "y_P")  # of gains that keep a lane: heading [rad] and place [m] come last
T_DRIVE, U_PREV = 4, 5
BICYCLE_PART = slice(0, T_DRIVE)  # of this state and of a schedule's gains: the bicycle's four states
DRIVE_PART = slice(T_DRIVE, len(LOOP_STATES))  # and the rest: torque of the drive and previous command

Z_ROUNDING = 1e-9
"""An eigenvalue z smaller than this is zero but for rounding."""


@dataclass(frozen=True, eq=False)
class SampledModel:
    """Sampled model z[k+1] = F z[k] + G u[k] at one speed, u the requested steer torque [N m].

    Attributes
    ----------
    F : (n, n) array
    G : (n,) array
    states : tuple of n str
        The six of this module, less those that a loop without lag or without delay does not have.
    dt : float
        Sampling interval [s].
    """

    F: Array
    G: Array
    states: tuple[str, ...]
    dt: float

    def __repr__(self) -> str:
        return f"<SampledModel: {1.0 / self.dt:g} Hz, states {', '.join(self.states)}>"

    def widen(self, K: ArrayLike) -> Array:
        """Extend gains (n,) on this model's states to those of a schedule, six or eight, with 0 on states it lacks."""
        columns = LANE_GAIN_STATES if "y_P" in self.states else LOOP_STATES
        wide = np.zeros(len(columns))
        wide[[columns.index(name) for name in self.states]] = K
        return wide

    def narrow(self, K: ArrayLike) -> Array:
        """Select the gains (n,) among the six or eight of a schedule that act on this model's states."""
        return np.asarray(K, dtype=float)[[LANE_GAIN_STATES.index(name) for name in self.states]]

    def closed_loop(self, K: ArrayLike) -> NDArray[np.complex128]:
        """Eigenvalues z (n,) of the map over one sample under u = -K z, with K the six or eight gains."""
        return np.linalg.eigvals(self.F - np.outer(self.G, self.narrow(K))).astype(complex)


def sampled_model(bicycle: Bicycle, v: float, timing: LoopTiming) -> SampledModel:
    """Sample the bicycle with its drive and delay, exactly, under a zero-order hold.

    Parameters
    ----------
    bicycle : Bicycle
    v : float
        Forward speed [m/s].
    timing : LoopTiming

    Returns
    -------
    SampledModel
        Its one input is the requested steer torque [N m], positive to the right.

    Raises
    ------
    InputError
        A speed that is no finite number, or what is no `LoopTiming`.
    """
    v = one_speed(v)
    if not isinstance(timing, LoopTiming):
        raise InputError(f"a sampled model wants a LoopTiming, found {timing!r}: give for example LoopTiming(rate=200)")
    return sample(system_matrix(bicycle, v), input_matrix(bicycle)[:, T_DELTA], timing)


def sample(A: Array, b: Array, timing: LoopTiming, states: tuple[str, ...] = BICYCLE_STATES) -> SampledModel:
    """Sample any x' = A x + b T with the torque T on the steer axis.

    Parameters
    ----------
    A, b : (n, n) and (n,) arrays
    timing : LoopTiming
    states : tuple of n str
        Names of x, by default the bicycle's four.
    """
    B = b[:, np.newaxis]
    if timing.drive_lag > 0.0:
        A = np.block([[A, B], [np.zeros((1, len(b))), np.full((1, 1), -1.0 / timing.drive_lag)]])
        B = np.vstack([np.zeros((len(b), 1)), [[1.0 / timing.drive_lag]]])
        states += ("T_drive",)
    F, G = delayed(A, B, timing)
    return SampledModel(F, G, states + ("u_prev",) * (len(F) - len(states)), timing.dt)


def delayed(A: Array, B: Array, timing: LoopTiming) -> tuple[Array, Array]:
    """Sample x' = A x + B u with the loop's delay: map over a sample and column (n,) of a new command.

    Where there is a delay the last of the n states is the command before, which is obeyed until the new one is.

    Parameters
    ----------
    A, B : (m, m) and (m, 1) arrays
    timing : LoopTiming
        Rate and delay; the lag of the drive is in A and B.
    """
    F, G = zoh(A, B, (1.0 - timing.delay) * timing.dt) if 0 < timing.delay < 1 else zoh(A, B, timing.dt)
    if timing.delay:
        n, old = len(A), G
        if timing.delay < 1:  # first the old command, then the new one
            F_old, G_old = zoh(A, B, timing.delay * timing.dt)
            F, old = F @ F_old, F @ G_old
        new = G if timing.delay < 1 else np.zeros((n, 1))
        F = np.block([[F, old], [np.zeros((1, n + 1))]])
        G = np.vstack([new, [[1.0]]])
    return F, G[:, 0]


def continuous(z: ArrayLike, dt: float) -> NDArray[np.complex128]:
    """Convert eigenvalues of a sampled map to those of continuous motion, log(z)/dt [1/s], the slowest first.

    An eigenvalue that is zero, or zero but for rounding, is a delay that is over after one sample: -inf.
    """
    z = np.asarray(z, dtype=complex)
    size = np.abs(z)
    seen = size > Z_ROUNDING
    re = np.log(size, out=np.full(z.shape, -np.inf), where=seen) / dt
    im = np.where(seen, np.angle(z), 0.0) / dt
    order = np.lexsort((-im, -re))
    return re[order] + 1j * im[order]
