"""Logs of Chalmers' bicycles with rate drives.

Wheel rate, gyro, steer encoder and GNSS, x forward and z up. Law: steer rate = Kp (roll_ref - roll) - Kd roll_rate.
Their headers say `(rad/s^2)` of an accelerometer in m/s^2 and `(rad/s)` of a wheel that becomes a speed times its
radius, so units are those known, not those of the header. Early sessions have 10 to 50 rows a second and gaps of 80 to
120 ms. The logs name no bicycle.
"""

import numpy as np

from riderless.experiments.datatypes import Response
from riderless.experiments.recordings.foreign import times
from riderless.experiments.recordings.foreign.table import Table
from riderless.experiments.recordings.quality.checked import Recorded
from riderless.models.array_types import Array
from riderless.models.parameters import Bicycle

KIND = "chalmers"
COLUMNS = (
    "Gyroscope X (rad/s)",
    "Gyroscope Z (rad/s)",
    "Steering Angle encoder(rad)",
    "Speed VESC (rad/s)",
    "Time (ms)",
)
ACCELEROMETER, GNSS_SPEED, ROLL = "Accelerometer Y (rad/s^2)", "GPS velocity (m/s)", "State Estimate Roll (rad)"
STEERING = "steering flag"  # 0 while the motor is off

LONGEST_LOGGED_STEP = 0.11  # s: their slowest sessions log 10 rows a second
MOVING = 0.5  # m/s, by which a median of speeds is one of riding
SAME_SPEED = 0.05  # of the speed, within which wheel and GNSS agree but for the radius of a tyre
WHEEL_MISTAKES = (  # what the wheel's column may be in truth, and GNSS speed per (column times radius) that shows it
    ("in m/s", lambda radius: 1.0 / radius),
    ("in km/h", lambda radius: 1.0 / (3.6 * radius)),
    ("in rpm", lambda radius: np.pi / 30.0),
    ("in turns per second", lambda radius: 2.0 * np.pi),
)


def recorded(table: Table, bicycle: Bicycle) -> Recorded:
    """Convert a log to SI and our signs: z up there, so steer and yaw to the left become negative here.

    Parameters
    ----------
    table : Table
    bicycle : Bicycle
        Whose rear wheel's radius makes a speed of the wheel's rate.
    """
    t = table.numbers("Time (ms)") / 1000.0
    grid = times.grid_of_times(t - t[0], f"column Time (ms) of {table.source}", longest_step=LONGEST_LOGGED_STEP)
    signals = {column: grid.even(table.numbers(column)) for column in COLUMNS[:-1]}
    gyro, yaw, encoder, wheel = signals.values()
    v = bicycle.rR * wheel
    steering = grid.nearest(table.numbers(STEERING)) != 0.0 if table.has(STEERING) else np.ones(len(v), bool)
    response = Response(
        source=table.source,
        kind=KIND,
        t=grid.t,
        phi_dot=gyro,
        v=v,
        phi=grid.even(table.numbers(ROLL)) if table.has(ROLL) else None,
        delta=-encoder,
        psi_dot=-yaw,
        free=steering & ~grid.gap & np.isfinite(v),
        bicycle=bicycle,
        label=f"{bicycle.name} steered by rate",
        remarks=(*grid.remarks, *_gnss_remarks(table, v / bicycle.rR, bicycle.rR, grid)),
    )
    named = dict(zip(("phi_dot", "psi_dot", "delta", "v"), COLUMNS, strict=False)) | {"phi": ROLL, "a_y": ACCELEROMETER}
    beside = {"a_y": -grid.even(table.numbers(ACCELEROMETER))} if table.has(ACCELEROMETER) else {}
    return Recorded(response, named, beside)


def _gnss_remarks(table: Table, wheel: Array, radius: float, grid: times.EvenGrid) -> tuple[str, ...]:
    """Say where wheel and GNSS differ by more than a tyre's radius may explain, and by which unit they would not."""
    if not table.has(GNSS_SPEED):
        return ()
    fixes = grid.nearest(table.numbers(GNSS_SPEED))
    moving = np.isfinite(fixes) & np.isfinite(wheel) & (fixes > MOVING) & (np.abs(wheel) > 0.0)
    if not moving.any():
        return ()
    factor = float(np.median(fixes[moving] / (radius * wheel[moving])))
    if abs(factor - 1.0) <= SAME_SPEED:
        return ()
    factor_sentence = f"{GNSS_SPEED} is {factor:.3g} times {COLUMNS[3]} times the wheel's radius of {radius:g} m"
    likely = [name for name, expected in WHEEL_MISTAKES if abs(factor / expected(radius) - 1.0) <= SAME_SPEED]
    what = f"{COLUMNS[3]} is {' or '.join(likely)}" if likely else "another radius, or a bicycle with a gear before it"
    return (f"{factor_sentence}: most likely {what}",)
