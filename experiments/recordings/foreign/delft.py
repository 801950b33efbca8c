"""Logs of the Delft steer-by-wire bicycle.

TU Delft 2024, on a treadmill: steered into its lean, kicked by hand or shaken at a handle. Logs of
mechmotum/sbw_bicycle_with_model_matching: 100 Hz, no time column. The steer torque follows T_delta = 2 (6.5 - v)
phi_dot [N m], and the logged ``sil_command`` obeys that law to 1e-4 N m.

What a hand at the handle adds to it is ``command_fork`` less ``sil_command``, known to the last digit. The column
``hand_torque`` is not that: the program passes it on only while it has lately been above about 0.5 N m, so in the
logs of a shaken handle most rows have a hand torque that never reached the fork.
"""

import re

import numpy as np

from riderless.experiments.datatypes import Response
from riderless.experiments.feedback_law import FeedbackLaw
from riderless.experiments.recordings.foreign.table import Table
from riderless.experiments.recordings.quality.checked import Recorded
from riderless.experiments.recordings.torque_law import played_rows
from riderless.models import catalogue
from riderless.models.array_types import Array

KIND = "delft-sbw"
COLUMNS = ("sil_command", "speed", "lean_angle", "lean_rate", "fork_angle", "fork_rate", "command_fork")
DELFT_BICYCLE = "DelftSbW2024"
DELFT_LAW = 2.0, 6.5  # N s^2, m/s: T_delta = 2 (6.5 - v) phi_dot

DELFT_DT = 0.01  # s
RELAYED_WITHIN = 1e-3  # N m; torques that differ by less are one, but for rounding
BELT_RUNS = 0.3  # m/s; slower, the belt is starting or stopping and somebody holds the bicycle


def recorded(table: Table) -> Recorded:
    """Convert a log, in SI as it was recorded; free while the controller commands and the belt runs."""
    v = table.numbers("speed")
    nominal = re.search(r"_([0-9.]+)kph", table.source)
    shaken_at = re.search(r"_([0-9.]+)Hz", table.source)
    free = np.isfinite(table.numbers("sil_command")) & ~(v <= BELT_RUNS)  # a value that is missing stops no belt
    played = np.where(free, _relayed(table), 0.0)
    shaken = played_rows(played, DELFT_DT)
    for a, b in shaken:
        free[a:b] = False
    how = f"{float(nominal[1]) / 3.6:.1f} m/s" if nominal else f"shaken at {shaken_at[1]} Hz" if shaken_at else ""
    response = Response(
        source=table.source,
        kind=KIND,
        t=DELFT_DT * np.arange(len(v), dtype=np.float64),
        phi_dot=table.numbers("lean_rate"),
        v=v,
        phi=table.numbers("lean_angle"),
        delta=table.numbers("fork_angle"),
        T_delta=table.numbers("command_fork"),
        T_played=played if shaken else None,
        free=free,
        bicycle=catalogue.load_bicycle(DELFT_BICYCLE),
        label=f"{DELFT_BICYCLE} steer into lean {how}".strip(),
    )
    columns = {
        "phi_dot": "lean_rate",
        "v": "speed",
        "phi": "lean_angle",
        "delta": "fork_angle",
        "T_delta": "command_fork",
        "delta_dot": "fork_rate",
    }
    return Recorded(response, columns, {"delta_dot": table.numbers("fork_rate")}, FeedbackLaw(*DELFT_LAW))


def _relayed(table: Table) -> Array:
    """Torque (n,) [N m] from the handle that the program added to the fork's command; 0 where it added none."""
    if not table.has("hand_torque"):
        return np.zeros(len(table.numbers("speed")))
    hand = np.nan_to_num(table.numbers("hand_torque"))
    added = np.nan_to_num(table.numbers("command_fork") - table.numbers("sil_command"))
    return np.where(np.abs(added - hand) < RELAYED_WITHIN, added, 0.0)
