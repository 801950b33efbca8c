"""The bicycle from bodies and constraints against the reference rows, the Kane kernel and the linear model."""

import json
from dataclasses import replace

import numpy as np
import pytest

from riderless.models.catalogue import bicycle_names, load_bicycle
from riderless.models.constrained.bicycle import ConstrainedBicycle
from riderless.models.constrained.servo import lean_feedforward, smooth_change
from riderless.models.coordinates import Q_DELTA, Q_PHI, Q_THETA, Q_THETA_R, Q_X, Q_Y
from riderless.models.errors import InputError
from riderless.models.linear.whipple import canonical_matrices
from riderless.models.nonlinear import equations, simulation
from riderless.models.nonlinear.parameters import pack_bicycle
from riderless.models.parameters import Bicycle
from riderless.models.plant.plant import Plant, Scenario, SteerDrive, Surroundings
from tests.paths import REFERENCE


def _scaled(found, wanted):
    """Largest difference, relative where a value is above one."""
    return np.max(np.abs(found - wanted) / np.maximum(1.0, np.abs(wanted)))


@pytest.mark.parametrize("name", ["Benchmark", "Silver"])
def test_accelerations_equal_the_reference_rows(name):
    rows = json.loads((REFERENCE / "nonlinear_reference.json").read_text())["bicycles"][name]
    bicycle = Bicycle(name=name, **rows["benchmark_parameters"])
    assert len(rows["states"]) == 20
    for row in rows["states"]:
        T = row["T"]
        whole = ConstrainedBicycle(bicycle, T["T7"], T["T6"], T["T4"])
        x = whole.state(row["q"], row["u"])
        whole.system.check(x, tolerance=1e-12)
        np.testing.assert_allclose(whole.coordinates(x, row["q"]), row["q"], rtol=0.0, atol=1e-12)
        assert _scaled(whole.speeds(x), np.array(row["u"])) < 1e-12
        accelerations, _ = whole.accelerations(x)
        assert _scaled(accelerations, np.array(row["up"])) < 1e-10


@pytest.mark.parametrize("name", [name for name in bicycle_names() if load_bicycle(name).mR > 0.0])
def test_accelerations_and_contact_forces_equal_the_kane_kernel_at_random_states(name):
    rng = np.random.default_rng(len(name))
    bicycle = load_bicycle(name)
    p = pack_bicycle(bicycle)
    for _ in range(3):
        roll, steer = rng.uniform(-0.6, 0.6), rng.uniform(-0.7, 0.7)
        q, u = simulation.initial_state(bicycle, roll, steer, rng.normal(), rng.normal(), rng.uniform(1.0, 9.0))
        q[[Q_X, Q_Y, Q_THETA_R]] += rng.normal(size=3)
        T = rng.normal(scale=5.0, size=3)
        u_dot, forces = np.empty(8), np.empty(6)
        equations.accelerations(p, q, u, T, u_dot)
        equations.contact_forces(p, q, u, T, u_dot, forces)
        whole = ConstrainedBicycle(bicycle, steer_torque=T[2], drive_torque=T[1], roll_torque=T[0])
        x = whole.state(q, u)
        whole.system.check(x, tolerance=1e-11)
        assert _scaled(whole.accelerations(x)[0], u_dot) < 1e-10
        assert _scaled(whole.contact_forces(x), forces) < 1e-10


def test_five_seconds_of_figure_4_equal_the_reference_trajectory():
    reference = json.loads((REFERENCE / "nonlinear_fig4_trajectory.json").read_text())
    whole = ConstrainedBicycle(load_bicycle("Benchmark"))
    x = whole.state(*simulation.initial_state(load_bicycle("Benchmark"), 0.0, 0.0, 0.5, 0.0, 4.6))
    times = reference["t"][::10]
    states = whole.system.simulate(x, times, rtol=1e-7, atol=1e-9)
    q = np.array([whole.coordinates(each) for each in states])
    u = np.array([whole.speeds(each) for each in states])
    for column, i in (("q1", Q_X), ("q2", Q_Y), ("q4", Q_PHI), ("q5", Q_THETA), ("q7", Q_DELTA)):
        np.testing.assert_allclose(q[:, i], reference[column][::10], rtol=0.0, atol=1e-8)
    for column, i in (("u4", Q_PHI), ("u6", Q_THETA_R), ("u7", Q_DELTA)):
        np.testing.assert_allclose(u[:, i], reference[column][::10], rtol=0.0, atol=1e-8)
    energy = [whole.system.energy(0.0, each) for each in states]
    assert np.ptp(energy) < 1e-9 * energy[0]
    assert max(whole.system.residuals(0.0, states[-1]).values()) < 1e-9


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("name", "v", "steer"), [("Silver", 5.0, 0.02), ("Rigidcl_computed", 6.0, -0.03)])
def test_five_seconds_equal_the_kane_kernel(name, v, steer):
    bicycle = load_bicycle(name)
    q, u = simulation.initial_state(bicycle, 0.05, steer, 0.0, 0.0, v)
    kane = simulation.simulate_nonlinear(bicycle, q, u, 5.0, 1e-3)
    whole = ConstrainedBicycle(bicycle)
    states = whole.system.simulate(whole.state(q, u), np.linspace(0.0, 5.0, 6))
    found = np.array([whole.coordinates(x) for x in states])[:, [Q_X, Q_Y, Q_PHI, Q_THETA, Q_DELTA]]
    np.testing.assert_allclose(found, kane.q[::1000][:, [Q_X, Q_Y, Q_PHI, Q_THETA, Q_DELTA]], rtol=0.0, atol=1e-8)


def test_small_motions_are_those_of_the_linear_bicycle():
    """Accelerations of lean and steer at a small state are the canonical equations', to second order."""
    bicycle, v, small = load_bicycle("Benchmark"), 5.0, 1e-5
    model = canonical_matrices(bicycle)
    q, u = simulation.initial_state(bicycle, 0.7 * small, -0.4 * small, 0.3 * small, 0.9 * small, v)
    T = np.array([0.5, -0.2]) * small
    whole = ConstrainedBicycle(bicycle, roll_torque=T[0], steer_torque=T[1])
    accelerations, _ = whole.accelerations(whole.state(q, u))
    stiffness = bicycle.g * model.K0 + v**2 * model.K2
    force = T - v * model.C1 @ u[[Q_PHI, Q_DELTA]] - stiffness @ q[[Q_PHI, Q_DELTA]]
    expected = np.linalg.solve(model.M, force)
    np.testing.assert_allclose(accelerations[[Q_PHI, Q_DELTA]], expected, rtol=1e-7)


def test_wheels_carry_the_weight_at_rest():
    b = load_bicycle("Benchmark")
    whole = ConstrainedBicycle(b)
    forces = whole.contact_forces(whole.state(*simulation.initial_state(b, 0.0, 0.0, 0.0, 0.0, 0.0)))
    m = b.mR + b.mB + b.mH + b.mF
    x = (b.mB * b.xB + b.mH * b.xH + b.mF * b.w) / m
    # standing, it falls along no direction to first order: weights by the lever
    assert forces[[2, 5]] == pytest.approx([m * b.g * (1.0 - x / b.w), m * b.g * x / b.w], rel=1e-12)


def test_body_without_mass_is_refused():
    massless = replace(load_bicycle("Benchmark"), mH=0.0)
    with pytest.raises(InputError, match="'H' needs a positive mass"):
        _ = ConstrainedBicycle(massless).system


def test_path_of_a_change_is_smooth_and_its_derivatives_are_its_own():
    path, h = smooth_change(0.2, 1.0, 3.0), 1e-4
    assert path(0.0) == (0.0, 0.0, 0.0)
    assert path(9.0) == pytest.approx((0.2, 0.0, 0.0), abs=1e-12)
    for t in (1.0, 1.7, 2.5, 3.9):
        back, here, on = path(t - h), path(t), path(t + h)
        assert here[1] == pytest.approx((on[0] - back[0]) / (2 * h), abs=1e-8)
        assert here[2] == pytest.approx((on[1] - back[1]) / (2 * h), abs=1e-7)
    with pytest.raises(InputError, match="duration"):
        smooth_change(0.1, 0.0, 0.0)


LEAN, WITHIN, SPEED = 0.1, 1.2, 4.6


@pytest.fixture(scope="module")
def turn_in():
    """Feed-forward that leans the benchmark bicycle over at a speed where it is stable."""
    return lean_feedforward(
        load_bicycle("Benchmark"), smooth_change(LEAN, 0.0, WITHIN), SPEED, np.arange(0.0, 2.0001, 0.01)
    )


def test_feedforward_follows_its_path(turn_in):
    path = smooth_change(LEAN, 0.0, WITHIN)
    wanted = np.array([path(t) for t in turn_in.t])
    np.testing.assert_allclose(turn_in.q[:, Q_PHI], wanted[:, 0], rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(turn_in.u[:, Q_PHI], wanted[:, 1], rtol=0.0, atol=1e-7)


def test_feedforward_played_back_open_loop_in_the_kane_bicycle_leans_along_the_path(turn_in):
    bicycle, path, dt = load_bicycle("Benchmark"), smooth_change(LEAN, 0.0, WITHIN), 1e-3
    p = pack_bicycle(bicycle)
    q, u = turn_in.q[0].copy(), turn_in.u[0].copy()
    off = []
    for k in range(2000):
        torque = np.interp((k + 0.5) * dt, turn_in.t, turn_in.T_delta)
        equations.integrate_step(p, q, u, np.array([0.0, 0.0, torque]), dt)
        off.append(q[Q_PHI] - path((k + 1) * dt)[0])
    assert np.abs(off).max() < 2e-5  # of 0.1 rad: the torque is held for a millisecond at a time
    assert q[Q_DELTA] == pytest.approx(turn_in.q[-1, Q_DELTA], abs=2e-5)


def test_feedforward_played_back_through_the_plant_leans_along_the_path(turn_in):
    """The machine that stands behind the wire, coasting on a floor with a drive that obeys at once."""
    bicycle, path, dt = load_bicycle("Benchmark"), smooth_change(LEAN, 0.0, WITHIN), 1e-3
    v = -turn_in.u[0, Q_THETA_R] * bicycle.rR
    floor = Scenario(speed=((0.0, v),), surface="floor", held=False)
    plant = Plant(bicycle, floor, SteerDrive(lag=0.0), model="nonlinear", surroundings=Surroundings(coasting=True))
    off = []
    for k in range(2000):
        plant.advance(float(np.interp((k + 0.5) * dt, turn_in.t, turn_in.T_delta)), True, dt)
        off.append(plant.state[0] - path((k + 1) * dt)[0])
    assert np.abs(off).max() < 2e-5
    assert plant.state[1] == pytest.approx(turn_in.q[-1, Q_DELTA], abs=2e-5)


def test_feedforward_ends_in_the_steady_turn(turn_in):
    """Once the lean is steady, so is the turn; a row of steady_turns.json is close to where this one ends."""
    bicycle, q, u = load_bicycle("Benchmark"), turn_in.q[-1], turn_in.u[-1]
    p, u_dot = pack_bicycle(bicycle), np.empty(8)
    equations.accelerations(p, q, u, np.array([0.0, 0.0, turn_in.T_delta[-1]]), u_dot)
    assert np.abs(u_dot[[Q_PHI, Q_DELTA, Q_THETA_R]]).max() < 1e-3
    turns = json.loads((REFERENCE / "steady_turns.json").read_text())["bicycles"]["Benchmark"]["steady_turns"]
    printed = next(turn for turn in turns if turn["q4"] == 0.1 and turn["q7"] == 0.05)
    v = -u[Q_THETA_R] * bicycle.rR
    assert v == pytest.approx(printed["v"], abs=0.05)
    assert q[Q_DELTA] == pytest.approx(printed["q7"], abs=2e-3)
    assert turn_in.T_delta[-1] == pytest.approx(printed["T7"], abs=5e-3)


def test_small_feedforward_is_the_inverse_of_the_linear_bicycle():
    """Lean given, the lean equation makes the steer and the steer equation then needs the torque."""
    bicycle, v, size = load_bicycle("Benchmark"), 5.0, 1e-2
    times, path = np.linspace(0.0, 1.0, 21), smooth_change(size, 0.0, 1.0)
    ahead = lean_feedforward(bicycle, path, v, times)
    model = canonical_matrices(bicycle)
    K, C = bicycle.g * model.K0 + v**2 * model.K2, v * model.C1
    delta, rate, torque, h = 0.0, 0.0, [], 1e-4

    def acceleration(t, delta, rate):
        phi, phi_dot, phi_ddot = path(t)
        lean = model.M[0, 0] * phi_ddot + C[0, 0] * phi_dot + K[0, 0] * phi
        return -(lean + C[0, 1] * rate + K[0, 1] * delta) / model.M[0, 1]

    for k in range(10001):
        t = k * h
        a = acceleration(t, delta, rate)
        if k % 500 == 0:
            phi, phi_dot, phi_ddot = path(t)
            force = model.M[1] @ [phi_ddot, a] + C[1] @ [phi_dot, rate] + K[1] @ [phi, delta]
            torque.append(force)
        middle = acceleration(t + h / 2, delta + h / 2 * rate, rate + h / 2 * a)
        delta, rate = delta + h * (rate + h / 2 * a), rate + h * middle
    np.testing.assert_allclose(ahead.T_delta, torque, rtol=0.0, atol=1e-3 * np.abs(torque).max())
