"""
A bicycle without front and rear
================================

Two equal halves, hinged upright in the middle. Ridden backwards it is the same bicycle, so with each eigenvalue its
opposite is there at every speed, and it is never stable by itself (Meijaard et al. 2007).
"""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np

import riderless as rl

bicycle = rl.load_bicycle("Benchmark")
half = {"m": 40.0, "x": 0.2, "z": -0.7, "Ixx": 4.0, "Iyy": 4.5, "Izz": 1.5, "Ixz": 0.5}
rear = {f"{name[0]}B{name[1:]}" if name[0] == "I" else f"{name}B": value for name, value in half.items()}
front = {name.replace("B", "H"): value for name, value in rear.items()}
front |= {"xH": bicycle.w - half["x"], "IHxz": -half["Ixz"]}
wheel = {"rF": bicycle.rR, "mF": bicycle.mR, "IFxx": bicycle.IRxx, "IFyy": bicycle.IRyy}
hinge = {"lam": 0.0, "c": -bicycle.w / 2.0}  # the upright axis in the middle of the wheelbase
symmetric = replace(bicycle, name="Symmetric", **rear, **front, **wheel, **hinge, trust="two equal halves")

speeds = np.linspace(-8.0, 8.0, 400)  # m/s
values = np.array([np.linalg.eigvals(rl.system_matrix(symmetric, v)) for v in speeds])

fig, ax = plt.subplots(layout="constrained")
ax.plot(np.repeat(speeds, 4), values.real.ravel(), ".", ms=3)
ax.plot(np.repeat(speeds, 4), values.imag.ravel(), ".", ms=1, alpha=0.4)
ax.set(xlabel="speed [m/s]", ylabel="eigenvalue [1/s]: real (large), imaginary (small)")
plt.show()

print(
    f"real parts sum up to {np.abs(values.real.sum(axis=1)).max():.1e} 1/s; the greatest is never below "
    f"{values.real.max(axis=1).min():.2f} 1/s"
)
