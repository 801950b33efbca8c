"""Gain of the steer-into-lean law, as text.

Also as numbers; from a table of measured eigenvalues.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from riderless.experiments.analysis.identification.feedback_gain import (
    EigenvalueTable,
    GainEstimate,
    estimate_gain,
    read_eigenvalues,
)
from riderless.experiments.analysis.identification.identify import Identification
from riderless.experiments.analysis.identification.profile_likelihood import Profile
from riderless.experiments.dynamics import unit_of
from riderless.experiments.reports.eigenvalues import MUTED_COLOUR, SERIES_STYLES, figure_style, new_figure
from riderless.experiments.reports.text import Sentence, TextBlock, TextTable, plain_text
from riderless.models import catalogue
from riderless.models.errors import InputError
from riderless.models.noise_statistics import STDS_95

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


PULLS_TOLD = 3


@dataclass(frozen=True)
class _GainResult:
    """Gain found in a table of eigenvalues, with the bicycle's parameters uncertain as published."""

    source: str
    bicycle: str
    v0: float  # m/s
    measured: EigenvalueTable
    found: GainEstimate

    def blocks(self) -> Iterator[TextBlock]:
        """Gain with its interval, then each eigenvalue beside the best."""
        estimate = self.found
        low, high = estimate.interval
        yield Sentence(
            f"{self.source}: the law T = kappa ({self.v0:g} - v) phi_dot on {self.bicycle} explains these eigenvalues "
            f"best with kappa = {estimate.gain:.2f} N s^2, 95 % interval {low:.2f} to {high:.2f}"
        )
        below = self.measured.v < self.v0
        rows = zip(estimate.speeds, self.measured.re[below], self.measured.im[below], estimate.fitted, strict=True)
        yield TextTable(
            "Measured and with that gain",
            ["v m/s", "re", "im", "re so", "im so"],
            [[f"{v:.2f}", f"{re:.2f}", f"{im:.2f}", f"{s.real:.2f}", f"{s.imag:.2f}"] for v, re, im, s in rows],
            f"scatter about it: {estimate.scatter[0]:.2f} 1/s and {estimate.scatter[1]:.2f} rad/s a point",
        )
        moved = ", ".join(f"{name} {pull:+.1f}" for name, pull in list(estimate.pulls.items())[:PULLS_TOLD])
        if moved:
            yield Sentence(f"parameters that moved most, in their standard deviations: {moved}")
        if len(estimate.left_out):
            yield Sentence(
                f"left out, for the law does nothing there: {', '.join(f'{v:g}' for v in estimate.left_out)} m/s"
            )

    def table(self) -> str:
        """Plain text of what `riderless identify --eigenvalues` prints."""
        return plain_text(self.blocks())

    def as_json(self) -> dict[str, Any]:
        """Document of the gain; SI."""
        estimate = self.found
        return {
            "source": self.source,
            "bicycle": self.bicycle,
            "v0": self.v0,
            "gain": {"value": estimate.gain, "std": estimate.std, "interval": estimate.interval},
            "scatter": estimate.scatter,
            "moved_in_std": estimate.pulls,
            "speeds": estimate.speeds,
            "left_out": estimate.left_out,
        }


def gain_of_table(path: str | Path, bicycle: str, v0: float | None, trust: bool = False) -> _GainResult:
    """Find the gain of T = kappa (v0 - v) phi_dot that explains a table of measured eigenvalues.

    Parameters
    ----------
    path : str or Path
        Table with columns of speed, real and imaginary part.
    bicycle : str
        Of the catalogue, or a file.
    v0 : float
        Speed above which the law does nothing [m/s].
    trust : bool
        An unusual bicycle is taken as it is.

    Raises
    ------
    InputError
        No bicycle, no v0, or a table that is not understood.
    """
    if not bicycle or v0 is None or not v0 > 0.0:
        raise InputError(
            "wanted the bicycle and the speed v0 above 0 m/s of the law T = kappa (v0 - v) phi_dot for a table of "
            f"eigenvalues, found {bicycle or 'no bicycle'} and {'no v0' if v0 is None else f'{v0:g}'}; "
            "say --bicycle NAME --v0 SPEED"
        )
    own = catalogue.load_bicycle(bicycle, trust)
    measured = read_eigenvalues(path)
    return _GainResult(Path(path).name, own.name, v0, measured, estimate_gain(own, v0, *measured))


# Figure of profile likelihoods: one panel for each quantity.


PANELS_ACROSS = 3
HEIGHT_SHOWN = 4.0  # times the limit, of the curves
PARABOLA_REACH, PARABOLA_POINTS = 3.0, 25  # standard deviations to either side


def profiles_of(found: Identification) -> list[Profile]:
    """Profiles of an identification that made none: parabolas of its standard deviations."""
    root = np.linspace(-PARABOLA_REACH, PARABOLA_REACH, PARABOLA_POINTS)
    return [
        Profile(name, best, best + std * root, root, {}, best - STDS_95 * std, best + STDS_95 * std, STDS_95)
        for name, best, std in zip(found.names, found.values.tolist(), found.std.tolist(), strict=True)
    ]


def profiles_figure(several: Sequence[Profile]) -> "Figure":
    """Rise of -2 log likelihood over each quantity, the others fitted anew; the line is the limit of the interval."""
    rows = math.ceil(len(several) / PANELS_ACROSS)
    across = min(PANELS_ACROSS, len(several))
    with figure_style():
        figure = new_figure(2.4 * across + 0.4, 2.3 * rows + 0.3)
        axes = [figure.add_subplot(rows, across, place) for place in range(1, len(several) + 1)]
        draw_profiles(axes, several)
        for place, ax in enumerate(axes):
            if place % across:
                ax.set_ylabel("")
        figure.set_layout_engine("constrained")
    return figure


def draw_profiles(axes: Sequence["Axes"], several: Sequence[Profile]) -> None:
    """Draw each profile into axes of its own."""
    colour = SERIES_STYLES[0][0]
    for ax, profile in zip(axes, several, strict=True):
        ax.plot(profile.values, profile.root**2, ".-", color=colour, ms=4.0, lw=1.0)
        ax.axhline(profile.limit**2, color=MUTED_COLOUR, lw=0.8)
        for bound in (profile.low, profile.high):
            if bound is not None:
                ax.axvline(bound, color=MUTED_COLOUR, lw=0.8, ls=":")
        top = max(
            min(HEIGHT_SHOWN * profile.limit**2, float(np.max(profile.root**2, initial=0.0))),
            1.2 * profile.limit**2,
        )
        ax.set_ylim(-0.03 * top, top)
        unit = unit_of(profile.name)
        ax.set_xlabel(f"{profile.name}  [{unit}]" if unit else profile.name)
        ax.set_ylabel("rise of -2 log L")
