"""What the report shows of frequency responses: verdicts, figures of each run, and one table."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.frequency.goodness_of_fit import (
    FrequencyGoodness,
    ResponseGoodness,
    frequency_verdicts,
    goodness,
    response_document,
)
from experiments.frequency.response import TRUSTED, FrequencyResponse
from experiments.reports import bode

RUNS_SHOWN = 6  # of which figures are drawn; the table has all
OF = ("loop", "plant")


@dataclass(frozen=True, eq=False)
class Panel:
    """One run on the page."""

    run: FrequencyResponse
    judged: Mapping[str, ResponseGoodness]
    figures: Mapping[str, Any]  # of matplotlib, by "loop" and "plant"


@dataclass(frozen=True, eq=False)
class Section:
    """All of the section; without runs it is absent."""

    answers: Sequence[FrequencyGoodness]
    rows: Sequence[tuple[FrequencyResponse, ResponseGoodness]]
    panels: Sequence[Panel]
    unusable: Sequence[str]
    trusted: float = TRUSTED

    @staticmethod
    def said(sentence: str) -> str:
        """A sentence as printed on the page: a capital, and true minus signs before numbers."""
        return sentence[:1].upper() + re.sub(r"(?<![\w-])-(?=\d)", "−", sentence[1:])

    @property
    def files(self) -> dict[str, Any]:
        """The figures by the names of their files."""
        return {f"{panel.run.source}-{of}": figure for panel in self.panels for of, figure in panel.figures.items()}


def section(found: Sequence[FrequencyResponse], unusable: Sequence[str] = ()) -> Section:
    """Judge and draw; of many runs those that agree least are drawn."""
    judged = {id(one): {of: goodness(one, of) for of in OF} for one in found}
    worst = sorted(found, key=lambda one: judged[id(one)]["loop"].p)[:RUNS_SHOWN]
    panels = [
        Panel(one, judged[id(one)], {of: bode.response_figure(one, of) for of in OF}) for one in found if one in worst
    ]
    rows = [(one, judged[id(one)][of]) for one in found for of in OF]
    return Section(frequency_verdicts(found), rows, panels, unusable)


def numbers(found: Sequence[FrequencyResponse]) -> list[dict[str, Any]]:
    """For `report.json` and `--json`."""
    return [response_document(one) for one in found]
