"""Spline path through points of a file.

The file is a CSV file; the curvature is continuous.
"""

import csv
from pathlib import Path as FilePath

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import CubicSpline, make_smoothing_spline

from riderless.hil.guidance.path import LONGEST_PATH, SPACING, Path
from riderless.models.array_types import Array
from riderless.models.errors import InputError
from riderless.models.text_file import csv_rows, read_text_file, why_unreadable

FARTHEST_POINTS = 20.0  # m, between neighbours: farther apart nobody knows where the path goes
SHARPEST_CORNER = 1.2  # rad, between the lines to a point and from it
_FINE = 20  # points a spacing, from which the length is found


def path_through_points(
    points: ArrayLike, name: str = "points", closed: bool = False, smoothing: float | None = None
) -> Path:
    """Path through points (n, 2) on the ground, x forward and y to the right [m].

    Parameters
    ----------
    points : (n, 2) array
        In the order in which they are ridden, at least four; a closed path does not repeat its first point.
    name : str
    closed : bool
        Go on from the last point to the first.
    smoothing : float or None
        Of points that were measured [m^2 per (rad/m)^2, the larger the smoother]: the path then passes near them. None:
        through them.

    Raises
    ------
    InputError
        Too few points, a point that is no number, two alike, a jump, or a corner that nothing can ride.
    """
    P = np.array(points, dtype=float)
    if P.ndim != 2 or P.shape[1:] != (2,) or len(P) < 4:
        raise InputError(
            f"the path {name} wants at least four points of x and y in m, found {' x '.join(map(str, P.shape))} numbers"
        )
    if not np.all(np.isfinite(P)):
        i = int(np.flatnonzero(~np.isfinite(P).all(1))[0])
        raise InputError(
            f"the path {name} wants finite numbers, found x = {P[i, 0]:g} and y = {P[i, 1]:g} in point {i + 1}"
        )
    if closed:
        P = np.vstack([P, P[:1]])
    chords = np.diff(P, axis=0)
    apart = np.hypot(*chords.T)
    _require_ridable(name, chords, apart, closed)
    u = np.concatenate([[0.0], np.cumsum(apart)])
    if u[-1] > LONGEST_PATH:
        raise InputError(f"the path {name} is {u[-1]:g} m long, and at most {LONGEST_PATH:g} m are possible")
    curve = _spline(u, P, closed, smoothing)
    return _sampled(name, curve, float(u[-1]), closed)


def read_path(file: FilePath, closed: bool = False, smoothing: float | None = None) -> Path:
    """Path through the points of a CSV file with columns ``x`` and ``y`` [m]; raises as `path_through_points`."""
    try:
        rows = csv_rows(csv.DictReader(read_text_file(file).splitlines()))
    except (OSError, ValueError) as error:
        raise InputError(
            f"the path {file} cannot be read ({why_unreadable(error)}): give a CSV file with columns x and y"
        ) from None
    first_line = ", ".join(map(str, rows[0])) if rows else "no row below it"
    if not rows or not {"x", "y"} <= set(rows[0]):
        raise InputError(f"{file} wants columns x and y in m in its first line, found {first_line}")
    try:
        points = [(float(row["x"]), float(row["y"])) for row in rows]
    except (TypeError, ValueError) as error:
        raise InputError(f"{file} wants a number in each cell of x and y ({error}): correct that row") from None
    return path_through_points(points, file.stem, closed, smoothing)


def _require_ridable(name: str, chords: Array, apart: Array, closed: bool) -> None:
    """Refuse points that are alike, jump or make a corner."""
    if np.any(apart < 1e-6):
        i = int(np.argmin(apart))
        raise InputError(f"the points {i + 1} and {i + 2} of the path {name} are the same: leave one of them out")
    if np.any(apart > FARTHEST_POINTS):
        i = int(np.argmax(apart))
        raise InputError(
            f"the path {name} jumps by {apart[i]:g} m after its point {i + 1}, and neighbours may be "
            f"{FARTHEST_POINTS:g} m apart: give points between them"
        )
    heading = np.arctan2(chords[:, 1], chords[:, 0])
    turn = np.diff(np.append(heading, heading[0]) if closed else heading)
    turn = np.abs((turn + np.pi) % (2.0 * np.pi) - np.pi)
    if len(turn) and np.max(turn) > SHARPEST_CORNER:
        i = int(np.argmax(turn))
        raise InputError(
            f"the path {name} turns by {np.degrees(turn[i]):.0f} deg at its point {(i + 1) % len(apart) + 1}, which no "
            "bicycle can follow: give more points along a curve"
        )


def _spline(u: Array, P: Array, closed: bool, smoothing: float | None) -> CubicSpline:
    """Twice differentiable curve over the length of the chords."""
    if smoothing is not None:
        if not smoothing > 0.0 or len(P) < 5:
            raise InputError(f"smoothing wants a number above 0 and five points, found {smoothing!r} and {len(P)}")
        turns, times = P, u
        if closed:  # the turns before and after, so that the seam is as smooth as the rest
            turns = np.vstack([P[:-1], P, P[1:]])
            times = np.concatenate([u[:-1] - u[-1], u, u[1:] + u[-1]])
        P = np.column_stack([make_smoothing_spline(times, each, lam=smoothing)(u) for each in turns.T])
        P[-1] = P[0] if closed else P[-1]
    return CubicSpline(u, P, bc_type="periodic" if closed else "natural")


def _sampled(name: str, curve: CubicSpline, end: float, closed: bool) -> Path:
    """Sample a curve at equal steps of its length."""
    fine = np.linspace(0.0, end, max(int(end / SPACING) * _FINE, 200) + 1)
    speed = np.hypot(*curve(fine, 1).T)
    along = np.concatenate([[0.0], np.cumsum(0.5 * np.diff(fine) * (speed[1:] + speed[:-1]))])
    s = np.linspace(0.0, along[-1], max(int(np.ceil(along[-1] / SPACING)), 1) + 1)
    u = np.interp(s, along, fine)
    (x, y), (dx, dy), (ddx, ddy) = curve(u).T, curve(u, 1).T, curve(u, 2).T
    kappa = (dx * ddy - dy * ddx) / np.hypot(dx, dy) ** 3
    return Path(name, s, x, y, np.unwrap(np.arctan2(dy, dx)), kappa, closed)
