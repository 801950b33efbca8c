"""Check of certificates on loops of one state, whose decay is known by hand."""

import numpy as np
import pytest

from riderless.hil.design.certificate.verify import verify

DT, STEP = 0.005, 0.005
SPEED = np.linspace(4.0, 5.0, 21)


def arrays(A=0.99, P=None, middle=None, bend=0.0):
    """Certificate of x' = A x, with what A is between the speeds and how it bends across the box."""
    A = np.broadcast_to(A, SPEED.shape)
    P = np.ones_like(SPEED) if P is None else P
    between = (A[1:] + A[:-1]) / 2.0 if middle is None else np.broadcast_to(middle, SPEED[1:].shape)
    one = (slice(None), np.newaxis, np.newaxis)
    return {
        "speed": SPEED,
        "P": P[one],
        "corners": A[:, np.newaxis][..., np.newaxis, np.newaxis],
        "centre": A[one],
        "middle": between[one],
        "bends": np.full((len(SPEED), 1, 1, 1), bend),
        "speed_step": np.array(STEP),
        "dt": np.array(DT),
    }


def test_decay_of_one_state_is_its_logarithm():
    result = verify(arrays(0.99))
    assert result.holds
    assert result.decay == pytest.approx(-np.log(0.99) / DT, rel=1e-12)
    assert not verify(arrays(1.0)).holds
    assert not verify(arrays(1.01)).holds


def test_energy_that_rises_with_speed_costs_decay():
    P = np.exp(2.0 * (SPEED - SPEED[0]))  # its root rises by e per m/s, so by 1.005 in a sample at 1 m/s2
    steepest = np.diff(P)[-1] / np.diff(SPEED)[-1]
    result = verify(arrays(0.99, P))
    assert result.holds
    assert result.decay[-1] == pytest.approx(-np.log(0.99 * np.sqrt(1.0 + STEP * steepest / P[-2])) / DT, rel=1e-9)
    assert not verify(arrays(0.996, P)).holds


@pytest.mark.parametrize("bad", [{"middle": 0.995}, {"bend": 0.005}])
def test_what_bends_between_the_points_counts_twice(bad):
    allowed = verify(arrays(0.98, **bad))
    largest = 0.98 + 2.0 * (0.015 if "middle" in bad else 0.005)
    assert allowed.decay == pytest.approx(-np.log(largest) / DT, rel=1e-9, abs=1e-9)
    assert allowed.holds == (largest < 1.0)


def test_a_form_that_is_not_positive_proves_nothing():
    assert not verify(arrays(0.5, -np.ones_like(SPEED))).holds
    with pytest.raises(ValueError, match="finite"):
        verify(arrays(np.nan))
