"""Eigenvalues of the uncontrolled Silver bicycle over speed, in numbers and as a figure."""

import numpy as np

import riderless as rl

silver = rl.load_bicycle("Silver")
speeds = np.linspace(0.0, 10.0, 401)  # m/s
modes = rl.named_modes(silver, speeds)

stable = speeds[np.all(modes.all.real < 0.0, axis=1)]
print(f"{silver.name} is stable by itself from {stable[0]:.2f} to {stable[-1]:.2f} m/s")
at_5 = modes.weave_oscillation[np.argmin(np.abs(speeds - 5.0))]
print(f"weave at 5 m/s: {at_5.real:.2f} 1/s, {at_5.imag / (2.0 * np.pi):.2f} Hz")

rl.plot_eigenvalues(modes, path="eigenvalues.svg")
rl.plot_eigenvalues(silver, path="eigenvalues-with-critical-speeds.svg")
