"""Least torque limit with which a rate or angle drive catches the nonlinear bicycle: prints a table of docs/drives.md.

python -m tests.tools.drive_torque
"""

import numpy as np

from riderless.experiments.fault_injection.summary_table import markdown_table
from riderless.hil.design.methods import GainSchedule, design
from riderless.models.catalogue import load_bicycle
from riderless.models.linear.prescribed_steer import InnerLoop
from tests.hil.design.steered_ride import steered_ride

START = np.array([np.radians(3.0), 0.0, 0.35, 0.0])  # lean and the lean rate of a kick
SPEEDS = (3.0, 5.0, 7.0)  # m/s
LIMITS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0, 14.0, 20.0)  # N m
BICYCLES = ("Benchmark", "Silver", "Browser", "DelftSbW2024", "Rigid", "Pista", "Balanceassistv1")
CASES = {
    "rate, PI, LQR": ("rate", "lqr"),
    "rate, PI, cascade": ("rate", "cascade"),
    "angle, PD, LQR": ("angle", "lqr"),
    "angle, PD, cascade": ("angle", "cascade"),
}


def least_torque(schedule: GainSchedule, v: float) -> tuple[float, float]:
    """Least of `LIMITS` [N m] from which on it is caught within 4 s, and the largest lean [deg] then."""
    found = np.inf, np.nan
    for limit in reversed(LIMITS):
        ride = steered_ride(schedule, v, START, 4.0, torque_max=limit)
        if np.abs(ride[-40:, 0]).max() > np.radians(1.0):
            break
        found = limit, float(np.degrees(np.abs(ride[:, 0]).max()))
    return found


def table() -> str:
    """Lines of the table in Markdown."""
    rows = []
    for name in BICYCLES:
        cells = []
        for kind, method in CASES.values():
            loop = InnerLoop(kind=kind, bandwidth=50.0, damping=1.0)  # type: ignore[arg-type]
            schedule = design(load_bicycle(name), method, SPEEDS, drive=loop)
            found = [least_torque(schedule, v) for v in SPEEDS]
            cells.append(", ".join(f"{torque:g} ({lean:.0f})" for torque, lean in found))
        rows.append([name, *cells])
    return markdown_table(["", *CASES], rows)


if __name__ == "__main__":
    print(table())
