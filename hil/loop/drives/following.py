"""Steer expected of a rate or angle drive.

The observer uses it, and the steer is compared with it. The lag of the drive
(`riderless.models.linear.prescribed_steer`) tells how the steer answers the commands, whatever the bicycle does: no
mass enters. The expected steer rate or angle is the estimate's ``T``, which is the torque of a torque drive. What the
steer is short of it, in rad, tells a drive that does not follow, one that has met a limit of its own, and one that has
lost its zero:

* rate: how far the steer came in the last `FOLLOWING_TIME` against how far the commands would have brought it. No rate
  need be estimated, so that noise counts once;
* angle: steer against command, smoothed over `FOLLOWING_TIME`.

Two things excuse it. A drive that reports its greatest torque does what it can: `saturated` ends that. And in the first
`LETTING_GO` under control a person may still hold the bars.

The torque is the drive's own affair, but not its size: what it reports beyond the rig's limit is a drive that disobeys.
"""

import math

import numpy as np

from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.messages import COMMAND_KIND_ANGLE, COMMAND_KIND_RATE
from riderless.models.array_types import Array
from riderless.models.linear.prescribed_steer import InnerLoop

FOLLOWING_TIME = 0.2  # s, over which the steer is compared with its commands
LETTING_GO = 0.6  # s
AT_LIMIT = 0.99  # of the greatest torque: what a lag and whole counts leave of it


def following_map(loop: InnerLoop, h: float) -> Array:
    """Decay (2, 2) over ``h`` [s] of what the steer is short of a constant command, and of its rate.

    r'' = w^2 (u - r) - 2 zeta w r' or, of first order, r' = w (u - r); r is the steer rate or angle.
    """
    from scipy.linalg import expm  # a torque drive does not wait for it

    if loop.damping is None:
        return np.array([[math.exp(-loop.bandwidth * h), 0.0], [0.0, 0.0]])
    w, zeta = loop.bandwidth, loop.damping
    return np.asarray(expm(np.array([[0.0, 1.0], [-(w**2), -2.0 * zeta * w]]) * h))


@njit(cache=True, nogil=True)
def follow_command(o, e, command, kind, steered):
    """Go on to the next tick: the steer follows the old command until the new one is obeyed. Runs inside the tick.

    Parameters
    ----------
    o, e : records of OBSERVER, and of ESTIMATE (changed in place: T, T_dot, u_prev).
    command : float
        Sent now, rad/s or rad.
    kind : int
        COMMAND_KIND_RATE or COMMAND_KIND_ANGLE.
    steered : bool
        Where not, a person holds the bars: the drive starts from where they are.
    """
    if not steered:
        e.T = e.delta if kind == COMMAND_KIND_ANGLE else e.delta_dot
        e.T_dot = 0.0
        e.u_prev = command
        return
    _answer(o.follow_old, e, e.u_prev)
    if o.command_delay < o.dt:
        _answer(o.follow_new, e, command)
    e.u_prev = command


@njit(cache=True, nogil=True, inline="always")
def _answer(decay, e, command):
    """Let the expected steer approach a command. Runs inside the tick."""
    short, rate = e.T - command, e.T_dot
    e.T = command + decay[0, 0] * short + decay[0, 1] * rate
    e.T_dot = decay[1, 0] * short + decay[1, 1] * rate


@njit(cache=True, nogil=True)
def look_at_steer(limits, m, sample, e, running, dt, part):
    """Tell whether the steer strays from its commands, or the drive from its torque. Runs inside the tick.

    Parameters
    ----------
    limits, m, sample, e : records of LIMITS, MONITOR (changed in place), SAMPLE and ESTIMATE.
    running : bool
        The controller's commands are obeyed; before, a person holds the bars.
    dt : float
        Time since the last tick [s].
    part : float
        Share of the smoothing of other errors that passes in it.
    """
    m.steered_for = m.steered_for + dt if running else 0.0
    keep = math.exp(-dt / FOLLOWING_TIME)
    if m.steered_for <= LETTING_GO:
        m.strayed = 0.0
    elif abs(sample.T_meas) >= AT_LIMIT * limits.torque:
        m.strayed *= keep
    elif limits.kind == COMMAND_KIND_RATE:
        m.strayed = keep * (m.strayed + e.T * dt - (sample.delta_meas - m.delta_followed))
    else:
        m.strayed += (1.0 - keep) * (e.T - sample.delta_meas - m.strayed)
    m.delta_followed = sample.delta_meas
    beyond = max(abs(sample.T_meas) - limits.torque, 0.0) if running else 0.0
    m.torque_error += part * (beyond - m.torque_error)
    return abs(m.strayed) > limits.follow_error or m.torque_error > limits.torque_error
