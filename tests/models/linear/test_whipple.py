"""The linear bicycle against print, against an independent reference, and derived a second way."""

import json
from dataclasses import replace
from math import cos, sin
from typing import Any

import numpy as np
import pytest

from riderless.models import catalogue
from riderless.models.coordinates import INPUTS, STATES
from riderless.models.errors import InputError
from riderless.models.linear.whipple import (
    CanonicalMatrices,
    canonical_matrices,
    finite_speeds,
    input_matrix,
    one_speed,
    state_space,
    system_matrix,
)
from riderless.models.parameters import Bicycle
from tests.paths import REFERENCE

MATRICES = ("M", "C1", "K0", "K2")


def last_digit(printed: str) -> float:
    """Half a unit in the last printed decimal."""
    return 0.5 * 10.0 ** -len(printed.partition(".")[2])


# Meijaard et al. (2007), eqs 6.1-6.4, benchmark bicycle, as printed.
PRINTED_BENCHMARK = {
    "M": [["80.81722", "2.31941332208709"], ["2.31941332208709", "0.29784188199686"]],
    "K0": [["-80.95", "-2.59951685249872"], ["-2.59951685249872", "-0.80329488458618"]],
    "K2": [["0", "76.59734589573222"], ["0", "2.65431523794604"]],
    "C1": [["0", "33.86641391492494"], ["-0.85035641456978", "1.68540397397560"]],
}

# Kooijman, Schwab, Meijaard (2008), eq. 5, as printed; K0 there holds gravity.
PRINTED_SILVER = {
    "M": [["7.98981", "0.89569"], ["0.89569", "0.29857"]],
    "C1": [["0", "7.17025"], ["-0.59389", "1.32610"]],
    "K0": [["-109.91168", "-13.45745"], ["-13.45745", "-4.82272"]],
    "K2": [["0", "11.19798"], ["0", "1.42200"]],
}


@pytest.mark.parametrize("matrix", MATRICES)
def test_benchmark_matrices_to_every_printed_digit(matrix):
    """Sixteen printed digits are as many as a double has: two of its spacings are allowed on top."""
    computed = getattr(canonical_matrices(catalogue.load_bicycle("Benchmark")), matrix)
    for printed, value in zip(np.ravel(PRINTED_BENCHMARK[matrix]), computed.ravel(), strict=True):
        assert abs(value - float(printed)) <= last_digit(printed) + 2.0 * np.spacing(abs(value))


@pytest.mark.parametrize("matrix", MATRICES)
def test_silver_matrices_to_every_printed_digit(matrix):
    silver = catalogue.load_bicycle("Silver")
    computed = getattr(canonical_matrices(silver), matrix) * (silver.g if matrix == "K0" else 1.0)
    for printed, value in zip(np.ravel(PRINTED_SILVER[matrix]), computed.ravel(), strict=True):
        assert abs(value - float(printed)) <= last_digit(printed)


@pytest.mark.parametrize("name", ["Benchmark", "Silver", "Rigid", "Pista", "DelftSbW2024", "Crescendo"])
def test_independent_reference(name):
    reference = json.loads((REFERENCE / "linear_reference.json").read_text())["bicycles"][name]
    bicycle = catalogue.load_bicycle(name)
    for matrix, computed in canonical_matrices(bicycle)._asdict().items():
        np.testing.assert_allclose(computed, reference[matrix], rtol=1e-12, atol=0.0)
    np.testing.assert_allclose(system_matrix(bicycle, 5.0), reference["A_v5"], rtol=1e-12, atol=0.0)
    np.testing.assert_allclose(input_matrix(bicycle), reference["B_v5"], rtol=1e-12, atol=0.0)


def by_virtual_work(b: Any, s: Any, c: Any) -> CanonicalMatrices:
    """M, C1, K0, K2 by summing inertia, spin and weight over the four bodies, body by body.

    Lean, steer and yaw are first taken as free; the sideways force at the front contact, which the yaw
    balance gives, and the yaw rate, which rolling gives, are then put in. Shares no total or front-assembly
    quantity with the compact formulas of the paper's appendix.

    ``b`` holds the parameters, ``s`` and ``c`` are sine and cosine of ``b.lam``: floats, or fractions for
    exact arithmetic. Gives arrays of objects.
    """
    # mass, x, z, Ixx, Ixz, Izz, spin momentum per speed, whether it is steered
    bodies = [
        (b.mR, 0, -b.rR, b.IRxx, 0, b.IRxx, b.IRyy / b.rR if b.rR else 0, 0),
        (b.mB, b.xB, b.zB, b.IBxx, b.IBxz, b.IBzz, 0, 0),
        (b.mH, b.xH, b.zH, b.IHxx, b.IHxz, b.IHzz, 0, 1),
        (b.mF, b.w, -b.rF, b.IFxx, 0, b.IFxx, b.IFyy / b.rF if b.rF else 0, 1),
    ]

    def sideways(x: Any, z: Any, steered: int) -> Any:
        """Sideways motion of a point per lean, steer and yaw."""
        return np.array([-z, steered * ((x - b.w - b.c) * c - z * s), x], dtype=object)

    inertia, spinning = np.zeros((2, 3, 3), dtype=object)
    path = np.zeros(3, dtype=object)  # of the curving path, per v psi_dot
    tip = np.zeros((2, 2), dtype=object)  # of the weight, per g
    contact = sideways(b.w, 0, 1)
    carried = sum(m * x for m, x, *_ in bodies) / b.w  # kg, by the front wheel
    for m, x, z, Ixx, Ixz, Izz, spin, steered in bodies:
        y = sideways(x, z, steered)
        roll = np.array([1, steered * s, 0], dtype=object)
        yaw = np.array([0, steered * c, 1], dtype=object)
        inertia += m * np.outer(y, y) + Ixx * np.outer(roll, roll) + Izz * np.outer(yaw, yaw)
        inertia += Ixz * (np.outer(roll, yaw) + np.outer(yaw, roll))
        spinning += spin * (np.outer(roll, yaw) - np.outer(yaw, roll))
        path += m * y
        tip += m * _tipping(y, s)
    tip -= carried * _tipping(contact, s)

    ahead, mu = c / b.w, b.c * c / b.w  # yaw rate = v ahead delta + mu delta_dot
    rates = np.array([[1, 0], [0, 1], [0, mu]], dtype=object)
    angles = np.array([[0, 0], [0, 0], [0, ahead]], dtype=object)
    project = np.array([[1, 0, -contact[0] / b.w], [0, 1, -contact[1] / b.w]], dtype=object)  # no contact force left
    curving = np.outer(path, [0, 0, 1])
    return CanonicalMatrices(
        M=project @ inertia @ rates,
        C1=project @ (inertia @ angles + (spinning + curving) @ rates),
        K0=-tip,
        K2=project @ (spinning + curving) @ angles,
    )


def _tipping(y: Any, s: Any) -> Any:
    """Moments on lean and steer (rows) of a unit weight moved sideways by lean and steer (columns).

    The steered part leans by phi + delta sin(lam).
    """
    return np.array([[y[0], y[1]], [y[1], y[1] * s]], dtype=object)


@pytest.mark.parametrize("name", catalogue.bicycle_names())
def test_second_derivation_body_by_body(name):
    bicycle = catalogue.load_bicycle(name)
    derived = by_virtual_work(bicycle, sin(bicycle.lam), cos(bicycle.lam))
    for first, second in zip(canonical_matrices(bicycle), (matrix.astype(float) for matrix in derived), strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-12, atol=1e-13 * np.max(np.abs(second)))


@pytest.mark.parametrize("name", catalogue.bicycle_names())
def test_structure(name):
    """The mass matrix is symmetric and positive, gravity is conservative, lean alone centres nothing."""
    M, C1, K0, K2 = canonical_matrices(catalogue.load_bicycle(name))
    assert M[0, 1] == M[1, 0]
    assert K0[0, 1] == K0[1, 0]
    assert np.all(np.linalg.eigvalsh(M) > 0.0)
    assert C1[0, 0] == 0.0
    assert np.all(K2[:, 0] == 0.0)


def test_system_matrix_takes_many_speeds_at_once():
    bicycle = catalogue.load_bicycle("Benchmark")
    speeds = np.array([[0.0, 1.5], [4.6, 10.0]])
    stacked = system_matrix(bicycle, speeds)
    assert stacked.shape == (2, 2, 4, 4)
    for index in np.ndindex(2, 2):
        assert np.array_equal(stacked[index], system_matrix(bicycle, speeds[index]))


def test_state_space_has_named_signals():
    bicycle = catalogue.load_bicycle("Benchmark")
    system = state_space(bicycle, 5.0)
    assert system.state_labels == list(STATES)
    assert system.output_labels == list(STATES)
    assert system.input_labels == list(INPUTS)
    assert np.array_equal(system.A, system_matrix(bicycle, 5.0))
    assert np.array_equal(system.B, input_matrix(bicycle))
    assert np.array_equal(system.C, np.eye(4))


def test_a_singular_mass_matrix_is_refused():
    """Two point masses, the front one on the steer axis: steering moves nothing."""
    skate = catalogue.load_bicycle("TwoMassSkateTheory").as_dict()
    on_axis = {"xH": 1.0, "zH": 0.0}  # the axis meets the ground there, for its trail is zero
    with pytest.raises(InputError, match="singular mass matrix"):
        system_matrix(Bicycle(**{**skate, **on_axis}), 3.0)
    with pytest.raises(InputError, match="singular mass matrix"):
        input_matrix(Bicycle(**{**skate, **on_axis}))


def test_a_front_assembly_without_mass_has_no_centre_of_mass_and_needs_none():
    """As the front masses shrink, the matrices tend to those without them."""
    fields = catalogue.load_bicycle("Benchmark").as_dict()
    massless = canonical_matrices(Bicycle(**{**fields, "mH": 0.0, "mF": 0.0}))
    nearly = canonical_matrices(Bicycle(**{**fields, "mH": 1e-9, "mF": 1e-9}))
    for first, second in zip(massless, nearly, strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("v", [0.0, 4.5, 4.123456, 1e-3, 5])
def test_a_control_system_is_made_at_any_speed(v):
    """python-control refuses names with a point in them, as in "4.5 m/s"."""
    bicycle = replace(catalogue.load_bicycle("Silver"), name="ours 2.1")
    assert np.array_equal(state_space(bicycle, v).A, system_matrix(bicycle, v))


@pytest.mark.parametrize("bad", [np.nan, -np.inf, 1e200, 2e4, None, "5", True, 1j, [1.0, 2.0]])
def test_no_speed_makes_no_control_system(bad):
    with pytest.raises(InputError, match=r"speed .*in m/s.*found"):
        state_space(catalogue.load_bicycle("Silver"), bad)


def test_speeds_are_copied_whatever_numbers_they_are():
    given = np.array([1.0, 2.0])
    assert finite_speeds(given) is not given
    for kind in (np.int64, np.float32, np.float64):
        assert finite_speeds([[kind(3)]]).tolist() == [[3.0]]
        assert isinstance(one_speed(kind(3)), float)
    assert one_speed(-3) == -3.0
    assert finite_speeds([]).shape == (0,)
