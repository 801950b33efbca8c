"""The steps of a calibration on made-up rows: what they wait for, what they refuse, what they note."""

import math
from dataclasses import replace

import numpy as np
import pytest

from riderless.firmware_interface.devices.driver import Introduction
from riderless.hil.commissioning import calibration_steps as steps
from riderless.hil.commissioning.calibration_results import Notes
from riderless.hil.loop.states import Cause, Demand, State
from riderless.hil.rig.file import read_rig
from riderless.models.errors import InputError
from tests.hil.commissioning.held import rows_of
from tests.hil.commissioning.test_sensor_calibration import leant, mounted
from tests.hil.machine import rig_of
from tests.paths import DOCS

RIGS = DOCS / "rigs"


def begin(rig, *parts, rollout=5.0):
    """Notes, and the steps of the first phase by name."""
    notes = Notes(rig)
    phase = next(steps.calibration_phases(notes, parts, rollout))
    return notes, {step.name: step for step in phase.steps}


def rig():
    return rig_of("Benchmark")


def rows(n=1200, seed=1, truth=None, **posture):
    cal = rig().calibrated()
    return rows_of(n, truth or cal, cal, np.random.default_rng(seed), **posture)


def test_parts_come_in_their_order_and_only_those_asked_for():
    _, sensors = begin(rig(), "wheel", "gyro", "steer", "mounting", "drive")
    names = ["gyro", "upright", "lean", "straight", "right stop", "left stop", "first mark", "roll-out"]
    assert list(sensors) == names
    assert all(step.demand is Demand.OFF for step in sensors.values())
    phases = list(steps.calibration_phases(Notes(rig()), ["drive"], math.inf))
    assert [[step.name for step in phase.steps] for phase in phases] == [["direction"], ["sweep"]]
    assert all(step.waits and step.lets_go for phase in phases for step in phase.steps)
    assert [
        len(list(steps.calibration_phases(Notes(rig()), parts, 5.0)))
        for parts in (["gyro"], [], list(steps.CALIBRATION_PARTS))
    ] == [
        1,
        0,
        3,
    ]


def test_a_sensor_that_sits_otherwise_is_noted():
    truth = mounted(94.0, -3.0, 5.0, gyro_offset=(0.02, -0.03, 0.01))
    notes, look = begin(rig(), "gyro", "mounting")
    upright, way, leaning = leant(truth, rig().calibrated(), 1)
    assert look["gyro"].look(rows(truth=truth), False).good
    assert look["upright"].look(upright, False).good
    path = np.concatenate([way, leaning])
    path["t"] = np.arange(len(path)) / 200.0
    found = look["lean"].look(path, False)
    assert found.good, found.sentence
    assert "leant by 20.1 deg, by gyro 20" in found.sentence
    assert {key for _, key in notes.changes} == {"gyro_offset", "mounting"}
    calibrated = notes.rig.calibrated()
    assert np.abs(np.subtract(calibrated.gyro_offset, truth.gyro_offset)).max() < 5e-4
    assert np.abs(np.subtract(calibrated.mounting, truth.mounting)).max() < 5e-3
    assert rig().calibration == {}, "the rig that was given is as it was"


@pytest.mark.parametrize("way_round", [1.0, -1.0])
def test_a_lean_to_the_left_is_asked_about(way_round):
    notes, look = begin(rig(), "mounting")
    upright, way, leaning = leant(rig().calibrated(), rig().calibrated(), 1, lean=0.35 * way_round)
    path = np.concatenate([way, leaning])
    path["t"] = np.arange(len(path)) / 200.0
    look["upright"].look(upright, False)
    found = look["lean"].look(path, False)
    assert found.good
    assert ("was it leant to the right?" in found.sentence) == (way_round < 0.0)
    assert bool(notes.changes) == (way_round < 0.0)


def test_gyros_whose_axes_are_not_the_accelerometers_are_refused():
    notes, look = begin(rig(), "mounting")
    upright, way, leaning = leant(rig().calibrated(), rig().calibrated(), 1)
    path = np.concatenate([way, leaning])
    path["t"] = np.arange(len(path)) / 200.0
    path["phi_dot_meas"] *= -1.0
    look["upright"].look(upright, False)
    found = look["lean"].look(path, False)
    assert not found.good
    assert "they must agree" in found.sentence
    assert not notes.changes


def test_what_cannot_be_is_refused_and_not_noted():
    notes, look = begin(rig(), "gyro", "mounting", "steer", "wheel")
    broken = rows()
    broken["theta_dot_meas"] += 0.5
    wrong = rows()
    wrong["a_z_meas"] *= 0.9
    rolled = rows(2000, wheel=4.0 * np.r_[np.ones(1400), np.zeros(600)])
    cases = {
        "gyro": (broken, "is the sensor broken"),
        "upright": (wrong, "scale or offsets are wrong"),
        "lean": (rows(), "it was not held upright before|no lean"),
        "right stop": (rows(), "not held straight before"),
        "left stop": (rows(), "must be known before"),
        "roll-out": (rolled, "did it stop at the mark"),
    }
    for name, (what, sentence) in cases.items():
        found = look[name].look(what, True)
        assert not found.good
        assert any(part in found.sentence for part in sentence.split("|")), found.sentence
    assert notes.changes == {}


@pytest.mark.parametrize("name", ["gyro", "upright", "lean", "straight", "right stop", "left stop", "roll-out"])
def test_steps_wait_and_then_say_what_they_waited_for(name):
    _, look = begin(rig(), "gyro", "mounting", "steer", "wheel")
    look["upright"].look(rows(), False)
    look["straight"].look(rows(), False)
    look["right stop"].look(rows(steer=0.7), False)
    shaken = rows(noise=40.0)
    shaken["delta_meas"] += 0.1 * np.sin(np.arange(len(shaken)))
    assert look[name].look(shaken, False) is None
    found = look[name].look(shaken, True)
    assert not found.good
    assert look[name].look(shaken[:0], False) is None
    assert not look[name].look(shaken[:0], True).good


def test_steer_that_counts_the_other_way_and_stops_before_the_limit():
    truth = replace(rig().calibrated(), steer_sign=-1, steer_offset=0.15)
    notes, look = begin(rig(), "steer")
    for name, steer in {"straight": 0.0, "right stop": 0.7, "left stop": -0.72}.items():
        found = look[name].look(rows(truth=truth, steer=steer), False)
        assert found.good, found.sentence
    assert "lower it below the stops" in found.sentence
    assert notes.rig.calibrated().steer_sign == -1
    assert notes.rig.calibrated().steer_offset == pytest.approx(0.15, abs=1e-4)
    assert look["left stop"].look(rows(truth=truth, steer=0.7), False) is None, "still on the right"


def test_a_roll_out_is_over_when_the_wheel_stands():
    truth = replace(rig().calibrated(), wheel_radius=0.309, wheel_sign=-1)
    rate = 4.0 * np.r_[np.ones(1400), np.zeros(600)]
    notes, look = begin(rig(), "wheel", rollout=0.309 * float(np.trapezoid(rate, dx=1 / 200)))
    rolling = rows(2000, truth=truth, wheel=rate)
    assert look["roll-out"].look(rolling[:1500], False) is None
    assert look["roll-out"].look(rolling, False).good
    assert notes.rig.calibrated().wheel_radius == pytest.approx(0.309, rel=1e-3)
    assert notes.rig.calibrated().wheel_sign == -1


def armed_rows(state, cause=Cause.NONE, steer=0.0):
    made = rows(100, steer=np.linspace(0.0, steer, 100))
    made["state"], made["cause"] = state, cause
    return made


def test_the_push_tells_the_torque_s_sign():
    for steer, sign in ((0.1, 1), (-0.1, -1)):
        notes = Notes(rig())
        (step,) = next(steps.calibration_phases(notes, ["drive"], math.inf)).steps
        assert step.look(armed_rows(State.RUNNING), False) is None
        found = step.look(armed_rows(State.RUNNING, steer=steer), False)
        assert found.good
        assert notes.rig.calibrated().torque_sign == sign
    assert not step.look(armed_rows(State.RUNNING), True).good


def test_a_drive_that_is_refused_says_why():
    for phase in steps.calibration_phases(Notes(rig()), ["drive"], math.inf):
        (step,) = phase.steps
        found = step.look(armed_rows(State.FAULT, Cause.DRIVE_WATCHDOG), False)
        assert not found.good
        assert "watchdog" in found.sentence
        waited = armed_rows(State.CHECK)
        waited["state"][-1], waited["cause"][-1] = State.DISARMED, Cause.CHECK_UPRIGHT
        assert "upright" in step.look(waited, False).sentence
        assert step.look(armed_rows(State.DISARMED, Cause.OPERATOR_OFF), False) is None, "that was before"
        assert phase.conclude() is None


def test_the_sweep_leaves_room_below_the_limit_of_torque():
    assert 0.5 < steps.sweep_torque(rig(), 0.154, None) < 1.5
    assert steps.sweep_torque(rig(), 100.0, None) == 3.5
    for torque in (0.0, 3.6, math.nan):
        with pytest.raises(InputError, match="at most half the rig's limit of 7 N m"):
            steps.sweep_torque(rig(), 0.154, torque)


@pytest.mark.parametrize("amplitude", [0.1, 1.0, 3.0])
def test_bars_on_their_spring_swing_as_far_as_they_should(amplitude):
    centring = steps.centring_of(amplitude, 0.154, rig())
    omega = math.sqrt(centring.stiffness / 0.154)
    assert 2.0 * math.pi * 0.99 < omega < 2.0 * math.pi * 2.51
    assert amplitude / centring.stiffness < 0.2
    assert centring.damping / (2.0 * omega * 0.154) == pytest.approx(0.35)


def test_only_what_differs_is_a_change():
    notes = Notes(rig())
    assert not notes.calibrate("steer_offset", 0.0015, 1e-4, "rad"), "hands do no better"
    assert not notes.calibrate("steer_offset", 0.0150, 1e-2, "rad"), "within its error"
    assert notes.calibrate("steer_offset", 0.01234567, 1.7e-4, "rad")
    assert notes.rig.calibration["steer_offset"] == 0.01235, "two digits of its error"
    assert notes.changes["calibration", "steer_offset"].old == 0.0
    assert not notes.calibrate("torque_sign", 1, 0.0, "")
    assert notes.calibrate("torque_sign", -1, 0.0, "")
    assert notes.rig.calibration["torque_sign"] == -1


def test_the_torque_constant_goes_where_the_rig_file_has_one():
    vesc = Notes(read_rig(RIGS / "vectornav-vesc.toml"))
    vesc.meet([Introduction("imu"), Introduction("drive", torque_limit=7.0), Introduction("wheel")])
    assert vesc.torque_limit == 7.0
    assert vesc.correct_torque(0.9, 0.004) is True
    assert vesc.changes["port.1.settings", "torque_constant_Nm_A"].new == 0.315
    assert vesc.rig.ports[1].settings["torque_constant_Nm_A"] == 0.315
    assert vesc.correct_torque(1.005, 0.001) is False
    assert Notes(rig()).correct_torque(0.9, 0.004) is None
