"""Memory of what a campaign was said to see before its runs: in `campaign.json`, in a sentence, in the report."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.analysis.foresight.expected_power import FORESEEN_LEVEL, FORESEEN_POWER
from experiments.analysis.verdict.goodness_of_fit import SIGNIFICANCE
from experiments.campaigns.folder import CAMPAIGN_FILE, read_campaign_record
from experiments.campaigns.foresight import MORE_KICKS, ForeseenError, Foresight
from experiments.dynamics import plain_name
from experiments.reports.page.foreseen_section import ForeseenSection
from hil.logs.json_values import plain

RECORD_KEY = "would_see"


def foreseen_record(folder: Path, foreseen: Sequence[Foresight]) -> dict[str, Any]:
    """Give what goes into `campaign.json`: the tables, or those that an earlier part of the campaign left there."""
    if foreseen:
        return {RECORD_KEY: plain([one.as_json() for one in foreseen])}
    kept = read_campaign_record(folder).get(RECORD_KEY) if (folder / CAMPAIGN_FILE).exists() else None
    return {RECORD_KEY: kept} if kept else {}


def foreseen_sections(folder: Path) -> tuple[ForeseenSection, ...]:
    """Make the sections of the report from a campaign's folder; none where nothing was foreseen."""
    return tuple(_section(_foresight(one)) for one in foreseen_record(folder, ()).get(RECORD_KEY, ()))


def foreseen_sentence(foreseen: Foresight) -> str:
    """Say the smallest errors that the runs of a bicycle would show, without a full stop."""
    seen = [one for one in foreseen.errors if np.isfinite(one.seen)]
    sizes = ", ".join(f"{plain_name(one.name)} by {one.text(one.seen)} {one.shown_in}" for one in seen) or "none"
    return (
        f"errors of {foreseen.bicycle} that these runs would show in {10 * FORESEEN_POWER:.0f} of 10 "
        f"(p < {FORESEEN_LEVEL:g}), each alone: {sizes}"
    )


def error_rows(foreseen: Foresight) -> list[list[str]]:
    """Rows of a table: the error with its unit, the sizes as `foresight_head` has them, and what hides smaller ones."""
    return [
        [
            f"{one.name} {one.shown_in}",
            *map(one.text, (one.seen, one.more_kicks, one.one_more_speed, one.known_better)),
            ", ".join(one.hidden_by),
        ]
        for one in foreseen.errors
    ]


def foresight_head() -> list[str]:
    """Head of that table."""
    return ["error", "seen from", f"{MORE_KICKS} x kicks", "1 more speed", "known better", "hidden by deviations of"]


def foresight_caption(foreseen: Foresight) -> str:
    """Explain the table in a few sentences."""
    return (
        f"Windows expected: {foreseen.windows}, with the noise of the instruments alone: wind and "
        f"belt add to it. The verdict rejects at p < {SIGNIFICANCE:g}: {foreseen.larger_for_verdict:.2g} times these. "
        "Known better: with the first parameter named known twice as well."
    )


def _section(foreseen: Foresight) -> ForeseenSection:
    return ForeseenSection(
        bicycle=foreseen.bicycle,
        sentence=foreseen_sentence(foreseen),
        head=tuple(foresight_head()),
        rows=tuple(map(tuple, error_rows(foreseen))),
        caption=foresight_caption(foreseen),
        advice=foreseen.advice(),
    )


def _foresight(document: Mapping[str, Any]) -> Foresight:
    """Read a table back; a size that no campaign would see is null there."""

    def size(value: float | None) -> float:
        return float("inf") if value is None else float(value)

    return Foresight(
        bicycle=document["bicycle"],
        conditions=document["conditions"],
        windows=document["windows"],
        errors=tuple(
            ForeseenError(
                name=one["name"],
                nominal=one["nominal"],
                seen=size(one["smallest_seen"]),
                more_kicks=size(one["with_twice_the_kicks"]),
                one_more_speed=size(one["with_one_more_condition"]),
                known_better=size(one["with_the_first_known_twice_as_well"]),
                hidden_by=tuple(one["hidden_by"]),
            )
            for one in document["errors"]
        ),
        one_more=document["one_more_condition"],
        know_first=document["know_first"],
    )
