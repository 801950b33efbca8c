"""Analyse somebody else's CSV file: a mapping says which column is what, in which unit and sign."""

from pathlib import Path

import numpy as np

import riderless as rl

t = np.arange(0.0, 8.0, 0.01)  # a recording, made up here: quiet, a kick at 2 s, and the weave of Silver at 5 m/s
weave = rl.named_modes(rl.load_bicycle("Silver"), 5.0).weave_oscillation[0]
after = np.clip(t - 2.1, 0.0, None)
roll_rate = 30.0 * np.clip((t - 2.0) / 0.1, 0.0, 1.0) * np.exp(weave.real * after) * np.cos(weave.imag * after)
roll_rate += np.random.default_rng(1).normal(0.0, 0.2, len(t))
np.savetxt("log.csv", np.column_stack([1e3 * t, -roll_rate]), delimiter=",", header="ms,gyro", comments="")

Path("mapping.toml").write_text("""bicycle = "Silver"
time = { column = "ms", unit = "ms" }
phi_dot = { column = "gyro", unit = "deg/s", sign = -1 }
v = { constant = 18.0, unit = "km/h" }
""")
result = rl.analyze("log.csv", mapping="mapping.toml")
print(result.table())
