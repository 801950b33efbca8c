"""
Identification: what drive is in this machine?
==============================================

A drive that makes 0.9 of what it is told, and a steer that rubs: both are found from three rides.
The bars are two standard deviations.
"""

import matplotlib.pyplot as plt
import numpy as np

import riderless as rl

bicycle = rl.load_bicycle("Benchmark")
gains = rl.design(bicycle, "lqr", np.arange(3.0, 7.1, 0.5))
kicks = [rl.Kick(1.0, impulse=3.0), rl.Kick(5.0, impulse=-3.0)]
drive = rl.SteerDrive(gain=0.9, viscous=0.3)
runs = [rl.simulate(bicycle, gains, speed=v, kicks=kicks, duration=9.0, drive=drive) for v in (4.0, 5.0, 6.0)]
found = rl.identify_parameters(runs, ["drive_gain", "steer_damping"], prior="usual").found

fig, axes = plt.subplots(1, 2, layout="constrained", figsize=(7, 3))
rows = zip(axes, found.names, found.values, found.std, (0.9, 0.3), strict=True)
for ax, name, value, std, truth in rows:
    ax.errorbar(0, value, 2.0 * std, fmt="o", capsize=4, label="found")
    ax.axhline(truth, color="C1", ls="--", label="true")
    ax.set(title=name, xticks=[])
axes[0].legend()
plt.show()
