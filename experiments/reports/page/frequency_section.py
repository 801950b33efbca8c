"""Report section on frequency responses.

Verdicts, figures of each run, and one table.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from riderless.experiments.analysis.frequency_response.goodness_of_fit import (
    FrequencyGoodness,
    ResponseGoodness,
    frequency_verdicts,
    goodness,
)
from riderless.experiments.analysis.frequency_response.response import TRUSTED, FrequencyResponse
from riderless.experiments.reports import bode

FREQUENCY_RUNS_SHOWN = 6  # of which figures are drawn; the table has all
LOOP_AND_PLANT = ("loop", "plant")


@dataclass(frozen=True, eq=False)
class _FrequencyPanel:
    """One run on the page."""

    run: FrequencyResponse
    judged: Mapping[str, ResponseGoodness]
    figures: Mapping[str, Any]  # of matplotlib, by "loop" and "plant"


@dataclass(frozen=True, eq=False)
class FrequencySection:
    """All of the section; without runs it is absent."""

    answers: Sequence[FrequencyGoodness]
    rows: Sequence[tuple[FrequencyResponse, ResponseGoodness]]
    panels: Sequence[_FrequencyPanel]
    unusable: Sequence[str]
    trusted: float = TRUSTED

    @staticmethod
    def said(sentence: str) -> str:
        """Typeset a sentence for the page: a capital, and true minus signs before numbers."""
        return sentence[:1].upper() + re.sub(r"(?<![\w-])-(?=\d)", "−", sentence[1:])

    @property
    def files(self) -> dict[str, Any]:
        """Figures by the names of their files."""
        return {f"{panel.run.source}-{of}": figure for panel in self.panels for of, figure in panel.figures.items()}


def draw_section(found: Sequence[FrequencyResponse], unusable: Sequence[str] = ()) -> FrequencySection:
    """Judge and draw; of many runs those that agree least are drawn."""
    judged = {id(one): {of: goodness(one, of) for of in LOOP_AND_PLANT} for one in found}
    worst = sorted(found, key=lambda one: judged[id(one)]["loop"].p)[:FREQUENCY_RUNS_SHOWN]
    panels = [
        _FrequencyPanel(one, judged[id(one)], {of: bode.response_figure(one, of) for of in LOOP_AND_PLANT})
        for one in found
        if one in worst
    ]
    rows = [(one, judged[id(one)][of]) for one in found for of in LOOP_AND_PLANT]
    return FrequencySection(frequency_verdicts(found), rows, panels, unusable)
