"""Initial state of a window: the start from which theory's motion comes closest to what was measured."""

from dataclasses import dataclass

import numpy as np

from experiments.datatypes import Dynamics, Response, Window
from experiments.theory.free_response import N_BICYCLE_STARTS, free_response
from models.array_types import Array

MIN_RELATIVE_NOISE = 1e-9  # of a signal: less noise than that is taken for that much
PRIOR_SCALE = 10.0  # s: a start beyond this many times the signal's own size is not believed


@dataclass(frozen=True)
class InitialState:
    """Least-squares estimate of the state at the start of a window, and the free response that follows."""

    x: Array  # (4 + k,) phi, delta, phi_dot, delta_dot, in the unit of the signal (times s); hidden starts
    unit_responses: Array  # (n, 4 + k) lean rate from each unit start, less its mean
    lean_rate_influence: Array  # (4 + k, n) d x / d lean rate at each sample
    steer_influence: Array | None  # (4 + k, n) d x / d steer angle, where it was used

    @property
    def lean_rate(self) -> Array:
        """Simulated lean rate (n,), less its mean: the measurement's offset is not the model's business."""
        return self.unit_responses @ self.x


def estimate_initial_state(response: Response, window: Window, dynamics: Dynamics) -> InitialState:
    """Estimate the initial state from which the dynamics come closest to what was measured in a window.

    Linear least squares on the lean rate, and on the steer angle where it was measured in rad, each
    weighted by its own residual; constant offsets are left free. A weak prior (zero; `PRIOR_SCALE` times
    the signal, for hidden starts their standard deviation) keeps apart what the window cannot tell
    apart, such as the slow capsize mode from an offset.
    """
    rows = window.rows
    v = np.linspace(window.v_start, window.v_end, window.stop - window.start)
    misread = None if response.v_read is None else response.v_read[rows] - v
    states = free_response(dynamics, v, response.dt, misread)
    channels = [(np.einsum("m,nmj->nj", dynamics.output, states), response.phi_dot[rows])]
    if response.delta is not None and response.phi_dot_unit == "rad/s" and "delta" in dynamics.states:
        channels.append((states[:, dynamics.states.index("delta")], response.delta[rows]))
    # Subtracting the means is the same as fitting a constant to each channel.
    channels = [(G - G.mean(axis=0), y - y.mean()) for G, y in channels]

    sizes = [max(float(np.std(y)), np.finfo(float).tiny) for _, y in channels]
    hidden = states.shape[-1] - N_BICYCLE_STARTS
    prior = np.diag([(PRIOR_SCALE * sizes[0]) ** -2] * N_BICYCLE_STARTS + [1.0] * hidden)
    stds = sizes
    for _ in range(3):  # the weights settle at once
        weighed = [(G / std, y / std) for (G, y), std in zip(channels, stds, strict=True)]
        precision = prior + sum(G.T @ G for G, _ in weighed)
        x = np.linalg.solve(precision, sum(G.T @ y for G, y in weighed))
        stds = [
            max(float(np.std(y - G @ x)), MIN_RELATIVE_NOISE * size)
            for (G, y), size in zip(channels, sizes, strict=True)
        ]
    influences = [np.linalg.solve(precision, G.T) / std**2 for (G, _), std in zip(channels, stds, strict=True)]
    return InitialState(x, channels[0][0], influences[0], influences[1] if len(influences) > 1 else None)
