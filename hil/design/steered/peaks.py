"""Peaks of steer, rate, torque after a kick.

The drive obeys a steer rate or angle.
"""

from typing import NamedTuple

import numpy as np

from riderless.hil.design.schedule import GainSchedule
from riderless.hil.design.steered.sampled_steer import sampled_steer
from riderless.models.coordinates import DELTA, DELTA_DOT, PHI_DOT
from riderless.models.linear.perturbed import Variant
from riderless.models.linear.prescribed_steer import inner_torque

HAND_KICK = 0.35  # rad/s of lean rate, as campaigns kick
KICK_LASTS = 0.1  # s, half a sine
WATCHED = 3.0  # s


class _DrivePeaks(NamedTuple):
    """Largest steer [rad], steer rate [rad/s] and torque of the drive [N m] after a kick, at the samples."""

    delta: float
    delta_dot: float
    T: float


def kick_peaks(schedule: GainSchedule, v: float) -> _DrivePeaks:
    """Peaks of the linear bicycle at speed ``v`` [m/s] whose drive makes its torque without a limit."""
    assert schedule.drive is not None
    loop = schedule.drive
    model = sampled_steer(schedule.bicycle, v, schedule.loop, loop, stiff=True, in_lane=schedule.keeps_lane)
    M = model.F - np.outer(model.G, model.narrow(schedule.gains(v)))
    n = max(round(KICK_LASTS * schedule.rate), 1)
    share = np.sin(np.pi * (np.arange(n) + 0.5) / n)
    pushes = np.append(HAND_KICK * share / share.sum(), np.zeros(round(WATCHED * schedule.rate)))
    z, rows = np.zeros(len(M)), []
    for push in pushes:
        z = M @ z
        z[PHI_DOT] += push
        rows.append(z)
    states, (per_state, per_command) = np.array(rows), inner_torque(Variant(schedule.bicycle), loop)
    torque = states[:, : len(per_state)] @ per_state
    if schedule.delay:  # the command that the drive follows at a sample is that of the sample before
        torque += per_command * states[:, -1]
    else:
        torque -= per_command * states @ model.narrow(schedule.gains(v))
    return _DrivePeaks(*(float(np.abs(x).max()) for x in (states[:, DELTA], states[:, DELTA_DOT], torque)))
