"""Twins of the Delft logs: their bicycle under their law, its handle shaken at one frequency or its frame pushed.

Integrated exactly in steps of 1 ms over which torques are held, with dry friction of the steer if wanted; nothing of
the analysis is used. What the sensors show may be scaled and late.
"""

import gzip
from pathlib import Path

import numpy as np
from scipy.linalg import expm

from riderless.experiments.recordings.foreign import delft
from riderless.experiments.recordings.foreign.table import Table
from riderless.models import catalogue
from riderless.models.linear.perturbed import Variant

BICYCLE = catalogue.load_bicycle(delft.DELFT_BICYCLE)
STEP = 0.001  # s
NOISE = {"lean_rate": 0.01, "fork_angle": 0.0004}  # rad/s, rad
UNUSED = ("hand_angle", "lean_torque", "x_acceleration", "y_acceleration", "command_hand")
COLUMNS = (*delft.COLUMNS, "hand_torque", *UNUSED)


def ride(real, v, torque, push, friction=0.0, seed=0, rough=0.15):
    """States (n, 4) every 10 ms under a torque (n,) from the handle and a lean torque (n,) from pushes [N m].

    A rough belt adds lean torque of its own, ``rough`` N m from row to row.
    """
    k, v0 = delft.DELFT_LAW
    mass, damping, stiffness = real.matrices(v)
    damping[1, 0] -= real.drive_gain * k * (v0 - v)
    system = np.zeros((6, 6))  # of lean, steer, their rates and the two torques, which are held for a step
    system[:2, 2:4] = np.eye(2)
    system[2:4] = np.linalg.solve(mass, np.hstack([-stiffness, -damping, np.eye(2)]))
    step = expm(STEP * system)[:4]
    shaking = rough * np.random.default_rng(seed).standard_normal(len(torque))
    x, states = np.zeros(4), np.empty((len(torque), 4))
    for i, played in enumerate(torque):
        states[i] = x
        for _ in range(round(delft.DELFT_DT / STEP)):
            steer = real.drive_gain * played - friction * np.tanh(x[3] / 0.02)
            x = step @ np.array([*x, push[i] + shaking[i], steer])
    return states


def table(name, real, v, torque, push, friction=0.0, scale=1.0, lag=0.0, seed=0):
    """Log of a ride as the real ones are written; the lean rate is ``lag`` s late, the steer ``scale`` times itself."""
    x = ride(real, v, torque, push, friction, seed)
    rng, n, k = np.random.default_rng(1000 + seed), len(torque), delft.DELFT_LAW
    t = delft.DELFT_DT * np.arange(n)
    lean_rate = np.interp(t - lag, t, x[:, 2]) + NOISE["lean_rate"] * rng.standard_normal(n)
    fork = scale * x[:, 1] + NOISE["fork_angle"] * rng.standard_normal(n)
    law = k[0] * (k[1] - v) * x[:, 2]
    values = {
        "sil_command": law, "speed": np.full(n, v), "lean_angle": x[:, 0], "lean_rate": lean_rate, "fork_angle": fork,
        "fork_rate": scale * x[:, 3], "command_fork": law + torque, "hand_torque": torque + 0.1 * (torque == 0.0),
    }  # fmt: skip
    return Table(Path(name), {column: values.get(column, np.zeros(n)) for column in COLUMNS})


def shaken(f=2.0, v=4.15, seed=0, real=None, bursts=5, amplitude=1.2, **how):
    """Log of a handle shaken at about ``f`` Hz in bursts of 4 s with 4 s between them."""
    rng, n = np.random.default_rng(7 + seed), round(100 * (8.0 * bursts + 4.0))
    torque, t = np.zeros(n), delft.DELFT_DT * np.arange(n)
    for burst in range(bursts):
        rows = (t >= 8.0 * burst + 3.0) & (t < 8.0 * burst + 7.0)
        phase = 2.0 * np.pi * f * rng.uniform(0.95, 1.05) * t[rows] + rng.uniform(0.0, 6.28)
        torque[rows] = amplitude * rng.uniform(0.7, 1.3) * np.sin(phase)
    return table(f"own_{f:g}Hz.log", real or Variant(BICYCLE), v, torque, np.zeros(n), seed=seed, **how)


def kicked(v=3.5, seed=0, real=None, pushes=6, **how):
    """Log of a frame pushed sideways every 4 s for 0.15 s."""
    rng, n = np.random.default_rng(11 + seed), round(100 * (4.0 * pushes + 4.0))
    push, t = np.zeros(n), delft.DELFT_DT * np.arange(n)
    for i in range(pushes):
        rows = (t >= 4.0 * i + 3.0) & (t < 4.0 * i + 3.15)
        push[rows] = (-1) ** i * rng.uniform(25.0, 45.0)
    return table(f"own_{3.6 * v:g}kph.log", real or Variant(BICYCLE), v, np.zeros(n), push, seed=seed, **how)


def written(log: Table, folder: Path) -> Path:
    """File of a log as the Delft ones are published: CSV, packed."""
    path = folder / f"{log.source}.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write(",".join(log.columns) + "\n")
        np.savetxt(file, np.column_stack(list(log.columns.values())), fmt="%.5f", delimiter=",")
    return path
