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

fig, axes = plt.subplots(2, sharex=True, layout="constrained")
rl.plot_frequency_response(found, ax=axes)
plt.show()
