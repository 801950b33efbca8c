"""
Frequency response from a ride
==============================

A multisine torque is played on top of the controller. Its responses, measured (points) and predicted (lines).
"""

import matplotlib.pyplot as plt
import numpy as np

import riderless as rl

silver = rl.load_bicycle("Silver")
gains = rl.design(silver, "lqr", np.arange(4.0, 6.1, 0.5))
played = rl.Excitation("multisine", amplitude=1.0, duration=20.0, periods=4, f_low=0.3, f_high=5.0)
run = rl.simulate(silver, gains, speed=5.0, duration=24.0, excitation=played)
found = rl.analyze(run).frequency_responses[0]

fig, ax = plt.subplots(layout="constrained")
for i, one in enumerate(found.responses[:2]):
    ax.loglog(found.f, np.abs(one.measured), f"C{i}o", ms=4, label=f"{one.output}")
    ax.loglog(found.f, np.abs(one.predicted), f"C{i}")
ax.set(xlabel="frequency [Hz]", ylabel="gain per N m", title="points measured, lines predicted")
ax.legend()
plt.show()
