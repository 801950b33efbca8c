"""What surrounds the emulated machine, and which eigenvalues each thing changes and which it must not."""

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from riderless.models import catalogue
from riderless.models.coordinates import DELTA, DELTA_DOT, PHI, PHI_DOT
from riderless.models.errors import InputError
from riderless.models.linear.whipple import canonical_matrices, input_matrix, system_matrix
from riderless.models.plant.environment import TRAINING_WHEEL_LEAN, weight_out_of_place
from riderless.models.plant.plant import Kick, Knock, Plant, Scenario, SteerDrive, Surroundings
from tests.models.plant.riding import DT, X0, free, ride

SMALL = 1e-3
REST = (0.0, 0.0, 0.0, 0.0)


@pytest.fixture(scope="module")
def benchmark_bicycle():
    return catalogue.load_bicycle("Benchmark")


def transition(make):
    """Matrix (4, 4) that carries small deviations from upright over one period; `make` builds a plant from x0."""
    upright = ride(make(REST), 1)[1]
    return np.transpose([(ride(make(SMALL * row), 1)[1] - upright) / SMALL for row in np.eye(4)])


# What must not change an eigenvalue -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "scenario"),
    [
        ({"wind": 8.0, "x_wind": 0.7}, {}),
        ({"gusts": 5.0}, {"seed": 3}),
        ({"frame_offset": 0.01}, {}),
        ({"handlebar_offset": -0.02, "frame_offset": 0.003}, {}),
        ({"belt_width": 1.0}, {}),
        ({"training_wheels": TRAINING_WHEEL_LEAN, "steer_stops": 0.6}, {}),
        ({}, {"surface": "floor"}),
        ({}, {"kicks": (Kick(0.0, 3.0), Knock(0.1, 0.2))}),
        ({}, {"torque_noise": 0.5}),
    ],
)
def test_what_only_pushes_leaves_the_eigenvalues_alone(benchmark_bicycle, fields, scenario):
    def make(x0):
        return free(benchmark_bicycle, 4.6, x0=x0, surroundings=Surroundings(**fields), **scenario)

    np.testing.assert_allclose(transition(make), expm(system_matrix(benchmark_bicycle, 4.6) * DT), rtol=0, atol=1e-9)


def test_nothing_pushes_a_bicycle_with_everything_out_of_reach(benchmark_bicycle):
    """To the last bit but for the order of sums: training wheels, stops and a belt's edge act only when touched."""
    around = Surroundings(training_wheels=0.5, steer_stops=0.9, belt_width=50.0)
    plain, surrounded = free(benchmark_bicycle), free(benchmark_bicycle, surroundings=around)
    np.testing.assert_array_equal(ride(plain, 200), ride(surrounded, 200))


# What must ---------------------------------------------------------------------------------------------


def test_viscous_friction_damps_the_steer(benchmark_bicycle):
    def make(x0):
        return free(benchmark_bicycle, x0=x0, drive=SteerDrive(viscous=0.8))

    A = system_matrix(benchmark_bicycle, 5.0)
    A[:, DELTA_DOT] -= 0.8 * input_matrix(benchmark_bicycle)[:, 1]
    np.testing.assert_allclose(transition(make), expm(A * DT), rtol=0, atol=1e-9)


def test_a_stop_that_is_touched_adds_its_stiffness(benchmark_bicycle):
    """Pressed against its stop by the drive, the steer rings at the stop's rate; lean hardly feels it."""
    limit = 0.2
    plant = free(benchmark_bicycle, x0=(0.0, limit, 0.0, 0.0), surroundings=Surroundings(steer_stops=limit))
    stops = plant.p[0]["surroundings"]["stops"]
    A, B = system_matrix(benchmark_bicycle, 5.0), input_matrix(benchmark_bicycle)[:, 1]
    A[:, DELTA] -= stops["stiffness"] * B
    A[:, DELTA_DOT] -= stops["damping"] * B

    def after(deviation):
        plant = free(
            benchmark_bicycle,
            x0=np.array([0.0, limit + 0.02, 0.0, 0.0]) + SMALL * deviation,
            surroundings=Surroundings(steer_stops=limit),
        )
        return ride(plant, 1, dt=0.001)[1]

    upright = after(np.zeros(4))
    found = np.transpose([(after(row) - upright) / SMALL for row in np.eye(4)])
    np.testing.assert_allclose(found, expm(A * 0.001), rtol=0, atol=2e-4)
    eigenvalues = np.linalg.eigvals(A)
    assert np.abs(eigenvalues).max() == pytest.approx(150.0, rel=0.1)


# Contacts ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_training_wheels_stop_the_lean(benchmark_bicycle, side):
    tumbling = {"v": 0.5, "x0": (0.05 * side, 0.0, 0.3 * side, 0.0), "catch": False}
    assert [plant.fallen for plant in [free(benchmark_bicycle, **tumbling)] for _ in ride(plant, 600)][-1]
    around = Surroundings(training_wheels=TRAINING_WHEEL_LEAN, steer_stops=0.8)
    plant = free(benchmark_bicycle, surroundings=around, **tumbling)
    lean = side * ride(plant, 2000)[:, PHI]
    assert not plant.fallen
    assert np.degrees(lean.max()) == pytest.approx(30.0, abs=2.0)
    assert np.degrees(lean[-200:]) == pytest.approx(30.0, abs=0.5)  # and it rests on them


def test_steer_stops_stop_the_steer(benchmark_bicycle):
    around = Surroundings(training_wheels=TRAINING_WHEEL_LEAN, steer_stops=0.5)
    plant = free(benchmark_bicycle, 2.0, x0=REST, surroundings=around)
    steer = ride(plant, 600, T=7.0)[:, DELTA]
    assert not plant.fallen
    assert 0.5 < steer.max() < 0.5 + np.radians(4.0)


def test_a_contact_takes_energy_and_gives_none(benchmark_bicycle):
    M, _, K0, _ = canonical_matrices(benchmark_bicycle)
    around = Surroundings(steer_stops=0.3)
    plant = free(benchmark_bicycle, 0.0, x0=(0.0, 0.2, 0.0, 4.0), surroundings=around)
    x = ride(plant, 40)
    energy = np.array([0.5 * r[2:] @ M @ r[2:] + 0.5 * benchmark_bicycle.g * r[:2] @ K0 @ r[:2] for r in x])
    out = np.abs(x[:, DELTA]) < 0.3
    assert not out.all()
    assert np.all(np.diff(energy[out]) < 1e-9)
    assert energy[out][-1] < energy[0] - 0.5


# The belt and the floor ------------------------------------------------------------------------------------


def test_leaving_the_belt_is_a_fall(benchmark_bicycle):
    turning = {"x0": (0.0, 0.05, 0.0, 0.0)}
    endless = free(benchmark_bicycle, **turning)
    track = []
    for _ in range(400):
        endless.advance(0.0, True, DT)
        b, x = benchmark_bicycle, endless.state
        front = endless.y_P + b.w * endless.psi - b.c * np.cos(b.lam) * x[DELTA]
        track.append(max(abs(endless.y_P), abs(front)))
    left = int(np.argmax(np.array(track) > 0.3))
    assert left > 10
    belt = free(benchmark_bicycle, surroundings=Surroundings(belt_width=0.6), **turning)
    ride(belt, left)
    assert not belt.fallen
    assert belt.fall == ""
    ride(belt, 1)
    assert belt.fallen
    assert belt.fall == "a wheel left the belt"
    assert not belt.state[2:].any()


@pytest.mark.parametrize("model", ["linear", "nonlinear"])
def test_treadmill_and_floor_give_the_same_motion_at_a_steady_speed(benchmark_bicycle, model):
    """Galileo; a belt that ramps is another matter (`test_road_forces`)."""
    treadmill, floor = (
        free(benchmark_bicycle, surface=surface, kicks=(Kick(0.1, 4.0),), model=model)
        for surface in ("treadmill", "floor")
    )
    for _ in range(300):
        for plant in (treadmill, floor):
            plant.advance(0.1, True, DT)
        np.testing.assert_array_equal(treadmill.state, floor.state)
        assert (treadmill.psi, treadmill.y_P, treadmill.v) == (floor.psi, floor.y_P, floor.v)
        on_belt, on_floor = treadmill.read(), floor.read()
        assert on_belt == on_floor


@pytest.mark.parametrize("model", ["linear", "nonlinear"])
def test_coasting_follows_rolling_and_air(benchmark_bicycle, model):
    """Upright: m_eff v' = -m g C - rho A v^2 / 2, whose solution is a tangent."""
    b = benchmark_bicycle
    mass = b.mR + b.mB + b.mH + b.mF
    inert = mass + b.IRyy / b.rR**2 + b.IFyy / b.rF**2
    around = Surroundings(coasting=True, rolling=0.008, drag_area=0.6)
    plant = free(b, 6.0, x0=REST, surface="floor", surroundings=around, model=model)
    a, k = mass * b.g * 0.008, 0.5 * 1.2 * 0.6
    rate, scale = np.sqrt(a * k) / inert, np.sqrt(a / k)
    began, way = np.arctan(6.0 / scale), 0.0
    for n in range(1, 2001):
        plant.advance(0.0, True, DT)
        exact = scale * np.tan(began - rate * n * DT)
        assert plant.v == pytest.approx(exact, abs=1e-9)
    way = inert / k * np.log(np.cos(began - rate * 10.0) / np.cos(began))
    assert plant.x_P == pytest.approx(way, abs=1e-7)
    reading = plant.read()
    assert reading["a_x"] == pytest.approx(-(a + k * plant.v**2) / inert, rel=1e-9)
    assert reading["wheel_rate"] == pytest.approx(plant.v / b.rR)


def test_rolling_resistance_stops_it_and_no_more(benchmark_bicycle):
    around = Surroundings(coasting=True, rolling=0.1, training_wheels=TRAINING_WHEEL_LEAN)
    plant = free(benchmark_bicycle, 1.0, x0=REST, surface="floor", surroundings=around)
    ride(plant, 400)
    assert 0.0 <= plant.v < 1e-3


def test_every_release_coasts_from_the_speed_given(benchmark_bicycle):
    around = Surroundings(coasting=True, rolling=0.1)
    plant = Plant(benchmark_bicycle, Scenario(surface="floor", release_after=0.0), surroundings=around)
    for _ in range(2):
        ride(plant, 100)
        assert plant.v == pytest.approx(5.0 - 0.1 * 9.81 * 0.5, rel=0.03)
        ride(plant, 110, enabled=False)
        assert plant.v == 5.0


# Wind and knocks ---------------------------------------------------------------------------------------------


def test_a_steady_wind_is_leant_against(benchmark_bicycle):
    """At a stable speed it settles where K q = f."""
    b, v = benchmark_bicycle, 5.0
    plant = free(b, v, x0=REST, surroundings=Surroundings(wind=3.0, x_wind=0.5, z_wind=-0.9))
    x = ride(plant, 8000)[-1]
    _, _, K0, K2 = canonical_matrices(b)
    torques = 3.0 * np.array([0.9, 0.5 * b.c * np.cos(b.lam) / b.w])
    np.testing.assert_allclose(x[:2], np.linalg.solve(b.g * K0 + v**2 * K2, torques), rtol=1e-4)
    np.testing.assert_allclose(x[2:], 0.0, atol=1e-5)


def test_gusts_have_the_strength_and_memory_asked_for(benchmark_bicycle):
    around = Surroundings(gusts=4.0, gust_time=0.05, wind=1.0)
    plant = Plant(benchmark_bicycle, Scenario(seed=5), surroundings=around)
    gust = []
    for _ in range(40_000):
        plant.advance(0.0, False, DT)
        gust.append(plant.s["gust"][0])
    gust = np.array(gust)
    assert gust.std() == pytest.approx(4.0, rel=0.05)
    assert abs(gust.mean()) < 0.4
    for n in (1, 5, 10):
        assert np.corrcoef(gust[n:], gust[:-n])[0, 1] == pytest.approx(np.exp(-n * DT / 0.05), abs=0.03)


def test_gusts_repeat_with_the_seed_and_disturb_no_other_noise(benchmark_bicycle):
    def run(seed, gusts=2.0):
        return ride(free(benchmark_bicycle, x0=REST, seed=seed, surroundings=Surroundings(gusts=gusts)), 50)

    np.testing.assert_array_equal(run(1), run(1))
    assert np.any(run(1) != run(2))
    calm, windy = (Plant(benchmark_bicycle, surroundings=Surroundings(gusts=gusts)) for gusts in (0.0, 3.0))
    for _ in range(20):
        calm.advance(0.0, False, DT)
        windy.advance(0.0, False, DT)
        assert calm.read() == windy.read()  # held, so the wind does not move it


def test_a_knock_turns_the_handlebar(benchmark_bicycle):
    """A short one leaves the rates M^-1 (0, twist)."""
    plant = free(benchmark_bicycle, x0=REST, kicks=(Knock(0.0, 0.3, 1e-6),))
    plant.advance(0.0, True, 1e-6)
    expected = np.linalg.solve(canonical_matrices(benchmark_bicycle).M, [0.0, 0.3])
    np.testing.assert_allclose(plant.state[2:], expected, rtol=1e-4)


def test_a_knock_and_a_kick_come_in_turn(benchmark_bicycle):
    pushes = (Kick(0.1, 2.0), Knock(0.3, -0.2), Kick(0.5, -1.0))
    together = ride(free(benchmark_bicycle, x0=REST, kicks=pushes), 150)
    alone = sum(ride(free(benchmark_bicycle, x0=REST, kicks=(push,)), 150) for push in pushes)
    np.testing.assert_allclose(together, alone, rtol=0, atol=1e-9)


# A mass out of place ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("frame", [True, False])
def test_an_offset_weight_makes_the_torques_of_its_height(benchmark_bicycle, frame):
    """Against the height of the point itself, turned about the steer axis and about the line of contacts."""
    b, y = benchmark_bicycle, 0.03
    record = Plant(b, surroundings=Surroundings(**{"frame_offset" if frame else "handlebar_offset": y})).p[0]

    def depth(phi, delta):
        axis = np.array([np.sin(b.lam), 0.0, np.cos(b.lam)])
        side = np.array([0.0, y, 0.0])
        if not frame:
            side = Rotation.from_rotvec(delta * axis).apply(side)
        return Rotation.from_rotvec([phi, 0.0, 0.0]).apply(side)[2]

    weight, h = (b.mB if frame else b.mH) * b.g, 1e-6
    for phi, delta in ((0.0, 0.0), (0.3, -0.2), (-0.1, 0.7)):
        lean, steer = weight_out_of_place(record["surroundings"], phi, delta, np.sin(b.lam))
        assert lean == pytest.approx(weight * (depth(phi + h, delta) - depth(phi - h, delta)) / (2 * h), abs=1e-6)
        assert steer == pytest.approx(weight * (depth(phi, delta + h) - depth(phi, delta - h)) / (2 * h), abs=1e-6)


def test_the_bicycle_that_pulls_to_one_side(benchmark_bicycle):
    b, v = benchmark_bicycle, 5.0
    around = Surroundings(frame_offset=0.002, handlebar_offset=0.004)
    plant = free(b, v, x0=REST, surroundings=around)
    x = ride(plant, 8000)[-1]
    _, _, K0, K2 = canonical_matrices(b)
    moments = b.g * np.array([b.mB * 0.002 + b.mH * 0.004, b.mH * 0.004 * np.sin(b.lam)])
    np.testing.assert_allclose(x[:2], np.linalg.solve(b.g * K0 + v**2 * K2, moments), rtol=1e-4)
    assert abs(plant.psi) > 0.5  # round and round
    assert abs(x[PHI_DOT]) < 1e-5


# What is refused ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"rolling": -0.1}, "rolling must be zero or more"),
        ({"drag_area": np.nan}, "found nan m\\^2"),
        ({"gusts": -1.0}, "found -1.0 N"),
        ({"grip": 0.0}, "dry asphalt has 0.8"),
        ({"gust_time": 0.0}, "gust_time must be positive"),
        ({"wind": np.inf}, "wind must be a finite number"),
        ({"frame_offset": np.nan}, "frame_offset"),
        ({"belt_width": 0.0}, "leave it out for an endless belt"),
        ({"training_wheels": 30.0}, r"found 1.72e\+03 deg \(30 rad\); Python wants rad"),
        ({"training_wheels": 0.0}, "between 0 and 45 deg"),
        ({"steer_stops": 1.2}, "between 0 and 60 deg"),
    ],
)
def test_surroundings_refuse_nonsense(fields, words):
    with pytest.raises(InputError, match=words):
        Surroundings(**fields)


def test_a_belt_has_a_treadmill_and_coasting_a_floor(benchmark_bicycle):
    with pytest.raises(InputError, match="belongs to a treadmill"):
        free(benchmark_bicycle, surface="floor", surroundings=Surroundings(belt_width=0.8))
    with pytest.raises(InputError, match="a belt or a profile keeps the speed"):
        free(benchmark_bicycle, surroundings=Surroundings(coasting=True))
    with pytest.raises(InputError, match="2 corners"):
        free(
            benchmark_bicycle,
            speed=((0.0, 5.0), (1.0, 4.0)),
            surface="floor",
            surroundings=Surroundings(coasting=True),
        )


def test_the_name_of_a_bicycle_makes_no_plant():
    with pytest.raises(InputError, match=r"^wanted a Bicycle, found 'Silver': get one with load_bicycle$"):
        Plant("Silver", Scenario(speed=((0.0, 5.0),)))


def test_knocks_refuse_nonsense():
    with pytest.raises(InputError, match="a knock must begin"):
        Knock(-1.0, 0.1)
    with pytest.raises(InputError, match=r"^a knock wants finite numbers, found twist = nan; correct it$"):
        Knock(1.0, np.nan)
    with pytest.raises(InputError, match=r"^a kick wants finite numbers, found t = '0.6'; correct it$"):
        Kick("0.6", 4.0)


def test_the_default_surroundings_are_none(benchmark_bicycle):
    np.testing.assert_array_equal(
        ride(free(benchmark_bicycle, x0=X0), 50),
        ride(free(benchmark_bicycle, x0=X0, surroundings=Surroundings(x_wind=9.0, z_wind=-9.0, gust_time=9.0)), 50),
    )
