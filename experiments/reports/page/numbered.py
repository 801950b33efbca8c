"""Windows as the page numbers them, and what its captions say of where they come from."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from riderless.experiments.datatypes import Comparison, Response
from riderless.experiments.reports.text import consecutive
from riderless.models.errors import InputError


@dataclass(frozen=True)
class NumberedWindow:
    """Comparison with its number on the page and the recording it was cut from."""

    number: int
    comparison: Comparison
    response: Response

    @property
    def worst(self) -> float:
        """Larger of the two deviations from the prediction, in standard deviations."""
        c = self.comparison
        return float(np.nan_to_num(max(abs(c.z_re), abs(c.z_im)), nan=np.inf))


def numbered_windows(responses: Sequence[Response], comparisons: Sequence[Comparison]) -> list[NumberedWindow]:
    """Number the windows from 1, in their order.

    Raises
    ------
    InputError
        If a comparison belongs to none of the recordings.
    """
    by_key = {response.key: response for response in responses}
    windows = []
    for i, c in enumerate(comparisons, start=1):
        response = by_key.get(c.key)
        if response is None:
            raise InputError(
                f"wanted the recording '{c.window.source}' ({c.label}) of window {i} among the responses of "
                "the report, found none; give the report every response that was analysed."
            )
        windows.append(NumberedWindow(i, c, response))
    return windows


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
