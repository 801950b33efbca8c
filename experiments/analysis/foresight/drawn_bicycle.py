"""Bicycle drawn from its standard deviations: a rehearsal's windows as that bicycle would have given them.

No bicycle is as its data sheet says. What theory then cannot explain weighs in every estimate, as an error of the
machine does: rehearsed with the bicycle that theory knows, a campaign would see smaller errors than it will.
"""

from collections.abc import Mapping

import numpy as np

from riderless.experiments.analysis.comparison.compare import compare
from riderless.experiments.analysis.estimators import estimate_alike
from riderless.experiments.analysis.power.changed_window import KickedWindow, moved_by
from riderless.experiments.analysis.windows.grouping import WindowsOfBicycle
from riderless.experiments.datatypes import Comparison, Response


def given_by(drawn: Mapping[str, float], windows: WindowsOfBicycle) -> WindowsOfBicycle:
    """Windows as the drawn bicycle would have given them; those that it would not have given are left out.

    Parameters
    ----------
    drawn : mapping
        Of `riderless.experiments.theory.drawn_machine.draw_machine`.
    windows : sequence of (Response, Comparison)
        Of a rehearsal.
    """
    found = (_given_by(drawn, response, c) for response, c in windows)
    return [pair for pair in found if pair is not None] if drawn else list(windows)


def _given_by(drawn: Mapping[str, float], response: Response, c: Comparison) -> tuple[Response, Comparison] | None:
    change = KickedWindow.of(response, c.window).change_to(drawn)
    if change is None or not np.isfinite(change).all():
        return None
    moved = moved_by(response, c.window.rows, change)
    fit = estimate_alike(moved.t[c.window.rows], moved.phi_dot[c.window.rows], c.fit)
    compared = compare(moved, [c.window], [fit])
    return (moved, compared[0]) if compared and compared[0].comparable else None
