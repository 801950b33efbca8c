"""Margins by a second route: the eigenvalues of a loop with that gain, or that many samples more of delay."""

import numpy as np
import pytest

from riderless.hil.design.margins import margins_of_gains
from riderless.hil.design.methods import LoopTiming, design
from riderless.hil.design.sampled_plant import sampled_model
from riderless.models.catalogue import load_bicycle
from riderless.models.errors import InputError

CASES = [
    ("Benchmark", "lqr", 1.0, {}),
    ("Benchmark", "lqr", 8.0, {}),  # capsize unstable: the lower limit is a pole through z = 1
    ("Benchmark", "poles", 3.0, {}),
    ("Benchmark", "poles", 5.0, {}),  # stable without control: no lower limit
    ("Silver", "lqr", 0.5, {}),
    ("Silver", "poles", 6.0, {"zeta": 0.7}),
    ("Silver", "lean", 4.0, {}),
]


def radius(model, K, factor=1.0, extra=0):
    """Largest |z| when the device multiplies commands by ``factor`` and obeys ``extra`` samples late.

    State: the loop's, the controller's memory of drive and delay, and the commands on their way.
    """
    k, n, m = model.narrow(K), len(model.states), len(model.states) - 4
    A = np.zeros((n + m + extra, n + m + extra), dtype=complex)
    u = np.zeros(n + m + extra)  # the command as a row on the state
    u[:4], u[n : n + m] = -k[:4], -k[4:]
    A[:n, :n] = model.F
    A[n : n + m, n : n + m] = model.F[4:, 4:]
    A[n : n + m] += np.outer(model.G[4:], u)
    if extra:
        A[n + m] = u
        A[n + m + 1 :, n + m : -1] = np.eye(extra - 1)
        A[:n, -1] += factor * model.G
    else:
        A[:n] += factor * np.outer(model.G, u)
    return np.max(np.abs(np.linalg.eigvals(A)))


@pytest.fixture(params=CASES, ids=lambda case: f"{case[0]}-{case[1]}-{case[2]}")
def case(request):
    """Model, gains and margins of a designed loop."""
    name, method, v, options = request.param
    schedule = design(load_bicycle(name), method, [v], **options)
    return sampled_model(load_bicycle(name), v, LoopTiming()), schedule.K[0], schedule.margins[0]


def test_gain_margins(case):
    model, K, margin = case
    down, up = margin.gain
    for factor, outward in ((down, 0.999), (up, 1.001)):
        if 0.0 < factor < np.inf:
            assert radius(model, K, factor) == pytest.approx(1.0, abs=1e-8)
            assert radius(model, K, factor * outward) > 1.0
    inside = np.geomspace(max(down, 1e-3) * 1.001, min(up, 1e3) * 0.999, 200)
    assert all(radius(model, K, factor) < 1.0 for factor in inside)
    if down == 0.0:
        assert radius(model, K, 0.0) < 1.0


def test_delay_margin(case):
    model, K, margin = case
    samples = margin.delay / model.dt
    longest = int(min(samples, 100.0))
    assert all(radius(model, K, extra=extra) < 1.0 for extra in range(longest + 1))
    if samples < 100.0:
        assert radius(model, K, extra=int(samples) + 1) > 1.0


def test_phase_margin(case):
    """The loop turned by an angle: eigenvalues of a complex loop."""
    model, K, margin = case
    if margin.phase == np.inf:
        return
    inside = np.linspace(-margin.phase, margin.phase, 50) * 0.9999
    assert all(radius(model, K, np.exp(1j * angle)) < 1.0 for angle in inside)
    assert max(radius(model, K, np.exp(1j * angle)) for angle in (margin.phase * 1.0001, -margin.phase * 1.0001)) > 1.0


def test_delay_margin_between_samples():
    """The same, at a rate that tells delays apart to a millisecond."""
    loop = LoopTiming(1000.0, 1, 0.001)
    K, margin = (lambda s: (s.K[0], s.margins[0]))(design(load_bicycle("Silver"), "lqr", [3.0], loop))
    model = sampled_model(load_bicycle("Silver"), 3.0, loop)
    assert radius(model, K, extra=int(margin.delay * 1000.0)) < 1.0
    assert radius(model, K, extra=int(margin.delay * 1000.0) + 1) > 1.0


def test_extra_delay_that_lqr_tolerates():
    # shared/EXPERIMENTS.md: 70-90 ms for Bryson LQR on Silver at 1-4 m/s
    delays = [m.delay for m in design(load_bicycle("Silver"), "lqr", [1.0, 2.0, 3.0, 4.0]).margins]
    assert min(delays) == pytest.approx(0.07, abs=0.005)
    assert max(delays) == pytest.approx(0.09, abs=0.005)


def test_extra_delay_that_the_lean_law_tolerates():
    # shared/EXPERIMENTS.md: 14-30 ms for the lean-rate law on balance-assist. It does not print the settings:
    # gain 8 is the lower published one, v0 and the speeds are ours.
    loop = LoopTiming(delay=0, drive_lag=0.0)
    speeds = [1.5, 2.0, 2.5, 3.0, 3.5, 4.0]
    delays = [m.delay for m in design(load_bicycle("Balanceassistv1"), "lean", speeds, loop, k=8.0, v0=4.7).margins]
    assert min(delays) == pytest.approx(0.014, abs=0.0005)
    assert max(delays) == pytest.approx(0.030, abs=0.0005)


def test_no_torque_and_no_stability():
    model = sampled_model(load_bicycle("Benchmark"), 5.0, LoopTiming())
    free = margins_of_gains(model, np.zeros(6))
    assert free.gain == (0.0, np.inf)
    assert free.phase == free.delay == np.inf
    fallen = margins_of_gains(sampled_model(load_bicycle("Benchmark"), 2.0, LoopTiming()), np.zeros(6))
    assert fallen.gain == (1.0, 1.0)
    assert fallen.phase == fallen.delay == 0.0


@pytest.mark.parametrize("K", [0.0, np.zeros(4), np.zeros(7), np.zeros(8), np.zeros((1, 6)), np.full(6, np.nan)])
def test_gains_of_another_number_have_no_margins(K):
    model = sampled_model(load_bicycle("Benchmark"), 5.0, LoopTiming())
    with pytest.raises(InputError, match=r"margins want 6 finite gains, of phi, .*, u_prev; found"):
        margins_of_gains(model, K)
