"""Report of a campaign's detectable errors.

They are foreseen before its runs: in words, in `campaign.json` and back, in the report.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from riderless.experiments.analysis.power.expected_power import FORESEEN_LEVEL, FORESEEN_POWER
from riderless.experiments.analysis.power.power import noncentrality
from riderless.experiments.analysis.verdict.goodness_of_fit import SIGNIFICANCE
from riderless.experiments.analysis.verdict.steer_elements import DRY_FRICTION
from riderless.experiments.campaigns.folder import CAMPAIGN_FILE, read_campaign_record
from riderless.experiments.dynamics import plain_name, shown_unit, unit_of
from riderless.experiments.reports.page.course_section import ForeseenSection
from riderless.hil.logs.json_values import plain
from riderless.models.parameters import PARAMETERS
from riderless.models.tables import plain_number

MORE_KICKS = 2  # times
RECORD_KEY = "would_see"


@dataclass(frozen=True)
class ForeseenError:
    """Error of a machine, and the smallest size of it (SI) that the campaign would see; infinite where it would not.

    Attributes
    ----------
    seen : float
        As the campaign is planned.
    more_kicks, one_more_speed, known_better : float
        With `MORE_KICKS` times the kicks, with `Foresight.one_more` beside, and with the first of `hidden_by` known
        twice as well; nan where there is no such condition or parameter.
    nominal : float
        Value without an error, to which a size without a unit or of a parameter is set in proportion.
    hidden_by : tuple of str
        Parameters of the bicycle whose deviations hide a smaller one, the one to know better first.
    """

    name: str
    nominal: float
    seen: float
    more_kicks: float
    one_more_speed: float
    known_better: float
    hidden_by: tuple[str, ...]

    @property
    def unit(self) -> str:
        """SI unit; empty for a number without one."""
        return DRY_FRICTION.unit if self.name == DRY_FRICTION.name else unit_of(self.name)

    @property
    def shown_in(self) -> str:
        """Unit in which sizes are shown: percent of the value without an error, milliseconds, or SI."""
        return self._shown[1]

    def text(self, size: float) -> str:
        """Write a size [SI] in the unit that it is shown in; "-" for one that is never seen."""
        if not np.isfinite(size):
            return "-"
        scale, unit = self._shown
        return plain_number((scale / abs(self.nominal or 1.0) if unit == "%" else scale) * size, 2)

    @property
    def _shown(self) -> tuple[float, str]:
        return shown_unit("" if self.name in PARAMETERS and self.nominal else self.unit)


@dataclass(frozen=True)
class Foresight:
    """Errors that a campaign with one bicycle would see, and what would make it see more."""

    bicycle: str
    conditions: int
    windows: int
    errors: tuple[ForeseenError, ...]
    one_more: str  # condition that would shrink the sizes most; empty where none was found
    know_first: str  # parameter whose better knowledge would; empty where none hides anything

    @property
    def larger_for_verdict(self) -> float:
        """Times by which an error must be larger for the verdict itself, which rejects at `SIGNIFICANCE`."""
        size, own = (noncentrality(2 * self.conditions, p, FORESEEN_POWER) for p in (FORESEEN_LEVEL, SIGNIFICANCE))
        return float(np.sqrt(own / size))

    def advice(self) -> str:
        """Sentence on what would make the campaign see more."""
        steps = [f"{MORE_KICKS} times the kicks"]
        steps += [f"one more condition, best {self.one_more}"] if self.one_more else []
        steps += [f"a better known bicycle, first {self.know_first}"] if self.know_first else []
        return f"what would make the runs of {self.bicycle} show smaller errors: {'; '.join(steps)}"

    def as_json(self) -> dict[str, Any]:
        """Document of the table; sizes in SI, null where no size is seen."""
        return {
            "bicycle": self.bicycle,
            "conditions": self.conditions,
            "windows": self.windows,
            "rejected_in": FORESEEN_POWER,
            "p_below": FORESEEN_LEVEL,
            "times_larger_for_the_verdict": self.larger_for_verdict,
            "one_more_condition": self.one_more,
            "know_first": self.know_first,
            "errors": [
                {
                    "name": error.name,
                    "unit": error.unit,
                    "nominal": error.nominal,
                    "smallest_seen": error.seen,
                    "with_twice_the_kicks": error.more_kicks,
                    "with_one_more_condition": error.one_more_speed,
                    "hidden_by": list(error.hidden_by),
                    "with_the_first_known_twice_as_well": error.known_better,
                }
                for error in self.errors
            ],
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read a table back; a size that no campaign would see is null there."""

        def size(value: float | None) -> float:
            return float("inf") if value is None else float(value)

        return cls(
            bicycle=document["bicycle"],
            conditions=document["conditions"],
            windows=document["windows"],
            errors=tuple(
                ForeseenError(
                    name=error["name"],
                    nominal=error["nominal"],
                    seen=size(error["smallest_seen"]),
                    more_kicks=size(error["with_twice_the_kicks"]),
                    one_more_speed=size(error["with_one_more_condition"]),
                    known_better=size(error["with_the_first_known_twice_as_well"]),
                    hidden_by=tuple(error["hidden_by"]),
                )
                for error in document["errors"]
            ),
            one_more=document["one_more_condition"],
            know_first=document["know_first"],
        )


def foreseen_record(folder: Path, foreseen: Sequence[Foresight]) -> dict[str, Any]:
    """Give what goes into `campaign.json`: the tables, or those that an earlier part of the campaign left there."""
    if foreseen:
        return {RECORD_KEY: plain([each.as_json() for each in foreseen])}
    kept = read_campaign_record(folder).get(RECORD_KEY) if (folder / CAMPAIGN_FILE).exists() else None
    return {RECORD_KEY: kept} if kept else {}


def foreseen_sections(folder: Path) -> tuple[ForeseenSection, ...]:
    """Make the sections of the report from a campaign's folder; none where nothing was foreseen."""
    return tuple(_section(Foresight.from_json(record)) for record in foreseen_record(folder, ()).get(RECORD_KEY, ()))


def foreseen_sentence(foreseen: Foresight) -> str:
    """Say the smallest errors that the runs of a bicycle would show, without a full stop."""
    seen = [error for error in foreseen.errors if np.isfinite(error.seen)]
    sizes = ", ".join(f"{plain_name(e.name)} by {e.text(e.seen)} {e.shown_in}" for e in seen) or "none"
    return (
        f"errors of {foreseen.bicycle} that these runs would show in {10 * FORESEEN_POWER:.0f} of 10 "
        f"(p < {FORESEEN_LEVEL:g}), each alone: {sizes}"
    )


def error_rows(foreseen: Foresight) -> list[list[str]]:
    """Rows of a table: the error with its unit, the sizes as `foresight_head` has them, and what hides smaller ones."""
    return [
        [
            f"{error.name} {error.shown_in}",
            *map(error.text, (error.seen, error.more_kicks, error.one_more_speed, error.known_better)),
            ", ".join(error.hidden_by),
        ]
        for error in foreseen.errors
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
