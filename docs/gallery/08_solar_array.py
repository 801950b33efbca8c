"""
Unfolding a solar array
=======================

Two leaves on springs unfold from a spacecraft (Yudintsev 2008). The tree formalism gives their accelerations, scipy
integrates them, and the energy stays.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import solve_ivp

from riderless.models.constrained.examples.solar_array import FOLDED, solar_array

tree, none = solar_array(), np.zeros((2, 2))


def rates(t, state):
    """Rates of the angles, and their accelerations."""
    return np.concatenate([state[2:], tree.accelerations(state[:2], state[2:], none)])


found = solve_ivp(rates, (0.0, 6.0), [*FOLDED, 0.0, 0.0], rtol=1e-9, t_eval=np.linspace(0.0, 6.0, 200))
energy = [tree.energy(state[:2], state[2:], none) for state in found.y.T]

fig, ax = plt.subplots(layout="constrained")
ax.plot(found.t, np.degrees(found.y[0]), label="leaf 1")
ax.plot(found.t, np.degrees(found.y[1]), "--", label="leaf 2")
ax.set(xlabel="time [s]", ylabel="angle [deg]")
ax.legend()
plt.show()

print(f"energy changes by {np.ptp(energy):.1e} J")
