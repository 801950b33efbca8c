"""The nonlinear bicycle against two published derivations, a second route on four bodies, and the linear bicycle."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from riderless.models import catalogue
from riderless.models.coordinates import Q_DELTA, Q_PHI, Q_PSI, Q_THETA, Q_THETA_F, Q_THETA_R, Q_X, Q_Y
from riderless.models.errors import InputError
from riderless.models.linear.whipple import canonical_matrices, input_matrix, system_matrix
from riderless.models.nonlinear.contact_forces import OUTSIDE
from riderless.models.nonlinear.equations import (
    accelerations,
    dependent_speeds,
    energy,
    integrate_step,
    nonlinear_derivative,
    pitch,
)
from riderless.models.nonlinear.parameters import pack_bicycle
from riderless.models.nonlinear.simulation import initial_state, simulate_nonlinear
from riderless.models.parameters import Bicycle
from tests.models.nonlinear import four_bodies
from tests.paths import REFERENCE

NO_TORQUE = np.zeros(3)
DEPENDENT = [Q_X, Q_Y, Q_PSI, Q_THETA, Q_THETA_F]


@pytest.fixture(scope="module")
def rows():
    """(bicycle, q, u, T, accelerations) of every reference state."""
    bicycles = json.loads((REFERENCE / "nonlinear_reference.json").read_text())["bicycles"]
    return [
        (
            Bicycle(name=name, **entry["benchmark_parameters"]),
            *(np.array(row[key]) for key in ("q", "u")),
            np.array([row["T"][key] for key in ("T4", "T6", "T7")]),
            np.array(row["up"]),
        )
        for name, entry in bicycles.items()
        for row in entry["states"]
    ]


@pytest.fixture(scope="module")
def benchmark_bicycle():
    return catalogue.load_bicycle("Benchmark")


def accelerate(bicycle, q, u, T=NO_TORQUE):
    out = np.empty(8)
    accelerations(pack_bicycle(bicycle), q, u, np.asarray(T, float), out)
    return out


def random_states(bicycle, n, seed=3):
    """States all over the domain a rider meets."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        roll, steer = rng.uniform(-0.8, 0.8, 2)
        q, u = initial_state(bicycle, roll, steer, *rng.uniform(-2.0, 2.0, 2), rng.uniform(-2.0, 9.0))
        q[[Q_X, Q_Y, Q_PSI, Q_THETA_R, Q_THETA_F]] = rng.uniform(-3.0, 3.0, 5)
        dependent_speeds(pack_bicycle(bicycle), q, u)
        yield q, u


# Against the references ----------------------------------------------------------------------------


def test_every_reference_row_to_1e_11(rows):
    assert len(rows) == 40
    for bicycle, q, u, T, expected in rows:
        found = accelerate(bicycle, q, u, T)
        assert (np.abs(found - expected) <= 1e-11 * np.maximum(1.0, np.abs(expected))).all()


def test_dependent_speeds_and_pitch_of_every_reference_row(rows):
    for bicycle, q, u, _, _ in rows:
        p, found = pack_bicycle(bicycle), u.copy()
        found[DEPENDENT] = np.nan
        dependent_speeds(p, q, found)
        np.testing.assert_allclose(found, u, rtol=0, atol=1e-11 * max(1.0, np.abs(u).max()))
        assert abs(pitch(p, q[Q_PHI], q[Q_DELTA], bicycle.lam) - q[Q_THETA]) <= 1e-12


# Figure 4 of Meijaard et al. (2007) ------------------------------------------------------------------


def figure_4(bicycle, roll_rate=0.5, duration=5.0):
    return simulate_nonlinear(bicycle, *initial_state(bicycle, roll_rate=roll_rate, v=4.6), duration, 0.001)


def period(ride):
    """Mean time [s] from one rise of the roll rate through zero, or fall, to the next."""
    rate, t = ride.u[:, Q_PHI], ride.t
    i = np.flatnonzero(rate[:-1] * rate[1:] < 0.0)
    crossings = t[i] - rate[i] * (t[i + 1] - t[i]) / (rate[i + 1] - rate[i])
    return np.mean(crossings[2:] - crossings[:-2])


def test_figure_4_trajectory(benchmark_bicycle):
    expected = json.loads((REFERENCE / "nonlinear_fig4_trajectory.json").read_text())
    ride = figure_4(benchmark_bicycle)
    at = np.rint(np.array(expected["t"]) / 0.001).astype(int)
    np.testing.assert_allclose(ride.t[at], expected["t"], rtol=0, atol=1e-12)
    for n in (1, 2, 3, 4, 5, 7):
        np.testing.assert_allclose(ride.q[at, n - 1], expected[f"q{n}"], rtol=0, atol=1e-9)
    for n in (4, 6, 7):
        np.testing.assert_allclose(ride.u[at, n - 1], expected[f"u{n}"], rtol=0, atol=1e-9)
    assert ride.ended == ""
    assert not ride.status.any()


def test_figure_4_speed_and_period(benchmark_bicycle):
    ride = figure_4(benchmark_bicycle)
    v = -benchmark_bicycle.rR * ride.u[:, Q_THETA_R]
    assert abs(v[-1] - 4.6225355604) <= 1e-10
    assert abs(v[-1] - v[0] - 0.022) <= 0.0006  # "about 0.022 m/s" in the text
    assert abs(period(ride) - 1.60) <= 0.005


def test_a_gentle_push_has_the_linear_period(benchmark_bicycle):
    linear = 2.0 * np.pi / np.linalg.eigvals(system_matrix(benchmark_bicycle, 4.6)).imag.max()
    assert abs(linear - 1.622) <= 0.0005
    assert abs(period(figure_4(benchmark_bicycle, roll_rate=0.05)) - 1.622) <= 0.0005


# Second route: four bodies ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Benchmark", "Silver", "Rigidcl_computed", "TwoMassSkateTheory"])
def test_energy_and_rolling_of_four_bodies(name):
    bicycle = catalogue.load_bicycle(name)
    for q, u in random_states(bicycle, 20):
        total = energy(pack_bicycle(bicycle), q, u)
        assert abs(total - four_bodies.energy(bicycle, q, u)) <= 1e-12 * abs(total)
        parts, contact, sliding = four_bodies.bodies(bicycle, q, u)
        assert abs(contact[2]) <= 1e-14
        if bicycle.rF > 0.0:
            np.testing.assert_allclose(sliding, 0.0, rtol=0, atol=1e-13 * np.abs(u).max())
            rear = parts[0].v + np.cross(parts[0].omega, np.array([q[Q_X], q[Q_Y], 0.0]) - parts[0].r)
            np.testing.assert_allclose(rear, 0.0, rtol=0, atol=1e-13 * np.abs(u).max())


@pytest.mark.parametrize("name", ["Benchmark", "Pista", "TwoMassSkateTheory"])
def test_power_of_the_torques_is_the_rate_of_energy(name):
    bicycle, T = catalogue.load_bicycle(name), np.array([3.0, -2.0, 1.5])
    p = pack_bicycle(bicycle)
    for q, u in random_states(bicycle, 10):
        u_dot = accelerate(bicycle, q, u, T)
        rate = four_bodies.along(lambda t: energy(p, q + t * u + 0.5 * t * t * u_dot, u + t * u_dot), 1e-4)  # noqa: B023
        power = T @ u[[Q_PHI, Q_THETA_R, Q_DELTA]]
        assert abs(rate - power) <= 1e-6 * max(1.0, np.abs(u).max() ** 2)


def test_derivative_is_speeds_and_accelerations(benchmark_bicycle):
    p, T = pack_bicycle(benchmark_bicycle), np.array([1.0, -3.0, 0.5])
    for q, u in random_states(benchmark_bicycle, 5):
        x, x_dot = np.concatenate([q, u[[Q_PHI, Q_THETA_R, Q_DELTA]]]), np.empty(11)
        nonlinear_derivative(p, x, T, x_dot)
        u_dot = accelerate(benchmark_bicycle, q, u, T)
        np.testing.assert_allclose(x_dot, [*u, *u_dot[[Q_PHI, Q_THETA_R, Q_DELTA]]], rtol=1e-13, atol=1e-13)


def test_all_accelerations_are_the_derivatives_of_the_speeds(benchmark_bicycle):
    p = pack_bicycle(benchmark_bicycle)
    for q, u in random_states(benchmark_bicycle, 10):
        u_dot = accelerate(benchmark_bicycle, q, u)

        def speeds_after(t, q=q, u=u, u_dot=u_dot):
            later = u + t * u_dot
            q_later = q + t * u + 0.5 * t * t * u_dot
            q_later[Q_THETA] = pitch(p, q_later[Q_PHI], q_later[Q_DELTA], q_later[Q_THETA])
            dependent_speeds(p, q_later, later)
            return later

        np.testing.assert_allclose(four_bodies.along(speeds_after), u_dot, rtol=0, atol=1e-7 * np.abs(u_dot).max())


def test_place_heading_and_wheel_turns_change_nothing_else(benchmark_bicycle):
    q, u = initial_state(benchmark_bicycle, 0.2, -0.3, 0.4, 1.0, 5.0)
    here = accelerate(benchmark_bicycle, q, u)
    q[[Q_X, Q_Y, Q_PSI, Q_THETA_R, Q_THETA_F]] = 5.0, -7.0, 2.0, 40.0, -33.0
    there = accelerate(benchmark_bicycle, q, u)
    same = [Q_PSI, Q_PHI, Q_THETA, Q_THETA_R, Q_DELTA, Q_THETA_F]
    np.testing.assert_array_equal(here[same], there[same])
    assert np.hypot(*here[:2]) == pytest.approx(np.hypot(*there[:2]), rel=1e-14)


def test_left_and_right_are_mirrored(benchmark_bicycle):
    q, u = initial_state(benchmark_bicycle, 0.2, -0.3, 0.4, 1.0, 5.0)
    sides = np.array([1, -1, -1, -1, 1, 1, -1, 1])
    right = accelerate(benchmark_bicycle, q, u, [1.0, -2.0, 0.7])
    left = accelerate(benchmark_bicycle, sides * q, sides * u, [-1.0, -2.0, -0.7])
    np.testing.assert_allclose(left, sides * right, rtol=1e-14, atol=1e-14)


# Linear bicycle --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", catalogue.bicycle_names())
def test_linearised_upright_it_is_the_canonical_bicycle(name):
    """M, C1, K0, K2 by differences about the upright bicycle at 0 and 1 m/s; skates too."""
    bicycle = catalogue.load_bicycle(name)

    def slopes(v):
        def lateral(h, k):
            roll, steer, roll_rate, steer_rate, T4, T7 = h * np.eye(6)[k]
            q, u = initial_state(bicycle, roll, steer, roll_rate, steer_rate, v)
            return accelerate(bicycle, q, u, [T4, 0.0, T7])[[Q_PHI, Q_DELTA]]

        return np.stack([four_bodies.along(lambda h, k=k: lateral(h, k)) for k in range(6)], axis=1)

    still, moving = slopes(0.0), slopes(1.0)
    M = np.linalg.inv(still[:, 4:])
    found = (M, -M @ moving[:, 2:4], -M @ still[:, :2] / bicycle.g, -M @ (moving - still)[:, :2])
    for matrix, expected in zip(found, canonical_matrices(bicycle), strict=True):
        np.testing.assert_allclose(matrix, expected, rtol=0, atol=1e-8 * max(1.0, np.abs(expected).max()))
    np.testing.assert_allclose(moving[:, 4:], input_matrix(bicycle)[2:], rtol=1e-7, atol=0)


# What is given, and what is refused --------------------------------------------------------------------


def test_a_ride_stops_where_the_model_does(benchmark_bicycle):
    """At 1 m/s it falls: the ride ends, with words and without NaN."""
    ride = simulate_nonlinear(benchmark_bicycle, *initial_state(benchmark_bicycle, roll=0.2, v=1.0), 10.0)
    assert ride.ended.startswith("outside the model")
    assert len(ride.t) < 10_001
    assert len(ride.t) == len(ride.q) == len(ride.u) == len(ride.status)
    assert np.isfinite(ride.q).all()
    assert np.isfinite(ride.u).all()


def test_a_step_out_of_the_domain_leaves_the_state(benchmark_bicycle):
    p = pack_bicycle(benchmark_bicycle)
    q, u = initial_state(benchmark_bicycle, roll=1.49, roll_rate=40.0, v=1.0)
    q0, u0 = q.copy(), u.copy()
    assert integrate_step(p, q, u, NO_TORQUE, 0.001) == OUTSIDE
    np.testing.assert_array_equal(q, q0)
    np.testing.assert_array_equal(u, u0)
    assert integrate_step(p, q, u, np.array([np.nan, 0.0, 0.0]), 0.001) == OUTSIDE
    np.testing.assert_array_equal(q, q0)


def test_no_pitch_no_state(benchmark_bicycle):
    assert np.isnan(pitch(pack_bicycle(benchmark_bicycle), np.nan, 0.0, 0.3))


@pytest.mark.parametrize(
    "state",
    [{"roll": 1.6}, {"steer": -2.0}, {"roll": np.nan}, {"v": np.inf}, {"steer_rate": np.nan}, {"roll_rate": 1e9}],
)
def test_a_start_outside_the_domain_is_refused(benchmark_bicycle, state):
    with pytest.raises(InputError, match="rolls on both wheels"):
        initial_state(benchmark_bicycle, **state)


@pytest.mark.parametrize("state", [{"roll": "a"}, {"steer_rate": [0.1]}, {"v": None}])
def test_a_start_of_no_numbers_is_refused(benchmark_bicycle, state):
    with pytest.raises(InputError, match="wanted numbers of rad, rad/s and m/s for a state, found"):
        initial_state(benchmark_bicycle, **state)


def test_a_start_off_the_ground_is_refused(benchmark_bicycle):
    q, u = initial_state(benchmark_bicycle, roll=0.1, v=5.0)
    q[Q_THETA] += 1e-3
    with pytest.raises(InputError, match="cannot start"):
        simulate_nonlinear(benchmark_bicycle, q, u, 1.0)


@pytest.mark.parametrize(
    ("duration", "dt"), [(-1.0, 0.001), (0.0, 0.001), (1.0, 0.0), (np.inf, 0.001), (1.0, np.nan), ("1", 0.001)]
)
def test_times_that_are_no_times_are_refused(benchmark_bicycle, duration, dt):
    with pytest.raises(InputError, match="seconds"):
        simulate_nonlinear(benchmark_bicycle, *initial_state(benchmark_bicycle), duration, dt)


@pytest.mark.parametrize(("duration", "dt"), [(1.0, 0.3), (1.0, 0.4), (1e-4, 0.001), (2.0, 0.00033)])
def test_a_ride_that_ends_within_a_step_is_refused_and_told_what_would_do(benchmark_bicycle, duration, dt):
    """It ended up to half a step before its time or after it."""
    start = initial_state(benchmark_bicycle)
    with pytest.raises(InputError, match=f"wanted a duration of whole steps, found {duration:g} s") as refused:
        simulate_nonlinear(benchmark_bicycle, *start, duration, dt)
    told = re.search(r"give (\S+) s, or steps of (\S+) s", str(refused.value))
    assert told
    for ended, given in ((float(told[1]), (float(told[1]), dt)), (duration, (duration, float(told[2])))):
        assert simulate_nonlinear(benchmark_bicycle, *start, *given).t[-1] == pytest.approx(ended, rel=1e-6)


@pytest.mark.parametrize("duration", [1.0 / 3.0, 0.1 + 0.2, np.float32(0.1)])
def test_rounding_of_a_duration_is_no_part_of_a_step(benchmark_bicycle, duration):
    ride = simulate_nonlinear(benchmark_bicycle, *initial_state(benchmark_bicycle), duration, duration / 100.0)
    assert len(ride.t) == 101


@pytest.mark.parametrize("friction", [np.nan, -1.0, "0.8", None])
def test_a_coefficient_of_friction_that_is_none_is_refused(benchmark_bicycle, friction):
    with pytest.raises(InputError, match="wanted a coefficient of friction of zero or more, found"):
        simulate_nonlinear(benchmark_bicycle, *initial_state(benchmark_bicycle), 0.1, friction=friction)


@pytest.mark.parametrize("short", [0, 1])
def test_states_of_another_shape_are_refused(benchmark_bicycle, short):
    state = list(initial_state(benchmark_bicycle, v=5.0))
    state[short] = state[short][:4]
    with pytest.raises(InputError, match=r"wanted coordinates and speeds of \(8,\) each, found .*\(4,\)"):
        simulate_nonlinear(benchmark_bicycle, *state, 0.1)


@pytest.mark.parametrize("torque", [0.0, np.zeros((7, 3)), [np.nan, 0.0, 0.0]])
def test_torques_of_another_shape_are_refused(benchmark_bicycle, torque):
    with pytest.raises(InputError, match="one row a step"):
        simulate_nonlinear(benchmark_bicycle, *initial_state(benchmark_bicycle), 1.0, 0.01, torque)


def test_torques_may_change_from_step_to_step(benchmark_bicycle):
    start = initial_state(benchmark_bicycle, v=5.0)
    T = np.zeros((100, 3))
    T[:50, 2] = 0.3
    ride = simulate_nonlinear(benchmark_bicycle, *start, 0.1, 0.001, T)
    first = simulate_nonlinear(benchmark_bicycle, *start, 0.05, 0.001, (0.0, 0.0, 0.3))
    np.testing.assert_array_equal(ride.q[:51], first.q)
    then = simulate_nonlinear(benchmark_bicycle, first.q[-1], first.u[-1], 0.05, 0.001)
    np.testing.assert_array_equal(ride.q[50:], then.q)


def test_a_skate_rides_as_the_limit_of_small_wheels():
    skate = catalogue.load_bicycle("TwoMassSkateTheory")
    small = replace(skate, rR=1e-6, rF=1e-6)
    v, start = 4.0, {"roll_rate": 0.1, "steer": 0.02}
    rides = [simulate_nonlinear(bicycle, *initial_state(bicycle, v=v, **start), 1.0) for bicycle in (skate, small)]
    both = [Q_X, Q_Y, Q_PSI, Q_PHI, Q_THETA, Q_DELTA]
    np.testing.assert_allclose(rides[0].q[:, both], rides[1].q[:, both], rtol=0, atol=1e-5)
