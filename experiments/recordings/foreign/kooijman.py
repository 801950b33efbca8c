"""Data of Kooijman, Schwab, Meijaard (2008).

An uncontrolled instrumented bicycle, coasting in a hall. Multibody System Dynamics 19:115-132, figure 5: lean-rate gyro
and wheel pulses at 200 Hz, in volts. The steer angle is too small and too erratic to use, as the paper says, and is
left out.
"""

import numpy as np
from numpy.typing import NDArray

from riderless.experiments.datatypes import Response
from riderless.experiments.recordings.foreign import times
from riderless.experiments.recordings.foreign.table import Table
from riderless.experiments.recordings.quality.checked import Recorded
from riderless.models import catalogue
from riderless.models.array_types import Array

KIND = "kooijman"
COLUMNS = ("t_s", "lean_rate_V", "speedometer_V")
KOOIJMAN_BICYCLE = "Silver"

GYRO_ZERO_V, GYRO_V_PER_DEG = 2.5, 0.020  # V, V per deg/s: rate gyro of +-100 deg/s, data sheet
CROSSINGS_PER_TURN = 20  # of the ring with 10 poles on the rear wheel
COASTING_WHEEL_RADIUS = 0.35  # m
LEAST_PULSE_V = 0.02  # V a half wave must reach; the noise of the wheel at rest stays under it
SPEED_SPAN = 0.4  # s either side over which the speed is a straight line
PUSHED_ACCELERATION = 0.1  # m/s^2; a coasting bicycle slows down, one whose speed rises faster is being pushed
MIN_PULSES = 8  # within that span; fewer leave the speed unknown


def recorded(table: Table) -> Recorded:
    """Lean rate in rad/s, speed from the wheel's crossings; free where that is known and does not rise."""
    grid = times.grid_of_times(table.numbers("t_s"), f"column t_s of {table.source}")

    def rate(column: str) -> Array:
        return np.deg2rad((grid.even(table.numbers(column)) - GYRO_ZERO_V) / GYRO_V_PER_DEG)

    v, coasting = wheel_speed(grid.t, grid.even(table.numbers("speedometer_V")))
    response = Response(
        source=table.source,
        kind=KIND,
        t=grid.t,
        phi_dot=rate("lean_rate_V"),
        v=v,
        psi_dot=rate("yaw_rate_V") if table.has("yaw_rate_V") else None,
        free=coasting & ~grid.gap,
        bicycle=catalogue.load_bicycle(KOOIJMAN_BICYCLE),
        label=f"{KOOIJMAN_BICYCLE} uncontrolled",
        remarks=grid.remarks,
    )
    return Recorded(response, {"phi_dot": "lean_rate_V", "v": "speedometer_V", "psi_dot": "yaw_rate_V"})


def _zero_crossings(t: Array, volts: Array) -> Array:
    """Times [s] at which the wheel's signal passes zero between half waves that reach PULSE."""
    strong = np.flatnonzero(np.isfinite(volts) & (np.abs(volts) >= LEAST_PULSE_V))
    flips = np.flatnonzero(np.diff(np.sign(volts[strong])))
    a, b = strong[flips], strong[flips + 1]
    return t[a] + (t[b] - t[a]) * volts[a] / (volts[a] - volts[b])


def wheel_speed(t: Array, volts: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Speed (n,) [m/s] by local regression of the rate of crossings, and where the bicycle coasts (n,) bool.

    A missed crossing halves one rate: rates further than a fifth from the local median are left out. Where
    too few are left the speed is interpolated and coasting is denied, as it is where the speed rises.
    """
    at = _zero_crossings(t, volts)
    rate = 2 * np.pi * COASTING_WHEEL_RADIUS / CROSSINGS_PER_TURN / np.diff(at)
    middle = 0.5 * (at[1:] + at[:-1])
    grid = np.arange(t[0], t[-1] + SPEED_SPAN / 4, SPEED_SPAN / 4)
    v, slope = np.full(len(grid), np.nan), np.zeros(len(grid))
    for i, moment in enumerate(grid):
        near = np.abs(middle - moment) <= SPEED_SPAN
        if near.sum() >= MIN_PULSES:
            near &= np.abs(rate - np.median(rate[near])) < 0.2 * np.median(rate[near])
            if near.sum() >= MIN_PULSES and middle[near][0] <= moment <= middle[near][-1]:
                slope[i], v[i] = np.polyfit(middle[near] - moment, rate[near], 1)
    known = np.isfinite(v)
    if not known.any():
        return np.zeros_like(t), np.zeros(len(t), bool)
    coasting = (known & (slope < PUSHED_ACCELERATION)).astype(float)
    return np.interp(t, grid[known], v[known]), np.interp(t, grid, coasting) > 0.99
