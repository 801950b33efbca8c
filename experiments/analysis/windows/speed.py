"""Speed over a window: the straight line through it, or the smoothed speed where a line leaves more than noise.

A bicycle that coasts and leans does not slow down evenly: at a lean of 0.15 rad its speed waves by 0.02 m/s and more
about the line, and an eigenvalue moves by about 1 1/s per m/s.
"""

import numpy as np
from scipy.special import fdtrc

from riderless.experiments.datatypes import Response, Window
from riderless.models.array_types import Array

SMOOTHED = 0.3  # s, over which a parabola is fitted about each sample (Savitzky and Golay 1964)
PARABOLA_SHARE = 2.25  # coefficients that such a fit takes for each of its lengths
SPEED_ROUNDING = 1e-9  # of a speed: what interpolation makes of numbers on a line
NO_CHANCE = 1e-6  # probability of what a line leaves of a speed that is one, below which it is none


def measured_speed(response: Response, window: Window) -> tuple[Array, Array | None]:
    """Speed over a window (n,) [m/s], and by how much the controller misread it."""
    v = np.linspace(window.v_start, window.v_end, window.stop - window.start)
    smooth = _smoothed(response, window)
    if smooth is not None and _leaves_more_than_noise(response.v[window.rows], v, smooth, response.dt):
        v = smooth
    return v, None if response.v_read is None else response.v_read[window.rows] - v


def _smoothed(response: Response, window: Window) -> Array | None:
    """Smoothed speed (n,) of a window, by what is around it too; None where it is short, or a reading is missing."""
    half = round(0.5 * SMOOTHED / response.dt)
    begin, end = max(0, window.start - half), min(len(response.v), window.stop + half)
    around = np.asarray(response.v[begin:end], float)
    if half < 2 or window.stop - window.start < 4 * half or not np.isfinite(around).all():
        return None
    weights = 1.0 - 5.0 * np.arange(-half, half + 1) ** 2 / (3.0 * half * (half + 1) - 1.0)
    ends = (half - (window.start - begin), half - (end - window.stop))  # where the recording ends
    if any(ends):
        around = np.pad(around, ends, mode="reflect", reflect_type="odd")
    return np.convolve(around, weights / weights.sum(), mode="valid")


def _leaves_more_than_noise(measured: Array, line: Array, smooth: Array, dt: float) -> bool:
    """Is a speed (n,) no line? A sensor that tells one in some rows only shows no noise from row to row: never so."""
    if np.median(np.abs(np.diff(measured, 3))) <= SPEED_ROUNDING * np.abs(measured).max():
        return False
    n, taken = len(measured), PARABOLA_SHARE * len(measured) * dt / SMOOTHED
    left, less = float(np.sum((measured - line) ** 2)), float(np.sum((measured - smooth) ** 2))
    if not 0.0 < less < left:
        return False
    return bool(fdtrc(taken - 2.0, n - taken, (left - less) / (taken - 2.0) / (less / (n - taken))) < NO_CHANCE)
