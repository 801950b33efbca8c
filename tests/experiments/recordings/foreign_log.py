"""A recording as somebody else would make it, of known dynamics: a bicycle steered into its lean and kicked."""

from functools import cache

import numpy as np

from riderless.models import catalogue
from riderless.models.coordinates import DELTA, DELTA_DOT, PHI, PHI_DOT
from riderless.models.linear.whipple import input_matrix, system_matrix
from tests.experiments.simulated import coast

BICYCLE, K, V0 = "DelftSbW2024", 2.0, 6.5
KICKS = (3.0, 8.0, 13.0)


@cache
def closed(v):
    """System matrix (4, 4) under T_delta = K (V0 - v) phi_dot: not the package's route."""
    bicycle = catalogue.load_bicycle(BICYCLE)
    gain = np.zeros((1, 4))
    gain[0, PHI_DOT] = K * (V0 - v)
    return system_matrix(bicycle, v) + input_matrix(bicycle)[:, [1]] @ gain


def signals(v=4.0, dt=0.01, length=18.0, noise=1e-3, seed=1):
    """SI signals by the names of the quantities, and t [s], button and armed."""
    bicycle = catalogue.load_bicycle(BICYCLE)
    t = np.arange(round(length / dt)) * dt
    x, begin, state = np.empty((len(t), 4)), 0, np.zeros(4)
    for end in [*(round(kick / dt) for kick in KICKS), len(t)]:
        x[begin:end] = coast(closed, np.full(end - begin, v), dt, state) if end > begin else 0.0
        state = x[end - 1] + [0.0, 0.0, 0.5, 0.0]
        begin = end
    rng = np.random.default_rng(seed)
    # the wheel does not slip: Meijaard et al. (2007), appendix B
    yaw = (v * x[:, DELTA] + bicycle.c * x[:, DELTA_DOT]) * np.cos(bicycle.lam) / bicycle.w
    out = {
        "t": t,
        "phi": x[:, PHI],
        "phi_dot": x[:, PHI_DOT] + noise * rng.standard_normal(len(t)),
        "delta": x[:, DELTA] + noise * rng.standard_normal(len(t)),
        "delta_dot": x[:, DELTA_DOT] + noise * rng.standard_normal(len(t)),
        "psi_dot": yaw + noise * rng.standard_normal(len(t)),
        "v": np.full(len(t), v) + noise * rng.standard_normal(len(t)),
        "T_delta": K * (V0 - v) * x[:, PHI_DOT],
        "button": np.zeros(len(t)),
        "armed": np.ones(len(t)),
    }
    for kick in KICKS:
        out["button"][round(kick / dt) : round((kick + 0.1) / dt)] = 1.0
    out["armed"][t < 0.5] = 0.0
    return out


def weave(v=4.0):
    """Eigenvalue of the weave, upper half plane, by numpy."""
    values = np.linalg.eigvals(closed(v))
    return values[np.argmax(values.imag)]


def in_their_units(s):
    """The columns that the mapping of docs/foreign-logs.md is about."""
    return {
        "time": 1000.0 * s["t"],
        "gyro_x": -np.degrees(s["phi_dot"]),
        "belt": 3.6 * s["v"],
        "roll": np.degrees(s["phi"]),
        "encoder": 2048 + np.degrees(s["delta"]) * 4096 / 360,
        "fork_rate": s["delta_dot"],
        "motor": 2.5 + s["T_delta"] / 2.0,
        "button": s["button"],
        "armed": s["armed"],
    }


def write_csv(path, columns, delimiter=",", form="{:.6f}"):
    """A text file with a line of names."""
    rows = zip(*columns.values(), strict=True)
    lines = [delimiter.join(form.format(value) for value in row) for row in rows]
    path.write_text("\n".join([delimiter.join(columns), *lines]) + "\n")
    return path
