"""Numbers and captions of a page's windows.

Captions tell where windows come from.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from riderless.experiments.datatypes import Comparison, Response
from riderless.experiments.reports.text import consecutive


@dataclass(frozen=True)
class NumberedWindow:
    """Comparison with its number on the page."""

    number: int
    comparison: Comparison

    @property
    def response(self) -> Response:
        """Recording that it was cut from."""
        return self.comparison.segment.response

    @property
    def worst(self) -> float:
        """Larger of the two deviations from the prediction, in standard deviations."""
        c = self.comparison
        return float(np.nan_to_num(max(abs(c.z_re), abs(c.z_im)), nan=np.inf))


def least_agreeing(windows: Sequence[NumberedWindow], most: int) -> list[NumberedWindow]:
    """Choose at most so many windows, those that agree least, in their order."""
    worst = sorted(windows, key=lambda w: w.worst, reverse=True)[:most]
    return sorted(worst, key=lambda w: w.number)


def origin_text(windows: Sequence[NumberedWindow]) -> str:
    """Name windows and recordings of a figure, in words."""
    sources = list(dict.fromkeys(w.comparison.window.source for w in windows))
    named = ", ".join(sources[:3]) + (f" and {len(sources) - 3} more" if len(sources) > 3 else "")
    return f"{_number_ranges([w.number for w in windows])} from {named}" if windows else ""


def _number_ranges(numbers: Sequence[int]) -> str:
    """Window numbers in words: [1, 2, 3, 7] -> "Windows 1–3, 7"."""
    parts = [f"{r[0]}–{r[-1]}" if len(r) > 1 else f"{r[0]}" for r in consecutive(numbers)]
    return ("Window " if len(numbers) == 1 else "Windows ") + ", ".join(parts)
