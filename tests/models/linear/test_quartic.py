"""Roots of many quartics at once against the roots they were made of, and named modes against one speed at a time."""

import numpy as np
import pytest

from riderless.models import catalogue
from riderless.models.linear import quartic
from riderless.models.linear.modes import eigenvalues, named_modes
from riderless.models.linear.quartic import quartic_roots

ROOTS = {
    "four real": (-5.0, -1.0, 0.5, 3.0),
    "a pair and two real": (-2 + 3j, -2 - 3j, -25.0, 0.16),
    "two pairs": (-2 + 3j, -2 - 3j, 0.5 + 4j, 0.5 - 4j),
    "two pairs of one real part": (1 + 3j, 1 - 3j, 1 + 4j, 1 - 4j),
    "at rest": (5.5, -5.5, 3.1, -3.1),
    "at rest, a pair": (5.5, -5.5, 3j, -3j),
    "a zero": (0.0, -1.0, -2 + 1j, -2 - 1j),
    "two zeros": (0.0, 0.0, -3.0, 4.0),
    "four zeros": (0.0, 0.0, 0.0, 0.0),
    "far apart": (-2000.0, 1e-3, -300 + 8j, -300 - 8j),
    "a slow pair": (-1e-3 + 1e-3j, -1e-3 - 1e-3j, -40.0, 30.0),
}
DOUBLE = {
    "double": (-2.0, -2.0, 3.0, -7.0),
    "double in the middle": (-5.0, 1.0, 1.0, 4.0),
    "two doubles": (2.0, 2.0, -3.0, -3.0),
    "a double pair": (-1 + 2j, -1 - 2j, -1 + 2j, -1 - 2j),
    "triple": (1.0, 1.0, 1.0, -4.0),
}


def coefficients(*roots):
    return np.array([np.real(np.poly(each))[1:] for each in roots]).T


def farthest(found, roots):
    """Largest distance of a root from its own, each taken once, of the size of the largest."""
    left, worst = list(found), 0.0
    for root in roots:
        nearest = min(left, key=lambda each: abs(each - root))
        left.remove(nearest)
        worst = max(worst, abs(nearest - root))
    return worst / max(1e-300, *np.abs(roots))


@pytest.mark.parametrize("name", ROOTS)
def test_the_roots_that_went_in_come_out(name):
    found = quartic_roots(coefficients(ROOTS[name]))[0]
    if any(ROOTS[name]):
        assert farthest(found, ROOTS[name]) < (5e-14 if "two zeros" not in name else 1e-7)
    else:
        assert not np.any(found)
    assert np.sum(found.imag == 0.0) == np.sum(np.imag(ROOTS[name]) == 0.0)
    assert np.all(found[::2].imag >= 0.0)
    assert np.array_equal(found[1::2].imag, -found[::2].imag)


@pytest.mark.parametrize("name", DOUBLE)
def test_equal_roots_are_found_as_well_as_their_coefficients_tell(name):
    assert farthest(quartic_roots(coefficients(DOUBLE[name]))[0], DOUBLE[name]) < (1e-4 if name == "triple" else 2e-7)


def test_rows_do_not_concern_each_other():
    sets = [*ROOTS.values(), *DOUBLE.values()]
    together = quartic_roots(coefficients(*sets))
    for roots, found in zip(sets, together, strict=True):
        assert np.array_equal(quartic_roots(coefficients(roots))[0], found)


def test_random_quartics_against_eigenvalues_of_companions():
    rng = np.random.default_rng(5)
    sizes = 10.0 ** rng.uniform(-3, 3, (4, 4000))
    given = sizes * rng.standard_normal((4, 4000))
    found, known = quartic_roots(given), quartic._companion_roots(given)
    worst = [farthest(ours, theirs) for ours, theirs in zip(found, known, strict=True)]
    assert np.quantile(worst, 0.99) < 1e-12
    residual = [np.abs(np.real(np.poly(ours))[1:] - row) for ours, row in zip(found, given.T, strict=True)]
    scale = [np.real(np.poly(-np.abs(ours)))[1:] for ours in found]
    assert np.max(np.array(residual) / np.array(scale)) < 1e-12


def test_what_newton_cannot_settle_is_left_to_eigvals(monkeypatch):
    """With no step allowed and no error small enough every row takes that way."""
    monkeypatch.setattr(quartic, "LARGEST_FACTOR_ERROR", 0.0)
    for name, roots in ROOTS.items():
        if "zeros" not in name:
            assert farthest(quartic_roots(coefficients(roots))[0], roots) < 1e-12


@pytest.mark.parametrize("name", catalogue.bicycle_names())
def test_named_modes_are_the_eigenvalues_of_lapack(name):
    bicycle = catalogue.load_bicycle(name)
    v = np.concatenate([np.linspace(0.0, 20.0, 4001), np.geomspace(20.0, 1000.0, 100)])
    found, known = named_modes(bicycle, v).all, eigenvalues(bicycle, v)
    for ours, theirs in zip(found, known, strict=True):
        assert farthest(ours, theirs) < 2e-13


@pytest.mark.parametrize("name", catalogue.bicycle_names())
def test_a_grid_is_named_as_each_of_its_speeds_alone(name):
    """Bit for bit, whatever the order: between, at and beside the double roots."""
    from riderless.models.linear.modes import _double_roots

    bicycle = catalogue.load_bicycle(name)
    beside = [v * (1.0 + step) for v, _ in _double_roots(bicycle) for step in (-1e-6, -1e-12, 0.0, 1e-12, 1e-6)]
    v = np.random.default_rng(1).permutation([*np.linspace(0.0, 12.0, 61), *beside])
    grid = named_modes(bicycle, v).all
    assert np.array_equal(grid, [named_modes(bicycle, speed).all[0] for speed in v])
