"""Map of a path: asked and ridden, seen from above, the right-hand side below as on a chart of the road ahead."""

from typing import TYPE_CHECKING

from riderless.experiments.reports.eigenvalues import BLUE, INK_COLOUR, MUTED_COLOUR
from riderless.experiments.reports.timeline.ridden_path import RiddenPath

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARGIN = 2.0  # m, of the path asked that is shown beyond what was ridden


def draw_path(ax: "Axes", ridden: RiddenPath) -> None:
    """Draw the path asked and the one ridden into axes of their own; y grows downwards, for it is to the right."""
    near = (ridden.asked_x > ridden.x.min() - _MARGIN) & (ridden.asked_x < ridden.x.max() + _MARGIN)
    ax.plot(ridden.asked_x[near], ridden.asked_y[near], color=MUTED_COLOUR, lw=2.6, alpha=0.5, solid_capstyle="butt")
    ax.plot(ridden.x, ridden.y, color=BLUE, lw=0.9)
    ax.plot(ridden.x[:1], ridden.y[:1], "o", color=INK_COLOUR, ms=3.0)
    ax.set_aspect("equal", adjustable="datalim")
    ax.invert_yaxis()
    ax.set_ylabel("y [m]", labelpad=2.0)
    ax.set_xlabel("x [m]", labelpad=1.0)
    ax.tick_params(length=2.0, pad=1.5)
    words = (
        f"{ridden.name}, at {ridden.speed:g} m/s: asked (broad, grey) and ridden by the estimate (line, from the dot)\n"
        f"beside it {1e3 * ridden.rms:.0f} mm rms, {1e3 * ridden.most:.0f} mm at most"
    )
    ax.set_title(words, fontsize=6.8, color=MUTED_COLOUR, loc="left", pad=3.0)
