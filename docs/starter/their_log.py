"""Write theirs.csv, a log of somebody else: weave of the Silver bicycle at 5 m/s after a kick, in their units."""

import numpy as np

import riderless as rl

t = np.arange(0.0, 8.0, 0.01)  # s
weave = rl.named_modes(rl.load_bicycle("Silver"), 5.0).weave_oscillation[0]
after = np.clip(t - 2.1, 0.0, None)
rate = 30.0 * np.clip((t - 2.0) / 0.1, 0.0, 1.0) * np.exp(weave.real * after) * np.cos(weave.imag * after)
rate += np.random.default_rng(1).normal(0.0, 0.2, len(t))
table = np.column_stack([1000.0 * t, -rate, np.full(len(t), 18.0)])
np.savetxt("theirs.csv", table, delimiter=",", header="ms,gyro,belt", comments="", fmt="%.4f")
print(f"theirs.csv written; the truth in it is {weave:.2f} 1/s")
