"""Modes of the linear bicycle over speed.

Eigenvalues of weave, capsize and caster by name, and critical speeds. Names belong to branches, not to places in a
sorted list. The branches are told apart at high speed, where theory does (weave oscillates, caster is the fast and
capsize the slow real mode), and followed down. Along the way two eigenvalues are equal only at a *double root*, a speed
where the discriminant of the characteristic polynomial vanishes: there a complex pair splits into two real eigenvalues,
or two real ones join. Between two double roots no eigenvalue can pass another: real ones keep their rank, and two
complex pairs, which can pass each other in real part, are followed in small steps. So the names known at the top of
such a *stretch* of speeds hold down to its bottom, and a single speed is named like a dense grid of them.

At a double root, with speed falling:

- a pair that splits hands its two names to the two real eigenvalues;
- two real ones that join share a pair: on some bicycles (Pista, Crescendo) capsize and caster do, over a
  range of speeds, and are then each other's conjugates.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.polynomial.polynomial import polyder, polyval2d
from numpy.typing import ArrayLike, NDArray

from riderless.models.array_types import Array, ComplexArray
from riderless.models.linear.characteristic_polynomial import (
    NAMING_SPEED,
    characteristic_coefficients,
    discriminant_polynomial,
    hurwitz_polynomial,
    monic_coefficients,
    positive_roots,
    static_polynomial,
)
from riderless.models.linear.quartic import quartic_roots
from riderless.models.linear.whipple import finite_speeds, system_matrix_at
from riderless.models.parameters import Bicycle
from riderless.models.tables import data_frame, describe_range, html_table

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped,unused-ignore]

WEAVE, WEAVE_TWIN, CAPSIZE, CASTER = range(4)  # columns of Modes.all


@dataclass(frozen=True, eq=False)
class Modes:
    """Named eigenvalues [1/s] at the speeds ``v`` (n,) [m/s], in the order of the speeds given.

    Where two modes are a complex pair, the first named has the positive imaginary part; where weave is
    two real eigenvalues, its first column is the larger.
    """

    v: Array  # (n,)
    weave: ComplexArray  # (n, 2)
    capsize: ComplexArray  # (n,)
    caster: ComplexArray  # (n,)

    def __repr__(self) -> str:
        where = f", {describe_range(self.v, 'm/s')}" if len(self.v) else ""
        return f"Modes(weave, capsize, caster at {len(self.v)} speed{'s' * (len(self.v) != 1)}{where})"

    def _repr_html_(self) -> str:
        heads = ("v [m/s]", "weave [1/s]", "weave [1/s]", "capsize [1/s]", "caster [1/s]")
        return html_table("Eigenvalues", heads, ((v, *roots) for v, roots in zip(self.v, self.all, strict=True)))

    def to_frame(self) -> "pandas.DataFrame":
        """Real and imaginary parts [1/s] as a pandas data frame, one row a speed; the index is ``v`` [m/s].

        Raises
        ------
        InputError
            When pandas is not installed.
        """
        columns: dict[str, Array] = {"v": self.v}
        for name, roots in zip(("weave", "weave_twin", "capsize", "caster"), self.all.T, strict=True):
            columns |= {f"{name}_real": roots.real, f"{name}_imag": roots.imag}
        return data_frame(columns, "v", {**dict.fromkeys(columns, "1/s"), "v": "m/s"})

    @property
    def all(self) -> ComplexArray:
        """Eigenvalues (n, 4): weave, weave, capsize, caster."""
        return np.column_stack([self.weave, self.capsize, self.caster])

    @property
    def weave_is_oscillatory(self) -> NDArray[np.bool_]:
        """True (n,) at speeds where weave is a complex pair rather than two real eigenvalues."""
        return self.weave[:, 0].imag != 0.0

    @property
    def weave_oscillation(self) -> ComplexArray:
        """Weave eigenvalue (n,) with positive imaginary part; nan where weave is two real eigenvalues."""
        return np.where(self.weave_is_oscillatory, self.weave[:, 0], complex(np.nan, np.nan))


@dataclass(frozen=True)
class CriticalSpeeds:
    """Speeds [m/s] where the character of the motion changes; None where a bicycle has no such speed.

    Attributes
    ----------
    weave : float or None
        Weave is stable above it for good, and not just below it.
    capsize : float or None
        The capsize eigenvalue is zero.
    double_root : float or None
        Two real eigenvalues join to the weave pair, which oscillates above it for good.
    double_root_eigenvalue : float or None
        Value of both there [1/s].
    weave_all : tuple of (float, str)
        Every change of the stability of weave, with speed rising: ``"unstable->stable"`` or
        ``"stable->unstable"``.
    """

    weave: float | None
    capsize: float | None
    double_root: float | None
    double_root_eigenvalue: float | None
    weave_all: tuple[tuple[float, str], ...]


@dataclass(frozen=True)
class _Stretch:
    """Speeds from ``low`` to ``high`` between two double roots, and the names of the eigenvalues there.

    ``real`` names the real eigenvalues from the most negative up, ``pairs`` the complex ones. With two
    pairs, ``trail`` says which is which: speeds (k,), falling, and upper eigenvalues (k, 2) in the
    order of ``pairs``.
    """

    low: float
    high: float
    real: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]
    trail: tuple[Array, ComplexArray] | None = None


def eigenvalues(bicycle: Bicycle, v: ArrayLike) -> ComplexArray:
    """Eigenvalues [1/s] of A(v), shape of ``v`` plus (4,), without names, in order of real part.

    Raises
    ------
    InputError
        As of `riderless.models.linear.whipple.finite_speeds`.
    """
    return _eigenvalues(bicycle, finite_speeds(v))


def _eigenvalues(bicycle: Bicycle, v: ArrayLike) -> ComplexArray:
    return np.sort_complex(np.linalg.eigvals(system_matrix_at(bicycle, v)).astype(complex))


def named_modes(bicycle: Bicycle, speeds: ArrayLike) -> Modes:
    """Find the eigenvalues at ``speeds`` [m/s], any number in any order, each with the name of its branch.

    Backwards the motion is that forwards with time reversed: (v, s) becomes (-v, -s), and each keeps its name.

    Raises
    ------
    InputError
        For a speed that is not finite or no number.
    """
    given = np.atleast_1d(finite_speeds(speeds)).ravel()
    v = np.abs(given)
    stretches = _stretches(bicycle)
    named, roots = np.empty((len(v), 4), dtype=complex), quartic_roots(monic_coefficients(bicycle, v))
    which = np.searchsorted([-stretch.low for stretch in stretches], -v)  # the fastest that is not above the speed
    for i, stretch in enumerate(stretches):
        here = which == i
        if np.any(here):
            named[here] = _named(stretch, v[here], roots[here])
    back = given < 0.0
    twins = -named[back, WEAVE_TWIN], -named[back, WEAVE]  # in the order of `Modes`
    named[back] = -named[back].conj()
    named[back, WEAVE], named[back, WEAVE_TWIN] = twins
    return Modes(v=given, weave=named[:, [WEAVE, WEAVE_TWIN]], capsize=named[:, CAPSIZE], caster=named[:, CASTER])


def critical_speeds(bicycle: Bicycle) -> CriticalSpeeds:
    """Weave, capsize and double-root speeds, from polynomials in the speed rather than by search.

    A pair crosses the imaginary axis where Hurwitz's determinant vanishes, which is a quadratic equation
    in v^2; a real eigenvalue crosses zero where det(g K0 + v^2 K2), linear in v^2, vanishes. Whose crossing
    it is comes from `named_modes`.
    """
    hurwitz, static = hurwitz_polynomial(bicycle), static_polynomial(bicycle)
    crossings = sorted({*positive_roots(hurwitz), *positive_roots(static)})
    stable = _weave_stability(bicycle, crossings)
    changes = tuple(
        (speed, "unstable->stable" if above else "stable->unstable")
        for speed, below, above in zip(crossings, stable[:-1], stable[1:], strict=True)
        if below != above
    )
    capsize = [v for v in positive_roots(static) if np.argmin(np.abs(named_modes(bicycle, v).all)) == CAPSIZE]
    born = _birth_of_weave(bicycle)
    return CriticalSpeeds(
        weave=changes[-1][0] if changes and stable[-1] else None,
        capsize=capsize[0] if capsize else None,
        double_root=born[0] if born else None,
        double_root_eigenvalue=born[1] if born else None,
        weave_all=changes,
    )


# Critical speeds and double roots -----------------------------------------------------------------------


def _weave_stability(bicycle: Bicycle, crossings: list[float]) -> list[bool]:
    """Stability of weave before, between and after the speeds at which an eigenvalue crosses the imaginary axis."""
    edges = np.array([0.0, *crossings, 2.0 * max(crossings, default=1.0)])
    weave = named_modes(bicycle, (edges[:-1] + edges[1:]) / 2.0).weave
    return [bool(stable) for stable in np.all(weave.real < 0.0, axis=1)]


# Double roots and the names between them ----------------------------------------------------------------


def _double_roots(bicycle: Bicycle) -> list[tuple[float, float]]:
    """Speeds with two equal real eigenvalues, fastest first, and that eigenvalue."""
    doubles: list[tuple[float, float]] = []
    for guess in reversed(positive_roots(discriminant_polynomial(bicycle))):
        roots = _eigenvalues(bicycle, guess)
        closest = min(combinations(roots, 2), key=lambda pair: abs(pair[0] - pair[1]))
        speed, eigenvalue = _polish(bicycle, guess, float(np.mean(closest).real))
        if abs(speed - guess) < 1e-4 * guess:  # otherwise two complex pairs met, which renames nothing
            doubles.append((speed, eigenvalue))
    return doubles


def _polish(bicycle: Bicycle, v: float, s: float) -> tuple[float, float]:
    """Newton's method on p(s, v) = 0, dp/ds(s, v) = 0; both are simple where a pair is born."""
    p = characteristic_coefficients(bicycle)
    p_s = polyder(p, axis=0)
    p_ss, p_v, p_sv = polyder(p_s, axis=0), polyder(p, axis=1), polyder(p_s, axis=1)
    for _ in range(8):
        value = [polyval2d(s, v, p), polyval2d(s, v, p_s)]
        slope = [[polyval2d(s, v, p_s), polyval2d(s, v, p_v)], [polyval2d(s, v, p_ss), polyval2d(s, v, p_sv)]]
        ds, dv = np.linalg.lstsq(slope, value)[0]
        s, v = s - float(ds), v - float(dv)
    return v, s


def _birth_of_weave(bicycle: Bicycle) -> tuple[float, float] | None:
    """Fastest double root at which the weave pair appears, and its eigenvalue."""
    stretches = _stretches(bicycle)
    pair = (WEAVE, WEAVE_TWIN)
    for above, below, root in zip(stretches[:-1], stretches[1:], _double_roots(bicycle), strict=True):
        if pair in above.pairs and pair not in below.pairs:
            return root
    return None


@lru_cache(maxsize=256)
def _stretches(bicycle: Bicycle) -> tuple[_Stretch, ...]:
    """All stretches of speed, fastest first."""
    double = _double_roots(bicycle)
    lows = [speed for speed, _ in double] + [0.0]
    stretches = [_top(bicycle, lows[0])]
    for (speed, eigenvalue), low in zip(double, lows[1:], strict=True):
        stretches.append(_below(bicycle, stretches[-1], speed, eigenvalue, low))
    return tuple(stretches)


def _top(bicycle: Bicycle, low: float) -> _Stretch:
    """Fastest stretch, without upper end, named far up, where the modes differ by orders of magnitude."""
    roots = _eigenvalues(bicycle, NAMING_SPEED)
    real, upper = _sort_out(roots, int(np.sum(roots.imag == 0.0)))
    if len(upper) == 2:  # no real mode to tell by: weave is the faster pair
        fast, slow = sorted(upper, key=abs, reverse=True)
        return _Stretch(
            low, np.inf, (), ((WEAVE, WEAVE_TWIN), (CAPSIZE, CASTER)), _walk(bicycle, NAMING_SPEED, [fast, slow], low)
        )
    capsize = int(np.argmin(np.abs(real)))
    others = [CASTER, WEAVE_TWIN, WEAVE] if len(real) == 4 else [CASTER]
    names = (*others[:capsize], CAPSIZE, *others[capsize:])
    return _Stretch(low, np.inf, names, ((WEAVE, WEAVE_TWIN),) if upper else ())


def _below(bicycle: Bicycle, above: _Stretch, speed: float, eigenvalue: float, low: float) -> _Stretch:
    """Stretch under the double root at ``speed``, down to ``low``; names handed down from ``above``."""
    others = sorted(_eigenvalues(bicycle, speed), key=lambda root: abs(root - eigenvalue))[2:]
    slower = sum(1 for root in others if root.imag == 0.0 and root.real < eigenvalue)
    n_real = int(np.sum(_eigenvalues(bicycle, (low + speed) / 2.0).imag == 0.0))
    real, pairs = list(above.real), list(above.pairs)
    if n_real > len(real):
        splits = pairs.pop(_which_meets(above, eigenvalue))
        real[slower:slower] = reversed(splits)
    elif n_real < len(real):
        joins = real[slower : slower + 2]
        del real[slower : slower + 2]
        pairs.append((min(joins), max(joins)))
    trail = None
    if len(pairs) == 2:
        upper = [next(root for root in others if root.imag > 0.0), complex(eigenvalue)]
        trail = _walk(bicycle, speed, upper, low)
    return _Stretch(low, speed, tuple(real), tuple(pairs), trail)


def _which_meets(stretch: _Stretch, eigenvalue: float) -> int:
    """Index of the pair of a stretch that becomes the double root at its lower end."""
    if stretch.trail is None:
        return 0
    return int(np.argmin(np.abs(stretch.trail[1][-1] - eigenvalue)))


def _walk(bicycle: Bicycle, start: float, upper: list[complex], low: float) -> tuple[Array, ComplexArray]:
    """Follow two complex pairs from ``start`` down to ``low`` in steps short against their distance."""
    speeds, values = [start], [upper]
    step = (start - low) / 32.0
    while speeds[-1] > low:
        v = max(speeds[-1] - step, low)
        _, ordered = _sort_out(_eigenvalues(bicycle, v), 0)
        ordered = _in_order_of(np.array(values[-1]), ordered)
        moved = max(abs(new - old) for new, old in zip(ordered, values[-1], strict=True))
        if moved > 0.1 * abs(ordered[0] - ordered[1]) and step > 1e-9 * start:
            step /= 2.0
            continue
        speeds.append(v)
        values.append(ordered)
        step *= 1.5
    return np.array(speeds), np.array(values)


def _named(stretch: _Stretch, v: Array, roots: ComplexArray) -> ComplexArray:
    """Eigenvalues (n, 4) in the columns of their names, at speeds (n,) of one stretch."""
    n_real = len(stretch.real)
    roots = np.take_along_axis(roots, np.argsort(np.abs(roots.imag), axis=1, kind="stable"), axis=1)
    real, upper = np.sort(roots[:, :n_real].real, axis=1), roots[:, n_real:][:, ::2]
    upper = upper.real + 1j * np.abs(upper.imag)
    for row in np.flatnonzero(np.count_nonzero(roots.imag == 0.0, axis=1) != n_real):
        real[row], upper[row] = _sort_out(roots[row], n_real)
    if stretch.trail is not None:
        upper = _in_order_of_trail(stretch.trail, v, upper)
    named = np.empty_like(roots)
    named[:, list(stretch.real)] = real  # in a stretch the rank of a real eigenvalue is its identity
    for (first, second), values in zip(stretch.pairs, upper.T, strict=True):
        named[:, first], named[:, second] = values, values.conj()
    return named


def _in_order_of_trail(trail: tuple[Array, ComplexArray], v: Array, upper: ComplexArray) -> ComplexArray:
    """Put both pairs (n, 2) into the order of the slowest step of the trail that is not slower than the speed."""
    speeds, values = trail
    known = values[np.maximum(np.searchsorted(-speeds, -v, side="right") - 1, 0)]
    straight = np.sum(np.abs(upper - known), axis=1)
    crossed = np.sum(np.abs(upper[:, ::-1] - known), axis=1)
    return np.where((straight <= crossed)[:, np.newaxis], upper, upper[:, ::-1])


def _in_order_of(known: ComplexArray, pair: list[complex]) -> list[complex]:
    """Put the two found values into the order of the known ones nearest to them."""
    a, b = pair
    straight = abs(a - known[0]) + abs(b - known[1])
    crossed = abs(b - known[0]) + abs(a - known[1])
    return [a, b] if straight <= crossed else [b, a]


def _sort_out(roots: ComplexArray, n_real: int) -> tuple[list[float], list[complex]]:
    """Real eigenvalues, most negative first, and the upper ones of the pairs.

    Within rounding of a double root the count of real ones is uncertain; it is made ``n_real``, which the
    stretch knows.
    """
    real = sorted(float(root.real) for root in roots if root.imag == 0.0)
    upper = [complex(root) for root in roots if root.imag > 0.0]
    while len(real) < n_real:
        flattest = min(upper, key=lambda root: root.imag)
        upper.remove(flattest)
        real = sorted([*real, flattest.real, flattest.real])
    while len(real) > n_real:
        k = int(np.argmin(np.diff(real)))
        upper.append(complex((real[k] + real[k + 1]) / 2.0))
        del real[k : k + 2]
    return real, upper
