"""Rides of the emulated machine under gains that command its steer: sampled, delayed by one sample, no loop around."""

import numpy as np

from riderless.hil.design.schedule import GainSchedule
from riderless.models.array_types import Array
from riderless.models.plant.plant import Instruments, Plant, Scenario, SteerDrive


def steered_ride(schedule: GainSchedule, v: float, x0: Array, duration: float, **drive: float) -> Array:
    """States (n, 4) at the samples of the nonlinear bicycle from ``x0`` at speed ``v`` [m/s], and its commands (n,).

    The state is read truly; the command of a sample is obeyed at the next, as by our node.
    """
    limits = {"lag": 0.001, "torque_max": 20.0} | drive
    still = Scenario(speed=((0.0, v),), held=False, x0=tuple(float(value) for value in x0))
    plant = Plant(schedule.bicycle, still, SteerDrive(inner_loop=schedule.drive, **limits), Instruments(), "nonlinear")
    K, u, rows = schedule.gains(v), 0.0, []
    for _ in range(round(duration * schedule.rate)):
        wanted = -float(K @ [*plant.state, plant.T, u])
        rows.append([*plant.state, wanted, plant.T])
        plant.advance(u, True, 1.0 / schedule.rate)
        u = wanted
    return np.array(rows)
