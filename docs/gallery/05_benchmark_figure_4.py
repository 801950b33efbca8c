"""
Figure 4 of the benchmark
=========================

The Benchmark bicycle at 4.6 m/s, upright, is given a lean rate of 0.5 rad/s. It recovers by itself: as in figure 4 of
Meijaard et al. (2007). The motion goes into speed: it ends a little faster.
"""

import matplotlib.pyplot as plt

import riderless as rl
from riderless.models.coordinates import Q_DELTA, Q_PHI, Q_THETA_R

bicycle = rl.load_bicycle("Benchmark")
q, u = rl.initial_state(bicycle, roll_rate=0.5, v=4.6)
ride = rl.simulate_nonlinear(bicycle, q, u, duration=5.0)

fig, rates = plt.subplots(layout="constrained")
rates.plot(ride.t, ride.u[:, Q_PHI], label="lean rate")
rates.plot(ride.t, ride.u[:, Q_DELTA], "--", label="steer rate")
rates.set(xlabel="time [s]", ylabel="rate [rad/s]")
rates.legend(loc="upper right")
speed = rates.twinx()
speed.plot(ride.t, -bicycle.rR * ride.u[:, Q_THETA_R], "C2:")
speed.set(ylabel="speed [m/s], dotted", ylim=(4.55, 4.75))
plt.show()
