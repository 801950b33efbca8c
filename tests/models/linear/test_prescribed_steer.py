"""Bicycle whose steer is prescribed, against printed numbers, the whole equations, and a drive that makes torque."""

import numpy as np
import pytest
from scipy.linalg import expm

from riderless.models.catalogue import load_bicycle
from riderless.models.coordinates import ANGLE_STATES, DELTA, RATE_STATES
from riderless.models.errors import InputError
from riderless.models.linear.perturbed import Variant
from riderless.models.linear.prescribed_steer import InnerLoop, driven_steer, felt_inertia, prescribed_steer

# Meijaard et al. (2007), eq. A 2 and table 1: first rows of M, C1, K0, K2 of the benchmark bicycle, as printed
M11, M12 = 80.81722, 2.31941332208709
C12, K0_11, K0_12, K2_12 = 33.86641391492494, -80.95, -2.59951685249872, 76.59734589573222
G, V = 9.81, 4.0
BICYCLES = ("Benchmark", "Silver", "DelftSbW2024", "Rigid", "Pista", "Browserins")
LOOPS = (
    InnerLoop(kind="rate", bandwidth=40.0),
    InnerLoop(kind="rate", bandwidth=40.0, damping=0.7),
    InnerLoop(kind="angle", bandwidth=40.0, damping=1.0),
)


def variant(name="Benchmark"):
    return Variant(load_bicycle(name))


def test_lean_row_of_the_benchmark_as_printed():
    A, b = prescribed_steer(variant(), V, LOOPS[0])
    phi, delta, phi_dot, delta_dot, u = 0.1, -0.2, 0.3, 0.4, 0.5
    delta_ddot = 40.0 * (u - delta_dot)
    lean = M11 * (A @ [phi, delta, phi_dot, delta_dot] + b * u)[2] + G * K0_11 * phi  # C1_11 = K2_11 = 0
    assert lean == pytest.approx(-(M12 * delta_ddot + V * C12 * delta_dot + (G * K0_12 + V**2 * K2_12) * delta))


def test_a_held_steer_leaves_the_inverted_pendulum():
    """Benchmark: 3.13 1/s, whatever the speed and the drive."""
    for loop in LOOPS:
        s = np.linalg.eigvals(prescribed_steer(variant(), 6.0, loop)[0])
        pendulum = np.sqrt(-G * K0_11 / M11)
        assert np.abs(s - pendulum).min() < 1e-9
        assert np.abs(s + pendulum).min() < 1e-9


@pytest.mark.parametrize(("loop", "slowest"), list(zip(LOOPS, (40.0, 28.0, 40.0), strict=True)))
def test_the_steer_follows_with_its_lag(loop, slowest):
    """Step of the command: the steer's part of the state as a textbook's first- and second-order lags."""
    A, b = prescribed_steer(variant(), V, loop)
    t = 0.03
    n = len(b)
    whole = np.zeros((n + 1, n + 1))
    whole[:n, :n], whole[:n, n] = A, b
    x = expm(whole * t)[:n, n]
    if loop.damping is None:
        assert x[3] == pytest.approx(1.0 - np.exp(-40.0 * t), rel=1e-12)
    elif loop.kind == "angle":
        assert x[1] == pytest.approx(1.0 - (1.0 + 40.0 * t) * np.exp(-40.0 * t), rel=1e-12)
    else:
        ringing = 40.0 * np.sqrt(1.0 - 0.49)
        shape = np.cos(ringing * t) + slowest / ringing * np.sin(ringing * t)
        assert x[3] == pytest.approx(1.0 - np.exp(-slowest * t) * shape, rel=1e-12)


@pytest.mark.parametrize("name", BICYCLES)
@pytest.mark.parametrize("loop", LOOPS, ids=str)
def test_the_torque_it_takes_makes_the_prescribed_motion_of_the_whole_bicycle(name, loop):
    """Second row of the equations: T = M21 phi'' + M22 delta'' + v C1_2. q' + (g K0_2. + v^2 K2_2.) q."""
    plant = variant(name)
    A, b = prescribed_steer(plant, V, loop)
    mass, damping, stiffness = plant.matrices(V)
    whole, by_torque = plant.system(V)
    x, u = np.array([0.1, -0.2, 0.3, 0.4, 5.0])[: len(b)], 0.6
    torque = mass[DELTA] @ (A @ x + b * u)[RATE_STATES] + damping[DELTA] @ x[RATE_STATES]
    torque += stiffness[DELTA] @ x[ANGLE_STATES]
    expected = whole @ x[:4] + by_torque * torque
    np.testing.assert_allclose((A @ x + b * u)[RATE_STATES], expected[RATE_STATES], rtol=1e-9)


def test_a_torque_that_turns_the_steer_at_once_feels_the_inverse_of_the_inverse():
    plant = variant("Silver")
    assert felt_inertia(plant) == pytest.approx(1.0 / np.linalg.inv(plant.matrices(3.0)[0])[1, 1], rel=1e-12)


def closed(model, plant, v, loop):
    """Closed loop of a rider's law that is as slow as a rider: steer into the lean and its rate."""
    A, b = model(plant, v, loop)
    law = np.zeros(len(b))
    law[[0, 2]] = (-20.0, -6.0) if loop.kind == "rate" else (-2.5, -0.8)
    return A - np.outer(b, law)


def slow_error(plant, v, kind, damping, bandwidth):
    """Largest relative difference of the slow eigenvalues: three of a rate drive, two of an angle drive."""
    loop = InnerLoop(kind=kind, bandwidth=bandwidth, damping=damping)
    reduced, whole = (np.linalg.eigvals(closed(model, plant, v, loop)) for model in (prescribed_steer, driven_steer))
    slow = sorted(reduced, key=abs)[: 3 if kind == "rate" else 2]
    return max(np.abs(whole - s).min() / abs(s) for s in slow)


@pytest.mark.parametrize("name", BICYCLES)
@pytest.mark.parametrize(("kind", "damping", "order"), [("rate", None, 1), ("rate", 1.0, 2), ("angle", 1.0, 2)])
def test_the_two_models_agree_as_the_inner_loop_gets_fast(name, kind, damping, order):
    """A proportional drive errs with 1/w, one with an integral or an angle to follow with 1/w^2."""
    for v in (3.0, 6.0):
        near, nearer = (slow_error(variant(name), v, kind, damping, w) for w in (400.0, 800.0))
        assert nearer < 0.05
        assert 0.75 * 2**order < near / nearer < 1.5 * 2**order


@pytest.mark.parametrize("name", ["Benchmark", "DelftSbW2024"])
@pytest.mark.parametrize(("kind", "damping"), [("rate", None), ("rate", 0.7), ("angle", 0.7)])
def test_and_so_do_the_responses_to_a_kick(name, kind, damping):
    def kicked(model, bandwidth):
        A = closed(model, variant(name), 5.0, InnerLoop(kind=kind, bandwidth=bandwidth, damping=damping))
        start = np.eye(len(A))[2]
        return np.array([expm(A * t) @ start for t in np.linspace(0.0, 2.0, 41)])[:, :4]

    errors = [
        np.abs(kicked(driven_steer, w) - kicked(prescribed_steer, w)).max() / np.abs(kicked(prescribed_steer, w)).max()
        for w in (50.0, 200.0, 800.0)
    ]
    assert errors[2] < errors[1] / 2.5
    assert errors[1] < errors[0] / 2.5
    assert errors[2] < 0.02


def test_a_steer_heavier_than_the_drive_knows_of_slows_its_loop():
    """Inertia the drive was not tuned for divides its bandwidth; the lag of `prescribed_steer` does not know."""
    loop = InnerLoop(kind="rate", bandwidth=800.0)
    plant = variant()
    heavy = Variant(plant.bicycle, steer_inertia=felt_inertia(plant))
    fastest = np.abs(np.linalg.eigvals(driven_steer(heavy, 4.0, loop)[0])).max()
    assert fastest == pytest.approx(400.0, rel=0.05)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"kind": "torque"}, "a rate or an angle, found the kind 'torque'"),
        ({"kind": "rate", "bandwidth": 0.0}, "from 1 to 1000 rad/s, found 0 rad/s"),
        ({"kind": "rate", "bandwidth": float("nan")}, "found nan rad/s"),
        ({"kind": "angle"}, "an angle drive wants its damping"),
        ({"kind": "rate", "damping": 0.0}, "the damping of a steer drive must be from 0.2 to 5, found 0"),
    ],
)
def test_what_no_drive_is_is_refused(wrong, sentence):
    with pytest.raises(InputError, match=sentence):
        InnerLoop(**wrong)
