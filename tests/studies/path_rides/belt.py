"""Make the table of the rides on a belt.

``python -m tests.studies.path_rides.belt --answers rides.jsonl tables.md``.

Each ride is a line of the file of answers; what is there already is not ridden again. A ride of 30 min takes about 20 s
of one core.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from riderless.experiments.fault_injection.summary_table import markdown_table
from tests.studies.path_rides.belt_answers import Ridden, make_rides
from tests.studies.path_rides.belt_ride import (
    BELT_BICYCLES,
    BELT_SPEEDS,
    BELT_WIDTH,
    WANTED_RMS,
    BeltRide,
)
from tests.tools.tables import table_arguments, write_or_print

BELT_TABLE = "table of `python -m tests.studies.path_rides.belt`"
LIMITS_TABLE = "table of `python -m tests.studies.path_rides.belt --limits`"
BELT_WEIGHTS = (("y_P", 0.05),)  # m: half the usual
HARDEST = (("Silver", 2.5), ("Benchmark", 2.5), ("Benchmark", 7.0))  # where the limits are sought
LIMIT_STEPS: dict[str, tuple[float, ...]] = {  # from what is easy to what is not
    "torque": (10.0, 7.0, 5.0, 4.0, 3.0),
    "lean_rate": (0.35, 0.4, 0.45, 0.5, 0.6),
    "noise": (1.0, 2.0, 4.0, 8.0),
    "latency": (0.005, 0.05, 0.1, 0.15, 0.2),
}
LIMIT_WORDS = {
    "torque": "torque limit [N m]",
    "lean_rate": "lean rate of a kick [rad/s]",
    "noise": "noise of all instruments, times the usual",
    "latency": "age of a place [s]",
}


def belt_rides(seeds: int, minutes: float, weights: tuple[tuple[str, float], ...] = BELT_WEIGHTS) -> list[BeltRide]:
    """List the rides: each bicycle at each speed with the seeds from 1 on."""
    return [
        BeltRide(bicycle, v, seed, minutes, weights=weights)
        for seed in range(1, seeds + 1)
        for bicycle in BELT_BICYCLES
        for v in BELT_SPEEDS
    ]


def limit_rides(seeds: int, minutes: float) -> list[BeltRide]:
    """List the rides that seek the limits: one quantity at a time away from the task's."""
    rides = [
        _with(BeltRide(bicycle, v, seed, minutes, weights=BELT_WEIGHTS), name, value)
        for name, values in LIMIT_STEPS.items()
        for value in values
        for bicycle, v in HARDEST
        for seed in range(1, seeds + 1)
    ]
    return list(dict.fromkeys(rides))


def _with(ride: BeltRide, name: str, value: float) -> BeltRide:
    changed: dict[str, Any] = {name: value}
    return replace(ride, **changed)


def is_met(ridden: Sequence[Ridden]) -> bool:
    """Tell whether all rides ran to their end, on the belt and near enough to its middle."""
    return all(
        not result.ended and result.farthest <= 0.5 * BELT_WIDTH and result.rms <= WANTED_RMS for _, result in ridden
    )


def belt_markdown(ridden: Sequence[Ridden]) -> str:
    """Table with a row for each bicycle and speed: the worst seed counts."""
    lines = []
    for bicycle in BELT_BICYCLES:
        for v in BELT_SPEEDS:
            mine = [(ride, result) for ride, result in ridden if (ride.bicycle, ride.v) == (bicycle, v)]
            if not mine:
                continue
            results = [result for _, result in mine]
            far, rms = ([getattr(each, name) for each in results] for name in ("farthest", "rms"))
            ended = ", ".join(
                f"{each.ended} after {each.ridden:.0f} s (seed {r.seed})" for r, each in mine if each.ended
            )
            lines.append(
                [
                    bicycle,
                    f"{v:g}",
                    f"{len(mine)}",
                    f"{sum(each.kicks for each in results)}",
                    f"{np.median(far):.3f}, {max(far):.3f}",
                    f"{np.median(rms):.3f}, {max(rms):.3f}",
                    f"{max(each.torque for each in results):.1f}",
                    "yes" if is_met(mine) else "no",
                    ended or "-",
                ]
            )
    head = [
        "bicycle",
        "m/s",
        "rides",
        "kicks",
        "farthest wheel [m]",
        "rms of y [m]",
        "asked [N m]",
        "met",
        "ended early",
    ]
    hours = sum(result.ridden for _, result in ridden) / 3600.0
    met = sum(is_met([one]) for one in ridden)
    said = f"{met} of {len(ridden)} rides meet it; {hours:.1f} hours, {min(r.minutes for r, _ in ridden):g} min each"
    seeds = sorted({ride.seed for ride, _ in ridden})
    return (
        f"Seeds {seeds[0]} to {seeds[-1]}, by the true place; median and worst seed. {said}.\n\n"
        f"{markdown_table(head, lines)}"
    )


def limits_markdown(ridden: Sequence[Ridden]) -> str:
    """Table of the limits: the farthest wheel of the worst seed for each value of each quantity."""
    lines = []
    for name, values in LIMIT_STEPS.items():
        usual = getattr(BeltRide("", 0.0, 0), name)
        for value in values:
            cells = []
            for bicycle, v in HARDEST:
                mine = [
                    result
                    for ride, result in ridden
                    if (ride.bicycle, ride.v) == (bicycle, v)
                    and all(
                        getattr(ride, other) == (value if other == name else getattr(BeltRide("", 0.0, 0), other))
                        for other in LIMIT_STEPS
                    )
                ]
                left = sum(bool(result.ended) for result in mine)
                far = max((result.farthest for result in mine), default=np.nan)
                rms = max((result.rms for result in mine), default=np.nan)
                cells.append(f"left it in {left} of {len(mine)}" if left else f"{far:.2f}, {rms:.3f}")
            mark = " (the task)" if value == usual else ""
            lines.append([LIMIT_WORDS[name], f"{value:g}{mark}", *cells])
    head = ["what", "", *(f"{bicycle}, {v:g} m/s" for bicycle, v in HARDEST)]
    seeds = sorted({ride.seed for ride, _ in ridden})
    return (
        f"Farthest wheel and rms of y [m], worst of the seeds {seeds[0]} to {seeds[-1]}, "
        f"{ridden[0][0].minutes:g} min each.\n\n{markdown_table(head, lines)}"
    )


def write_belt_table() -> None:
    """Make the rides that are missing and put the table into a page, or print it."""
    parser = table_arguments(__doc__)
    parser.add_argument("--answers", type=Path, default=Path("belt_rides.jsonl"), help="file of rides, a line each")
    parser.add_argument("--seeds", type=int, default=10, help="of kicks and noise, from 1 on")
    parser.add_argument("--minutes", type=float, default=30.0, help="of each ride")
    parser.add_argument("--usual", action="store_true", help="under the usual weights of a lane")
    parser.add_argument("--limits", action="store_true", help="seek the limits in place of the task")
    given = parser.parse_args()
    if given.limits:
        rides = limit_rides(given.seeds, given.minutes)
    else:
        rides = belt_rides(given.seeds, given.minutes, () if given.usual else BELT_WEIGHTS)
    ridden = []
    for one in make_rides(rides, given.answers, given.jobs):
        ridden.append(one)
        ride, result = one
        what = result.ended or f"{result.farthest:.3f} m, rms {result.rms:.3f} m"
        sys.stderr.write(f"{len(ridden)} of {len(rides)}: {ride}: {what}\n")
    table = limits_markdown(ridden) if given.limits else belt_markdown(ridden)
    write_or_print(given.page, LIMITS_TABLE if given.limits else BELT_TABLE, table)


if __name__ == "__main__":
    write_belt_table()
