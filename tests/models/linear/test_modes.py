"""Named modes against Table 2, exact arithmetic and their own continuity; critical speeds by two routes."""

import dataclasses
import json
from fractions import Fraction
from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pytest

from riderless.models import catalogue
from riderless.models.errors import InputError
from riderless.models.linear.modes import critical_speeds, eigenvalues, named_modes
from riderless.models.linear.whipple import CanonicalMatrices, canonical_matrices
from riderless.models.parameters import PARAMETERS, Bicycle
from tests.models.linear.test_whipple import by_virtual_work
from tests.paths import REFERENCE

# Meijaard et al. (2007), Table 2, benchmark bicycle, as printed: v, then Re and Im of weave, capsize, caster.
TABLE_2 = [
    (1, "3.52696170990070", "0.80774027519930", "-3.13423125066578", "-7.11008014637442"),
    (2, "2.68234517512745", "1.68066296590675", "-3.07158645641514", "-8.67387984831735"),
    (3, "1.70675605663975", "2.31582447384325", "-2.63366137253667", "-10.35101467245920"),
    (4, "0.41325331521125", "3.07910818603206", "-1.42944427361326", "-12.15861426576447"),
    (5, "-0.77534188219585", "4.46486771378823", "-0.32286642900409", "-14.07838969279822"),
    (6, "-1.52644486584142", "5.87673060598709", "-0.00406690076970", "-16.08537123098026"),
    (7, "-2.13875644258362", "7.19525913329805", "0.10268170574766", "-18.15788466125262"),
    (8, "-2.69348683581097", "8.46037971396931", "0.14327879765713", "-20.27940894394569"),
    (9, "-3.21675402252485", "9.69377351531791", "0.15790184030917", "-22.43788559040858"),
    (10, "-3.72016840437287", "10.90681139476287", "0.16105338653172", "-24.62459635017404"),
]


# Sine and cosine of 18 degrees, the benchmark's steer axis tilt, to fifty digits.
SINE_18 = Fraction("0.30901699437494742410229341718281905886015458990288")
COSINE_18 = Fraction("0.95105651629515357211643933337938214340569863412575")


def exact_eigenvalue(v: int, near: complex) -> complex:
    """Eigenvalue of the benchmark near a given one, from the decimals of Table 1 in rational arithmetic."""
    fields = catalogue.load_bicycle("Benchmark").as_dict()
    decimals = SimpleNamespace(**{name: Fraction(repr(fields[name])) for name in PARAMETERS})
    matrices = by_virtual_work(decimals, SINE_18, COSINE_18)
    re, im = Fraction(near.real), Fraction(near.imag)
    for _ in range(4):  # Newton's method, each step doubling the digits
        (f_re, f_im), (d_re, d_im) = (0, 0), (0, 0)
        for a in quartic(matrices, decimals.g, v):
            d_re, d_im = d_re * re - d_im * im + f_re, d_re * im + d_im * re + f_im
            f_re, f_im = f_re * re - f_im * im + a, f_re * im + f_im * re
        size = d_re**2 + d_im**2
        re -= (f_re * d_re + f_im * d_im) / size
        im -= (f_im * d_re - f_re * d_im) / size
        re, im = (Fraction(round(part * 2**120), 2**120) for part in (re, im))
    return complex(re, im)


def quartic(matrices: CanonicalMatrices, g: Fraction, v: Fraction | int) -> tuple[Fraction, ...]:
    """Coefficients of the characteristic polynomial, highest power first, of matrices of fractions."""
    M, C, K = matrices.M, v * matrices.C1, g * matrices.K0 + v**2 * matrices.K2
    return det(M), cross(M, C), cross(M, K) + det(C), cross(C, K), det(K)


def det(A):
    return A[0][0] * A[1][1] - A[0][1] * A[1][0]


def cross(A, B):
    return A[0][0] * B[1][1] + A[1][1] * B[0][0] - A[0][1] * B[1][0] - A[1][0] * B[0][1]


@pytest.mark.parametrize(("v", "re", "im", "capsize", "caster"), TABLE_2)
def test_table_2(v, re, im, capsize, caster):
    """To 12 printed decimals; the last two are the paper's own rounding.

    ERRATA: exact arithmetic on Table 1 differs from the print by 1e-14 to 9e-14 in most rows, and by 6.1e-13
    in the caster eigenvalue at 7 m/s (-18.157884661252007). What is computed here is within 1e-13 of exact.
    """
    modes = named_modes(catalogue.load_bicycle("Benchmark"), v)
    printed = [complex(float(re), float(im)), complex(float(capsize)), complex(float(caster))]
    computed = [modes.weave[0, 0], modes.capsize[0], modes.caster[0]]
    for paper, ours in zip(printed, computed, strict=True):
        exact = exact_eigenvalue(v, paper)
        assert abs(ours - exact) < 1e-13
        assert abs(ours - paper) < abs(exact - paper) + 1e-13
        assert max(abs(ours.real - paper.real), abs(ours.imag - paper.imag)) < (7e-13 if v == 7 else 1e-13)
    assert modes.weave[0, 1] == modes.weave[0, 0].conjugate()


def test_table_2_is_the_reference_file():
    reference = json.loads((REFERENCE / "benchmark_bicycle.json").read_text())
    weave = {row[0]: row[1:] for row in reference["weave_eigenvalues"]["rows"]}
    real = {row[0]: row[1:] for row in reference["real_eigenvalues"]["rows"]}
    for v, *printed in TABLE_2:
        assert [float(number) for number in printed] == pytest.approx([*weave[v], *real[v]], abs=1e-14)


def test_benchmark_at_rest():
    """Meijaard et al. (2007), section 6: +-3.13164324790656 and +-5.53094371765393 at zero speed."""
    modes = named_modes(catalogue.load_bicycle("Benchmark"), 0.0)
    assert not modes.weave_is_oscillatory[0]
    expected = [5.53094371765393, 3.13164324790656, -3.13164324790656, -5.53094371765393]
    assert np.max(np.abs(modes.all[0] - expected)) < 2e-14
    assert np.isnan(modes.weave_oscillation[0])


def test_benchmark_critical_speeds():
    """Meijaard et al. (2007), section 6, as printed (14 decimals; a double holds them to about 1e-14)."""
    critical = critical_speeds(catalogue.load_bicycle("Benchmark"))
    assert critical.weave == pytest.approx(4.29238253634111, abs=2e-14)
    assert critical.capsize == pytest.approx(6.02426201538837, abs=2e-14)
    assert critical.double_root == pytest.approx(0.68428307889246, abs=2e-14)
    assert critical.double_root_eigenvalue == pytest.approx(3.78290405129320, abs=2e-14)
    assert critical.weave_all == ((critical.weave, "unstable->stable"),)
    frequency = named_modes(catalogue.load_bicycle("Benchmark"), critical.weave).weave[0, 0].imag
    assert frequency == pytest.approx(3.43503384866144, abs=2e-14)


@pytest.mark.parametrize("name", ["Benchmark", "Silver", "Rigid", "Pista", "DelftSbW2024", "Crescendo"])
def test_independent_reference(name):
    """Critical speeds and eigenvalues of another program.

    Its list of weave speeds also holds, as "stable->unstable", the speed at which weave is born unstable
    beside the stable pair of capsize and caster: the double root.
    """
    reference = json.loads((REFERENCE / "linear_reference.json").read_text())["bicycles"][name]
    bicycle = catalogue.load_bicycle(name)
    critical = critical_speeds(bicycle)
    assert critical.capsize == pytest.approx(reference["capsize_speed"], rel=5e-14)
    for speed, change in reference["weave_speeds"]:
        found = critical.weave if change == "unstable->stable" else critical.double_root
        assert found == pytest.approx(speed, rel=5e-14)
    assert any(abs(critical.double_root - grid) < 0.005 for grid in reference["n_complex_changes_grid"])
    for v, expected in reference["eigenvalues"].items():
        values = np.sort_complex([complex(*pair) for pair in expected])
        for found in (eigenvalues(bicycle, float(v)), np.sort_complex(named_modes(bicycle, float(v)).all[0])):
            np.testing.assert_allclose(found, values, rtol=0.0, atol=1e-11 * np.max(np.abs(values)))


@pytest.mark.parametrize("name", catalogue.bicycle_names())
def test_critical_speeds_by_a_second_route(name):
    """At each, the eigenvalues of A(v) themselves do what the polynomials promise, and change across it."""
    bicycle = catalogue.load_bicycle(name)
    critical = critical_speeds(bicycle)

    weave = named_modes(bicycle, [critical.weave, critical.weave * 0.999, critical.weave * 1.001]).weave[:, 0]
    assert abs(weave[0].real) < 1e-11
    assert weave[1].real > 0.0 > weave[2].real
    slope = (weave[2].real - weave[1].real) / (0.002 * critical.weave)
    assert abs(weave[0].real / slope) < 1e-12 * max(1.0, critical.weave)

    if critical.capsize is not None:
        at, below, above = named_modes(bicycle, np.array([1.0, 0.999, 1.001]) * critical.capsize).capsize
        assert abs(at) < 1e-11
        assert below.real < 0.0 < above.real
        _, _, K0, K2 = canonical_matrices(bicycle)
        stiffness = bicycle.g * K0 + critical.capsize**2 * K2
        assert abs(np.linalg.det(stiffness)) < 1e-12 * np.abs(stiffness).max() ** 2

    v, s = critical.double_root, critical.double_root_eigenvalue
    below, above = named_modes(bicycle, [v * (1.0 - 1e-6), v * (1.0 + 1e-6)]).weave
    assert np.all(below.imag == 0.0)
    assert np.all(above.imag != 0.0)
    assert below[0].real > s > below[1].real
    assert abs(above[0] - s) < 0.05
    # Around a double root the pair is s +- sqrt(k (v - v0)): its squared half-width passes zero at v0.
    width = [((pair[0] - pair[1]) / 2.0) ** 2 for pair in (below, above)]
    crossing = v * (1.0 - 1e-6) + 2e-6 * v * width[0].real / (width[0].real - width[1].real)
    assert crossing == pytest.approx(v, rel=1e-11)


def bisect(low, high, above):
    """Where ``above(v)`` turns true, by halving."""
    while high - low > 1e-15 * high:
        middle = (low + high) / 2.0
        if middle in (low, high):
            break
        low, high = (low, middle) if above(middle) else (middle, high)
    return high


@pytest.mark.parametrize("name", catalogue.bicycle_names())
def test_critical_speeds_by_bisection_in_exact_arithmetic(name):
    """The signs of Hurwitz's determinant, det K and the discriminant, all in rational arithmetic."""
    bicycle = catalogue.load_bicycle(name)
    critical = critical_speeds(bicycle)
    matrices = CanonicalMatrices(
        *(np.vectorize(Fraction, otypes=[object])(matrix) for matrix in canonical_matrices(bicycle))
    )

    def coefficients(v):
        return quartic(matrices, Fraction(bicycle.g), Fraction(v))

    def hurwitz(v):
        a, b, c, d, e = coefficients(v)
        return d * (b * c - a * d) - b * b * e

    def discriminant(v):
        a, b, c, d, e = coefficients(v)
        first = 12 * a * e - 3 * b * d + c * c
        second = 72 * a * c * e + 9 * b * c * d - 27 * a * d * d - 27 * e * b * b - 2 * c**3
        return 4 * first**3 - second**2

    pairs = [(critical.weave, hurwitz), (critical.double_root, discriminant)]
    if critical.capsize is not None:
        pairs.append((critical.capsize, lambda v: coefficients(v)[4]))
    for speed, function in pairs:
        low, high = speed * 0.999, speed * 1.001
        end = function(high) > 0
        assert (function(low) > 0) != end
        assert speed == pytest.approx(bisect(low, high, lambda v, f=function, e=end: (f(v) > 0) == e), rel=1e-12)


@pytest.mark.parametrize("name", ["TwoMassSkateTheory", "Yellowrev"])
def test_bicycles_without_a_capsize_speed(name):
    bicycle = catalogue.load_bicycle(name)
    assert critical_speeds(bicycle).capsize is None
    assert np.all(named_modes(bicycle, np.linspace(0.0, 50.0, 101)).capsize.real < 0.0)


def test_two_mass_skate_is_stable_above_2_84():
    """Kooijman et al. (2011): a bicycle without spin or trail stabilises itself, above 2.84 m/s."""
    skate = catalogue.load_bicycle("TwoMassSkateTheory")
    assert critical_speeds(skate).weave == pytest.approx(2.84, abs=0.005)
    assert np.all(eigenvalues(skate, [2.85, 4.0, 10.0, 40.0]).real < 0.0)
    assert np.max(eigenvalues(skate, 2.83).real) > 0.0


def test_a_bicycle_that_weave_leaves_unstable_has_no_weave_speed():
    """The front centre of mass moved far behind the steer axis."""
    bicycle = dataclasses.replace(catalogue.load_bicycle("TwoMassSkateTheory"), xH=0.8)
    critical = critical_speeds(bicycle)
    assert critical.weave is None
    assert np.max(eigenvalues(bicycle, np.linspace(0.5, 60.0, 60)).real, axis=1).min() > 0.0


@pytest.mark.parametrize("name", catalogue.bicycle_names())
def test_names_are_continuous(name):
    """From one fine step to the next no other naming of the eigenvalues would be nearer.

    Beside a double root two eigenvalues move as a square root and any of the two may be either; those steps
    are left out here, and looked at in the next test.
    """
    bicycle = catalogue.load_bicycle(name)
    v = np.linspace(0.0, 10.0, 2001)
    named = named_modes(bicycle, v).all
    gap = np.min([np.abs(named[:, i] - named[:, j]) for i in range(4) for j in range(i)], axis=0)
    step = np.abs(np.diff(named, axis=0))
    clear = (gap[1:] > 0.3) & (gap[:-1] > 0.3)
    assert clear.mean() > 0.6
    straight = step.sum(axis=1)
    for order in permutations(range(4)):
        other = np.abs(named[1:][:, order] - named[:-1]).sum(axis=1)
        assert np.all(straight[clear] <= other[clear] + 1e-12)


@pytest.mark.parametrize("name", catalogue.bicycle_names())
def test_every_mode_moves_without_jumps_through_double_roots(name):
    """Refining the steps shrinks the largest one, as a square root does, to below the spacing of modes."""
    bicycle = catalogue.load_bicycle(name)
    jumps = []
    for n in (501, 8001):
        jumps.append(np.max(np.abs(np.diff(named_modes(bicycle, np.linspace(0.0, 4.0, n)).all, axis=0))))
    assert jumps[1] < 0.3 * jumps[0]
    assert jumps[1] < 0.2


def altered(rng: np.random.Generator) -> Bicycle:
    """A bicycle of the catalogue with its masses, places and axis moved at random, by about a third."""
    while True:
        bicycle = catalogue.load_bicycle(str(rng.choice(catalogue.bicycle_names())))
        moved = ("w", "c", "lam", "xB", "zB", "mB", "xH", "zH", "mH", "mF")
        try:
            return dataclasses.replace(
                bicycle,
                **{name: getattr(bicycle, name) * (1.0 + 0.35 * rng.standard_normal()) for name in moved},
            )
        except InputError:
            continue  # not a bicycle: a negative mass, say


@pytest.mark.parametrize("seed", range(12))
def test_strange_bicycles_are_followed_too(seed):
    """The eigenvalues all named, no jumps, and weave stable or not as the critical speeds say."""
    bicycle = altered(np.random.default_rng(seed))
    jumps = []
    for n in (501, 8001):
        v = np.linspace(0.0, 10.0, n)
        modes = named_modes(bicycle, v)
        jumps.append(np.max(np.abs(np.diff(modes.all, axis=0))))
    assert jumps[1] < 0.5 * jumps[0]
    scale = np.max(np.abs(modes.all))
    assert np.max(np.abs(modes.all.sum(axis=1) - eigenvalues(bicycle, v).sum(axis=1))) < 1e-9 * scale
    stable = np.all(modes.weave.real < 0.0, axis=1)
    changes = v[1:-1][stable[1:-1] != stable[2:]]
    promised = [speed for speed, _ in critical_speeds(bicycle).weave_all if speed < 10.0]
    np.testing.assert_allclose(changes, promised, rtol=0.0, atol=0.002)


@pytest.mark.parametrize("name", ["Benchmark", "Pista", "Browserins", "Silver"])
def test_naming_does_not_depend_on_the_grid(name):
    bicycle = catalogue.load_bicycle(name)
    v = np.linspace(0.0, 8.0, 161)
    together = named_modes(bicycle, v)
    alone = np.vstack([named_modes(bicycle, speed).all for speed in v])
    shuffled = np.random.default_rng(1).permutation(len(v))
    assert np.array_equal(together.all, alone)
    assert np.array_equal(together.all[shuffled], named_modes(bicycle, v[shuffled]).all)


@pytest.mark.parametrize("name", catalogue.bicycle_names())
def test_the_named_modes_are_the_eigenvalues(name):
    bicycle = catalogue.load_bicycle(name)
    v = np.linspace(0.0, 12.0, 241)
    found = np.sort_complex(np.round(named_modes(bicycle, v).all, 7))
    assert np.allclose(found, np.sort_complex(np.round(eigenvalues(bicycle, v), 7)), rtol=0.0, atol=1e-6)


def test_capsize_and_caster_of_the_pista_are_one_pair_for_a_while():
    """Double roots near 0.4699 and 2.5746 m/s (independent reference, on a grid of 0.005 m/s)."""
    modes = named_modes(catalogue.load_bicycle("Pista"), [0.0, 0.46, 0.475, 1.0, 1.5, 2.0, 2.57, 2.58, 5.0])
    paired = modes.capsize.imag != 0.0
    assert paired.tolist() == [False, False, True, True, True, True, True, False, False]
    assert np.array_equal(modes.capsize[paired], modes.caster[paired].conjugate())
    assert np.all(modes.capsize[~paired].real > modes.caster[~paired].real)
    assert modes.weave_is_oscillatory.tolist() == [False] * 4 + [True] * 5


def test_at_a_double_root_weave_is_its_eigenvalue():
    bicycle = catalogue.load_bicycle("Benchmark")
    critical = critical_speeds(bicycle)
    for offset in (-1e-13, 0.0, 1e-13):
        weave = named_modes(bicycle, critical.double_root + offset).weave[0]
        assert np.max(np.abs(weave - critical.double_root_eigenvalue)) < 1e-5


@pytest.mark.parametrize("name", ["Benchmark", "Silver", "Pista"])
def test_backwards_time_is_reversed_and_names_are_kept(name):
    """(v, s) becomes (-v, -s), in the eigenvalues of the system matrix and in each named branch."""
    bicycle, speeds = catalogue.load_bicycle(name), np.linspace(0.2, 9.0, 45)
    back, ahead = named_modes(bicycle, -speeds), named_modes(bicycle, speeds)
    found = np.sort_complex(back.all)
    np.testing.assert_allclose(found, eigenvalues(bicycle, -speeds), atol=1e-6)
    np.testing.assert_allclose(np.sort_complex(-ahead.weave), np.sort_complex(back.weave), atol=1e-12)
    assert np.all(back.weave[:, 0].imag >= 0.0)
    assert np.all(back.capsize.real == -ahead.capsize.real)
    assert np.all(back.v == -speeds)


def test_bad_speeds_are_refused():
    bicycle = catalogue.load_bicycle("Benchmark")
    for bad in (np.nan, [1.0, np.inf], 1e200, None, "5", ["5", 6.0], True, [[1.0], [2.0, 3.0]]):
        with pytest.raises(InputError, match="a speed must be a finite number in m/s"):
            named_modes(bicycle, bad)


def test_bad_speeds_have_no_eigenvalues():
    bicycle = catalogue.load_bicycle("Benchmark")
    for bad in (np.nan, [1.0, np.inf], 1e200, -1e5, None, "5", True, [[1.0], [2.0, 3.0]]):
        with pytest.raises(InputError, match=r"a speed must be a finite number in m/s, at most 10000; found"):
            eigenvalues(bicycle, bad)
    assert eigenvalues(bicycle, [[1, -2]]).shape == (1, 2, 4)


def test_the_speeds_of_modes_are_their_own():
    speeds = np.linspace(0.0, 10.0, 5)
    modes = named_modes(catalogue.load_bicycle("Benchmark"), speeds)
    speeds *= 3.6
    assert modes.v == pytest.approx([0.0, 2.5, 5.0, 7.5, 10.0])


def test_no_speeds_give_no_modes():
    modes = named_modes(catalogue.load_bicycle("Benchmark"), [])
    assert modes.weave.shape == (0, 2)
    assert modes.all.shape == (0, 4)


@pytest.mark.parametrize("c", [-0.02, -0.01, 0.0, 0.01, 0.02])
@pytest.mark.parametrize("xB", [0.9, 1.1, 1.2])
def test_rounding_makes_no_critical_speed_of_a_spinless_bicycle(c, xB):
    """Leading coefficients are zero without spin; their last bits must not say millions of m/s."""
    critical = critical_speeds(dataclasses.replace(catalogue.load_bicycle("TwoMassSkateTheory"), c=c, xB=xB))
    assert critical.capsize is None
    assert all(speed < 10.0 for speed, _ in critical.weave_all)
    assert critical.double_root is None or critical.double_root < 10.0
