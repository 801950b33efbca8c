"""Report section on an adaptive experiment.

What was chosen and why, and what was known when.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from riderless.experiments.reports.eigenvalues import GRID_COLOUR, MUTED_COLOUR, SERIES_STYLES, figure_style, new_figure
from riderless.models.array_types import Array
from riderless.models.noise_statistics import STDS_95 as BAR

COURSES_ACROSS = 2


@dataclass(frozen=True, eq=False)
class CourseRow:
    """Run that was made: its name, why, minutes when it was over, and values and deviations (q,) then, SI."""

    name: str
    why: str
    minutes: float
    windows: int
    values: Array
    stds: Array


@dataclass(frozen=True, eq=False)
class CourseSection:
    """All of the section.

    Attributes
    ----------
    sentence, beside_theory : str
        How it ended, and how far from theory's values.
    doubts : sequence of str
        Reasons not to believe the intervals.
    off_theory : bool
        Does anything that was free lie farther from theory than chance explains?
    reached : bool
        Is known what was asked for?
    labels, units : sequence of str
        Of the q quantities asked for.
    nominal, wanted : (q,) arrays
        Theory's values and the deviations wanted, SI; infinite where none is.
    rows : sequence of CourseRow
    dropped : mapping of str to str
        What was left out, and why.
    numbers : mapping
        For `report.json`.
    """

    sentence: str
    beside_theory: str
    doubts: Sequence[str]
    off_theory: bool
    reached: bool
    labels: Sequence[str]
    units: Sequence[str]
    nominal: Array
    wanted: Array
    rows: Sequence[CourseRow]
    dropped: Mapping[str, str]
    numbers: Mapping[str, Any] = field(default_factory=dict)

    @property
    def heads(self) -> list[str]:
        """Headings of the quantities, with their units."""
        return [f"{label}, {unit}" if unit else label for label, unit in zip(self.labels, self.units, strict=True)]

    def beside_windows(self, explained: bool | None) -> str:
        """Say why the verdict on the eigenvalues of the windows is another than the course's; empty where it is not.

        Parameters
        ----------
        explained : bool or None
            Of that verdict; None where it can say nothing.
        """
        if self.off_theory and explained is not False:
            return (
                "no contradiction: an eigenvalue shows a machine's errors only in how the loop swings, "
                "the whole motion after a known torque shows smaller ones"
            )
        if not self.off_theory and explained is False:
            return "something else than what was left free is not as theory has it: the intervals may not hold"
        return ""

    @property
    def files(self) -> dict[str, Any]:
        """Figure by the name of its file; none without a run."""
        return {"course": self.figure} if self.rows else {}

    @property
    def figure(self) -> Any:
        """Draw each quantity over the minutes: value with its 95 % interval, and theory's value."""
        down = math.ceil(len(self.labels) / COURSES_ACROSS)
        across = min(COURSES_ACROSS, len(self.labels))
        minutes = np.array([row.minutes for row in self.rows])
        with figure_style():
            figure = new_figure(3.6 * across + 0.4, 2.3 * down + 0.3)
            for i, head in enumerate(self.heads):
                ax = figure.add_subplot(down, across, i + 1)
                values = np.array([row.values[i] for row in self.rows])
                stds = np.array([row.stds[i] for row in self.rows])
                ax.axhline(self.nominal[i], color=MUTED_COLOUR, lw=0.8, ls=":")
                if np.isfinite(self.wanted[i]):
                    ax.axhspan(
                        values[-1] - BAR * self.wanted[i], values[-1] + BAR * self.wanted[i], color=GRID_COLOUR, lw=0.0
                    )
                ax.errorbar(minutes, values, BAR * stds, fmt=".-", color=SERIES_STYLES[0][0], ms=4.0, lw=1.0)
                ax.set_xlabel("min")
                ax.set_ylabel(head)
            figure.set_layout_engine("constrained")
        return figure


# Section of the report on what a campaign was said to see before it was run.


@dataclass(frozen=True)
class ForeseenSection:
    """Smallest errors that the runs of one bicycle would show, as text."""

    bicycle: str
    sentence: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str
    advice: str
