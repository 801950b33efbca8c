"""Steer-by-wire bicycle on a treadmill, TU Delft 2024: steered into its lean, kicked by hand.

Logs of mechmotum/sbw_bicycle_with_model_matching: 100 Hz, no time column. The steer torque follows
T_delta = 2 (6.5 - v) phi_dot [N m], and the logged ``sil_command`` obeys that law to 1e-4 N m.
"""

import re

import numpy as np

from experiments.datatypes import Response
from experiments.recordings.checked import Recorded
from experiments.recordings.foreign.table import Table
from models import catalogue

KIND = "delft-sbw"
COLUMNS = ("sil_command", "speed", "lean_angle", "lean_rate", "fork_angle", "fork_rate", "command_fork")
DELFT_BICYCLE = "DelftSbW2024"
DELFT_LAW = 2.0, 6.5  # N s^2, m/s: T_delta = 2 (6.5 - v) phi_dot

DELFT_DT = 0.01  # s
BELT_RUNS = 0.3  # m/s; slower, the belt is starting or stopping and somebody holds the bicycle


def recorded(table: Table) -> Recorded:
    """Convert a log, in SI as it was recorded; free while the controller commands and the belt runs."""
    v = table.numbers("speed")
    nominal = re.search(r"_([0-9.]+)kph", table.source)
    response = Response(
        source=table.source,
        kind=KIND,
        t=DELFT_DT * np.arange(len(v), dtype=np.float64),
        phi_dot=table.numbers("lean_rate"),
        v=v,
        phi=table.numbers("lean_angle"),
        delta=table.numbers("fork_angle"),
        T_delta=table.numbers("command_fork"),
        free=np.isfinite(table.numbers("sil_command")) & (np.nan_to_num(v) > BELT_RUNS),
        bicycle=catalogue.load_bicycle(DELFT_BICYCLE),
        label=f"{DELFT_BICYCLE} steer into lean" + (f" {float(nominal[1]) / 3.6:.1f} m/s" if nominal else ""),
    )
    columns = {
        "phi_dot": "lean_rate",
        "v": "speed",
        "phi": "lean_angle",
        "delta": "fork_angle",
        "T_delta": "command_fork",
        "delta_dot": "fork_rate",
    }
    return Recorded(response, columns, {"delta_dot": table.numbers("fork_rate")}, DELFT_LAW)
