"""
Root locus over speed
=====================

The same eigenvalues in the complex plane. They move as the speed grows from 0 to 10 m/s.
"""

import matplotlib.pyplot as plt
import numpy as np

import riderless as rl

bicycle = rl.load_bicycle("Silver")
speeds = np.linspace(0.0, 10.0, 401)  # m/s
roots = rl.named_modes(bicycle, speeds).all

fig, ax = plt.subplots(layout="constrained")
for column in np.column_stack([roots, roots.conj()]).T:
    points = ax.scatter(column.real, column.imag, c=speeds, s=4, cmap="viridis")
ax.axvline(0.0, color="k", lw=0.8)
ax.set(xlabel="real part: growth [1/s]", ylabel="imaginary part [rad/s]", xlim=(-15, 6), title=bicycle.name)
fig.colorbar(points, label="speed [m/s]")
plt.show()
