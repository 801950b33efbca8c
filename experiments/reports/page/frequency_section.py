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
        return {
            f"{panel.run.source}-{system}": figure for panel in self.panels for system, figure in panel.figures.items()
        }


def draw_section(responses: Sequence[FrequencyResponse], unusable: Sequence[str] = ()) -> FrequencySection:
    """Judge and draw; of many runs those that agree least are drawn."""
    judged = {id(response): {system: goodness(response, system) for system in LOOP_AND_PLANT} for response in responses}
    worst = sorted(responses, key=lambda response: judged[id(response)]["loop"].p)[:FREQUENCY_RUNS_SHOWN]
    panels = [
        _FrequencyPanel(
            response,
            judged[id(response)],
            {system: bode.response_figure(response, system) for system in LOOP_AND_PLANT},
        )
        for response in responses
        if response in worst
    ]
    rows = [(response, judged[id(response)][system]) for response in responses for system in LOOP_AND_PLANT]
    return FrequencySection(frequency_verdicts(responses), rows, panels, unusable)
