"""Identify parameters of bicycle and drive from simulated runs, all in memory."""

import numpy as np

import riderless as rl

bicycle = rl.load_bicycle("Benchmark")
gains = rl.design(bicycle, "lqr", np.arange(2.0, 8.5, 0.5))
kicks = [rl.Kick(1.0, impulse=3.0), rl.Kick(5.0, impulse=-3.0)]
runs = [
    rl.simulate(bicycle, gains, speed=speed, kicks=kicks, model="linear", duration=9.0) for speed in (4.0, 5.0, 6.0)
]

found = rl.identify_parameters(runs, ["drive_gain", "steer_damping"], prior="usual")
print(found.table())
print("changes of the nominal values:", np.round(found.found.values - found.found.nominal, 4))
