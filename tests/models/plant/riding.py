"""Plants to ride, for the tests of the emulated machine."""

import numpy as np

from riderless.models.plant.plant import Instruments, Plant, Scenario, SteerDrive, Surroundings

DT = 0.005
QUIET = Instruments(gyro_noise=0.0, accel_noise=0.0, wheel_noise=0.0)
X0 = (0.05, -0.03, 0.1, 0.2)


def free(
    bicycle,
    v=5.0,
    x0=X0,
    drive=SteerDrive(),
    instruments=QUIET,
    model="linear",
    surroundings=Surroundings(),
    **scenario,
):
    """A plant that nobody holds."""
    speed = scenario.pop("speed", ((0.0, v),))
    happening = Scenario(speed=speed, held=False, x0=x0, **scenario)
    return Plant(bicycle, happening, drive, instruments, model, surroundings)


def ride(plant, n, T=0.0, enabled=True, dt=DT):
    """States before and after each of `n` periods."""
    states = [plant.state]
    for _ in range(n):
        plant.advance(T, enabled, dt)
        states.append(plant.state)
    return np.array(states)
