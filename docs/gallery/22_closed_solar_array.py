"""
A solar array that struts hold
==============================

Two leaves and two struts are a loop: four bodies, five hinges, each with a spring (after Yudintsev 2008). Free bodies
with constraints need no cut.
"""

import matplotlib.pyplot as plt
import numpy as np

from riderless.models.constrained.examples.closed_solar_array import LEAF, STRUT, closed_solar_array, folded

array = closed_solar_array()
states = array.simulate(folded(array), np.linspace(0.0, 1.5, 6), rtol=1e-7, atol=1e-9)

fig, ax = plt.subplots(layout="constrained")
for shade, state in zip(np.linspace(0.2, 1.0, len(states)), states, strict=True):
    for k, length in enumerate((LEAF, LEAF, STRUT, STRUT)):
        x, y, angle = state[3 * k : 3 * k + 3]
        ends = np.array([-0.5, 0.5]) * length
        ax.plot(x + ends * np.cos(angle), y + ends * np.sin(angle), f"C{k // 2}", alpha=shade, lw=3 - k // 2)
ax.set(aspect="equal", xlabel="x [m]", ylabel="y [m]", title="every 0.3 s, darker with time")
plt.show()

energy = [array.energy(0.0, state) for state in states]
print(f"energy changes by {np.ptp(energy):.1e} J")
