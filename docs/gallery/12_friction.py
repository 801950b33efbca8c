"""
Friction, and the limit cycle it makes
======================================

Dry friction holds the steer until the torque overcomes it. The bicycle then never comes to rest: it wanders from side
to side, more so the more friction there is.
"""

import matplotlib.pyplot as plt
import numpy as np

import riderless as rl

silver = rl.load_bicycle("Silver")
gains = rl.design(silver, "lqr", np.arange(3.0, 6.1, 0.5))

fig, ax = plt.subplots(layout="constrained")
for coulomb in (0.0, 0.05, 0.1):  # N m
    drive = rl.SteerDrive(coulomb=coulomb)
    run = rl.simulate(silver, gains, speed=4.0, model="nonlinear", duration=12.0, drive=drive)
    late = run.ticks[run.ticks["t"] > 6.0]
    ax.plot(np.degrees(late["phi_est"]), np.degrees(late["delta_meas"]), label=f"{coulomb:.2f} N m")
ax.set(xlabel="lean [deg]", ylabel="steer [deg]", title="the last seconds, without any kick")
ax.legend(title="dry friction")
plt.show()
