"""Nonlinear part of a window's motion.

It is the difference of nonlinear and linear bicycle, from the same start and torque. Output error searches quantities
of a linear motion. At 2.5 deg of lean the nonlinear one differs by more than the noise of an hour, so it is simulated
once per window and taken out of what was measured.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from riderless.experiments.analysis.identification.output_error import AveragedWindow
from riderless.experiments.dynamics import Dynamics
from riderless.experiments.theory.free_response import row_map
from riderless.experiments.theory.nonlinear_response import Shaking, window_machine
from riderless.models.array_types import Array

LINEAR_SHARE = 1e-3  # of a motion, in which it is linear


def with_large_motion(averaged: AveragedWindow, values: Mapping[str, float], start: Array) -> AveragedWindow:
    """Window that knows its motion beyond the linear one; as it is where its machine is linear, or falls over.

    Parameters
    ----------
    averaged : AveragedWindow
    values : mapping of str to float
        Of the quantities that are not nominal, SI.
    start : (4 + k + c,)
        As `linearise` finds it: states, hidden starts, and offsets of the channels.
    """
    theory = averaged.theory.move(values)
    dynamics = theory.dynamics()
    if theory.linear or dynamics.mechanics is None or "delta" not in averaged.channels:
        return averaged
    machine = window_machine(dynamics, averaged.v, averaged.dt, averaged.misread)
    begin = start[: len(start) - len(averaged.channels), np.newaxis] * [1.0, LINEAR_SHARE]
    steps = len(averaged.v) * machine.tables.per_sample
    pushed = _pushed(averaged, dynamics, theory.nominal("drive_gain"), steps)[..., np.newaxis] * [1.0, LINEAR_SHARE]
    motion = machine.simulate(begin, Shaking(np.zeros((pushed.shape[1], 2)), pushed))
    beyond = {name: getattr(motion, name) @ [1.0, -1.0 / LINEAR_SHARE] for name in averaged.channels}
    return replace(averaged, beyond=beyond) if all(np.isfinite(y).all() for y in beyond.values()) else averaged


def _pushed(averaged: AveragedWindow, dynamics: Dynamics, gain: float, steps: int) -> Array:
    """Change of the whole state (n steps, m) over each step by the known torque.

    Parameters
    ----------
    averaged : AveragedWindow
    dynamics : Dynamics
    gain : float
        Of the drive, where the dynamics have none of their own.
    steps : int
        In the window.
    """
    played = np.zeros(steps) if averaged.played is None else averaged.played
    held = played[np.arange(steps) * len(played) // steps]
    if not held.any():
        return np.zeros((steps, len(dynamics.states)))
    _, on_steer, commanded = row_map(dynamics, float(averaged.v.mean()), averaged.dt * len(averaged.v) / steps)
    return np.outer(gain * held, on_steer) if commanded is None else np.outer(held, commanded)
