"""Logs of our own in the form of the Delft treadmill's: the emulated bicycle under their law, pushed by hand."""

from pathlib import Path

import numpy as np

from riderless.experiments.recordings.foreign import delft
from riderless.experiments.recordings.foreign.table import Table
from riderless.models import catalogue
from riderless.models.coordinates import DELTA, DELTA_DOT, PHI, PHI_DOT
from riderless.models.plant.plant import Kick
from tests.experiments.synthetic import coloured
from tests.models.plant.riding import DT, free

SPEEDS = (2.0, 3.5, 5.0)  # m/s, as three of theirs
PUSHES = (2.0, 6.0, 10.0, 14.0, 18.0)  # s
IMPULSES = (6.0, -5.0, 7.0, -6.0, 5.0)  # N s
END = 22.0  # s
NOISE = {"lean_angle": 0.001, "lean_rate": 0.01, "fork_angle": 0.0005, "fork_rate": 0.01, "speed": 0.01}


def delft_log(v: float) -> Table:
    """A log at one speed [m/s], 100 Hz, SI; its noise is about that of the real ones."""
    k, v0 = delft.DELFT_LAW
    kicks = tuple(Kick(t, impulse, 0.15) for t, impulse in zip(PUSHES, IMPULSES, strict=True))
    plant = free(catalogue.load_bicycle(delft.DELFT_BICYCLE), v, x0=(0.0, 0.0, 0.0, 0.0), kicks=kicks)
    rng = np.random.default_rng(round(10 * v))
    n = round(END / delft.DELFT_DT)
    noise = {name: coloured(rng, n, std, 0.44) for name, std in NOISE.items()}
    rows = []
    for i in range(n):
        lean_rate = float(plant.state[PHI_DOT]) + noise["lean_rate"][i]
        speed = v + noise["speed"][i]
        command = k * (v0 - speed) * lean_rate
        lean, steer, steer_rate = (float(plant.state[what]) for what in (PHI, DELTA, DELTA_DOT))
        rows.append((command, speed, lean, lean_rate, steer, steer_rate, command))
        for _ in range(round(delft.DELFT_DT / DT)):
            plant.advance(command, True, DT)
    columns = dict(zip(delft.COLUMNS, np.array(rows).T, strict=True))
    for name in ("lean_angle", "fork_angle", "fork_rate"):
        columns[name] = columns[name] + noise[name]
    return Table(Path(f"own_{3.6 * v:g}kph.log"), columns)
