"""
Eigenvalues over speed
======================

Growth of each mode of the uncontrolled Benchmark bicycle, and where it is stable by itself.
"""

import matplotlib.pyplot as plt
import numpy as np

import riderless as rl

bicycle = rl.load_bicycle("Benchmark")
speeds = np.linspace(0.0, 10.0, 401)  # m/s
modes = rl.named_modes(bicycle, speeds)
critical = rl.critical_speeds(bicycle)

fig, ax = plt.subplots(layout="constrained")
ax.plot(speeds, modes.weave.real, "C0.", ms=2, label="weave")
ax.plot(speeds, modes.capsize.real, "C1.", ms=2, label="capsize")
ax.plot(speeds, modes.caster.real, "C2.", ms=2, label="caster")
ax.plot(speeds, np.abs(modes.weave_oscillation.imag), "C0--", lw=1, label="weave, frequency")
ax.axvspan(critical.weave, critical.capsize, color="0.9", label="stable by itself")
ax.set(xlabel="speed [m/s]", ylabel="eigenvalue [1/s]", ylim=(-10, 10), title=bicycle.name)
ax.legend(markerscale=5)
plt.show()

print(f"stable from {critical.weave:.3f} to {critical.capsize:.3f} m/s")
