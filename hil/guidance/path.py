"""Path: place, heading, curvature over length.

The path lies on the ground. x points forward along its beginning, y to the right, z down; the heading psi and the
curvature kappa = dpsi/ds are positive to the right. A path is made of pieces along which the curvature is linear in the
length (straight lines, arcs and clothoids), so that curvature is continuous wherever the pieces' ends agree::

    psi' = kappa,   x' = cos(psi),   y' = sin(psi)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from riderless.models.array_types import Array
from riderless.models.errors import InputError

SPACING = 0.05  # m, at most, between the points of a path
LONGEST_PATH = 10_000.0  # m
CURVATURE_JUMP = 1e-6  # 1/m, between the ends of pieces that meet
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(5)  # x and y to rounding over one spacing


class Piece(NamedTuple):
    """Piece of a path along which the curvature is linear in the length."""

    length: float  # m
    kappa_begin: float  # 1/m, positive to the right
    kappa_end: float


class _OnPath(NamedTuple):
    """Place of a bicycle relative to a path."""

    s: float  # m, along the path, of its nearest point
    lateral: float  # m, to the right of it
    heading: float  # rad, of the bicycle less that of the path, -pi to pi
    kappa: float  # 1/m, of the path there


@dataclass(frozen=True, eq=False, repr=False)
class Path:
    """Path of n points, at most `SPACING` apart.

    Attributes
    ----------
    name : str
    s : (n,) array
        Length from the beginning [m], increasing from 0.
    x, y, psi, kappa : (n,) arrays
        Place [m], heading [rad], not wrapped, and curvature [1/m].
    closed : bool
        Its end is its beginning, and it is ridden round and round.
    """

    name: str
    s: Array
    x: Array
    y: Array
    psi: Array
    kappa: Array
    closed: bool = False

    @property
    def length(self) -> float:
        """Length [m]."""
        return float(self.s[-1])

    def __repr__(self) -> str:
        tightest = np.max(np.abs(self.kappa))
        turn = f"tightest radius {1.0 / tightest:.3g} m" if tightest else "straight"
        return f"<Path {self.name}: {self.length:.4g} m, {turn}{', closed' if self.closed else ''}>"

    def at(self, s: float) -> tuple[float, float, float, float]:
        """Place x, y [m], heading [rad] and curvature [1/m] at the length ``s`` [m].

        Beyond its ends a path goes straight on, and a closed one begins again.
        """
        if self.closed:
            rounds, s = divmod(s, self.length)
            turned = rounds * (self.psi[-1] - self.psi[0])
        else:
            turned = 0.0
        inside = float(np.clip(s, 0.0, self.length))
        i = int(np.clip(np.searchsorted(self.s, inside, side="right") - 1, 0, len(self.s) - 2))
        h, step = inside - self.s[i], self.s[i + 1] - self.s[i]
        bend = (self.kappa[i + 1] - self.kappa[i]) / step
        dx, dy = _advance(np.array([self.psi[i]]), self.kappa[i], bend, h)
        psi = float(self.psi[i] + h * (self.kappa[i] + 0.5 * h * bend))
        kappa = float(self.kappa[i] + h * bend) if inside == s else 0.0
        beyond = s - inside
        x = float(self.x[i] + dx[0] + beyond * np.cos(psi))
        y = float(self.y[i] + dy[0] + beyond * np.sin(psi))
        return x, y, psi + turned, kappa

    def nearest(self, x: float, y: float, psi: float = 0.0, near: float | None = None, reach: float = 2.0) -> _OnPath:
        """Find where on the path a bicycle is.

        Parameters
        ----------
        x, y : float
            Place of its rear contact [m].
        psi : float
            Its heading [rad].
        near : float or None
            Length [m] at which it was a moment ago: only points within ``reach`` of it are looked at, so that a path
            that crosses itself is not left at the crossing. None: all points.
        reach : float
            m
        """
        apart = np.hypot(self.x - x, self.y - y)
        if near is not None:
            away = np.abs(self.s - (near % self.length if self.closed else near))
            away = np.minimum(away, self.length - away) if self.closed else away
            apart = np.where(away <= reach, apart, np.inf)
        s = float(self.s[int(np.argmin(apart))])
        for _ in range(3):  # Newton's method for (place - path) perpendicular to the path
            px, py, heading, kappa = self.at(s)
            along = (x - px) * np.cos(heading) + (y - py) * np.sin(heading)
            lateral = (y - py) * np.cos(heading) - (x - px) * np.sin(heading)
            s += along / max(1.0 - kappa * lateral, 0.1)
        px, py, heading, kappa = self.at(s)
        lateral = (y - py) * np.cos(heading) - (x - px) * np.sin(heading)
        error = (psi - heading + np.pi) % (2.0 * np.pi) - np.pi
        return _OnPath(float(s % self.length if self.closed else s), float(lateral), float(error), kappa)


def path_of_pieces(name: str, pieces: Sequence[Piece], closed: bool = False) -> Path:
    """Path that begins at the origin along x and consists of pieces.

    Parameters
    ----------
    name : str
    pieces : sequence of Piece
    closed : bool
        Its end shall be its beginning.

    Raises
    ------
    InputError
        No length, too long, a curvature that jumps from one piece to the next, or a closed path that does not close.
    """
    lengths = np.array([piece.length for piece in pieces], float)
    if not len(pieces) or not np.all(np.isfinite(pieces)) or np.any(lengths <= 0.0):
        raise InputError(
            f"the path {name} wants pieces with finite lengths above 0 m, found {list(map(tuple, pieces))}"
        )
    if lengths.sum() > LONGEST_PATH:
        raise InputError(f"the path {name} is {lengths.sum():g} m long, and at most {LONGEST_PATH:g} m are possible")
    _require_continuous(name, pieces, closed)
    kappa, steps = [pieces[0].kappa_begin], []
    for piece in pieces:
        n = max(int(np.ceil(piece.length / SPACING)), 1)
        steps += [piece.length / n] * n
        kappa += np.linspace(piece.kappa_begin, piece.kappa_end, n + 1)[1:].tolist()
    h, bends = np.array(steps), np.array(kappa)
    psi = np.concatenate([[0.0], np.cumsum(0.5 * h * (bends[1:] + bends[:-1]))])
    dx, dy = _advance(psi[:-1], bends[:-1], np.diff(bends) / h, h)
    x, y = (np.concatenate([[0.0], np.cumsum(each)]) for each in (dx, dy))
    path = Path(name, np.concatenate([[0.0], np.cumsum(h)]), x, y, psi, bends, closed)
    if closed:
        gap = float(np.hypot(path.x[-1] - path.x[0], path.y[-1] - path.y[0]))
        turned = (path.psi[-1] + np.pi) % (2.0 * np.pi) - np.pi
        if gap > 1e-3 or abs(turned) > 1e-3:
            raise InputError(
                f"the path {path.name} ends {gap:g} m and {np.degrees(turned):g} deg off its beginning, and a closed "
                "one wants less than 1 mm and 0.06 deg"
            )
    return path


def _require_continuous(name: str, pieces: Sequence[Piece], closed: bool) -> None:
    """Refuse a curvature that jumps; before and after an open path the bicycle runs straight."""
    before = pieces[-1].kappa_end if closed else 0.0
    for i, piece in enumerate([*pieces, Piece(1.0, pieces[0].kappa_begin if closed else 0.0, 0.0)]):
        if abs(piece.kappa_begin - before) > CURVATURE_JUMP:
            raise InputError(
                f"the curvature of the path {name} jumps from {before:g} to {piece.kappa_begin:g} 1/m after its "
                f"piece {i}, which no bicycle can follow: put a piece between them whose curvature changes"
            )
        before = piece.kappa_end


def _advance(psi: Array, kappa: Array | float, bend: Array | float, h: Array | float) -> tuple[Array, Array]:
    """Displacement along x and y [m] over lengths ``h``, from headings, curvatures and their changes per metre."""
    psi, kappa, bend, h = np.broadcast_arrays(psi, kappa, bend, h)
    s = 0.5 * h[:, None] * (1.0 + _NODES)
    heading = psi[:, None] + s * (kappa[:, None] + 0.5 * s * bend[:, None])
    return 0.5 * h * (np.cos(heading) @ _WEIGHTS), 0.5 * h * (np.sin(heading) @ _WEIGHTS)
