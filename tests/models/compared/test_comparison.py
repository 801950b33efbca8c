"""Own equations beside ours: every slip that is made on purpose is found, in the entry where it was made."""

from dataclasses import replace

import numpy as np
import pytest

from riderless.models.catalogue import bicycle_names, load_bicycle
from riderless.models.compared.comparison import compare_equations, our_rates
from riderless.models.compared.own_matrices import matrices_text
from riderless.models.errors import InputError
from riderless.models.linear.whipple import CanonicalMatrices, canonical_matrices, matrices_of
from tests.models.linear.test_whipple import PRINTED_BENCHMARK, PRINTED_SILVER

BENCHMARK = load_bicycle("Benchmark")
RIGHT = canonical_matrices(BENCHMARK)
FLIP = np.array([[1.0, 1.0], [-1.0, 1.0]])


def table(matrices, **changed):
    """Text of a file of matrices, from cells as printed."""
    cells = {**matrices, **changed}
    return "\n".join(f"{name},{','.join(np.ravel(cells[name]))}" for name in ("M", "C1", "K0", "K2")) + "\n"


def test_printed_matrices_are_the_same_equations(tmp_path):
    (tmp_path / "printed.csv").write_text(table(PRINTED_BENCHMARK), encoding="utf-8")
    found = compare_equations(tmp_path / "printed.csv")
    assert found.verdict == "the same equations: 16 entries agree to the last digit given"
    assert found.same_motion
    np.testing.assert_allclose(found.found, found.right, atol=1e-9)


def test_few_digits_are_enough_and_gravity_is_found(tmp_path):
    """Kooijman et al. (2008) print K0 with gravity, to five decimals."""
    (tmp_path / "silver.csv").write_text(table(PRINTED_SILVER), encoding="utf-8")
    found = compare_equations(tmp_path / "silver.csv", "Silver")
    assert {entry.matrix for entry in found.wrong} == {"K0"}
    assert found.slips == ("gravity is in K0: ours is to be multiplied by g",)


@pytest.mark.parametrize("name", bicycle_names())
def test_our_own_file_is_the_same(name, tmp_path):
    bicycle = load_bicycle(name)
    (tmp_path / "ours.csv").write_text(matrices_text(canonical_matrices(bicycle)), encoding="utf-8")
    assert compare_equations(tmp_path / "ours.csv", bicycle).verdict.startswith("the same equations")


@pytest.mark.parametrize(
    ("changed", "words", "entries"),
    [
        ({"C1": RIGHT.C1 * FLIP}, "the other sign", ["C1 delta phi"]),
        ({"C1": RIGHT.C1.T}, "C1 is transposed", ["C1 phi delta", "C1 delta phi"]),
        ({"K2": RIGHT.K2.T}, "K2 is transposed", ["K2 phi delta", "K2 delta phi"]),
        ({"C1": (RIGHT.C1 + RIGHT.C1.T) / 2.0}, "C1 is made symmetric", ["C1 phi delta", "C1 delta phi"]),
        ({"M": np.array([[80.81722, 0.0], RIGHT.M[1]])}, "left out", ["M phi delta"]),
        ({"K0": RIGHT.K0 * np.array([[1.0, 1.0], [1.0, 0.5]])}, "half", ["K0 delta delta"]),
        ({"K0": RIGHT.K0 * np.array([[1.0, 9.81], [1.0, 1.0]])}, "g times it", ["K0 phi delta"]),
    ],
)
def test_slip_of_one_matrix(changed, words, entries):
    found = compare_equations(RIGHT._asdict() | changed)
    assert [f"{each.matrix} {each.row} {each.column}" for each in found.wrong] == entries
    assert all(words in each.looks_like for each in found.wrong)


@pytest.mark.parametrize("name", ["Benchmark", "Silver", "Pista"])
@pytest.mark.parametrize(
    ("matrix", "entry", "term", "words"),
    [
        ("C1", (0, 1), lambda b, mu: mu * b.IFyy / b.rF + mu * b.IRyy / b.rR, "mu ST"),
        ("C1", (0, 1), lambda b, mu: b.IFyy / b.rF * np.cos(b.lam), "SF cos(lam)"),
        ("K2", (1, 1), lambda b, mu: b.IFyy / b.rF * np.sin(b.lam) * np.cos(b.lam) / b.w, "SF sin(lam) cos(lam)/w"),
        ("M", (0, 0), lambda b, mu: b.mB * b.zB**2, "mB zB^2"),
    ],
)
def test_lost_term_is_named(name, matrix, entry, term, words):
    """The term is written here from the paper's appendix anew."""
    b = load_bicycle(name)
    value = term(b, b.c / b.w * np.cos(b.lam))
    for factor, slip in ((1.0, "left out"), (2.0, "with the other sign"), (-1.0, "twice")):
        right = canonical_matrices(b)
        changed = getattr(right, matrix).copy()
        changed[entry] -= factor * value
        found = compare_equations(right._asdict() | {matrix: changed}, b)
        assert len(found.wrong) == 1
        assert f"{words} {slip}" in found.wrong[0].looks_like


@pytest.mark.filterwarnings("ignore::riderless.models.errors.UnusualBicycle")
@pytest.mark.parametrize("name", ["Benchmark", "Silver", "Pista"])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda b: {"IHxz": -b.IHxz}, "IHxz has the other sign"),
        (lambda b: {"c": -b.c}, "c has the other sign"),
        (lambda b: {"rR": b.rF, "rF": b.rR}, "rR and rF are exchanged"),
        (lambda b: {"IRyy": 0.0, "IFyy": 0.0}, "IRyy and IFyy are left out"),
        (lambda b: {"IBxz": -b.IBxz, "IHxz": -b.IHxz}, "IBxz and IHxz have the other sign"),
    ],
)
def test_mistaken_parameter_is_named(name, change, words):
    b = load_bicycle(name)
    mistaken = matrices_of(replace(b, **change(b), std={}, correlations={}, trust="a mistake"))
    assert words in compare_equations(mistaken, b).slips[0]


def test_conventions_are_named_and_do_no_harm():
    M, C1, K0, K2 = RIGHT
    signs = np.array([[1.0, -1.0], [-1.0, 1.0]])
    turned = {
        "lean or steer has the other sign": [X * signs for X in RIGHT],
        "steer stands first and lean second": [X[::-1, ::-1] for X in RIGHT],
        "the equations are solved for the accelerations": [np.linalg.solve(M, X) for X in RIGHT],
        "all entries are multiplied by pi/180: an angle in degrees": [np.radians(X) for X in RIGHT],
        "the steer equation is of the other sign": [X * np.array([[1.0], [-1.0]]) for X in RIGHT],
        "the two equations are added together": [np.array([[1.0, 1.0], [0.0, 1.0]]) @ X for X in RIGHT],
    }
    for words, matrices in turned.items():
        found = compare_equations(CanonicalMatrices(*matrices))
        assert found.slips == (f"{words} (the motion is right)",)
        assert found.same_motion
        assert found.verdict.startswith("other equations of the same motion")
    found = compare_equations({"M": M, "C1": 5.0 * C1, "K0": 9.81 * K0, "K2": 25.0 * K2})
    assert found.slips[0].startswith("gravity is in K0, and C1 and K2 are multiplied by 5 and its square")
    assert not found.same_motion


def test_nonsense_is_called_no_usual_slip():
    found = compare_equations(RIGHT._asdict() | {"M": RIGHT.M + np.array([[0.0, 0.0], [0.0, 0.0123]])})
    assert found.wrong[0].sentence == "M delta delta is 0.310141882, right is 0.297841882: no usual slip"


def test_polynomial_is_that_of_the_determinant():
    """At a speed and an s of no meaning."""
    found = compare_equations(RIGHT._asdict() | {"K2": RIGHT.K2.T + 1.0})
    s, v = 0.7, 2.3
    M, C1, K0, K2 = found.matrices
    determinant = np.linalg.det(M * s**2 + v * C1 * s + 9.81 * K0 + v**2 * K2) / np.linalg.det(M)
    assert sum(each.found * s**each.s * v**each.v for each in found.coefficients) == pytest.approx(determinant)


def test_a_nonlinear_function_is_made_linear_and_ridden():
    found = compare_equations(our_rates(BENCHMARK))
    assert found.verdict == "the same equations"
    for mine, ours in zip(found.matrices, RIGHT, strict=True):
        np.testing.assert_allclose(mine, ours, atol=1e-8 * np.abs(ours).max())
    # Meijaard et al. (2007), section 6: a gain of 0.022 m/s, a period of 1.60 s
    assert found.ride.speed_gain == pytest.approx(0.022, abs=0.001)
    assert found.ride.period == pytest.approx(1.60, abs=0.01)


def test_a_function_that_is_wrong_only_when_leaned_is_found():
    ours = our_rates(BENCHMARK)

    def mine(phi, delta, phi_dot, delta_dot, v, T_phi, T_delta):
        phi_ddot, delta_ddot, v_dot = ours(phi, delta, phi_dot, delta_dot, v, T_phi, T_delta)
        return phi_ddot + phi**3, delta_ddot, v_dot  # sin(phi) taken for phi, say

    found = compare_equations(mine)
    assert not found.wrong
    assert {each.words for each in found.far if each.agrees} == {"straight", "steered", "leaning", "steering"}
    assert found.verdict.startswith("right where it is linear; far from upright it is not ours: leaned, ")


def test_a_linear_function_is_right_where_it_is_linear():
    M, C1, K0, K2 = RIGHT

    def mine(phi, delta, phi_dot, delta_dot, v, T_phi, T_delta):
        q, u = np.array([phi, delta]), np.array([phi_dot, delta_dot])
        return *np.linalg.solve(M, [T_phi, T_delta] - v * C1 @ u - (9.81 * K0 + v**2 * K2) @ q), 0.0

    found = compare_equations(mine)
    assert not found.wrong
    assert found.ride.speed_gain == 0.0
    assert found.ride.period == pytest.approx(1.622, abs=0.002)  # of the linear model, as printed


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("M,1,2,3\n", "line 1: wanted four lines"),
        ("M,1,2,3,4\nM,1,2,3,4\n", "line 2"),
        ("M,1,2,3,x\n", "wanted a number, found 'x'"),
        ("M,1,2,3,1e400\n", "wanted a number"),
        ("M,1,2,3,4\n", "has no C1, K0, K2"),
        ("", "has no M, C1, K0, K2"),
    ],
)
def test_files_that_are_no_matrices_are_refused(text, words, tmp_path):
    (tmp_path / "mine.csv").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=words):
        compare_equations(tmp_path / "mine.csv")


@pytest.mark.parametrize(
    "mine",
    [
        {"M": RIGHT.M},
        RIGHT._asdict() | {"M": np.zeros((2, 2))},
        [1.0],
        RIGHT._asdict() | {"M": RIGHT.M * np.nan},
        lambda *x: 0.0,
        lambda *x: (0.0, 0.0, np.nan),
        lambda *x: (0.0, 0.0, 0.0),
    ],
)
def test_what_is_no_equations_is_refused(mine):
    with pytest.raises(InputError, match=r"wanted|singular"):
        compare_equations(mine)
