"""Verdicts on campaigns of labs that never saw riderless: is p uniform, and are planted causes named?

The campaigns come from `tests.reference.foreign_campaigns.generate`, as files; they are read as anybody's.
"""

import json
import math
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from scipy.stats import kstest

from riderless.experiments.fault_injection.summary_table import markdown_table
from riderless.experiments.reports.analyze import analyze
from riderless.models.errors import InputError
from tests.reference.foreign_campaigns.generate import (
    MEASURED,
    ForeignCampaign,
    draw_campaign,
    linear_plant,
    write_campaign,
)
from tests.studies.bending_ride import bending_ride

OF_OWN_SIZE = {"steer_dry_friction": 0.15, "gyro_scale": 0.1}  # SI; no verdict says what it sees of these
SHARES = {"c": 0.1, "mB": 0.1}  # of the bicycle's own
CALLED = {"steer_dry_friction": "coulomb_friction"}  # by the verdict
TIMES_SEEN = 2.0  # the smallest deviation that the verdict would have seen
AS_GOOD = 6.63  # of chi-square that is left: within it two causes are told as one
FEATURES: dict[str, Callable[[ForeignCampaign], object]] = {
    "level": lambda c: c.level,
    "kept for the end": lambda c: c.held_out,
    "law": lambda c: c.law,
    "bicycle": lambda c: c.bicycle,
    "rate": lambda c: c.log_rate,
    "steer logged": lambda c: c.steer_logged,
    "button": lambda c: c.marked,
    "push": lambda c: "longer than 0.25 s" if c.push > 0.25 else "up to 0.25 s",
    "peak": lambda c: "above 0.1 rad/s" if c.peak > 0.1 else "up to 0.1 rad/s",
    "quantised": lambda c: c.quantised > 0.0,
    "bias": lambda c: c.bias > 0.0,
    "gyro lag": lambda c: c.gyro_lag > 0.0,
    "rows missing": lambda c: c.missing > 0.0,
    "law's rate": lambda c: c.law_rate,
    "friction": lambda c: c.friction > 0.0,
    "gusts": lambda c: c.gusts > 0.0,
    "coasting": lambda c: c.coasts,
    "bending": lambda c: c.bends,
}


@dataclass(frozen=True)
class ForeignAnswer:
    """What the verdict on one campaign was; p is nan where there is none."""

    campaign: ForeignCampaign
    chi2: float = math.nan
    dof: int = 0
    p: float = math.nan
    windows: int = 0
    nonlinear: int = 0  # windows that are compared with the nonlinear bicycle
    why: str = ""  # no verdict
    causes: list[tuple[str, float]] = field(default_factory=list)  # each with what it leaves
    seen: dict[str, float] = field(default_factory=dict)  # smallest deviations
    seconds: float = 0.0

    @property
    def judged(self) -> bool:
        """Was a verdict given?"""
        return math.isfinite(self.p)

    @property
    def named(self) -> str:
        """How the planted cause fared: right, among equals, wrong, or unseen."""
        (name,) = self.campaign.planted
        planted = CALLED.get(name, name)
        tried = [(name, left) for name, left in self.causes if math.isfinite(left)]
        if not self.judged or self.p >= 0.05:
            return "without verdict" if not self.judged else "unseen"
        if not tried:
            return "none named"
        if tried[0][0] == planted:
            return "right"
        equals = [name for name, left in tried if left <= tried[0][1] + AS_GOOD]
        return "among equals" if planted in equals else "wrong"


def ask_foreign(campaign: ForeignCampaign) -> ForeignAnswer:
    """Write a campaign's files, and analyse them as `riderless analyze --mapping ... --json` does."""
    folder, begin = Path(tempfile.mkdtemp()), perf_counter()
    try:
        logs = write_campaign(campaign, folder, bending_ride if campaign.bends else linear_plant)
        found: dict[str, Any] = analyze(logs, mapping=folder / "mapping.toml").as_json()
    except InputError as error:
        return ForeignAnswer(campaign, why=f"refused: {error}", seconds=perf_counter() - begin)
    finally:
        shutil.rmtree(folder)
    shown = ForeignAnswer(
        campaign,
        windows=len(found["windows"]),
        nonlinear=sum(one["like_model"] == "nonlinear" for one in found["windows"]),
        seconds=perf_counter() - begin,
    )
    if not found["verdicts"] or not found["verdicts"][0]["dof"]:
        return replace(shown, why="no window")
    (verdict,) = found["verdicts"]
    return replace(
        shown,
        chi2=verdict["chi2"],
        dof=verdict["dof"],
        p=verdict["p"],
        why=verdict["withheld"],
        causes=[(one["name"], one["left"]) for one in verdict["causes"]],
        seen={one["name"]: one["deviation"] for one in verdict["power"]},
    )


def plan_foreign(
    numbers: range, levels: Sequence[str], laws: Sequence[str], coasts: bool = False, bends: bool = False
) -> list[ForeignCampaign]:
    """Draw campaigns of each level, their laws in turn; on a belt or coasting, of a bicycle that may bend."""
    drawn = [(n, level, laws[i % len(laws)]) for level in levels for i, n in enumerate(numbers)]
    return [replace(draw_campaign(*one, coasts), bends=bends) for one in drawn]


def with_planted(answer: ForeignAnswer) -> list[ForeignCampaign]:
    """Plant one cause after the other into a true campaign, each of twice the size that its verdict would see."""
    sizes = {name: TIMES_SEEN * size for name, size in answer.seen.items() if math.isfinite(size)} | OF_OWN_SIZE
    own = MEASURED[answer.campaign.bicycle]["parameters"]
    sizes |= {name: share * own[name] for name, share in SHARES.items()}
    if answer.campaign.law == "bare":
        sizes = {name: size for name, size in sizes.items() if name not in ("drive_gain", "more_delay")}
    return [replace(answer.campaign, planted={name: size}) for name, size in sizes.items()]


def foreign_tables(answers: Sequence[ForeignAnswer]) -> dict[str, str]:
    """Make a table of each feature."""
    head = ["", "campaigns", "without verdict", "chi-square a degree", "p < 0.05", "p < 0.01", "KS p", "s"]
    tables = {}
    for name, of in FEATURES.items():
        kinds = sorted({of(a.campaign) for a in answers}, key=str)
        tables[name] = markdown_table(head, [_row(str(k), [a for a in answers if of(a.campaign) == k]) for k in kinds])
    return {"all": markdown_table(head, [_row("all", answers)]), **tables}


def _row(name: str, answers: Sequence[ForeignAnswer]) -> list[str]:
    judged = [a for a in answers if a.judged]
    p, n = np.array([a.p for a in judged]), len(judged)
    chi2 = sum(a.chi2 for a in judged) / max(sum(a.dof for a in judged), 1)
    ks = kstest(p, "uniform").pvalue if n else math.nan
    seconds = np.mean([a.seconds for a in answers])
    counts = [str(int(np.sum(p < level))) for level in (0.05, 0.01)]
    return [name, str(n), str(len(answers) - n), f"{chi2:.2f}", *counts, f"{ks:.2g}", f"{seconds:.1f}"]


def planted_table(answers: Sequence[ForeignAnswer]) -> str:
    """Make the table of planted causes."""
    fates = ["right", "among equals", "wrong", "none named", "unseen", "without verdict"]
    names = sorted({next(iter(a.campaign.planted)) for a in answers})
    rows = [
        [name, *(str(sum(a.named == f for a in answers if name in a.campaign.planted)) for f in fates)]
        for name in names
    ]
    return markdown_table(["planted", *fates], rows)


def foreign_line(answer: ForeignAnswer) -> str:
    """Line of the file of answers."""
    return json.dumps(asdict(answer))


def read_foreign_answers(path: Path) -> list[ForeignAnswer]:
    """Read the file of answers."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [ForeignAnswer(**{**one, "campaign": ForeignCampaign(**one["campaign"])}) for one in lines]
