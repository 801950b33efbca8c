"""
Two speeds at which steer torque fails
======================================

How far the motion that steer torque moves least is from being out of its reach. At two speeds it cannot be moved.
"""

import matplotlib.pyplot as plt
import numpy as np

import riderless as rl

fig, ax = plt.subplots(layout="constrained")
speeds = np.geomspace(0.01, 8.0, 1500)  # m/s
for name, style in (("Benchmark", "-"), ("Silver", "--")):
    bicycle = rl.load_bicycle(name)
    reach = []
    for v in speeds:
        A, B = rl.system_matrix(bicycle, v), rl.input_matrix(bicycle)
        values, left = np.linalg.eig(A.T)
        reach.append(np.min(np.abs(left.T @ B[:, 1]) / np.linalg.norm(B[:, 1])))
    ax.loglog(speeds, reach, style, label=name)
ax.set(xlabel="speed [m/s]", ylabel="reach of the steer torque, least mode", title="zero: not controllable")
ax.legend()
plt.show()
