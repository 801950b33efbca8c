"""
Steady turns and the hands-free branch
======================================

In a steady turn lean, steer and speed stay as they are. A hands-free turn needs no steer torque. Each line is a family
of them (Basu-Mandal, Chatterjee and Papadopoulos 2007).
"""

import matplotlib.pyplot as plt
import numpy as np

import riderless as rl

bicycle = rl.load_bicycle("Benchmark")
fig, ax = plt.subplots(layout="constrained")
for family in rl.hands_free_families(bicycle, stride=0.05):
    lean = np.degrees([turn.phi for turn in family.turns])
    speed = [turn.v for turn in family.turns]
    ax.plot(speed, lean, label=f"{family.start} to {family.end}")
ax.set(xlabel="speed [m/s]", ylabel="lean [deg]", xlim=(0, 12), title=f"hands-free turns, {bicycle.name}")
ax.legend(fontsize=7)
plt.show()

turn = rl.steady_turn_from_speed_and_radius(bicycle, 4.0, 10.0)
print(f"at 4 m/s and 10 m: lean {np.degrees(turn.phi):.1f} deg, torque {turn.T_delta:.2f} N m")
