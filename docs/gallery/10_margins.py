"""
Margins over speed
==================

How much more delay and gain the loop bears. A computer that is late, or a drive that is stronger than its data sheet,
uses them up.
"""

import matplotlib.pyplot as plt
import numpy as np

import riderless as rl

silver = rl.load_bicycle("Silver")
gains = rl.design(silver, "lqr", np.arange(1.5, 8.1, 0.25))

fig, (delay, factor) = plt.subplots(2, sharex=True, layout="constrained")
delay.plot(gains.v, [1000.0 * one.delay for one in gains.margins])
delay.set(ylabel="more delay [ms]", ylim=(0, None))
low, high = zip(*(one.gain for one in gains.margins), strict=True)
factor.fill_between(gains.v, low, high, alpha=0.3)
factor.axhline(1.0, color="k", lw=0.8)
factor.set(xlabel="speed [m/s]", ylabel="gain times", yscale="symlog", ylim=(0, 100))
fig.suptitle("where the loop stays stable: Silver under LQR")
plt.show()
