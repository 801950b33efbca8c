"""Sampled bicycle under a rate or angle drive.

Lean, steer, lag and delay. The gains are the six of `riderless.hil.design.sampled_plant`, in the unit of the command,
so that one law serves every drive:

    u = -K [phi, delta, phi_dot, delta_dot, T_drive, u_prev].

The gain on ``T_drive`` is zero: the torque follows from the motion. A drive with a second-order lag of the rate has one
state more, its steer acceleration, which no loop measures and no gain acts on.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from riderless.hil.design.sampled_plant import LANE_GAIN_STATES, LOOP_STATES, LoopTiming, SampledModel, delayed
from riderless.models.array_types import Array
from riderless.models.coordinates import STATES as BICYCLE_STATES
from riderless.models.errors import InputError
from riderless.models.linear.path import LATERAL_STATES, PSI, Y_P, extended_matrix
from riderless.models.linear.perturbed import Variant
from riderless.models.linear.prescribed_steer import SLOWEST_BANDWIDTH, InnerLoop, driven_steer, prescribed_steer
from riderless.models.parameters import Bicycle

HIDDEN_STATE = "delta_ddot"  # or the integral of a PI: no gain acts on it


@dataclass(frozen=True, eq=False)
class SteerModel(SampledModel):
    """Sampled model z[k+1] = F z[k] + G u[k] at one speed, u the steer rate or angle commanded.

    Attributes
    ----------
    bicycle : Bicycle
    v : float
        Forward speed [m/s].
    loop : InnerLoop
        Of the drive.
    timing : LoopTiming
        Rate and delay; its lag is not used.
    in_lane : bool
        Heading and place off the lane are among the states.
    """

    bicycle: Bicycle
    v: float
    loop: InnerLoop
    timing: LoopTiming
    in_lane: bool = False

    def widen(self, K: ArrayLike) -> Array:
        """Extend gains (n,) on this model's states to those of a schedule; those on a hidden state are dropped."""
        wide = np.zeros(len(LANE_GAIN_STATES if self.in_lane else LOOP_STATES))
        for name, gain in zip(self.states, np.asarray(K, dtype=float), strict=True):
            if name != HIDDEN_STATE:
                wide[LANE_GAIN_STATES.index(name)] = gain
        return wide

    def narrow(self, K: ArrayLike) -> Array:
        """Select the gains (n,) among those of a schedule that act on this model's states."""
        K = np.asarray(K, dtype=float)
        return np.array([0.0 if name == HIDDEN_STATE else K[LANE_GAIN_STATES.index(name)] for name in self.states])

    def prescribed(self) -> "SteerModel":
        """Same drive, with a steer that follows it whatever torque that takes."""
        return sampled_steer(self.bicycle, self.v, self.timing, self.loop, in_lane=self.in_lane)

    def without_hidden_state(self) -> "SteerModel":
        """Same drive with a first-order lag as long as its own, of which all states are measured."""
        if HIDDEN_STATE not in self.states:
            return self
        if self.loop.lag > 1.0 / SLOWEST_BANDWIDTH:
            raise InputError(
                f"a drive that follows {self.loop.lag:g} s late ({self.loop.bandwidth:g} rad/s, damping "
                f"{self.loop.damping:g}) balances no bicycle: give it more bandwidth or less damping"
            )
        quick = replace(self.loop, damping=None, bandwidth=1.0 / self.loop.lag)
        return sampled_steer(self.bicycle, self.v, self.timing, quick, in_lane=self.in_lane)


def sampled_steer(
    bicycle: Bicycle, v: float, timing: LoopTiming, loop: InnerLoop, *, stiff: bool = False, in_lane: bool = False
) -> SteerModel:
    """Sample lean and steer under a drive of a kind, exactly, with a zero-order hold and the delay of the loop.

    Parameters
    ----------
    bicycle : Bicycle
    v : float
        Forward speed [m/s].
    timing : LoopTiming
        Rate and delay; the lag is that of ``loop``.
    loop : InnerLoop
    stiff : bool
        The whole bicycle under a drive that makes torque (`driven_steer`) in place of a steer that is prescribed.
    in_lane : bool
        With heading and place off the lane.
    """
    model = driven_steer if stiff else prescribed_steer
    A, b = model(Variant(bicycle), v, loop)
    names: tuple[str, ...] = (*BICYCLE_STATES, HIDDEN_STATE)[: len(b)]
    if in_lane:
        A, b, names = _with_place(A, b, bicycle, v), np.append(b, [0.0, 0.0]), (*names, "psi", "y_P")
    F, G = delayed(A, b[:, np.newaxis], timing)
    return SteerModel(F, G, names + ("u_prev",) * (len(F) - len(names)), timing.dt, bicycle, v, loop, timing, in_lane)


def _with_place(A: Array, b: Array, bicycle: Bicycle, v: float) -> Array:
    """Matrix with heading and place behind the n states of ``A``, (n + 2, n + 2)."""
    n, whole = len(b), np.zeros((len(b) + 2,) * 2)
    whole[:n, :n] = A
    whole[n:, : len(BICYCLE_STATES)] = extended_matrix(bicycle, v)[[PSI, Y_P], LATERAL_STATES]
    whole[n + 1, n] = v
    return whole
