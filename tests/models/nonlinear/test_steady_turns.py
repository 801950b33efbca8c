"""Steady turns against the reference rows, the linear bicycle, and Newton and Euler's balance of four bodies."""

import json
from dataclasses import replace
from math import atan2, cos, pi, sin

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

from riderless.models import catalogue
from riderless.models.coordinates import Q_DELTA, Q_PHI, Q_THETA, Q_THETA_R
from riderless.models.errors import InputError
from riderless.models.linear.modes import critical_speeds, eigenvalues
from riderless.models.linear.whipple import canonical_matrices
from riderless.models.nonlinear.equations import accelerations, dependent_speeds, pitch
from riderless.models.nonlinear.hands_free import hands_free_families
from riderless.models.nonlinear.parameters import pack_bicycle
from riderless.models.nonlinear.steady_turns import steady_turn_from_angles, steady_turn_from_speed_and_radius
from tests.paths import REFERENCE

DOWN = np.array([0.0, 0.0, 1.0])
AHEAD = np.array([1.0, 0.0, 0.0])
RIGHT = np.array([0.0, 1.0, 0.0])


class Circling:
    """A bicycle held in one shape, carried round the vertical axis: a second route to the steady turn.

    Coordinates as Meijaard's, origin in the rear contact, turned with the heading. No kernel, no generalised speeds:
    the contact of the front wheel by geometry, then force and moment of every body by Newton and Euler, with the six
    contact forces, the steer torque and the square of the yaw rate as unknowns.
    """

    def __init__(self, b, phi, delta):
        self.b, self.phi, self.delta = b, phi, delta
        self.theta = brentq(lambda theta: self.place(theta)[2], b.lam - 0.5, b.lam + 0.5, xtol=1e-15)
        self.front_contact = self.place(self.theta)

    def place(self, theta):
        """Lowest point of the front wheel at a pitch."""
        b = self.b
        lean = Rotation.from_rotvec(self.phi * AHEAD)
        self.rear = lean * Rotation.from_rotvec((theta - b.lam) * RIGHT)
        axis = np.array([sin(b.lam), 0.0, cos(b.lam)])
        self.front = self.rear * Rotation.from_rotvec(self.delta * axis)
        self.axis = self.rear.apply(axis)
        self.hub = lean.apply([0.0, 0.0, -b.rR])
        self.head = self.hub + self.rear.apply([b.w + b.c, 0.0, b.rR])  # where the steer axis would meet flat ground
        self.fork = self.head + self.front.apply([-b.c, 0.0, -b.rF])
        self.axles = self.rear.apply(RIGHT), self.front.apply(RIGHT)
        below = DOWN - (DOWN @ self.axles[1]) * self.axles[1]
        return self.fork + b.rF * below / np.linalg.norm(below)

    def speeds(self):
        """Rear contact speed and front wheel rate for a yaw rate of one."""
        Q = self.front_contact
        spin = np.cross(self.axles[1], self.fork - Q)
        return np.linalg.solve(np.array([AHEAD, -spin]).T[:2], -np.cross(DOWN, Q)[:2])

    def bodies(self):
        """(mass, centre of mass, inertia, spin) of rear wheel, rear frame, front frame, front wheel."""
        b = self.b
        v, front_rate = self.speeds()

        def turned(R, Ixx, Ixz, Iyy, Izz):
            return R.as_matrix() @ np.array([[Ixx, 0, Ixz], [0, Iyy, 0], [Ixz, 0, Izz]]) @ R.as_matrix().T

        B = self.hub + self.rear.apply([b.xB, 0.0, b.zB + b.rR])
        H = self.head + self.front.apply([b.xH - b.w - b.c, 0.0, b.zH])
        still = np.zeros(3)
        return (
            (b.mR, self.hub, turned(self.rear, b.IRxx, 0.0, b.IRyy, b.IRxx), -v / b.rR * self.axles[0]),
            (b.mB, B, turned(self.rear, b.IBxx, b.IBxz, b.IByy, b.IBzz), still),
            (b.mH, H, turned(self.front, b.IHxx, b.IHxz, b.IHyy, b.IHzz), still),
            (b.mF, self.fork, turned(self.front, b.IFxx, 0.0, b.IFyy, b.IFxx), front_rate * self.axles[1]),
        )

    def solve(self):
        """Forces on the rear and front wheel, steer torque, speed, yaw rate to the right for a right turn."""
        b, Q = self.b, self.front_contact
        v, _ = self.speeds()
        inertia, weight = [], []  # force and moment about the origin, per squared yaw rate, and of gravity
        for m, r, I, spin in self.bodies():
            a = np.cross(DOWN, v * AHEAD + np.cross(DOWN, r))
            inertia.append((m * a, np.cross(r, m * a) + np.cross(DOWN, I @ (DOWN + spin))))
            weight.append((m * b.g * DOWN, np.cross(r, m * b.g * DOWN)))

        def about(pairs, bodies, point):
            force, moment = (sum(pairs[i][j] for i in bodies) for j in (0, 1))
            return moment - np.cross(point, force)

        def cross(r):  # r x F = cross(r) F
            return np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])

        A, rhs = np.zeros((9, 8)), np.zeros(9)  # unknowns: rear force, front force, T_delta, squared yaw rate
        A[:3, :3] = A[:3, 3:6] = np.eye(3)
        A[:3, 7], rhs[:3] = -sum(f for f, _ in inertia), -sum(f for f, _ in weight)
        A[3:6, 3:6] = cross(Q)
        A[3:6, 7], rhs[3:6] = -sum(m for _, m in inertia), -sum(m for _, m in weight)
        parts = (
            ([0], self.hub, self.axles[0], np.zeros(3), slice(0, 3)),
            ([3], self.fork, self.axles[1], Q, slice(3, 6)),
            ([2, 3], self.head, self.axis, Q, slice(3, 6)),
        )
        for row, (bodies, point, direction, contact, columns) in enumerate(parts, 6):
            A[row, columns] = direction @ cross(contact - point)
            A[row, 7] = -direction @ about(inertia, bodies, point)
            rhs[row] = -direction @ about(weight, bodies, point)
        A[8, 6] = 1.0
        x, _, rank, _ = np.linalg.lstsq(A, rhs)
        assert rank == 8
        np.testing.assert_allclose(A @ x, rhs, atol=1e-8)  # N, beside 1000 N: numpy 2.5 rounds to 2e-9
        yaw_rate = np.sqrt(x[7]) * np.sign(v)
        return x[:3], x[3:6], x[6], v * yaw_rate, yaw_rate


BENCHMARK = catalogue.load_bicycle("Benchmark")
POSTURES = [(0.1, 0.05), (-0.3, -0.2), (0.5, 0.6), (0.05, 1.2), (1.0, 0.1)]


def test_reference_rows():
    rows = json.loads((REFERENCE / "steady_turns.json").read_text())["bicycles"]["Benchmark"]["steady_turns"]
    assert len(rows) == 7
    for row in rows:
        turn = steady_turn_from_angles(BENCHMARK, row["q4"], row["q7"])
        found = [turn.theta, turn.v, turn.T_delta, turn.psi_dot, turn.rear_rate, turn.front_rate, turn.radius]
        wanted = [row[key] for key in ("q5", "v", "T7", "u3", "u6", "u8", "radius_rear_contact")]
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("bike", ["Benchmark", "Silver", "Yellowrev", "Rigid"])
@pytest.mark.parametrize(("phi", "delta"), POSTURES)
def test_newton_and_euler_agree(bike, phi, delta):
    bicycle = catalogue.load_bicycle(bike)
    turn, other = steady_turn_from_angles(bicycle, phi, delta), Circling(bicycle, phi, delta)
    _, _, T_delta, v, psi_dot = other.solve()
    found = [turn.theta, turn.T_delta, turn.v, turn.psi_dot]
    np.testing.assert_allclose(found, [other.theta, T_delta, v, psi_dot], rtol=1e-9, atol=1e-9)


def test_nothing_accelerates_in_a_turn():
    turn = steady_turn_from_angles(BENCHMARK, 0.4, 0.3)
    q, u = turn.state()
    out = np.ones(8)
    accelerations(pack_bicycle(BENCHMARK), q, u, np.array([0.0, 0.0, turn.T_delta]), out)
    np.testing.assert_allclose(out[[2, 3, 4, 5, 6, 7]], 0.0, atol=1e-10)
    assert out[1] == pytest.approx(turn.v * turn.psi_dot, rel=1e-12)  # towards the centre, to the right


def test_the_mirror_image_turns_the_other_way():
    right, left = steady_turn_from_angles(BENCHMARK, 0.2, 0.1), steady_turn_from_angles(BENCHMARK, -0.2, -0.1)
    mirrored = [-left.psi_dot, -left.T_delta, left.v, -left.radius, left.theta]
    right_hand = [right.psi_dot, right.T_delta, right.v, right.radius, right.theta]
    np.testing.assert_allclose(mirrored, right_hand, rtol=1e-12)
    np.testing.assert_allclose(left.eigenvalues, right.eigenvalues, atol=1e-8)


@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize(("phi", "delta"), [(0.1, 0.05), (0.3, 0.3), (0.5, 0.2)])
def test_speed_and_radius_lead_back_to_the_angles(side, phi, delta):
    turn = steady_turn_from_angles(BENCHMARK, phi, delta)
    again = steady_turn_from_speed_and_radius(BENCHMARK, turn.v, side * turn.radius)
    found = [side * again.phi, side * again.delta, side * again.T_delta]
    np.testing.assert_allclose(found, [phi, delta, turn.T_delta], atol=1e-11)
    assert again.v == pytest.approx(turn.v, rel=1e-13)
    assert again.radius == pytest.approx(side * turn.radius, rel=1e-12)


@pytest.mark.parametrize("bike", ["Benchmark", "Pista"])
def test_a_wide_turn_is_that_of_the_linear_bicycle(bike):
    bicycle, v, R = catalogue.load_bicycle(bike), 5.0, 1e4
    turn = steady_turn_from_speed_and_radius(bicycle, v, R)
    delta = bicycle.w / (R * cos(bicycle.lam))
    _, _, K0, K2 = canonical_matrices(bicycle)
    K = bicycle.g * K0 + v**2 * K2
    phi = -K[0, 1] * delta / K[0, 0]
    np.testing.assert_allclose([turn.phi, turn.delta], [phi, delta], rtol=1e-6)
    assert turn.T_delta == pytest.approx(K[1] @ [phi, delta], rel=1e-5)
    linear = np.sort_complex(eigenvalues(bicycle, v))
    np.testing.assert_allclose(turn.eigenvalues, linear, atol=1e-5)


@pytest.mark.parametrize(("phi", "delta"), [(0.1, 0.05), (0.3, 0.3)])
def test_the_eigenvalues_are_in_the_motion_about_a_turn(phi, delta):
    """Small motions, integrated, are sums of exponentials: a recurrence with those roots, and 1, takes them to zero."""
    turn, p = steady_turn_from_angles(BENCHMARK, phi, delta), pack_bicycle(BENCHMARK)
    torque, out = np.array([0.0, 0.0, turn.T_delta]), np.zeros(8)

    def rates(_, x):
        q, u = np.zeros((2, 8))
        q[[Q_PHI, Q_DELTA]], u[[Q_PHI, Q_DELTA, Q_THETA_R]] = x[:2], x[2:]
        q[Q_THETA] = pitch(p, x[0], x[1], turn.theta)
        dependent_speeds(p, q, u)
        accelerations(p, q, u, torque, out)
        return [x[2], x[3], *out[[Q_PHI, Q_DELTA, Q_THETA_R]]]

    dt, size = 0.1, 1e-6
    start = np.array([phi, delta, 0.0, 0.0, turn.rear_rate])
    nudge = size * np.array([1.0, -0.5, 0.7, 2.0, 0.3])
    both = [
        solve_ivp(rates, (0, 5 * dt), start + d, t_eval=dt * np.arange(6), rtol=1e-12, atol=1e-14).y[:2]
        for d in (nudge, -nudge)
    ]
    motion = (both[0] - both[1]) / (2.0 * size)
    recurrence = np.poly([*np.exp(dt * np.array(turn.eigenvalues)), 1.0])[::-1].real
    np.testing.assert_allclose(motion @ recurrence, 0.0, atol=1e-6)
    assert np.all(np.abs(motion @ np.roll(recurrence, 1)) > 1e-2)  # which is not so for any coefficients


# Hands-free ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def families():
    return hands_free_families(BENCHMARK)


@pytest.mark.parametrize("stride", [0, -1, np.nan, np.inf, 1e-12, 3.0, "0.02", None, True])
def test_a_stride_that_finds_no_families_is_refused(stride):
    with pytest.raises(InputError, match=r"stride from turn to turn must be a number from 0\.001 to 0\.1 rad, found"):
        hands_free_families(BENCHMARK, stride)


def test_the_three_families_of_the_benchmark_bicycle(families):
    """Basu-Mandal, Chatterjee and Papadopoulos (2007), abstract, in words.

    (i) handlebar forward, from a capsize bifurcation off straight motion to an unstable static equilibrium with the
    frame upright and the front wheel almost perpendicular; (ii) handlebar reversed, from a capsize bifurcation to
    lying flat with the front wheel steered straight; (iii) from lying flat with the handlebar forward to infinite
    speed with the frame near upright and the front wheel almost perpendicular, by pivoting about the rear contact.
    """
    assert [(f.start, f.end) for f in families] == [
        ("straight", "at rest"),
        ("reversed", "lying down"),
        ("lying down", "fast"),
    ]
    forward, backward, spinning = (f.turns for f in families)
    assert abs(forward[-1].phi) < 1e-6
    assert forward[-1].v < 1e-3
    assert np.degrees(forward[-1].delta) == pytest.approx(80.0, abs=10.0)
    assert not forward[-1].stable
    assert np.degrees(backward[-1].delta) > 178.0
    assert np.degrees(spinning[0].delta) < 2.0
    assert np.degrees(abs(spinning[-1].phi)) < 10.0
    assert np.degrees(spinning[-1].delta) == pytest.approx(90.0, abs=10.0)
    assert min(abs(turn.radius) for turn in spinning) < 0.02  # m
    assert any(turn.stable for turn in backward)


@pytest.mark.parametrize("bike", ["Benchmark", "Silver", "Pista"])
def test_the_capsize_branch_starts_at_the_capsize_speed(bike):
    """To second order in the lean, so that two turns extrapolate to none."""
    bicycle = catalogue.load_bicycle(bike)
    first, second = hands_free_families(bicycle)[0].turns[:2]
    a, b = first.phi**2, second.phi**2
    straight = (first.v * b - second.v * a) / (b - a)
    assert straight == pytest.approx(critical_speeds(bicycle).capsize, abs=1e-7)


def test_the_reversed_branch_starts_at_the_capsize_speed_of_the_reversed_bicycle(families):
    """With the front assembly turned round it is another bicycle, with parameters of its own."""
    backward = Circling(BENCHMARK, 0.0, pi)
    (_, _, _, _), (_, B, IB, _), (_, H, IH, _), _ = backward.bodies()
    Q, axis = backward.front_contact, backward.axis
    ground = backward.head - backward.head[2] / axis[2] * axis
    reversed_bicycle = replace(
        BENCHMARK,
        w=Q[0],
        c=ground[0] - Q[0],
        lam=atan2(axis[0], axis[2]),
        xB=B[0],
        zB=B[2],
        IBxx=IB[0, 0],
        IBxz=IB[0, 2],
        IBzz=IB[2, 2],
        xH=H[0],
        zH=H[2],
        IHxx=IH[0, 0],
        IHxz=IH[0, 2],
        IHzz=IH[2, 2],
    )
    assert families[1].turns[0].v == pytest.approx(critical_speeds(reversed_bicycle).capsize, abs=1e-4)


@pytest.mark.parametrize("bike", ["Benchmark", "Silver", "Crescendo"])
def test_newton_and_euler_find_no_steer_torque_in_hands_free_turns(bike):
    bicycle = catalogue.load_bicycle(bike)
    for family in hands_free_families(bicycle):
        for turn in family.turns[:: len(family.turns) // 15]:
            if turn.v > 20.0:
                continue  # where rounding grows with the square of the speed
            _, _, T_delta, v, _ = Circling(bicycle, turn.phi, turn.delta).solve()
            assert T_delta == pytest.approx(0.0, abs=1e-6)
            assert v == pytest.approx(turn.v, abs=1e-6 * (1.0 + turn.v))


def test_silver_stays_in_the_turns_off_its_capsize_speed():
    """Beyond 7.9 m/s it leans into a turn and keeps it: straight running hands its stability over."""
    (branch,) = (
        family for family in hands_free_families(catalogue.load_bicycle("Silver")) if family.start == "straight"
    )
    assert branch.turns[10].v > branch.turns[0].v
    assert all(turn.stable for turn in branch.turns)


def test_neighbouring_turns_are_near_each_other(families):
    for family in families:
        place = np.array([(turn.phi, turn.delta) for turn in family.turns])
        steps = np.hypot(*np.diff(place, axis=0).T)
        assert np.all(steps < 0.04)


def test_a_bicycle_that_never_capsizes_has_no_branch_off_straight_running():
    skate = catalogue.load_bicycle("TwoMassSkateTheory")
    assert critical_speeds(skate).capsize is None
    assert all(family.start != "straight" for family in hands_free_families(skate))


# Bad input ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("phi", "delta", "named"),
    [
        (0.1, 0.0, "straight"),
        (0.1, -0.05, "same side"),
        (1.6, 0.1, "86 deg"),
        (0.1, 3.2, "180 deg"),
        (float("nan"), 0.1, "nan deg"),
        (0.1, float("inf"), "inf deg"),
    ],
)
def test_angles_without_a_turn_are_refused(phi, delta, named):
    with pytest.raises(InputError, match=named) as caught:
        steady_turn_from_angles(BENCHMARK, phi, delta)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("v", "radius", "named"),
    [
        (0.0, 5.0, "speed"),
        (-3.0, 5.0, "speed"),
        (float("nan"), 5.0, "speed"),
        (5.0, 0.0, "radius"),
        (5.0, float("inf"), "radius"),
        (20.0, 1.0, "smallest has about 2"),
    ],
)
def test_speeds_and_radii_without_a_turn_are_refused(v, radius, named):
    with pytest.raises(InputError, match=named):
        steady_turn_from_speed_and_radius(catalogue.load_bicycle("Pista"), v, radius)
