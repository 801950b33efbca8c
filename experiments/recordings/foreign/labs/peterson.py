"""Logs of the Davis robot bicycle (Peterson 2013).

Steer torque, lean rate and steer under a controller that is not stated.

Text with spaces between the values, `# Generated from ...` above the names, 200 Hz; lean and steer to the right
are positive. The bicycle is balanced at all times by gains and a filter that the log does not have. Its torque is
in the log, so the bicycle alone is identified from it: every row is one of a motion that a known torque forces,
and no window is one of free motion. The logs name no bicycle.
"""

import numpy as np

from riderless.experiments.datatypes import Response
from riderless.experiments.recordings.foreign import times
from riderless.experiments.recordings.foreign.table import Table
from riderless.experiments.recordings.quality.checked import Recorded
from riderless.experiments.theories import open_loop
from riderless.models.parameters import Bicycle

KIND = "peterson"
COLUMNS = ("T_s", "gyro_x", "steer", "v", "time")
STEER_RATE = "steer_rate"
ROLLING = 0.3  # m/s; slower, somebody holds the bicycle


def recorded(table: Table, bicycle: Bicycle) -> Recorded:
    """Convert a log, in SI as it was recorded.

    Parameters
    ----------
    table : Table
    bicycle : Bicycle
        That was ridden.
    """
    t = table.numbers("time")
    grid = times.grid_of_times(t - t[0], f"column time of {table.source}")
    torque, gyro, steer, v = (grid.even(table.numbers(column)) for column in COLUMNS[:-1])
    known = np.isfinite(torque) & (np.nan_to_num(v) > ROLLING) & ~grid.gap
    response = Response(
        source=table.source,
        kind=KIND,
        t=grid.t,
        phi_dot=gyro,
        v=v,
        delta=steer,
        T_delta=torque,
        T_played=np.where(known, torque, 0.0),
        free=np.zeros(len(v), bool),
        bicycle=bicycle,
        theory=open_loop(bicycle),
        label=f"{bicycle.name} balanced by a robot",
        remarks=grid.remarks,
    )
    columns = {"phi_dot": "gyro_x", "v": "v", "delta": "steer", "T_delta": "T_s", "delta_dot": STEER_RATE}
    beside = {"delta_dot": grid.even(table.numbers(STEER_RATE))} if table.has(STEER_RATE) else {}
    return Recorded(response, columns, beside)
