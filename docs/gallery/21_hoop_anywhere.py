"""
A hoop on any profile, from rest
================================

The same four constraints on two curves: that of Matrosov, Morozov and Pesterev (2021), and one of ours. The hoop
starts at rest, on the dot. Circles are drawn five times as large as the hoop, every tenth of a unit of time.
"""

import matplotlib.pyplot as plt
import numpy as np

from riderless.models.constrained.examples.hoop import Hoop, hoop_energy, hoop_on

hoop, step = Hoop(), 4e-3
curves = {
    "of the paper": np.polynomial.Polynomial([-0.5, -0.13, -0.5, 0.13, 1.0]),
    "of ours": np.polynomial.Polynomial([0.0, 0.5, 0.0, -1.2, 0.0, 0.6]),
}

fig, axes = plt.subplots(1, 2, layout="constrained", figsize=(8, 3.4))
for ax, (name, profile), x in zip(axes, curves.items(), (-0.9, 0.5), strict=True):
    slope = profile.deriv()
    normal = np.array([slope(x), -1.0]) / np.hypot(1.0, slope(x))
    centre = np.array([x, profile(x)]) - hoop.r * normal
    start = np.array([*centre, np.arctan2(normal[1], normal[0]), 0.0, 0.0, 0.0])
    system = hoop_on(profile, slope, hoop, hoop_energy(hoop, start), (50.0,) * 4)
    states = system.march(start, step, 700)
    ax.plot(grid := np.linspace(-1.1, 1.1, 300), profile(grid))
    ax.plot(*states[::25, :2].T, "o", ms=9, mfc="none")
    ax.plot(*start[:2], "ko")
    ax.set(xlabel="x", ylabel="height", title=name)
    print(f"{name}: residuals below {max(max(system.residuals(s).values()) for s in states):.1e}")
plt.show()
