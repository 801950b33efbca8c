"""
Windows and fits
================

Where the analysis sees a free response, and the fit in it.
"""

import matplotlib.pyplot as plt
import numpy as np

import riderless as rl

silver = rl.load_bicycle("Silver")
gains = rl.design(silver, "poles", np.arange(3.0, 6.1, 0.5), zeta=0.2)
kicks = [rl.Kick(1.0, impulse=4.0), rl.Kick(5.0, impulse=-4.0), rl.Kick(9.0, impulse=4.0)]
run = rl.simulate(silver, gains, speed=4.5, kicks=kicks, duration=13.0)
result = rl.analyze(run)

fig, ax = plt.subplots(layout="constrained", figsize=(8, 3.6))
response = result.responses[0]
ax.plot(response.t, response.phi_dot, color="0.6", lw=1)
for found in result.comparisons:
    rows = found.window.rows
    ax.plot(response.t[rows], response.phi_dot[rows], lw=2)
    ax.text(found.window.t_start, 0.42, f"{found.fit.re:.2f} ± {found.fit.im:.2f}i 1/s", fontsize=8)
ax.set(xlabel="time [s]", ylabel="lean rate [rad/s]", ylim=(-0.5, 0.5))
plt.show()
