"""Pairs of causes that explain a misfit.

They are tried where no single one is enough, and reported as fitted pairs. What each cause does to the eigenvalues at
half of what it would be alone gives a first guess for every pair by least squares; the pairs that leave least by that
are then moved together, each cause within what is possible, until the windows are explained best. A pair has two
numbers to fit: that it leaves less than one cause does is no proof.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from scipy.special import chdtrc

from riderless.experiments.analysis.estimators import eigenvalue_alike
from riderless.experiments.analysis.verdict.candidate import CandidateCause, impossible
from riderless.experiments.analysis.verdict.leftover import Leftover, some_windows, with_moved_prediction
from riderless.experiments.analysis.verdict.simulated_motion import Parts, RiddenMotion
from riderless.experiments.analysis.verdict.steer_elements import STEER_ELEMENTS
from riderless.experiments.analysis.verdict.uncertain_parameters import linear_predictions, moved_group
from riderless.experiments.analysis.windows.grouping import comparable_windows, in_turn
from riderless.experiments.datatypes import Comparison
from riderless.experiments.dynamics import unit_of
from riderless.models.array_types import Array, ComplexArray
from riderless.models.errors import InputError

PAIRED_WITH = ("drive_gain", "more_delay", "steer_damping", "coulomb_friction")  # beside those found: labs have them
CAUSES_PAIRED = 8  # best single causes that are paired with one another
PAIRS_MOVED = 3  # pairs that leave least by the first guess, and are moved together, beside those of ...
BEST_PAIRED = 3  # the best single causes: what they do is not always in proportion, and the guess then misses them
WINDOWS_MOVED = 2  # of a condition, while a pair is moved; what it leaves is that of all windows
PAIR_STEPS = 4  # Gauss-Newton steps of a pair
FIRST_SHARE, SLOPE_SHARE = 0.5, 0.1  # of what a cause would be alone: for the first guess, for difference quotients
LEAST_GUESSED = 0.1  # of what a cause would be alone, in a guess that is believed
LONGEST_PAIR_STEP = 1.0  # of what a cause would be alone, in one step
MACHINES_KEPT = 8  # whose motions are kept, while the sizes of parts on them are searched: a few MB each
SETTLED_STEP = 0.02  # likewise: a shorter step ends the search
UNEXPLAINED = 0.01  # probability of a worse misfit below which one cause is not enough
FAR = 6.0  # usual standard deviations: one cause that would have to move by more is not enough either
WORTH_ONE_MORE = 9.21  # of chi-square, that a pair must leave less than its better half: 99 % of two degrees of freedom

ELEMENTS = {element.name: element for element in STEER_ELEMENTS}


@dataclass(frozen=True)
class CausePair:
    """Two causes that were moved together, and what they leave of the eigenvalues' chi-square."""

    first: CandidateCause
    second: CandidateCause
    chi2_left: float  # together; each cause has what it leaves alone
    p_left: float  # probability of a worse misfit than that, were the pair the truth

    @property
    def cost(self) -> float:
        """Chi-square left, and how far both are moved: the squares of their usual standard deviations."""
        return self.chi2_left + self.first.deviations**2 + self.second.deviations**2

    def is_worth_more(self, best: CandidateCause | None) -> bool:
        """Tell whether it explains what the best single cause does not, or no more but with both near what is usual."""
        if best is None or self.chi2_left < best.chi2_left - WORTH_ONE_MORE:
            return True
        return _is_far(best) and not (_is_far(self.first) or _is_far(self.second)) and self.p_left >= UNEXPLAINED

    @property
    def names(self) -> tuple[str, str]:
        """Names of both."""
        return self.first.name, self.second.name


def one_is_not_enough(causes: Sequence[CandidateCause], dof: int) -> bool:
    """Tell whether the best single cause leaves too much, or would have to be far off; or there is none."""
    tried = [cause for cause in causes if np.isfinite(cause.chi2_left)]
    if not tried:
        return True
    return _is_far(tried[0]) or bool(chdtrc(max(dof - 1, 1), tried[0].chi2_left) < UNEXPLAINED)


def _is_far(cause: CandidateCause) -> bool:
    return abs(cause.deviations) > FAR


def find_pairs(
    group: Sequence[Comparison],
    leftover: Leftover,
    causes: Sequence[CandidateCause],
    dof: int,
    tell: Callable[[str], None] = lambda name: None,
) -> list[CausePair]:
    """Find two causes that explain a misfit together which the best single one leaves; the best pair first.

    Parameters
    ----------
    group : sequence of Comparison
        Windows of one bicycle.
    leftover : Leftover
        Of the same windows.
    causes : sequence of CandidateCause
        Found alone.
    dof : int
        Degrees of freedom of the verdict.
    tell : callable
        Told what is tried.
    """
    alone = _to_be_paired(group, causes)
    whole = MovedWindows(group)
    few = whole.some(some_windows(group, WINDOWS_MOVED))
    halves = {name: cause.nominal + FIRST_SHARE * (cause.moved - cause.nominal) for name, cause in alone.items()}
    changes = {name: few.change({name: size}) for name, size in halves.items()}
    guessed = []
    for first, other in combinations([name for name, change in changes.items() if np.isfinite(change).all()], 2):
        shares, chi2_left = few.guess(changes[first], changes[other])
        guessed.append((chi2_left, (first, other), FIRST_SHARE * shares))
    guessed.sort(key=lambda guess: guess[0])
    best_names = set(list(alone)[:BEST_PAIRED])
    guessed = [guess for place, guess in enumerate(guessed) if place < PAIRS_MOVED or best_names.issuperset(guess[1])]
    pairs = []
    for _, names, shares in guessed:
        tell(" and ".join(names))
        pair = (alone[names[0]], alone[names[1]])
        if shares.min() < LEAST_GUESSED or shares.max() > 1.0:  # the guess says that one does nothing, or all
            shares = np.full(2, FIRST_SHARE)
        sizes = _moved_together(group, few, pair, shares)
        chi2_left = leftover.chi2(whole.compared(dict(zip(names, sizes, strict=True))))
        p_left = float(chdtrc(max(dof - 2, 1), chi2_left))
        moved = [
            replace(cause, moved=float(size), deviations=float(size - cause.nominal) / _usual(group, cause.name))
            for cause, size in zip(pair, sizes, strict=True)
        ]
        pairs.append(CausePair(moved[0], moved[1], chi2_left, p_left))
    best = next((cause for cause in causes if np.isfinite(cause.chi2_left)), None)
    return sorted((pair for pair in pairs if pair.is_worth_more(best)), key=lambda pair: pair.cost)


class MovedWindows:
    """Windows of one bicycle, with several quantities and parts on the steer moved at once."""

    def __init__(self, group: Sequence[Comparison], source: "MovedWindows | None" = None) -> None:
        self._group = comparable_windows(group)
        self._nominal = linear_predictions(self._group, {}) if source is None else source._nominal_of(self._group)
        self._std = np.array([c.prediction.difference_std for c in self._group])
        self._z = np.array([(c.z_re, c.z_im) for c in self._group])
        # by the quantities of the machine, then by window: those of `some` windows serve all of them
        self._ridden: dict[tuple[tuple[str, float], ...], dict[int, RiddenMotion | None]] = (
            source._ridden if source else {}
        )

    def some(self, group: Sequence[Comparison]) -> "MovedWindows":
        """Some of these windows; motions made for them are made for all."""
        return MovedWindows(group, self)

    def _nominal_of(self, group: Sequence[Comparison]) -> ComplexArray:
        places = {id(c): i for i, c in enumerate(self._group)}
        return self._nominal[[places[id(c)] for c in group]]

    def change(self, moves: Mapping[str, float]) -> ComplexArray:
        """Change (N,) of the windows' predictions [1/s]; nan where a machine cannot be.

        Parameters
        ----------
        moves : mapping of str to float
            Quantities and sizes of parts, SI.
        """
        parts = [(ELEMENTS[name], size) for name, size in moves.items() if name in ELEMENTS and size > 0.0]
        quantities = {name: value for name, value in moves.items() if name not in ELEMENTS}
        try:
            if not parts:
                return linear_predictions(self._group, quantities) - self._nominal
            motions = self._motions(quantities)
            changed = [_with_parts(c, motion, parts) for c, motion in zip(self._group, motions, strict=True)]
            return np.array(changed) - self._nominal
        except InputError:
            return np.full(len(self._group), complex(np.nan, np.nan))

    def _motions(self, quantities: Mapping[str, float]) -> list[RiddenMotion | None]:
        """Motions of the windows of a machine with some quantities moved; parts of any size ride the same ones."""
        key = tuple(sorted(quantities.items()))
        motions = dict(self._ridden.get(key, {}))
        missing = [c for c in self._group if id(c) not in motions]
        for c, moved in zip(missing, in_turn(moved_group(missing, quantities)), strict=True):
            motions[id(c)] = RiddenMotion.of(moved.segment) if c.fit.influence.size else None
        if key not in self._ridden and len(self._ridden) == MACHINES_KEPT:
            del self._ridden[next(iter(self._ridden))]
        self._ridden[key] = motions
        return [motions[id(c)] for c in self._group]

    def compared(self, moves: Mapping[str, float]) -> list[Comparison]:
        """Compare the same fits with predictions that are moved."""
        change = self.change(moves)
        return [with_moved_prediction(c, complex(by)) for c, by in zip(self._group, change, strict=True)]

    def left(self, change: ComplexArray) -> Array:
        """Residuals (2 N,) that are left with changed predictions (N,), in standard deviations."""
        return np.asarray((self._z - self._in_deviations(change)).ravel())

    def _in_deviations(self, change: ComplexArray) -> Array:
        return np.column_stack([change.real, change.imag]) / self._std

    def guess(self, first: ComplexArray, other: ComplexArray) -> tuple[Array, float]:
        """Multiples (2,) of two changes (N,) that explain most together, none negative, and the squares left."""
        D = np.column_stack([self._in_deviations(change).ravel() for change in (first, other)])
        z = self._z.ravel()
        shares = np.maximum(np.linalg.lstsq(D, z, rcond=1e-6)[0], 0.0)
        return shares, float(np.sum((z - D @ shares) ** 2))


def _with_parts(c: Comparison, motion: RiddenMotion | None, parts: Parts) -> complex:
    """Estimate [1/s] of a window whose machine has some parts more; nan where it cannot have them, or falls."""
    if motion is None or not all(motion.suits(element) for element, _ in parts):
        return complex(np.nan, np.nan)
    y = motion.lean_rate(parts)
    if not np.isfinite(y).all() or np.abs(y).max() > 1e3:
        return complex(np.nan, np.nan)
    return eigenvalue_alike(c.segment.t, y, c.fit)


def _to_be_paired(group: Sequence[Comparison], causes: Sequence[CandidateCause]) -> dict[str, CandidateCause]:
    """Best single causes that can be moved, and those of `PAIRED_WITH` by their usual deviation."""
    movable = {cause.name: cause for cause in causes if np.isfinite(cause.chi2_left) and cause.moved != cause.nominal}
    alone = dict(list(movable.items())[:CAUSES_PAIRED])
    nan = float("nan")
    for name in PAIRED_WITH:
        if name not in alone:
            nominal, usual = _nominal(group, name), _usual(group, name)
            less = name == "drive_gain"  # a weak drive is what labs have
            moved = nominal - usual if less else nominal + usual
            unit = ELEMENTS[name].unit if name in ELEMENTS else unit_of(name)
            alone[name] = CandidateCause(name, nominal, moved, 1.0, False, nan, nan, unit=unit)
    return alone


def _nominal(group: Sequence[Comparison], name: str) -> float:
    return 0.0 if name in ELEMENTS else group[0].segment.theory.nominal(name)


def _usual(group: Sequence[Comparison], name: str) -> float:
    return ELEMENTS[name].usual if name in ELEMENTS else group[0].segment.theory.usual(name)


def _impossible(group: Sequence[Comparison], name: str, size: float) -> bool:
    """Tell whether no machine has a quantity or part of this size."""
    if name in ELEMENTS:
        return not ELEMENTS[name].range.allows(size)
    return bool(impossible(group[0].segment.theory, name, size))


def _moved_together(
    group: Sequence[Comparison], windows: MovedWindows, pair: Sequence[CandidateCause], shares: Array
) -> Array:
    """Sizes (2,) of two causes, SI, with which the windows are explained best.

    Parameters
    ----------
    group : sequence of Comparison
        For what is possible.
    windows : MovedWindows
    pair : sequence of CandidateCause
        As each would be alone.
    shares : (2,)
        Of that, where the search begins.
    """
    nominal = np.array([cause.nominal for cause in pair])
    way = np.array([cause.moved - cause.nominal for cause in pair])

    def left(u: Array) -> Array:
        sizes = {cause.name: float(size) for cause, size in zip(pair, nominal + u * way, strict=True)}
        if any(_impossible(group, name, size) for name, size in sizes.items()):
            return np.full(1, np.nan)
        return windows.left(windows.change(sizes))

    u = np.asarray(shares, float)
    here = left(u)
    for _ in range(PAIR_STEPS):
        columns = [left(u + SLOPE_SHARE * unit) for unit in np.eye(2)]
        if not all(np.isfinite(column).all() for column in (here, *columns)):
            break
        J = np.column_stack([(column - here) / SLOPE_SHARE for column in columns])
        step = -np.linalg.lstsq(J, here, rcond=1e-6)[0]
        step *= min(1.0, LONGEST_PAIR_STEP / max(float(np.abs(step).max()), 1e-12))
        after = left(u + step)
        while not after @ after < here @ here and np.abs(step).max() > SETTLED_STEP:
            step = 0.5 * step
            after = left(u + step)
        if not after @ after < here @ here:
            break
        u, here = u + step, after
        if np.abs(step).max() < SETTLED_STEP:
            break
    return nominal + u * way
