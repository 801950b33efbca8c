"""Steer into the lean, with a soft limit."""

import math

from numba import njit

LAW = {
    "inputs": ["phi_dot", "delta_dot"],
    "settings": {"phi_dot": 2.0, "delta_dot": -0.1, "T_soft": 5.0},
    "speeds": [4.0, 6.0],
}


@njit
def step(settings, state, signals, reference, out):
    T = settings[0] * signals.phi_dot + settings[1] * signals.delta_dot
    out.T_req = settings[2] * math.tanh(T / settings[2])
