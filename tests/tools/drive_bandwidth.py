"""Bandwidth from which on a prescribed steer tells the eigenvalues: prints the table of docs/drives.md.

python -m tests.tools.drive_bandwidth
"""

import numpy as np

from riderless.experiments.fault_injection.summary_table import markdown_table
from riderless.hil.design.methods import LoopTiming, design
from riderless.hil.design.sampled_plant import continuous
from riderless.hil.design.steered.sampled_steer import sampled_steer
from riderless.models.catalogue import load_bicycle
from riderless.models.errors import InputError
from riderless.models.linear.prescribed_steer import InnerLoop

SPEEDS = (2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)  # m/s
BANDWIDTHS = np.round(np.geomspace(20.0, 1000.0, 25), 0)  # rad/s
SLOW = 12.0  # 1/s: eigenvalues up to this size are seen in a ride; a loop sampled at 200 Hz has many faster ones
SHARES = (0.10, 0.03, 0.01)
BICYCLES = ("Benchmark", "Silver", "Browser", "DelftSbW2024", "Rigid", "Pista", "Balanceassistv1")
CASES = {
    "rate, P, LQR": ("rate", None, "lqr"),
    "rate, PI, LQR": ("rate", 1.0, "lqr"),
    "rate, PI, cascade": ("rate", 1.0, "cascade"),
    "angle, PD, LQR": ("angle", 1.0, "lqr"),
}


def eigenvalue_error(name: str, case: str, bandwidth: float) -> float:
    """Largest relative error of a slow eigenvalue over the speeds; infinite where nothing is designed."""
    kind, damping, method = CASES[case]
    loop = InnerLoop(kind=kind, bandwidth=float(bandwidth), damping=damping)
    try:
        schedule = design(load_bicycle(name), method, SPEEDS, LoopTiming(), drive=loop)
    except InputError:
        return np.inf
    worst = 0.0
    for v, K, reduced in zip(schedule.v, schedule.K, schedule.closed_loop, strict=True):
        stiff = continuous(
            sampled_steer(schedule.bicycle, float(v), schedule.loop, loop, stiff=True).closed_loop(K), 0.005
        )
        stiff = stiff[np.isfinite(stiff.real)]
        for s in reduced[np.abs(reduced) < SLOW]:
            worst = max(worst, float(np.abs(stiff - s).min() / abs(s)))
    return worst


def fast_enough(errors: list[float], share: float) -> float | None:
    """Least of the bandwidths from which on every error stays below ``share``; None if there is none."""
    above = [i for i, error in enumerate(errors) if error >= share]
    first = above[-1] + 1 if above else 0
    return float(BANDWIDTHS[first]) if first < len(BANDWIDTHS) else None


def table() -> str:
    """Lines of the table in Markdown: bandwidths [rad/s] for errors of `SHARES`."""
    rows = []
    for name in BICYCLES:
        cells = []
        for case in CASES:
            errors = [eigenvalue_error(name, case, w) for w in BANDWIDTHS]
            found = [fast_enough(errors, share) for share in SHARES]
            cells.append(", ".join(f"{w:g}" if w else "-" for w in found))
        rows.append([name, *cells])
    return markdown_table(["", *CASES], rows)


if __name__ == "__main__":
    print(table())
