"""The motion that a controller makes of its sensors' noise, predicted: against dense covariances and drawn noise."""

import numpy as np
import pytest

from riderless.experiments.datatypes import Dynamics
from riderless.experiments.theory.kalman import SETTLING_DOUBLINGS, innovation_filter

DT = 0.005  # s
RNG = np.random.default_rng(3)
F = np.array([[0.97, 0.05, 0.0, 0.0], [-0.06, 0.95, 0.02, 0.0], [0.0, 0.0, 0.9, 0.1], [0.1, 0.0, -0.1, 0.8]])
N = RNG.normal(size=(4, 3)) * 0.1
ROWS = {"phi_dot": np.array([0.0, 0.0, 1.0, 0.0]), "delta": np.array([0.0, 1.0, 0.0, 0.3])}
READING = {"phi_dot": np.array([0.2, 0.0, 0.0]), "delta": np.array([0.0, 0.1, 0.0])}
SIZES = {"phi_dot": 0.01, "delta": 0.02}


def loop(**options):
    options = {"noise": lambda v: N, "reading": READING, "dt": DT} | options
    return Dynamics("loop", ("a", "b", "c", "d"), lambda v: F, np.eye(4)[2], lambda v: np.eye(4), **options)


def by_hand(n, q):
    """What every noise, from long before the window on, does to each mean of q readings: (n, 2, noises)."""
    before = 2**SETTLING_DOUBLINGS * q
    C, D = np.array(list(ROWS.values())), np.array(list(READING.values()))
    states = np.zeros((4, 3 * (before + n * q)))
    rows = np.zeros((n, 2, states.shape[1]))
    for sample in range(before + n * q):
        own = slice(3 * sample, 3 * sample + 3)
        if sample >= before:
            rows[(sample - before) // q] += C @ states / q
            rows[(sample - before) // q][:, own] += D / q
        states = F @ states
        states[:, own] += N
    return rows


@pytest.mark.parametrize("q", [1, 3])
def test_the_filter_is_the_root_of_the_dense_covariance(q):
    """Cholesky's factor is unique: undoing it must give the very same numbers as the filter, row by row."""
    n = 12
    noises = by_hand(n, q).reshape(2 * n, -1)
    covariance = noises @ noises.T + np.diag(np.tile([0.01**2, 0.02**2], n))
    undone = np.linalg.inv(np.linalg.cholesky(covariance))
    found = innovation_filter(loop(), ROWS, SIZES, 5.0, q * DT, n)
    assert found.innovations(np.eye(2 * n).reshape(n, 2, 2 * n)).reshape(2 * n, 2 * n) == pytest.approx(
        undone, rel=1e-6, abs=1e-6
    )


def test_drawn_noise_becomes_white_and_of_variance_one():
    n = 40
    drawn = by_hand(n, 2) @ RNG.normal(size=(3 * 2 * (2**SETTLING_DOUBLINGS + n), 500))
    drawn += np.array([0.01, 0.02])[:, None] * RNG.normal(size=drawn.shape)
    white = innovation_filter(loop(), ROWS, SIZES, 5.0, 2 * DT, n).innovations(drawn)
    assert np.var(white) == pytest.approx(1.0, rel=0.03)
    assert abs(np.mean(white[1:] * white[:-1])) < 0.02
    assert abs(np.mean(white[:, 0] * white[:, 1])) < 0.02
    assert np.mean(drawn[1:] * drawn[:-1]) > 0.5 * np.var(drawn)  # it was not white before


def test_without_known_noise_there_is_no_filter():
    assert innovation_filter(loop(noise=None), ROWS, SIZES, 5.0, DT, 12) is None
    assert innovation_filter(loop(dt=None), ROWS, SIZES, 5.0, DT, 12) is None
