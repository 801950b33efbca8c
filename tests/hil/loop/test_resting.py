"""Power-up in the loop: sensors that no machine at rest can have are refused, hands, belts and floors are not."""

import math

import numpy as np
import pytest

from riderless.hil.loop.limits import Limits
from riderless.hil.loop.resting import describe_rest
from riderless.hil.loop.states import Cause, Demand, State
from riderless.hil.loop.tick_record import TICK
from riderless.hil.loop.wire_tape import new_tape
from riderless.hil.runners import lockstep
from riderless.hil.runners.assembly import new_loop
from riderless.hil.runners.emulation import emulated_node
from riderless.models.coordinates import DELTA, DELTA_DOT, PHI, PHI_DOT
from riderless.models.plant.plant import Instruments, Plant, Scenario, SteerDrive
from riderless.models.plant.sensors import READINGS
from tests.hil.machine import gains, rig_of

DT = 0.005  # s
PATIENCE = 3.0  # s after which a healthy machine is armed, though a hand may not be steady at once
G = 9.81
A_Y = READINGS.names.index("a_y")
GRID = tuple(np.arange(2.0, 9.1).tolist())  # m/s


def power_up(name="Silver", v=5.0, seed=1, hand=None, seconds=2.2, designed=(GRID, "lqr"), **instruments):
    """Rows of a start with demand RUN; ``hand(t)`` gives lean, its rate, steer, its rate, lean acceleration."""
    rig = rig_of(name)
    plant = Plant(
        rig.bicycle,
        Scenario(speed=((0.0, v),), seed=seed, release_after=10.0),
        SteerDrive(lag=rig.drive_lag),
        Instruments(**{"x_imu": rig.x_imu, "z_imu": rig.z_imu} | instruments),
    )
    speeds, method = designed
    loop = new_loop(rig, gains(rig, method, speeds), rig.calibrated().as_record())
    loop.orders["demand"] = Demand.ARM
    bench, rows = lockstep.new_bench(plant, emulated_node(rig)), np.zeros(round(seconds / DT), TICK)
    level = float(bench.p["instruments"]["bias"][0, A_Y])
    tape, diary = new_tape(1, 50), lockstep.new_diary(0)
    for part in np.split(rows, range(1 if hand else 50, len(rows), 1 if hand else 50)):
        if hand:
            *motion, phi_ddot = hand(bench.k[0] * DT)
            bench.s["x"][0, [PHI, PHI_DOT, DELTA, DELTA_DOT]] = motion
            bench.p["instruments"]["bias"][0, A_Y] = level - rig.z_imu * phi_ddot  # the plant knows no hand
        lockstep.run_ticks(loop, bench, 24.0, DT, part, tape, diary)
        if hand and part["state"][-1] == State.ARMED:
            return rows[: int(bench.k[0])]
    return rows


def armed(rows):
    return bool((rows["state"] == State.ARMED).any())


def bias(axis, size):
    return tuple(size if i == axis else 0.0 for i in range(3))


SICK = {
    **{
        f"gyro {'xyz'[i]} {size:+g} rad/s": ({"gyro_bias": bias(i, size)}, Cause.CHECK_GYRO)
        for i in range(3)
        for size in (3.0, -3.0, 0.4, -0.4)
    },
    "upside down": ({"accel_bias": (0.0, 0.0, 2 * G)}, Cause.CHECK_MOUNTING),
    "upside down, gyros biased": ({"accel_bias": (0.0, 0.0, 2 * G), "gyro_bias": (0.0, 0.0, 1.0)}, Cause.CHECK_GYRO),
    "on its right side": ({"accel_bias": (0.0, G, G)}, Cause.CHECK_MOUNTING),
    "on its left side": ({"accel_bias": (0.0, -G, G)}, Cause.CHECK_MOUNTING),
    "on its nose": ({"accel_bias": (G, 0.0, G)}, Cause.CHECK_MOUNTING),
    "on its tail": ({"accel_bias": (-G, 0.0, G)}, Cause.CHECK_MOUNTING),
    "forward axis 4 m/s^2 off": ({"accel_bias": (4.0, 0.0, 0.0)}, Cause.CHECK_MOUNTING),
    "forward axis -4 m/s^2 off": ({"accel_bias": (-4.0, 0.0, 0.0)}, Cause.CHECK_MOUNTING),
    "lateral axis 4 m/s^2 off": ({"accel_bias": (0.0, 4.0, 0.0)}, Cause.CHECK_MOUNTING),
    "lateral axis -4 m/s^2 off": ({"accel_bias": (0.0, -4.0, 0.0)}, Cause.CHECK_MOUNTING),
    "vertical axis reads nothing": ({"accel_bias": (0.0, 0.0, G)}, Cause.CHECK_GRAVITY),
    "half the scale": ({"accel_bias": (0.0, 0.0, 0.5 * G)}, Cause.CHECK_GRAVITY),
    "twice the scale": ({"accel_bias": (0.0, 0.0, -G)}, Cause.CHECK_GRAVITY),
}  # fmt: skip


@pytest.mark.parametrize("noise", [1.0, 10.0])
@pytest.mark.parametrize(("instruments", "cause"), SICK.values(), ids=SICK.keys())
def test_what_no_machine_at_rest_shows_is_never_armed_and_named(instruments, cause, noise):
    rows = power_up(seconds=11.5, gyro_noise=0.003 * noise, accel_noise=0.03 * noise, **instruments)
    assert set(rows["state"]) == {State.CHECK, State.DISARMED}
    if cause is not Cause.CHECK_GYRO and "accel_bias" in instruments and instruments["accel_bias"][1]:
        assert rows["cause"][-1] in (cause, Cause.CHECK_UPRIGHT, Cause.LEAN_LIMIT), "lean is made of it"
    else:
        assert Cause(int(rows["cause"][-1])) is cause
    assert not rows["T_cmd"].any()


def test_a_lateral_axis_that_leans_it_is_not_armed():
    for size in (-1.5, 1.5):
        rows = power_up(seconds=4.0, accel_bias=(0.0, size, 0.0))
        assert not armed(rows)


HEALTHY: dict[str, dict] = {
    "as ever": {},
    "ten times the noise": {"gyro_noise": 0.03, "accel_noise": 0.3, "wheel_noise": 0.2},
    "offsets of a poor gyro": {"gyro_bias": (0.3, -0.3, 0.3)},
    "offsets of a poor accelerometer": {"accel_bias": (0.7, 0.5, -0.9)},
    "floor down by 2 deg": {"accel_bias": (-0.34, 0.0, 0.0)},
    "slow belt": {"v": 2.0},
    "fast belt": {"v": 9.0},
}


@pytest.mark.parametrize("about", HEALTHY.values(), ids=HEALTHY.keys())
def test_what_a_healthy_machine_shows_is_armed_at_once(about):
    rows = power_up(**about)
    assert armed(rows)
    assert not rows["symptoms"].any()


def hand_of(rng, v):
    """Hand that holds a bicycle on a belt: sway of 1.4 deg, tremor, up to 1 deg of steer or 5 cm of way aside."""
    slow, quick, turn = 2 * math.pi * rng.uniform([0.2, 2.0, 0.3], [0.8, 6.0, 1.0])
    sway, tremor = rng.uniform(0.0, 0.025), rng.uniform(0.0, 0.003)
    steering = rng.uniform(0.0, min(0.017, 0.05 * turn**2 / v**2))
    a, b, c = rng.uniform(0.0, 2 * math.pi, 3)

    def hand(t):
        return (
            sway * math.sin(slow * t + a) + tremor * math.sin(quick * t + b),
            slow * sway * math.cos(slow * t + a) + quick * tremor * math.cos(quick * t + b),
            steering * math.sin(turn * t + c),
            turn * steering * math.cos(turn * t + c),
            -(slow**2) * sway * math.sin(slow * t + a) - quick**2 * tremor * math.sin(quick * t + b),
        )

    return hand


def healthy_start(rng, names):
    """One start of a machine in a person's hands, everything about it drawn."""
    noise, slope = 10.0 ** rng.uniform(0.0, 1.0), G * math.sin(math.radians(rng.uniform(-2.0, 2.0)))
    v = float(rng.uniform(2.0, 9.0))
    return power_up(
        names[rng.integers(len(names))],
        v,
        int(rng.integers(2**31)),
        hand_of(rng, v),
        PATIENCE,
        gyro_noise=0.003 * noise,
        accel_noise=0.03 * noise,
        wheel_noise=0.02 * noise,
        gyro_bias=tuple(rng.uniform(-0.1, 0.1, 3)),
        accel_bias=(slope + rng.uniform(-0.2, 0.2), *rng.uniform(-0.2, 0.2, 2)),
    )


# The limits were chosen on Silver and Benchmark with seeds below 100; these are others.
STRANGERS = ("Browser", "Rigid", "Pista", "Fisher", "Yellow", "Crescendo")


def test_a_person_who_holds_it_on_a_belt_is_never_in_the_way():
    rng = np.random.default_rng(20_260)
    for _ in range(20):
        assert armed(healthy_start(rng, STRANGERS))


@pytest.mark.slow
def test_a_thousand_healthy_starts_are_armed():
    rng = np.random.default_rng(4711)
    for _ in range(1000):
        rows = healthy_start(rng, STRANGERS)
        assert armed(rows)
        assert not rows["symptoms"].any()


def test_a_blow_at_the_start_is_waited_for_and_then_it_is_armed():
    def thrown(t):
        if t >= 0.4:
            return 0.0, 0.0, 0.0, 0.0, 0.0
        w = 2.0 * math.pi / 0.4  # rad/s
        return 0.04 * (1.0 - math.cos(w * t)), 0.04 * w * math.sin(w * t), 0.0, 0.0, 0.04 * w**2 * math.cos(w * t)

    assert armed(power_up(hand=thrown, seconds=6.0))


@pytest.mark.parametrize(
    ("rates", "forces", "cause", "told"),
    [
        ((0.0, 3.0, 0.1), (0.0, 0.0, -G), Cause.CHECK_GYRO, ("pitch gyro", "+3.00 rad/s", "within 0.35 rad/s")),
        ((0.0, 0.0, 0.0), (0.0, 0.0, -2 * G), Cause.CHECK_GRAVITY, ("19.6 m/s^2", "wanted 9.8", "scale")),
        ((0.0, 0.0, 0.0), (0.0, 0.0, G), Cause.CHECK_MOUNTING, ("180 deg", "upside down", "(0, 0, -9.8)")),
        ((0.0, 0.0, 0.0), (0.0, G, 0.0), Cause.CHECK_MOUNTING, ("90 deg", "on its side", "+9.8")),
        ((0.0, 0.0, 0.0), (4.0, 0.0, -9.0), Cause.CHECK_MOUNTING, ("24 deg", "mounted otherwise")),
    ],
)
def test_the_reading_is_named_with_what_it_should_be_and_the_probable_cause(rates, forces, cause, told):
    found = describe_rest(Limits(), G, np.array(rates), np.array(forces))
    assert list(found) == [cause]
    for words in told:
        assert words in found[cause]


def test_nothing_is_said_of_a_machine_at_rest():
    assert describe_rest(Limits(), G, np.array((0.02, 0.0, -0.3)), np.array((0.3, 0.1, -9.7))) == {}


@pytest.mark.parametrize(
    ("of", "method", "v", "wanted"),
    [
        ((9.0,), "lqr", 3.0, False),
        ((9.0,), "lqr", 8.6, True),
        ((3.0, 4.0), "lqr", 4.6, False),
        ((9.0,), "off", 3.0, True),
    ],
)
def test_gains_of_other_speeds_are_not_armed(of, method, v, wanted):
    rows = power_up(v=v, designed=(of, method), seconds=11.5)
    assert armed(rows) is wanted
    assert wanted or Cause(int(rows["cause"][-1])) is Cause.CHECK_GAINS
