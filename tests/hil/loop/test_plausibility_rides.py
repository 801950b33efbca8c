"""The plausibility monitor in the loop: rides on which nothing is wrong, and instruments, drives and lines that lie."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from riderless.firmware_interface.twins.faults import Fault
from riderless.firmware_interface.twins.faults import FaultKind as Kind
from riderless.hil.loop.states import Cause, Demand, State, Symptom
from riderless.hil.loop.tick_record import TICK
from riderless.hil.loop.wire_tape import new_tape
from riderless.hil.runners import lockstep
from riderless.hil.runners.assembly import new_loop
from riderless.hil.runners.emulation import emulated_node
from riderless.models.plant.plant import Instruments, Kick, Plant, Scenario, SteerDrive, Surroundings
from riderless.models.plant.scenario import Knock
from tests.hil.machine import gains, rig_of

DT = 0.005  # s
NOTHING = Symptom.NONE


# rides on which nothing is wrong


@cache
def machine(name):
    rig = rig_of(name)
    return rig, gains(rig, speeds=(3.0, 4.0, 5.0, 6.0, 7.0, 8.0))


def ride(faults=(), name="Silver", v=5.0, kicks=1.0, model="linear", seed=1, duration=3.5, **about):
    """Rows of a ride, up to the moment at which torque is switched off; 1.0 ``kicks`` are of 0.25 rad/s."""
    rig, schedule = machine(name)
    speed = v if isinstance(v, tuple) else ((0.0, v),)
    pushes = about.pop("pushes", (Kick(0.5, 6.0 * kicks), Kick(2.0, -6.0 * kicks)))
    scenario = Scenario(speed=speed, kicks=pushes, seed=seed, surface=about.pop("surface", "treadmill"))
    instruments = Instruments(
        **{"x_imu": rig.x_imu, "z_imu": rig.z_imu, "gyro_bias": (0.01, -0.02, 0.015)} | about.pop("instruments", {})
    )
    drive = replace(about.pop("drive", SteerDrive()), lag=rig.drive_lag)
    surroundings = Surroundings(**about.pop("surroundings", {}))
    assert not about, f"nothing is known of {about}"
    plant = Plant(rig.bicycle, scenario, drive, instruments, model, surroundings)
    loop = new_loop(rig, schedule, rig.calibrated().as_record())
    loop.orders["demand"] = Demand.RUN
    bench, rows = lockstep.new_bench(plant, emulated_node(rig), faults), np.zeros(round((duration + 1.2) / DT), TICK)
    for part in np.split(rows, range(50, len(rows), 50)):
        lockstep.run_ticks(loop, bench, 24.0, DT, part, new_tape(1, 50), lockstep.new_diary(0))
    off = rows["state"] == State.FAULT
    return rows[: int(np.argmax(off)) + 1] if off.any() else rows


def noticed_in(rows):
    return Symptom(int(np.bitwise_or.reduce(rows["symptoms"])))


RIDES: dict[str, dict] = {
    "nonlinear": {"model": "nonlinear"},
    "Benchmark, nonlinear, kicked hard": {"name": "Benchmark", "model": "nonlinear", "kicks": 5.0},
    "kicked until the drive saturates": {"kicks": 4.0},
    "another bicycle": {"name": "Browser"},
    "and another": {"name": "Rigid"},
    "slow": {"v": 3.0},
    "fast": {"v": 8.0},
    "a blow of 20 ms": {"pushes": (Kick(0.5, 10.0, 0.02),)},
    "a knock on the handlebar": {"pushes": (Knock(0.5, 1.0), Knock(2.0, -1.0))},
    "belt that speeds up": {"v": ((0.0, 3.5), (3.0, 6.5))},
    "braked on the floor": {"v": ((0.0, 7.0), (0.5, 7.0), (1.5, 3.0)), "surface": "floor"},
    "gusts": {"surroundings": {"gusts": 30.0}},
    "a frame out of true": {"surroundings": {"frame_offset": 0.02}},
    "dry friction": {"drive": SteerDrive(viscous=0.2, coulomb=0.5)},
    "a drive 10 ms late": {"drive": SteerDrive(delay=0.01)},
    "play in the gears": {"drive": SteerDrive(backlash=0.02)},
    "ten times the noise": {"instruments": {"gyro_noise": 0.03, "accel_noise": 0.3, "wheel_noise": 0.2}},
    "a tenth of the noise": {"instruments": {"gyro_noise": 0.0003, "accel_noise": 0.003}},
    "gyros biased at rest": {"instruments": {"gyro_bias": (0.2, 0.2, -0.2)}},
    "an accelerometer out of level": {"instruments": {"accel_bias": (0.5, 0.5, 0.5)}},
    "an encoder 1.7 deg off": {"instruments": {"steer_bias": 0.03}},  # at 2 deg the node sees 1.5 N m on a still steer
    "an encoder that dithers": {"instruments": {"steer_noise": 0.002}},
}


@pytest.mark.parametrize("about", RIDES.values(), ids=RIDES.keys())
def test_no_false_alarm(about):
    rows = ride(**about)
    assert noticed_in(rows) == NOTHING
    assert (rows["state"] == State.RUNNING).sum() > 600, "it was a ride"


# instruments, drives and lines that lie

START = 2.3  # s: 1 s of CHECK, 0.5 s of hold, the kick at 2.0 s being answered

FOUND: dict[str, tuple[Fault, Symptom, float]] = {
    "roll gyro stuck": (Fault(Kind.STUCK, start=START, channel="phi_dot"), Symptom.SENSOR_STUCK, 0.11),
    "vertical accelerometer stuck": (Fault(Kind.STUCK, start=START, channel="a_z"), Symptom.SENSOR_STUCK, 0.11),
    "no reading": (Fault(Kind.READS, math.nan, START, channel="phi_dot"), Symptom.SENSOR_RANGE, 0.025),
    "roll gyro biased": (Fault(Kind.BIAS, 0.5, START, channel="phi_dot"), Symptom.SENSORS_DISAGREE, 0.75),
    "roll gyro leaps": (Fault(Kind.BIAS, -3.3, START, channel="phi_dot"), Symptom.SENSOR_JUMP, 0.01),
    "yaw gyro biased": (Fault(Kind.BIAS, 1.0, START, channel="psi_dot"), Symptom.SENSORS_DISAGREE, 0.01),
    "accelerometer biased": (Fault(Kind.BIAS, 5.0, START, channel="a_y"), Symptom.SENSORS_DISAGREE, 0.08),
    "encoder slips": (Fault(Kind.SLIP, -0.06, START, channel="delta"), Symptom.SENSOR_JUMP, 0.01),
    "gyro noisy": (Fault(Kind.NOISY, 0.8, START, channel="phi_dot"), Symptom.SENSORS_DISAGREE, 0.05),
    "encoder noisy": (Fault(Kind.NOISY, 0.02, START, channel="delta"), Symptom.SENSOR_JUMP, 0.05),
    "torque report biased": (Fault(Kind.BIAS, 1.8, START, channel="T"), Symptom.DRIVE_DISOBEYS, 0.08),
    "clock leaps": (Fault(Kind.CLOCK_JUMP, 0.004, START), Symptom.CLOCK_STEP, 0.01),
    "clock goes back": (Fault(Kind.CLOCK_JUMP, -1.0, START), Symptom.CLOCK_STEP, 0.01),
    "restart": (Fault(Kind.RESET, 0.02, START), Symptom.DEVICE_RESTARTED, 0.03),
    "line very noisy": (Fault(Kind.FLIP, 1.0, START, chance=0.3), Symptom.LINK_NOISY, 0.4),
}


def noticed_after(rows, start):
    """When something was first noticed since ``start``, and what."""
    hit = np.flatnonzero((rows["symptoms"] > 0) & (rows["t_host"] >= start))
    assert len(hit) > 0, "nothing was noticed"
    return float(rows["t_host"][hit[0]]) - start, Symptom(int(rows["symptoms"][hit[0]]))


@pytest.mark.parametrize("name", ["Silver", "Benchmark"])
@pytest.mark.parametrize(("fault", "symptom", "within"), FOUND.values(), ids=FOUND.keys())
def test_a_fault_is_found_in_time(fault, symptom, within, name):
    rows = ride((fault,), name, duration=2.5)
    assert noticed_in(rows[rows["t_host"] < START]) == NOTHING
    wait, noticed = noticed_after(rows, START)
    assert noticed & symptom
    assert wait <= within


def unusable(spoilt, of, channel="phi_dot", until=6.0):
    """So many readings of so many are missing, from START on."""
    times = np.arange(round((until - START) / DT / of)) * of * DT + START
    return tuple(Fault(Kind.READS, math.nan, t - 0.5 * DT, t + (spoilt - 0.5) * DT, channel=channel) for t in times)


@pytest.mark.parametrize("name", ["Silver", "Benchmark"])
@pytest.mark.parametrize(("spoilt", "of", "within"), [(1, 2, 0.3), (2, 3, 0.2), (3, 4, 0.2), (1, 4, 0.9), (1, 6, None)])
def test_readings_that_fail_now_and_then_end_a_run_as_lost_ones_do(spoilt, of, within, name):
    rows = ride(unusable(spoilt, of), name, duration=2.5)
    if within is None:
        assert noticed_in(rows) == NOTHING
        return
    if rows["cause"][-1] == Cause.NODE_GUARD:  # which integrates a gyro at the end of its scale, and may go first
        assert rows["t_host"][-1] - START <= within
        return
    wait, noticed = noticed_after(rows, START)
    assert noticed == Symptom.SENSOR_RANGE
    assert wait <= within


KICKED = 1.85  # s: shortly before the first kick
SHAKEN: dict[str, tuple[Fault, Symptom]] = {
    "drive ignores": (Fault(Kind.DRIVE_GAIN, 0.0, KICKED), Symptom.DRIVE_DISOBEYS),
    "drive reversed": (Fault(Kind.DRIVE_GAIN, -1.0, KICKED), Symptom.DRIVE_DISOBEYS),
    "torque report reversed": (Fault(Kind.SCALE, -1.0, KICKED, channel="T"), Symptom.DRIVE_DISOBEYS),
    "roll gyro reversed": (Fault(Kind.SCALE, -1.0, KICKED, channel="phi_dot"), Symptom.SENSORS_DISAGREE),
}


@pytest.mark.parametrize(("fault", "symptom"), SHAKEN.values(), ids=SHAKEN.keys())
def test_what_shows_only_in_motion_is_found_after_a_kick(fault, symptom):
    wait, noticed = noticed_after(ride((fault,), kicks=2.0, duration=3.0), KICKED)
    assert noticed == symptom
    assert wait < 1.0


BORNE: dict[str, Callable[[float], Fault]] = {
    "roll gyro biased": lambda t: Fault(Kind.BIAS, 0.1, t, channel="phi_dot"),
    "yaw gyro biased": lambda t: Fault(Kind.BIAS, 0.12, t, channel="psi_dot"),
    "accelerometer biased": lambda t: Fault(Kind.BIAS, 2.0, t, channel="a_y"),
    "encoder slips": lambda t: Fault(Kind.SLIP, 0.02, t, channel="delta"),
    "torque report biased": lambda t: Fault(Kind.BIAS, 0.6, t, channel="T"),
    "a reading scaled": lambda t: Fault(Kind.SCALE, 0.85, t, channel="phi_dot"),
    "clock wraps": lambda t: Fault(Kind.CLOCK_WRAP, start=t),
    "numbers wrap": lambda t: Fault(Kind.SEQ_WRAP, start=t),
    "one frame in a hundred broken": lambda t: Fault(Kind.FLIP, 1.0, t, chance=0.01),
    "one frame in ten lost": lambda t: Fault(Kind.DROP, start=t, chance=0.1),
    "16 ms bursts": lambda t: Fault(Kind.BURST, 0.016, t),
    "frames doubled": lambda t: Fault(Kind.DUPLICATE, start=t, chance=0.3),
    "frames out of order": lambda t: Fault(Kind.REORDER, start=t, chance=0.1),
}


@pytest.mark.parametrize("make", BORNE.values(), ids=BORNE.keys())
def test_what_is_well_below_its_limit_is_borne(make):
    rows = ride((make(START),))
    assert noticed_in(rows) == NOTHING
    assert rows["state"][-1] == State.RUNNING
