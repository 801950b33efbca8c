"""
A kick on the nonlinear bicycle
===============================

The same kick on the linear and on the nonlinear bicycle, both under the same gains, with all sensors' noise.
"""

import matplotlib.pyplot as plt
import numpy as np

import riderless as rl

silver = rl.load_bicycle("Silver")
gains = rl.design(silver, "poles", np.arange(3.0, 6.1, 0.5), zeta=0.2)

fig, (lean, torque) = plt.subplots(2, sharex=True, layout="constrained")
for model, style in (("linear", "-"), ("nonlinear", "--")):
    run = rl.simulate(silver, gains, speed=4.5, kicks=[rl.Kick(1.0, impulse=8.0)], model=model, duration=5.0)
    lean.plot(run.ticks["t"], np.degrees(run.ticks["phi_est"]), style, label=model)
    torque.plot(run.ticks["t"], run.ticks["T_cmd"], style)
lean.set(ylabel="lean [deg]")
torque.set(xlabel="time [s]", ylabel="steer torque [N m]")
lean.legend()
plt.show()
