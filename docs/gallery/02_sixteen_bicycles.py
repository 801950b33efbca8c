"""
The weave of every bicycle of the catalogue
===========================================

Sixteen bicycles are different and alike: each weave becomes stable between 2 and 5 m/s.
"""

import matplotlib.pyplot as plt
import numpy as np

import riderless as rl

speeds = np.linspace(0.5, 9.0, 171)  # m/s
fig, (growth, frequency) = plt.subplots(2, sharex=True, layout="constrained", figsize=(7, 7))
for i, name in enumerate(rl.bicycle_names()):
    weave = rl.named_modes(rl.load_bicycle(name), speeds).weave_oscillation
    style = {"color": plt.cm.viridis(i / 16), "ls": ("-", "--", ":")[i % 3], "label": name}
    growth.plot(speeds, weave.real, **style)
    frequency.plot(speeds, np.abs(weave.imag) / (2.0 * np.pi), **style)
growth.axhline(0.0, color="k", lw=0.8)
growth.set(ylabel="growth of the weave [1/s]", ylim=(-6, 6))
frequency.set(xlabel="speed [m/s]", ylabel="frequency [Hz]")
growth.legend(ncols=3, fontsize=7)
plt.show()
