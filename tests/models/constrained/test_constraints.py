"""Every constraint: its derivatives against differences, its reaction against statics or a known motion."""

import numpy as np
import pytest
from numpy.polynomial import Polynomial
from scipy.spatial.transform import Rotation

from riderless.models.constrained import constraints
from riderless.models.constrained.constraint import Constraint
from riderless.models.constrained.constraints import (
    Energy,
    LockedRotation,
    PointOnLine,
    PointOnPlane,
    PrescribedMotion,
    Revolute,
    RollingKnifeEdge,
    Slider,
    Spherical,
    Universal,
    WheelOnProfile,
)
from riderless.models.constrained.jets import Jet
from riderless.models.constrained.loads import Force, Gravity, Torque, TorsionSpring
from riderless.models.constrained.planar import PlanarBody
from riderless.models.constrained.spatial import Body
from riderless.models.constrained.system import System

A = Body("a", 1.3, np.array([[0.5, 0.1, 0.0], [0.1, 0.6, -0.05], [0.0, -0.05, 0.7]]))
B = Body("b", 0.7, np.diag([0.2, 0.3, 0.25]))
P, Q = PlanarBody("p", 1.2, 0.4), PlanarBody("q", 0.6, 0.1)
SPACE, PLANE = (A, B), (P, Q)
S1, S2, E1, E2 = [0.2, -0.3, 0.4], [-0.1, 0.5, 0.3], [0.3, 1.0, -0.2], [1.0, 0.2, 0.5]
CURVE = Polynomial([-0.3, 0.1, 0.4, -0.05, 0.02])


def _wave(t):
    return np.sin(3.0 * t), 3.0 * np.cos(3.0 * t), -9.0 * np.sin(3.0 * t)


CASES = {
    "point on plane": (SPACE, PointOnPlane("c", "a", S1, S2, E1, "b")),
    "point on plane of the ground": (SPACE, PointOnPlane("c", "a", S1, S2, E1)),
    "point on line": (SPACE, PointOnLine("c", "a", S1, S2, E1, "b")),
    "point on line in the plane": (PLANE, PointOnLine("c", "p", S1[:2], S2[:2], E1[:2], "q")),
    "spherical": (SPACE, Spherical("c", "a", S1, S2, "b")),
    "hinge in the plane": (PLANE, Spherical("c", "p", S1[:2], S2[:2], "q")),
    "locked rotation": (SPACE, LockedRotation("c", "a", E1, E2, "b")),
    "locked rotation in the plane": (PLANE, LockedRotation("c", "p", E1[:2], E2[:2], "q")),
    "revolute": (SPACE, Revolute("c", "a", S1, E1, S2, E2, "b")),
    "universal": (SPACE, Universal("c", "a", S1, E1, S2, E2, "b")),
    "slider": (SPACE, Slider("c", "a", S1, S2, E1, "b")),
    "slider in the plane": (PLANE, Slider("c", "p", S1[:2], S2[:2], E1[:2], "q")),
    "prescribed motion": (SPACE, PrescribedMotion("c", lambda m: m.point("a", S1)[1], _wave)),
    "rolling knife edge": (SPACE, RollingKnifeEdge("c", "a", E1, 0.4, [0.1, 0.2, -1.0])),
    "wheel on profile": (PLANE, WheelOnProfile("c", "p", 0.3, CURVE)),
    "energy": (
        SPACE,
        Energy("c", 2.0, [Gravity((0.0, 0.1, 9.0)), Force("a", S1, S2)], Torque("a", 1.0, "b", (0, 1, 0)).per_unit),
    ),
    "energy in the plane": (
        PLANE,
        Energy("c", 2.0, [Gravity((0.0, 9.0)), TorsionSpring("p", 3.0, "q", 0.2)], Torque("p", 1.0).per_unit),
    ),
}


def _random_state(bodies, rng):
    system = System(bodies)
    if bodies is PLANE:
        places = [PlanarBody.place([0.2, 0.9], 0.3), PlanarBody.place(*[rng.normal(size=2), 1.1])]
        return system, system.state(places, [PlanarBody.move(rng.normal(size=2), rng.normal()) for _ in bodies])
    places = [Body.place(rng.normal(size=3), Rotation.from_rotvec(rng.normal(size=3)).as_matrix()) for _ in bodies]
    return system, system.state(places, [Body.move(rng.normal(size=3), rng.normal(size=3)) for _ in bodies])


def _moved(system, x, w_dot, t, n=8):
    """State after the time t at constant accelerations, by Runge-Kutta steps."""

    def slope(state):
        return np.concatenate([system.motion(0.0, state).coordinate_rates(), w_dot])

    h = t / n
    for _ in range(n):
        k1 = slope(x)
        k2 = slope(x + h / 2 * k1)
        k3 = slope(x + h / 2 * k2)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(x + h * k3))
    return x


def test_every_constraint_has_a_case_here():
    own = [c for c in vars(constraints).values() if isinstance(c, type) and c.__module__ == constraints.__name__]
    found = {c for c in own if issubclass(c, Constraint)}
    assert found == {type(constraint) for _, constraint in CASES.values()}


@pytest.mark.parametrize("case", CASES)
def test_derivatives_of_a_constraint_equal_differences(case):
    bodies, constraint = CASES[case]
    rng = np.random.default_rng(len(case))
    system, x = _random_state(bodies, rng)
    w_dot = rng.normal(size=sum(body.velocities for body in bodies))
    t, h = 0.2, 2e-3
    at = [constraint.residuals(system.motion(t + k * h, _moved(system, x, w_dot, k * h))) for k in range(-2, 3)]
    for back2, back, f, on, on2 in zip(*at, strict=True):
        first = (8.0 * (on.value - back.value) - (on2.value - back2.value)) / (12.0 * h)
        if isinstance(f, Jet):
            second = 16.0 * (on.value + back.value) - (on2.value + back2.value) - 30.0 * f.value
            np.testing.assert_allclose(f.rate, first, rtol=0.0, atol=1e-8)
            np.testing.assert_allclose(f.J @ w_dot + f.bias, second / (12.0 * h * h), rtol=0.0, atol=1e-6)
        else:
            np.testing.assert_allclose(f.J @ w_dot + f.bias, first, rtol=0.0, atol=1e-7)


def test_rod_let_go_level_loses_three_quarters_of_its_weight_at_the_hinge():
    m, l, g = 2.0, 1.5, 9.81
    rod = PlanarBody("rod", m, m * l**2 / 12.0)
    system = System([rod], [Spherical("hinge", "rod", [-l / 2, 0.0], [0.0, 0.0])], [Gravity((0.0, -g))])
    solution = system.solve(0.0, system.state([rod.place([l / 2, 0.0])], [rod.move()]))
    assert solution.acceleration[2] == pytest.approx(-1.5 * g / l, rel=1e-12)
    assert solution.reactions["hinge"] == pytest.approx([0.0, m * g / 4.0], abs=1e-12)


@pytest.mark.parametrize("parts", ["revolute", "its parts"])
def test_hinge_in_space_is_three_points_on_planes_and_two_locked_rotations(parts):
    m, s, g = 3.0, np.array([0.4, 0.1, -0.2]), 9.81
    I = np.array([[0.3, 0.02, 0.01], [0.02, 0.5, -0.03], [0.01, -0.03, 0.4]])
    body, y = Body("b", m, I), np.array([0.0, 1.0, 0.0])
    if parts == "revolute":
        joints = [Revolute("hinge", "b", -s, y, np.zeros(3), y)]
    else:
        joints = [PointOnPlane(f"plane {i}", "b", -s, np.zeros(3), e) for i, e in enumerate(np.eye(3))]
        joints += [LockedRotation(f"lock {i}", "b", y, e) for i, e in enumerate(np.eye(3)[[0, 2]])]
    system = System([body], joints, [Gravity((0.0, 0.0, g))])
    solution = system.solve(0.0, system.state([body.place(s)], [body.move()]))
    about_y = I[1, 1] + m * (s[0] ** 2 + s[2] ** 2)
    assert solution.acceleration[3:] == pytest.approx([0.0, -m * g * s[0] / about_y, 0.0], abs=1e-12)


@pytest.mark.parametrize("turn", [0.0, 0.4, 1.3, 2.6])
def test_universal_joint_turns_as_hookes(turn):
    """Two shafts in bearings, bent by beta: tan(turn) = tan(driven) cos(beta), so the rates have a known ratio."""
    beta, rate, torque = 0.5, 3.0, 2.0
    x, y, z = np.eye(3)
    out = np.array([np.cos(beta), np.sin(beta), 0.0])  # of the driven shaft
    driving, driven = Body("driving", 1.0, np.diag([0.2, 0.3, 0.3])), Body("driven", 1.5, np.diag([0.4, 0.5, 0.5]))
    joints = [
        Revolute("first", "driving", np.zeros(3), x, np.zeros(3), x),
        LockedRotation("second", "driven", x, np.cross(z, out)),
        LockedRotation("third", "driven", x, z),
        Universal("cross", "driven", np.zeros(3), y, np.zeros(3), z, "driving"),
    ]
    system = System([driving, driven], joints, [Torque("driving", torque, axis=(1.0, 0.0, 0.0))])
    arm = np.cross(x, y) * np.cos(turn) - y * np.sin(turn)  # z of the driving shaft
    other = np.cross(arm, out) / np.linalg.norm(np.cross(arm, out))  # y of the driven one: across both
    first = np.column_stack([x, np.cross(arm, x), arm])
    second = np.column_stack([out, other, np.cross(out, other)])
    ratio = np.cos(beta) / (1.0 - np.sin(beta) ** 2 * np.sin(turn) ** 2)
    state = system.state(
        [driving.place(R=first), driven.place(R=second)],
        [driving.move(omega=rate * x), driven.move(omega=rate * ratio * out)],
    )
    system.check(state, tolerance=1e-12)
    found = system.solve(0.0, state)
    slope = np.cos(beta) * np.sin(beta) ** 2 * np.sin(2.0 * turn) / (1.0 - np.sin(beta) ** 2 * np.sin(turn) ** 2) ** 2
    # Lagrange: (I + J ratio^2) a + J ratio ratio' rate^2 = T
    expected = (torque - 0.4 * ratio * slope * rate**2) / (0.2 + 0.4 * ratio**2)
    assert found.acceleration[3:6] == pytest.approx(expected * x, abs=1e-9)
    assert found.acceleration[9:12] == pytest.approx((ratio * expected + slope * rate**2) * out, abs=1e-9)


def test_slider_and_lines_carry_the_weight():
    body = Body("b", 2.0, np.eye(3))
    system = System([body], [Slider("guide", "b", np.zeros(3), np.zeros(3), [1.0, 0.0, 0.0])], [Gravity((1.0, 0, 5.0))])
    solution = system.solve(0.0, system.state([body.place()], [body.move()]))
    assert solution.acceleration == pytest.approx([1.0, 0, 0, 0, 0, 0], abs=1e-14)
    assert np.linalg.norm(solution.reactions["guide"]) == pytest.approx(10.0, rel=1e-14)
    bead = System([body], [PointOnLine("wire", "b", np.zeros(3), np.zeros(3), [0.0, 3.0, 4.0])], [Gravity((0, 0, 5.0))])
    solution = bead.solve(0.0, bead.state([body.place()], [body.move()]))
    assert solution.acceleration[:3] == pytest.approx([0.0, 2.4, 3.2], abs=1e-14)


def test_reaction_of_a_prescribed_motion_is_the_drive_it_takes():
    rotor = PlanarBody("rotor", 1.0, 0.25)
    drive = PrescribedMotion("drive", lambda m: m.rotation("rotor"), _wave)
    joints = [Spherical("bearing", "rotor", [0.0, 0.0], [0.0, 0.0]), drive]
    system = System([rotor], joints, [Torque("rotor", 0.5)])
    value, rate, acceleration = _wave(0.3)
    solution = system.solve(0.3, system.state([rotor.place(angle=value)], [rotor.move(rate=rate)]))
    assert solution.reactions["drive"] == pytest.approx([0.25 * acceleration - 0.5], rel=1e-13)


def test_energy_is_kept_against_friction_by_the_opposite_torque():
    rotor, friction = PlanarBody("rotor", 1.0, 0.25), 0.3
    level = 0.5 * 0.25 * 4.0**2
    motor = Torque("rotor", 1.0)
    joints = [Spherical("bearing", "rotor", [0.0, 0.0], [0.0, 0.0]), Energy("governor", level, [], motor.per_unit)]
    system = System([rotor], joints, [Torque("rotor", -friction)])
    solution = system.solve(0.0, system.state([rotor.place()], [rotor.move(rate=4.0)]))
    assert solution.reactions["governor"] == pytest.approx([friction], rel=1e-13)
    slow = system.state([rotor.place()], [rotor.move(rate=3.0)])
    late = [np.abs(system.energy(t, x) - level) for t, x in zip((0, 0.2), _free_run(system, slow), strict=True)]
    assert late[1] / late[0] == pytest.approx(np.exp(-10.0 * 0.2), rel=1e-6)  # f' + lam f = 0


def _free_run(system, x, t=0.2, n=200):
    """First and last state, from one that breaks a constraint (which `simulate` refuses)."""
    first, h = x, t / n
    for _ in range(n):
        k1 = system.derivative(0.0, x)
        k2 = system.derivative(0.0, x + h / 2 * k1)
        k3 = system.derivative(0.0, x + h / 2 * k2)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + system.derivative(0.0, x + h * k3))
    return first, x


def test_residual_of_a_position_decays_critically():
    body = PlanarBody("b", 1.0, 1.0)
    lam, f0 = 10.0, 1e-2
    system = System([body], [PointOnPlane("floor", "b", [0.0, 0.0], [0.0, 0.0], [0.0, 1.0])], [], lam)
    _, x = _free_run(system, system.state([body.place([0.0, f0])], [body.move()]))
    assert x[1] == pytest.approx(f0 * (1.0 + lam * 0.2) * np.exp(-lam * 0.2), rel=1e-6)


@pytest.mark.parametrize("lean", [0.0, 0.1, 0.7])
def test_standing_disc_falls_about_its_contact(lean):
    m, r, g = 2.0, 0.3, 9.81
    disc = Body("disc", m, np.diag([m * r**2 / 4, m * r**2 / 2, m * r**2 / 4]))
    wheel = RollingKnifeEdge("contact", "disc", [0.0, 1.0, 0.0], r, [0.0, 0.0, -1.0])
    R = Rotation.from_rotvec([lean, 0.0, 0.0]).as_matrix()
    system = System([disc], [wheel], [Gravity((0.0, 0.0, g))])
    x = system.state([disc.place(-r * R[:, 2], R)], [disc.move()])
    system.check(x, tolerance=1e-14)
    solution = system.solve(0.0, x)
    # a disc on a knife edge without friction about it: (I + m r^2) lean'' = m g r sin(lean)
    assert solution.acceleration[3] == pytest.approx(g * np.sin(lean) / (1.25 * r), rel=1e-12, abs=1e-13)
    total = wheel.force(solution.reactions["contact"]) + np.array([0.0, 0.0, m * g])
    np.testing.assert_allclose(total, m * solution.acceleration[:3], rtol=0.0, atol=1e-12)


def test_disc_rolls_steadily_in_a_circle():
    """A disc leaning by phi, yawing at Omega, turning at n along its axle; moments about the contact give n:

    (Ia + m r^2) n Omega cos(phi) = Id Omega^2 sin(phi) cos(phi) - m g r sin(phi).
    """
    m, r, g, phi, yaw = 1.0, 0.4, 9.81, 0.35, 1.7
    Id, Ia = m * r**2 / 4, m * r**2 / 2
    c, s = np.cos(phi), np.sin(phi)
    n = (Id * yaw**2 * s * c - m * g * r * s) / ((Ia + m * r**2) * yaw * c)
    disc = Body("disc", m, np.diag([Id, Ia, Id]))
    wheel = RollingKnifeEdge("contact", "disc", [0.0, 1.0, 0.0], r, [0.0, 0.0, -1.0])
    R = Rotation.from_rotvec([phi, 0.0, 0.0]).as_matrix()
    omega = yaw * c * R[:, 2] + n * R[:, 1]
    system = System([disc], [wheel], [Gravity((0.0, 0.0, g))])
    x = system.state([disc.place(-r * R[:, 2], R)], [disc.move(np.cross(omega, -r * R[:, 2]), omega)])
    system.check(x, tolerance=1e-14)
    acceleration = system.solve(0.0, x).acceleration
    turning = np.array([0.0, 0.0, yaw])
    np.testing.assert_allclose(acceleration[3:], np.cross(turning, omega), rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(acceleration[:3], np.cross(turning, x[7:10]), rtol=0.0, atol=1e-12)
