"""Reported torque of a drive against its command.

Of a run of ours; theory goes by the report. The drive follows a command after its delay and with its lag, as the rig
states them. A report that is another multiple of that, row by row, is a drive that makes another torque than it is
told.
"""

from dataclasses import replace

import numpy as np
from scipy.linalg import solve_banded

from riderless.experiments.datatypes import Response
from riderless.experiments.recordings.torque_law import TorqueFactor, block_products, factor_of
from riderless.hil.loop.states import State
from riderless.hil.rig.rig import Rig
from riderless.models.array_types import Array
from riderless.models.noise_statistics import STDS_95

REPORT_COLUMNS = ("T_meas", "drive_age")  # of the log; old ones may lack them
LATEST_REPORT = 1.0  # s; a report that is said to be older tells of nothing


def report_products(ticks: np.ndarray, rig: Rig) -> Array:
    """Products (n, 3) of reported and expected torque in blocks of rows while RUNNING, see `block_products`."""
    if not set(REPORT_COLUMNS) <= set(ticks.dtype.names or ()) or len(ticks) == 0:
        return np.zeros((0, 3))
    age = float(np.nan_to_num(np.median(ticks["drive_age"])))
    if rig.drive is not None or not 0.0 <= age <= LATEST_REPORT:  # other drives are told no torque
        return np.zeros((0, 3))
    late = rig.obeyed_after + age
    expected = expected_torque(np.nan_to_num(np.array(ticks["T_cmd"], float)), rig.dt, late, rig.drive_lag)
    running = ticks["state"] == State.RUNNING
    return block_products(np.array(ticks["T_meas"], float)[running], expected[running], rig.dt)


def expected_torque(command: Array, dt: float, delay: float, lag: float) -> Array:
    """Torque (n,) [N m] of a drive at each row, after commands (n,) of one each row.

    Parameters
    ----------
    command : (n,) array
        N m, held from ``delay`` after its row on.
    dt : float
        Time between rows [s].
    delay : float
        s.
    lag : float
        Time constant [s] with which the torque follows; 0 for none.
    """
    rows = int(np.ceil(delay / dt - 1e-9))
    if lag > 0.0:
        kept = np.exp(-dt / lag)
        # what it made when each command began to act: x[k] - kept x[k - 1] = (1 - kept) command[k - 1], from rest
        bands = np.stack([np.ones(len(command)), np.full(len(command), -kept)])
        before = solve_banded((1, 0), bands, (1.0 - kept) * np.concatenate([[0.0], command[:-1]]))
        torque = command + (before - command) * np.exp(-(rows * dt - delay) / lag)
    else:
        torque = command
    return np.concatenate([np.zeros(rows), torque])[: len(command)]


def go_by_reported_torque(response: Response, products: Array) -> Response:
    """Response whose theory has the gain that the drive reports, with a remark, where that is not what it is told."""
    ratio: TorqueFactor | None = factor_of(products)
    by_pull_test = response.own_theory.nominal("drive_gain") != 1.0  # by a pull test, which knows better than the drive
    if ratio is None or not ratio.differs or by_pull_test:
        return response
    remark = (
        f"T_meas: the drive reports {ratio.factor:.3f} ± {STDS_95 * ratio.std:.3f} of the torque that it is told; "
        "theory goes by the torque reported"
    )
    theory = response.own_theory.move({"drive_gain": ratio.factor})
    return replace(response, theory=theory, remarks=(*response.remarks, remark))
