"""Picture of an envelope: lowest speed of survival over two quantities of a machine.

The speeds at which no steer torque moves one of the modes are marked in it: no motor helps there.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from riderless.experiments.reports.eigenvalues import figure_style, new_figure
from riderless.experiments.reports.theory import check_figure_format, save_figure
from riderless.hil.design.stabilisability import StuckMode
from riderless.models.array_types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def stuck_in_words(mode: StuckMode) -> str:
    """Explain the mark at the speed of a mode that no steer torque moves."""
    if mode.stable:
        return f"black, {mode.v:.3g} m/s: steer torque cannot move one mode, but it dies out by itself"
    return f"red, {mode.v:.3g} m/s: steer torque cannot move the mode that falls; no motor helps there"


def plot_envelope(
    title: str,
    axes: Mapping[str, Sequence[float]],
    lowest: Array,
    *,
    stuck: Sequence[StuckMode] = (),
    path: str | Path | None = None,
) -> "Figure":
    """Draw the lowest speed of survival: a line over one quantity, a map over two.

    Parameters
    ----------
    title : str
    axes : mapping of str to sequence of float
        One or two quantities with their units, and their values.
    lowest : (n,) or (n, k)
        [m/s]; nan where no speed is survived.
    stuck : sequence of StuckMode
        Modes that no steer torque moves; a sentence explains the marks at their speeds.
    path : str or Path, optional
        File to write as well, SVG, PDF or PNG.

    Raises
    ------
    InputError
        The file cannot be written, or its suffix is no format of a figure.
    """
    if path is not None:
        check_figure_format(Path(path))
    labels, (across, *up) = list(axes), axes.values()
    with figure_style():
        figure = new_figure(6.0, 4.8 if stuck else 4.2)
        plot = figure.add_subplot()
        plot.set_xlabel(labels[0])
        if not up:
            plot.plot(across, lowest, "o-")
            plot.set_ylabel("lowest speed of survival [m/s]")
            plot.set_ylim(bottom=0.0, top=1.05 * max([*lowest[np.isfinite(lowest)], *(mode.v for mode in stuck), 1.0]))
            speeds = plot
        else:
            shown = plot.imshow(lowest.T, origin="lower", aspect="auto", cmap="viridis_r")
            speeds = figure.colorbar(shown, ax=plot, label="lowest speed of survival [m/s]").ax
            speeds.set_ylim(0.0, max([*speeds.get_ylim(), *(1.05 * mode.v for mode in stuck)]))
            plot.set_ylabel(labels[1])
            plot.set_xticks(range(len(across)), [f"{x:g}" for x in across])
            plot.set_yticks(range(len(up[0])), [f"{x:g}" for x in up[0]])
            known = lowest[np.isfinite(lowest)]
            half = (known.max() + known.min()) / 2.0 if known.size else 0.0
            for (i, j), v in np.ndenumerate(lowest):
                text = "falls" if np.isnan(v) else f"{v:g}"
                plot.text(i, j, text, ha="center", va="center", color="white" if v > half else "black")
            plot.grid(visible=False)
        for mode in stuck:
            speeds.axhline(mode.v, color="black" if mode.stable else "tab:red", linestyle="--")
        if stuck:
            figure.supxlabel("\n".join(map(stuck_in_words, stuck)), fontsize="small")
        plot.set_title(title)
    if path is not None:
        save_figure(figure, Path(path))
    return figure
