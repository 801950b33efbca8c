"""Shapes of paths that experiments ride.

A lane, a circle, a lane change, a slalom, a figure of eight. Their curvature is continuous. A sideways shift is four
clothoids of one length, whose curvature rises, falls through zero, and comes back.
"""

from math import copysign, pi
from numbers import Integral

import numpy as np
from scipy.optimize import brentq

from riderless.hil.guidance.path import Path, Piece, path_of_pieces
from riderless.models.bicycle_file import is_number
from riderless.models.errors import InputError

ENTRY_LENGTH = 4.0  # m, over which the curvature of a circle is reached
MOST_TURN = 1.0  # rad, of the heading in a shift


def straight(length: float = 100.0) -> Path:
    """Straight lane of ``length`` [m]."""
    return path_of_pieces("straight", [Piece(_above_zero("length", length), 0.0, 0.0)])


def circle(radius: float, rounds: float = 1.0, entry: float = ENTRY_LENGTH) -> Path:
    """Circle of ``radius`` [m], positive to the right, whose curvature comes and goes over ``entry`` [m] at its ends.

    Raises
    ------
    InputError
        No radius, or a length below 0.
    """
    size = _above_zero("radius", abs(radius) if is_number(radius) else radius)
    kappa, entry = copysign(1.0 / size, radius), _above_zero("entry", entry)
    arc = 2.0 * pi * size * _above_zero("number of rounds", rounds)
    return path_of_pieces(
        f"circle of {size:g} m to the {'right' if radius > 0 else 'left'}",
        [Piece(entry, 0.0, kappa), Piece(arc, kappa, kappa), Piece(entry, kappa, 0.0)],
    )


def lane_change(shift: float, length: float, before: float = 10.0, after: float = 20.0) -> Path:
    """Lane change: a shift sideways [m], positive to the right, over a length [m] along the lane.

    Parameters
    ----------
    shift, length : float
        m
    before, after : float
        Straight lane before and after [m].

    Raises
    ------
    InputError
        A length that is not above 0, or too short for the shift.
    """
    pieces = [Piece(_above_zero("length before", before), 0.0, 0.0), *_shift(shift, length)]
    pieces.append(Piece(_above_zero("length after", after), 0.0, 0.0))
    return path_of_pieces(f"lane change of {shift:g} m in {length:g} m", pieces)


def obstacle_avoidance(vehicle_width: float = 0.6) -> Path:
    """Double lane change through the middle of the cones of ISO 3888-2:2011, to the left and back.

    Sections of 12, 13.5, 11, 12.5 and 12 m; lanes 1.1 b + 0.25 m, b + 1 m and 1.3 b + 0.25 m (3 m at least) wide, with
    b the width of the vehicle; the second lane begins 1 m to the left of the left edge of the first.

    Parameters
    ----------
    vehicle_width : float
        b [m], for a bicycle that of its handlebar.
    """
    b = _above_zero("width of the vehicle", vehicle_width)
    first, second, third = 1.1 * b + 0.25, b + 1.0, max(1.3 * b + 0.25, 3.0)
    # the right edges of the first and the last lane are in line
    over = 0.5 * first + 1.0 + 0.5 * second
    back = over - 0.5 * (third - first)
    pieces = [Piece(12.0, 0.0, 0.0), *_shift(-over, 13.5), Piece(11.0, 0.0, 0.0), *_shift(back, 12.5)]
    return path_of_pieces("obstacle avoidance, ISO 3888-2", [*pieces, Piece(12.0, 0.0, 0.0)])


def slalom(spacing: float = 8.0, offset: float = 0.6, cones: int = 6) -> Path:
    """Slalom round cones in a row, ``spacing`` [m] apart, each passed at ``offset`` [m] on alternate sides.

    Raises
    ------
    InputError
        Fewer than two cones, or cones too near to one another for the offset.
    """
    if not (isinstance(cones, Integral) and 2 <= cones <= 200):
        raise InputError(f"a slalom wants 2 to 200 cones, found {cones!r}")
    side = _above_zero("offset", offset)
    pieces = _shift(side, spacing)  # the first cone is passed on its right
    for i in range(cones - 1):
        pieces += _shift(-2.0 * side if i % 2 == 0 else 2.0 * side, spacing)
    pieces += _shift(-side if cones % 2 else side, spacing)
    return path_of_pieces(f"slalom round {cones} cones", pieces)


def figure_of_eight(radius: float = 12.0, entry: float = ENTRY_LENGTH) -> Path:
    """Closed figure of eight of two circles of ``radius`` [m], whose curvature changes over ``entry`` [m] at each end.

    It begins at its crossing, to the right. The arcs are as long as it takes to come back to the crossing.

    Raises
    ------
    InputError
        No radius, or an entry too long for it.
    """
    radius, entry = _above_zero("radius", radius), _above_zero("entry", entry)
    kappa = 1.0 / radius

    def lobe(arc: float) -> list[Piece]:
        return [Piece(entry, 0.0, kappa), Piece(arc, kappa, kappa), Piece(entry, kappa, 0.0)]

    def miss(arc: float) -> float:
        """Distance from the end of a lobe to its beginning, along the bisector of its ends: signed."""
        path = path_of_pieces("lobe", lobe(arc))
        middle = 0.5 * path.psi[-1]
        return float(path.x[-1] * np.cos(middle) + path.y[-1] * np.sin(middle))

    shortest, longest = pi * radius - entry, 2.0 * pi * radius - entry  # it turns by 180 to 360 degrees
    if shortest <= 0.0 or miss(shortest) * miss(longest) > 0.0:
        raise InputError(f"a figure of eight of {radius:g} m wants a shorter entry, found {entry:g} m")
    right = lobe(float(brentq(miss, shortest, longest, xtol=1e-12)))
    left_half = [Piece(length, -begin, -end) for length, begin, end in right]
    return path_of_pieces(f"figure of eight of {radius:g} m", right + left_half, closed=True)


def _shift(shift: float, length: float) -> list[Piece]:
    """Four clothoids that shift a straight line sideways by ``shift`` over ``length`` along it [m]."""
    length = _above_zero("length of a shift", length)
    if not is_number(shift) or shift == 0.0:
        raise InputError(f"a shift sideways is a number of metres, not zero; found {shift!r}: give another")
    shift = float(shift)

    def pieces(turn: float, scale: float) -> list[Piece]:
        """Clothoids that turn by up to ``turn`` [rad] over a length along the path of four quarters ``scale``."""
        quarter = scale / 4.0
        kappa = turn / quarter
        return [
            Piece(quarter, 0.0, kappa),
            Piece(quarter, kappa, 0.0),
            Piece(quarter, 0.0, -kappa),
            Piece(quarter, -kappa, 0.0),
        ]

    def end(turn: float) -> tuple[float, float]:
        path = path_of_pieces("shift", pieces(turn, 1.0))
        return float(path.x[-1]), float(path.y[-1])

    def excess(turn: float) -> float:
        x, y = end(turn)
        return y / x - abs(shift) / length

    if excess(MOST_TURN) < 0.0:
        raise InputError(
            f"a shift of {abs(shift):g} m in {length:g} m turns by more than {MOST_TURN:g} rad: make it longer"
        )
    turn = float(brentq(excess, 0.0, MOST_TURN, xtol=1e-14))
    return pieces(float(np.sign(shift)) * turn, length / end(turn)[0])


def _above_zero(what: str, value: float) -> float:
    """Take a number of any kind as a float; one that is not above zero is refused."""
    if not (is_number(value) and value > 0.0):
        raise InputError(f"the {what} of a path must be a finite number above 0, found {value!r}")
    return float(value)
