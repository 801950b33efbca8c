"""Eigenvalues in a lane, three ways: ``python -m tests.studies.lane_ways tables.md``.

Lane control on all the time; held back after a push by the drive, while the rest of the law balances; torque off after
such a push. Each seed is a small campaign on a belt with edges, in simulated time; what its windows
show is held against like for like.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from riderless.experiments.analysis.analyze import analyze_responses
from riderless.experiments.analysis.verdict.conditions import fit_campaign
from riderless.experiments.campaigns.file import plan_campaign
from riderless.experiments.campaigns.rehearsal import dry_run
from riderless.experiments.campaigns.run import run_conditions_in_lockstep
from riderless.experiments.campaigns.sweeps import spread
from riderless.experiments.fault_injection.summary_table import markdown_table
from riderless.experiments.recordings.read import read_recording
from riderless.models.noise_statistics import STDS_95
from tests.tools.tables import table_arguments, write_or_print

WAYS_TABLE = "table of `python -m tests.studies.lane_ways`"
LANE_WAYS: dict[str, dict[str, Any]] = {
    "kept all the time": {"kind": "treadmill", "speeds_m_s": [4.0, 5.5], "spacing_s": 4.0},
    "held back for 2 s after a push": {
        "kind": "release",
        "speeds_m_s": [4.0, 5.5],
        "releases": 3,
        "free_s": 2.0,
        "rest_s": 4.0,
        "hold_back": "lane",
    },
    "let go for 2 s: torque off": {
        "kind": "release",
        "speeds_m_s": [5.3, 5.6],
        "releases": 3,
        "free_s": 2.0,
        "rest_s": 4.0,
    },
}
WAY_BELT = 2.0  # m
WAY_LEAN_RATE = 0.2  # rad/s, of a kick


@dataclass(frozen=True)
class WayWindow:
    """Window of a run: measured less like for like [1/s, rad/s], the fit's deviations, and z, of both parts."""

    off: tuple[float, float]
    std: tuple[float, float]
    z: tuple[float, float]


@dataclass(frozen=True)
class WayAnswer:
    """Answer of one campaign."""

    way: str
    seed: int
    refused: str  # by a rehearsal; empty if not
    farthest: float  # m, of a wheel from the middle
    kicks: int
    windows: tuple[WayWindow, ...]
    p: float  # of its verdict; nan where there is none


def ask_way(asked: tuple[str, str, int]) -> WayAnswer:
    """Make the campaign of a way, a bicycle and a seed, rehearsed first, and analyse it."""
    way, bicycle, seed = asked
    protocol = LANE_WAYS[way] | ({"lean_rate_rad_s": WAY_LEAN_RATE} if LANE_WAYS[way]["kind"] == "treadmill" else {})
    campaign = plan_campaign(
        {
            "name": "way",
            "bicycles": [bicycle],
            "seed": seed,
            "belt": {"width_m": WAY_BELT},
            "controller": [{"method": "lane"}],
            "protocol": [protocol],
        }
    )
    refused = "; ".join(filter(None, (dry_run(condition).refusal for condition in campaign.conditions)))
    if refused:
        return WayAnswer(way, seed, refused, np.nan, 0, (), np.nan)
    with TemporaryDirectory() as folder:
        responses = [
            read_recording(attempt.folder)
            for attempt in run_conditions_in_lockstep(campaign.conditions, Path(folder), lambda *_: None)
        ]
    found = analyze_responses(responses)
    windows = []
    for one in found.comparisons:
        like = one.prediction.like
        if like is not None:
            off = one.fit.re - like.real, one.fit.im - like.imag
            windows.append(WayWindow(off, (one.fit.re_std, one.fit.im_std), (one.z_re, one.z_im)))
    fit = fit_campaign(found.comparisons) if found.comparisons else None
    return WayAnswer(
        way,
        seed,
        "",
        max(response.lane.farthest for response in responses if response.lane),
        3 * len(responses),
        tuple(windows),
        float(fit.p) if fit and fit.conditions else np.nan,
    )


def ways_markdown(answers: Sequence[WayAnswer]) -> str:
    """Table with a row for each way."""
    lines = []
    for way in LANE_WAYS:
        mine = [answer for answer in answers if answer.way == way]
        windows = [window for answer in mine for window in answer.windows]
        if not windows:
            continue
        off, std, z = (np.array([getattr(window, name) for window in windows]) for name in ("off", "std", "z"))
        inside = (np.abs(z) < STDS_95).sum(axis=0)
        p = np.array([answer.p for answer in mine if np.isfinite(answer.p)])
        lines.append(
            [
                way,
                f"{max(answer.farthest for answer in mine if not answer.refused):.2f} m",
                f"{len(windows)} of {sum(answer.kicks for answer in mine)}",
                "{:+.3f}, {:+.3f}".format(*off.mean(axis=0)),
                "{:.3f}, {:.3f}".format(*np.median(std, axis=0)),
                "{:+.1f}, {:+.1f}".format(*z.mean(axis=0)),
                "{:.1f}, {:.1f}".format(*np.sqrt((z**2).mean(axis=0))),
                "{} and {}".format(*inside),
                f"{(p < 0.05).sum()} of {len(p)}",
            ]
        )
    head = [
        *("the lane", "farthest wheel", "windows", "bias, 1/s and rad/s", "median std", "mean z", "rms z"),
        *("in 95 %", "campaigns with p < 0.05"),
    ]
    refused = "".join(
        f" Refused: {answer.way}, seed {answer.seed}: {answer.refused}." for answer in answers if answer.refused
    )
    seeds = sorted({answer.seed for answer in answers})
    return f"Seeds {seeds[0]} to {seeds[-1]}.{refused}\n\n{markdown_table(head, lines)}"


def write_ways_table() -> None:
    """Make the campaigns and put the table into a page, or print it."""
    parser = table_arguments(__doc__)
    parser.add_argument("--bicycle", default="Silver")
    parser.add_argument("--seeds", type=int, default=8, help="campaigns of two runs of three kicks, each way")
    parser.add_argument("--first", type=int, default=1, help="seed to begin with")
    given = parser.parse_args()
    work = [(way, given.bicycle, seed) for seed in range(given.first, given.first + given.seeds) for way in LANE_WAYS]
    answers: dict[int, WayAnswer] = {}
    for i, answer in spread(ask_way, work, given.jobs):
        answers[i] = answer
        sys.stderr.write(
            f"{len(answers)} of {len(work)}: {answer.way}, seed {answer.seed}: {len(answer.windows)} windows\n"
        )
    table = ways_markdown([answers[i] for i in range(len(work))])
    write_or_print(given.page, WAYS_TABLE, table)


if __name__ == "__main__":
    write_ways_table()
