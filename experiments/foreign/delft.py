"""Steer-by-wire bicycle on a treadmill, TU Delft 2024: steered into its lean, kicked by hand.

Logs of mechmotum/sbw_bicycle_with_model_matching: 100 Hz, no time column. The steer torque follows
T_delta = 2 (6.5 - v) phi_dot [N m], and the logged ``sil_command`` obeys that law to 1e-4 N m.
"""

import re

import numpy as np

from experiments.nouns import Array, Response
from models import catalogue

KIND = "delft-sbw"
COLUMNS = ("sil_command", "speed", "lean_angle", "lean_rate", "fork_angle", "fork_rate", "command_fork")
BICYCLE = "DelftSbW2024"

DT = 0.01  # s
V_MOVING = 0.3  # m/s; slower, the belt is starting or stopping and somebody holds the bicycle


def response(source: str, columns: dict[str, Array]) -> Response:
    """What the log says, in SI as it was recorded; free while the controller commands and the belt runs."""
    v = columns["speed"]
    nominal = re.search(r"_([0-9.]+)kph", source)
    return Response(
        source=source,
        kind=KIND,
        t=DT * np.arange(len(v), dtype=np.float64),
        phi_dot=columns["lean_rate"],
        v=v,
        phi=columns["lean_angle"],
        delta=columns["fork_angle"],
        T_delta=columns["command_fork"],
        free=np.isfinite(columns["sil_command"]) & (v > V_MOVING),
        bicycle=catalogue.load(BICYCLE),
        label=f"{BICYCLE} steer into lean" + (f" {float(nominal[1]) / 3.6:.1f} m/s" if nominal else ""),
    )
