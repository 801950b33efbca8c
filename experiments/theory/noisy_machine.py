"""Motions of a machine whose drive has losses, with its sensors' noise: many at once, by chance of a fixed seed.

Noise does not go through dead band, hysteresis and friction as through linear equations: it dithers them, so that a
motion with noise is, on average, not the motion without it, and feedback makes another motion of it.
"""

import numpy as np

from riderless.experiments.datatypes import Dynamics
from riderless.experiments.theory.kalman import row_noise, settled_root
from riderless.experiments.theory.nonlinear_response import Shaking, WindowMachine, WindowMotion
from riderless.models.array_types import Array
from riderless.models.coordinates import DELTA

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
    for name, one in zip(("phi_dot", "delta"), shown, strict=True):
        if name in dynamics.reading:
            one += np.einsum("e,nec->nc", dynamics.reading[name], read)
    return WindowMotion(shown[0], shown[1], noisy.psi_dot - still.psi_dot)


def _both_ways(drawn: Array) -> Array:
    """Noise (..., c), and minus the same beside it."""
    return np.concatenate([drawn, -drawn], axis=-1)
