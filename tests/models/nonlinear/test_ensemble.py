"""Bicycles in lanes ride as each would alone."""

import numpy as np
import pytest

from riderless.models import catalogue
from riderless.models.coordinates import Q_DELTA, Q_PHI, Q_THETA_R
from riderless.models.errors import InputError
from riderless.models.nonlinear.contact_forces import OUTSIDE
from riderless.models.nonlinear.ensemble import LANES, Ensemble
from riderless.models.nonlinear.equations import integrate_steps
from riderless.models.nonlinear.parameters import pack_bicycle
from riderless.models.nonlinear.simulation import initial_state
from riderless.models.nonlinear.vectors import compiled, sincos, sincos_tilt


def alone(bicycle, q, u, T, dt, steps):
    q, u = q.copy(), u.copy()
    done = integrate_steps(pack_bicycle(bicycle), q, u, np.asarray(T, float), dt, steps)
    return q, [u[Q_PHI], -(bicycle.rR or 1.0) * u[Q_THETA_R], u[Q_DELTA]], done


@pytest.mark.parametrize("n", [1, LANES, LANES + 3])
def test_each_rides_as_alone(n):
    """Different bicycles (a skate among them), speeds and torques; a block that is not full."""
    names = ("Benchmark", "Silver", "TwoMassSkateTheory", "Pista")
    bicycles = [catalogue.load_bicycle(names[m % len(names)]) for m in range(n)]
    v, roll = np.linspace(4.0, 7.0, n), np.linspace(-0.1, 0.1, n)
    torque = np.stack([0.02 * roll, np.full(n, -0.3), np.full(n, 1e-3)], axis=1)
    together = Ensemble.starting(bicycles, v=v, roll=roll, steer_rate=0.05)
    together.advance(0.001, 300, torque)
    together.advance(0.001, 200, torque)
    for m, bicycle in enumerate(bicycles):
        start = initial_state(bicycle, v=v[m], roll=roll[m], steer_rate=0.05)
        q, speeds, done = alone(bicycle, *start, torque[m], 0.001, 500)
        assert done == 500
        np.testing.assert_allclose(together.q[m], q, rtol=0, atol=1e-11)
        np.testing.assert_allclose(together.speeds[m], speeds, rtol=0, atol=1e-11)
    assert not together.status.any()


def test_one_that_falls_is_held_and_disturbs_nobody():
    bicycle = catalogue.load_bicycle("Benchmark")
    v = np.full(LANES, 5.0)
    v[3] = 0.5
    together = Ensemble.starting([bicycle] * LANES, v=v, roll=0.2)
    together.advance(0.001, 3000)
    assert together.status[3] == OUTSIDE
    assert not np.delete(together.status, 3).any()
    assert np.isfinite(together.q).all()
    q, _, done = alone(bicycle, *initial_state(bicycle, v=0.5, roll=0.2), np.zeros(3), 0.001, 3000)
    assert done < 3000
    np.testing.assert_allclose(together.q[3], q, rtol=0, atol=1e-6)
    held = together.q[3]
    together.advance(0.001, 100)
    np.testing.assert_array_equal(together.q[3], held)
    q, _, _ = alone(bicycle, *initial_state(bicycle, v=5.0, roll=0.2), np.zeros(3), 0.001, 3100)
    np.testing.assert_allclose(together.q[4], q, rtol=0, atol=1e-11)


def test_a_torque_beyond_all_numbers_stops_only_its_bicycle():
    together = Ensemble.starting([catalogue.load_bicycle("Benchmark")] * 2, v=5.0)
    before = together.q
    together.advance(0.001, 5, [[0.0, 0.0, 1e300], [0.0, 0.0, 0.1]])
    np.testing.assert_array_equal(together.status, [OUTSIDE, 0])
    np.testing.assert_array_equal(together.q[0], before[0])
    assert np.isfinite(together.q).all()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((np.nan, 1), "a step above zero, found nan s"),
        ((0.0, 1), "a step above zero, found 0.0 s"),
        ((-0.001, 1), "a step above zero, found -0.001 s"),
        (("0.001", 1), "a step above zero, found '0.001' s"),
        ((0.001, -3), "a whole number of steps, zero or more, found -3"),
        ((0.001, 2.5), "a whole number of steps, zero or more, found 2.5"),
        ((0.001, True), "a whole number of steps, zero or more, found True"),
        ((0.001, 1, np.nan), "finite torques in N m, found nan"),
        ((0.001, 1, [[0.0, 0.0, np.inf], [0.0, 0.0, 0.1]]), "finite torques in N m, found inf"),
        ((0.001, 1, [1.0, 2.0]), r"torques in N m that broadcast to \(2, 3\), found \[1.0, 2.0\]"),
        ((0.001, 1, "none"), r"torques in N m that broadcast to \(2, 3\), found 'none'"),
    ],
)
def test_what_is_no_ride_is_refused_and_moves_nobody(given, words):
    """A step of nan marked every bicycle as fallen for good, and negative steps were none, in silence."""
    together = Ensemble.starting([catalogue.load_bicycle("Benchmark")] * 2, v=5.0)
    before = together.q
    with pytest.raises(InputError, match=words):
        together.advance(*given)
    np.testing.assert_array_equal(together.q, before)
    assert not together.status.any()


def test_numbers_of_numpy_are_steps_and_none_is_none():
    together, other = (Ensemble.starting([catalogue.load_bicycle("Benchmark")], v=5.0, roll=0.1) for _ in range(2))
    before = together.q
    together.advance(np.float64(0.001), np.int32(0))
    np.testing.assert_array_equal(together.q, before)
    together.advance(np.float64(0.001), np.int32(7))
    other.advance(0.001, 7)
    np.testing.assert_array_equal(together.q, other.q)


def test_states_must_be_one_a_bicycle():
    bicycle = catalogue.load_bicycle("Benchmark")
    with pytest.raises(InputError, match="one a bicycle"):
        Ensemble([bicycle], np.zeros((2, 8)), np.zeros((2, 8)))
    with pytest.raises(InputError, match="one a bicycle"):
        Ensemble([], np.zeros((0, 8)), np.zeros((0, 8)))


# Sine and cosine of the kernels -------------------------------------------------------------------------


@compiled
def _both(x, out):
    for n in range(x.size):
        out[n, 0], out[n, 1] = sincos(x[n])
        out[n, 2], out[n, 3] = sincos_tilt(x[n])


def test_sine_and_cosine():
    x = np.concatenate([np.linspace(-3.0, 3.0, 20_001), np.array([0.0, 1e-9, -1e-9])])
    out = np.empty((x.size, 4))
    _both(x, out)
    expected = np.stack([np.sin(x), np.cos(x)] * 2, axis=1)
    np.testing.assert_allclose(out[:, :2], expected[:, :2], rtol=0, atol=2.5e-16)
    np.testing.assert_allclose(out[:, 2:], expected[:, 2:], rtol=0, atol=1e-15)


def test_sine_and_cosine_of_many_turns():
    x = np.concatenate([np.linspace(-1e5, 1e5, 20_001), np.arange(-40, 41) * np.pi / 2.0])
    out = np.empty((x.size, 4))
    _both(x, out)
    np.testing.assert_allclose(out[:, 0], np.sin(x), rtol=0, atol=5e-16)
    np.testing.assert_allclose(out[:, 1], np.cos(x), rtol=0, atol=5e-16)
    assert np.isnan(_of_nan()).all()


def _of_nan():
    out = np.empty((1, 4))
    _both(np.array([np.nan]), out)
    return out


def test_each_bicycle_starts_from_numbers_of_its_own():
    benchmark = catalogue.load_bicycle("Benchmark")
    with pytest.raises(InputError, match=r"^wanted one v or 3, one a bicycle, found the shape \(2,\)$"):
        Ensemble.starting([benchmark] * 3, v=[4.0, 5.0])
    with pytest.raises(InputError, match=r"^wanted a list of bicycles, found .*: write \[bicycle\] \* 100$"):
        Ensemble.starting(benchmark, v=5.0)
    with pytest.raises(InputError, match=r"^wanted a Bicycle, found 'Benchmark'"):
        Ensemble.starting(["Benchmark"], v=5.0)
