"""
The hoop: constraints that decay
================================

A hoop rolls on a curve with two valleys. Each constraint is told to decay, so errors of the integration do not grow
(Matrosov, Morozov and Pesterev 2021). Without that (decay rate 0) they do.
"""

import matplotlib.pyplot as plt
import numpy as np

from riderless.models.constrained.examples.hoop import Hoop, hoop_profile, hoop_start, roll

start = hoop_start(Hoop(), -1.0, -1.0)
rates = [0.0, 1.0, 10.0, 100.0, 1000.0]  # 1/s
worst = [roll(lam=rate, h=1e-4, duration=20.0, state=start).residuals.max() for rate in rates]

fig, (valley, errors) = plt.subplots(1, 2, layout="constrained", figsize=(8, 3.4))
x = np.linspace(-1.1, 1.1, 300)
valley.plot(x, [hoop_profile(Hoop(), each)[0] for each in x])
valley.plot(*start[:2], "o", ms=8, mfc="none")
valley.set(xlabel="x", ylabel="height", title="hoop and profile")
errors.plot([f"λ {rate:g}" for rate in rates], worst, "o-")
errors.set(yscale="log", xlabel="decay rate", ylabel="largest residual", title="errors of the constraints")
plt.show()
