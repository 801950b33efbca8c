"""
A run, replayed bit for bit
===========================

A run's raw bytes go through the controller again. The commands must be the same, bit for bit. Here a kick throws the
bicycle over; the log says which limit ended the run, and the replay ends in the same tick.
"""

import matplotlib.pyplot as plt
import numpy as np

import riderless as rl

silver = rl.load_bicycle("Silver")
gains = rl.design(silver, "lqr", np.arange(3.0, 6.1, 0.5))
run = rl.simulate(silver, gains, speed=4.0, kicks=[rl.Kick(1.0, impulse=30.0)], model="nonlinear", duration=5.0)
again = rl.replay(run)

fig, (lean, torque) = plt.subplots(2, sharex=True, layout="constrained")
lean.plot(run.ticks["t"], np.degrees(run.ticks["phi_est"]))
torque.plot(run.ticks["t"], run.ticks["T_cmd"])
lean.set(ylabel="lean [deg]", title=f"{run.stop.reason}: {rl.Cause(int(run.ticks['cause'][-1])).name}")
torque.set(xlabel="time [s]", ylabel="steer torque [N m]")
plt.show()

print("bit-identical" if again.identical else f"differs at tick {again.first}")
