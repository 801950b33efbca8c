"""
Bands: how well theory knows its eigenvalues
============================================

The measured parameters have standard deviations. Drawn a thousand times, they make a cloud of bicycles, and a cloud of
eigenvalues.
"""

import matplotlib.pyplot as plt
import numpy as np

import riderless as rl
from riderless.experiments.theories import open_loop
from riderless.experiments.theory.uncertainty_bands import eigenvalue_band, monte_carlo

fig, ax = plt.subplots(layout="constrained")
for i, name in enumerate(("Rigid", "Browser", "Stratos_computed")):
    theory = open_loop(rl.load_bicycle(name))
    drawn = monte_carlo(theory, 5.0, n=1000)
    band = eigenvalue_band(theory, 5.0)
    ax.plot(drawn.real, drawn.imag, f"C{i}.", ms=2, alpha=0.4)
    values, axes = np.linalg.eigh(band.covariance)
    around = axes @ (2.0 * np.sqrt(values)[:, None] * [np.cos(t := np.linspace(0, 2 * np.pi, 60)), np.sin(t)])
    ax.plot(band.mode.real + around[0], band.mode.imag + around[1], f"C{i}", label=name)
ax.set(xlabel="real part [1/s]", ylabel="imaginary part [rad/s]", title="weave at 5 m/s: draws, and two deviations")
ax.legend()
plt.show()
