"""
Slowed by what?
===============

Kooijman's 26 published runs coasted. Measured minus like for like, the mean of the real part, by what slowed them and
how quickly: neither is published (but the deceleration of one run, dotted). So the bias of the frozen prediction
(dashed) is neither explained nor evidence against the model.
"""

import matplotlib.pyplot as plt
import numpy as np

from riderless.experiments.analysis.comparison.coasting import RETARDING_FORCES, coasting_residuals

decelerations = np.arange(0.15, 0.29, 0.02)
fig, ax = plt.subplots(layout="constrained")
for by in RETARDING_FORCES:
    ax.plot(decelerations, [coasting_residuals(a, by).re_mean for a in decelerations], label=by)
ax.axhline(-0.199, color="grey", linestyle="dashed")
ax.axvline(0.23, color="grey", linestyle="dotted")
ax.set(xlabel="deceleration [m/s$^2$]", ylabel="measured minus like for like, Re [1/s]")
ax.legend()
plt.show()
