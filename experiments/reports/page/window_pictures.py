"""Small picture of one window.

Lean rate with the fit on it, steer beside it, and the residual below. A report shows forty of them. They are drawn by a
template (templates/window.svg), in a fiftieth of the time that a plotting library takes; here is only where everything
lies.
"""

from dataclasses import dataclass

import numpy as np

from riderless.experiments.datatypes import Comparison, Response
from riderless.experiments.reports.timeline.recorded import min_max
from riderless.models.array_types import Array

PICTURE_WIDTH, PICTURE_HEIGHT = 209.0, 160.0  # of the picture, points
AXES_LEFT, AXES_RIGHT = 32.0, 206.0  # of the axes
SIGNAL_SPAN, STEER_SPAN, RESIDUAL_SPAN = (4.0, 76.0), (85.0, 117.0), (124.0, 144.0)  # top and bottom of the axes
SIGNAL_SPAN_ALONE = (4.0, 117.0)  # where no steer angle was recorded
CONTEXT_SHOWN = 0.4  # s of signal shown before and after a window
ENVELOPE_BINS = 120  # of a min/max envelope: about one per two pixels of a small picture
AXIS_ROOM = 0.06  # of the range, left free above and below
MOST_TICKS = 5


@dataclass(frozen=True)
class PictureAxis:
    """One direction of a picture: values low to high lie at the points ``first`` to ``last``."""

    low: float
    high: float
    first: float
    last: float

    def at(self, values: Array) -> Array:
        """Points of values."""
        return self.first + (values - self.low) / (self.high - self.low) * (self.last - self.first)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Place and text of round values."""
        step = round_step((self.high - self.low) / MOST_TICKS)
        values = step * np.arange(np.ceil(self.low / step), np.floor(self.high / step) + 1)
        digits = max(0, -int(np.floor(np.log10(step) + 1e-9)))
        return [
            (float(place), f"{value + 0.0:.{digits}f}".replace("-", "\u2212"))
            for value, place in zip(values, self.at(values), strict=True)
        ]


@dataclass(frozen=True)
class _WindowPicture:
    """Content of the template: the axes, and paths by the part they play."""

    number: int
    t: PictureAxis
    signal: PictureAxis
    residual: PictureAxis
    steer: PictureAxis | None
    steered: str  # steer angle, deg
    around: tuple[str, str]  # the signal before and after the window
    inside: str  # the signal within it
    curve: str  # the fit
    left: str  # what the fit leaves
    zero: float  # where the residual is none
    width: float = PICTURE_WIDTH
    height: float = PICTURE_HEIGHT


def window_picture(number: int, response: Response, comparison: Comparison) -> _WindowPicture:
    """Lay out the picture of a window with its number on the page."""
    window, fit = comparison.window, comparison.fit
    more = round(CONTEXT_SHOWN / response.dt)
    shown = slice(max(0, window.start - more), window.stop + more)
    inside = slice(window.start, window.stop)
    before, after = slice(shown.start, window.start + 1), slice(window.stop - 1, shown.stop)
    t, y = response.t, response.phi_dot
    time = PictureAxis(float(t[shown][0]), float(t[shown][-1]), AXES_LEFT, AXES_RIGHT)
    delta = None if response.delta is None else np.nan_to_num(np.degrees(response.delta[shown]))
    signal = _upward_axis(y[shown], *(SIGNAL_SPAN if delta is not None else SIGNAL_SPAN_ALONE))
    steer = None if delta is None else _upward_axis(delta, *STEER_SPAN)
    residual = y[inside] - fit.curve if len(fit.curve) else np.zeros(window.stop - window.start)
    residual_axis = _upward_axis(np.append(residual, -residual), *RESIDUAL_SPAN)
    thin = slice(None, None, max(1, len(fit.curve) // ENVELOPE_BINS))
    return _WindowPicture(
        number,
        time,
        signal,
        residual_axis,
        steer,
        _envelope_path(time, steer, t[shown], delta) if steer and delta is not None else "",
        (_envelope_path(time, signal, t[before], y[before]), _envelope_path(time, signal, t[after], y[after])),
        _envelope_path(time, signal, t[inside], y[inside]),
        _svg_path(time.at(t[inside][thin]), signal.at(fit.curve[thin])) if len(fit.curve) else "",
        _envelope_path(time, residual_axis, t[inside], residual),
        float(residual_axis.at(np.zeros(1))[0]),
    )


def _upward_axis(values: Array, top: float, bottom: float) -> PictureAxis:
    """Make an upward axis that holds all values with a little room."""
    low, high = float(np.min(values)), float(np.max(values))
    room = AXIS_ROOM * (high - low) or 1e-9
    return PictureAxis(low - room, high + room, bottom, top)


def round_step(least: float) -> float:
    """Smallest of 1, 2, 5 times a power of ten that is not below ``least``."""
    power = 10.0 ** np.floor(np.log10(least))
    return float(next(step * power for step in (1.0, 2.0, 5.0, 10.0) if step * power >= least * (1.0 - 1e-9)))


def _envelope_path(across: PictureAxis, up: PictureAxis, t: Array, y: Array) -> str:
    """Draw the envelope of a signal as a closed path.

    Parameters
    ----------
    across, up : PictureAxis
        Of time and of values.
    t, y : array (n,)
        Times [s] and values.
    """
    at, low, high = min_max(t, y, ENVELOPE_BINS)
    x = across.at(at)
    return _svg_path(np.append(x, x[::-1]), np.append(up.at(high), up.at(low)[::-1])) + "Z"


def _svg_path(x: Array, y: Array) -> str:
    """Points joined by straight lines."""
    return "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(x, y, strict=True))
