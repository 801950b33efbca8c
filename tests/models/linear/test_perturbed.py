"""A bicycle with something on its steer axis, against the plain bicycle and by hand."""

import numpy as np
import pytest

from riderless.models import catalogue
from riderless.models.errors import InputError
from riderless.models.linear.perturbed import ENTRIES, VARIANT_PARAMETERS, Variant
from riderless.models.linear.whipple import canonical_matrices, input_matrix, system_matrix

SILVER = catalogue.load_bicycle("Silver")


@pytest.mark.parametrize("v", [0.0, 3.0, 7.0])
def test_without_anything_it_is_the_bicycle(v):
    A, b = Variant(SILVER).system(v)
    assert pytest.approx(np.asarray(system_matrix(SILVER, v)), abs=1e-12) == A
    assert b == pytest.approx(input_matrix(SILVER)[:, 1], abs=1e-12)


def test_the_equations_of_motion_hold_with_everything_on_it():
    v, scale = 4.0, 1.02
    real = Variant(SILVER, 0.9, scale, 0.01, 0.3, 0.5, 0.7, 0.2)
    A, b = real.system(v)
    M, C1, K0, K2 = canonical_matrices(SILVER)
    rng = np.random.default_rng(1)
    for _ in range(5):
        phi, delta, phi_dot, delta_dot, T = rng.standard_normal(5)
        phi_ddot, delta_ddot = (A @ [phi, delta, phi_dot, delta_dot] + b * T)[2:]
        whipple = (
            M @ [phi_ddot, delta_ddot]
            + scale * v * C1 @ [phi_dot, delta_dot]
            + (SILVER.g * K0 + (scale * v) ** 2 * K2) @ [phi, delta]
        )
        hanging = 0.01 * delta_ddot + 0.3 * delta_dot + 0.5 * delta + 0.7 * phi + 0.2 * phi_dot
        assert whipple == pytest.approx([0.0, 0.9 * T - hanging], abs=1e-12)


def test_entries_take_the_place_of_the_bicycles_own():
    M, C1, K0, K2 = canonical_matrices(SILVER)
    other = Variant(SILVER, entries={"M_phi_delta": 0.8, "C1_delta_phi": -0.5, "K2_delta_delta": 1.5})
    M[0, 1] = M[1, 0] = 0.8
    C1[1, 0], K2[1, 1] = -0.5, 1.5
    mass, damping, stiffness = other.matrices(4.0)
    assert mass == pytest.approx(M)
    assert damping == pytest.approx(4.0 * C1)
    assert stiffness == pytest.approx(SILVER.g * K0 + 16.0 * K2)
    assert len(ENTRIES) == 3 + 4 + 3 + 4


def test_friction_takes_energy_at_rest_and_a_spring_does_not_make_any():
    def sum_of_eigenvalues(**parts):
        return np.trace(Variant(SILVER, **parts).system(5.0)[0])

    inverse = np.linalg.inv(canonical_matrices(SILVER).M)
    assert sum_of_eigenvalues(steer_damping=0.4) - sum_of_eigenvalues() == pytest.approx(-0.4 * inverse[1, 1])
    assert sum_of_eigenvalues(steer_stiffness=2.0) == pytest.approx(sum_of_eigenvalues())


@pytest.mark.parametrize("name", VARIANT_PARAMETERS)
def test_no_number_is_refused(name):
    with pytest.raises(InputError, match=f"{name} of a bicycle must be a finite number, found nan"):
        Variant(SILVER, **{name: float("nan")})
