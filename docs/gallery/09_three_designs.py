"""
LQR, pole placement, steer into the lean
========================================

Growth of the weave in the closed loop under three design methods. Pole placement leaves a slow weave on purpose: it
can be measured.
"""

import matplotlib.pyplot as plt
import numpy as np

import riderless as rl

silver = rl.load_bicycle("Silver")
speeds = np.arange(3.0, 7.6, 0.5)  # m/s

fig, (growth, gain) = plt.subplots(2, sharex=True, layout="constrained", figsize=(6.4, 6.4))
for style, (method, options) in zip(
    ("o-", "s--", "^:"), (("lqr", {}), ("poles", {"zeta": 0.2}), ("lean", {})), strict=True
):
    gains = rl.design(silver, method, speeds, **options)
    slow = [max(row[np.abs(row.imag) > 0.5].real, default=np.nan) for row in gains.closed_loop]
    growth.plot(speeds, slow, style, label=method)
    gain.plot(speeds, gains.K[:, 2], style, label=method)
growth.set(ylabel="slowest swing [1/s]")
gain.set(xlabel="speed [m/s]", ylabel="gain of the lean rate [N m s/rad]")
growth.legend()
plt.show()
