"""Linear bicycle with side slip of its tyres.

The slip's effect on lean and steer, and the side forces of the ground. Both contacts may move across their wheels, at
speeds s = (s_rear, s_front) [m/s]. The bicycle then yaws faster than its wheels point by r = (s_front - s_rear) / w,
and with r and s' in the balances of Meijaard et al. (2007), appendix A,

    M q'' + P s' + v R s + (what the bicycle without slip has) = (T_phi, T_delta)
    F = P^T q'' + N s' + v G s + (what the bicycle without slip has)

with F = (F_rear, F_front), the side forces of the ground. A tyre gives a force in proportion to its angle of slip
s / v, and follows with the path rolled: F' = (v / relaxation) (-C s / v - F). C is its load divided by its compliance,
the angle of slip at which the side force would be as large as the load. What a leaning wheel carries without slip
(camber thrust) is none of this.
"""

from math import sin
from typing import NamedTuple

import numpy as np

from riderless.firmware_interface.kernels import njit
from riderless.models.array_types import Array
from riderless.models.linear.whipple import canonical_matrices, totals
from riderless.models.parameters import Bicycle


class SlipBalance(NamedTuple):
    """Matrices (2, 2) of the side slip of rear and front tyre, see the module; SI."""

    P: Array  # torques on lean and steer per slip acceleration
    R: Array  # ... per slip, times the speed
    N: Array  # side forces per slip acceleration
    G: Array  # ... per slip, times the speed
    loads: Array  # (2,) N, weight on the wheels
    yaw: Array  # (2,) yaw rate per slip, 1/m
    admittance: Array  # slip acceleration per side force, lean and steer free to move
    across: Array  # side force per slip, times the speed, likewise


def slip_balance(bicycle: Bicycle) -> SlipBalance:
    """Balance of a bicycle whose two tyres slip."""
    t, w, sin_lam = totals(bicycle), bicycle.w, sin(bicycle.lam)
    yaw, rear = np.array([-1.0, 1.0]) / w, np.array([1.0, 0.0])
    P = np.array([-t.mT * t.zT * rear + t.ITxz * yaw, t.SA * rear + (t.IAlz + t.mu * t.ITzz) * yaw])
    R = np.array([(t.ST - t.mT * t.zT) * yaw, (t.SA + t.SF * sin_lam) * yaw])
    front, front_by_slip = (t.mT * t.xT * rear + t.ITzz * yaw) / w, t.mT * t.xT * yaw / w
    N = np.array([t.mT * rear + t.mT * t.xT * yaw - front, front])
    G = np.array([t.mT * yaw - front_by_slip, front_by_slip])
    on_front = t.mT * bicycle.g * t.xT / w
    moved = P.T @ np.linalg.inv(canonical_matrices(bicycle).M)
    loads = np.array([t.mT * bicycle.g - on_front, on_front])
    return SlipBalance(P, R, N, G, loads, yaw, np.linalg.inv(N - moved @ P), G - moved @ R)


@njit(cache=True, nogil=True)
def roll_slip(h, v, relaxation, stiffness, admittance, across, force, state, after):
    """Let slipping tyres roll on for `h` seconds by the midpoint rule.

    Parameters
    ----------
    h : float
        s.
    v : float
        m/s.
    relaxation : float
        m.
    stiffness : (2,)
        Side force per angle of slip, N.
    admittance, across : (2, 2)
        As of `SlipBalance`.
    force : (2,)
        Side forces that a bicycle without slip would need [N].
    state, after : (4,)
        Slip of rear and front [m/s], and their side forces [N], now and then; the latter is written.
    """
    b = 0.5 * h * v / relaxation
    kept = (1.0 - b) / (1.0 + b)
    g0, g1 = b * stiffness[0] / (v * (1.0 + b)), b * stiffness[1] / (v * (1.0 + b))
    # F_after = kept F - g (s + s_after): the mean forces hang on s_after, which two equations give
    d0 = 0.5 * (1.0 + kept) * state[2] - 0.5 * g0 * state[0] - force[0]
    d1 = 0.5 * (1.0 + kept) * state[3] - 0.5 * g1 * state[1] - force[1]
    d0 -= 0.5 * v * (across[0, 0] * state[0] + across[0, 1] * state[1])
    d1 -= 0.5 * v * (across[1, 0] * state[0] + across[1, 1] * state[1])
    k00, k01 = 0.5 * (g0 + v * across[0, 0]), 0.5 * v * across[0, 1]
    k10, k11 = 0.5 * v * across[1, 0], 0.5 * (g1 + v * across[1, 1])
    a00, a01, a10, a11 = h * admittance[0, 0], h * admittance[0, 1], h * admittance[1, 0], h * admittance[1, 1]
    right0, right1 = state[0] + a00 * d0 + a01 * d1, state[1] + a10 * d0 + a11 * d1
    m00, m01 = 1.0 + a00 * k00 + a01 * k10, a00 * k01 + a01 * k11
    m10, m11 = a10 * k00 + a11 * k10, 1.0 + a10 * k01 + a11 * k11
    det = m00 * m11 - m01 * m10
    after[0] = (m11 * right0 - m01 * right1) / det
    after[1] = (m00 * right1 - m10 * right0) / det
    after[2] = kept * state[2] - g0 * (state[0] + after[0])
    after[3] = kept * state[3] - g1 * (state[1] + after[1])
