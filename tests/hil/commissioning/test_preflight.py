"""The preflight against emulated machines that are wired otherwise than their rig says; real pseudo-terminals."""

import math
import re
from dataclasses import replace
from multiprocessing import get_context

import numpy as np
import pytest

from riderless.experiments.emulation.workstand import start_by_hand
from riderless.firmware_interface.devices.registry import device
from riderless.hil.commissioning import preflight
from riderless.hil.commissioning.steps import check_armed, go_through
from riderless.hil.design.methods import design
from riderless.hil.loop.states import SENTENCES, Cause, State
from riderless.hil.loop.tick_record import TICK
from riderless.hil.rig.file import read_rig
from riderless.models.linear.prescribed_steer import InnerLoop
from riderless.models.plant.workstand import Bars
from tests.paths import DOCS

RIGS = DOCS / "rigs"
FIFO = 20  # where it is permitted: other tests keep the processors busy
EXAMPLES = ("node", "vectornav-vesc", "vectornav-odrive")
SENSORS = 7  # of the steps, before the drive is switched on


def findings(rig, push=True, sensors=True, bars=None, machine=None, **truth):
    """Verdicts by name of a check; ``truth`` is what differs from the rig's calibration, ``machine`` from its ports."""
    scales = {"gyro_lsb": 2.0**-17} if "gyro_lsb" not in truth else {}
    posture = get_context("spawn").RawArray("d", 4)
    schedule = design(rig.bicycle, "off", (5.0,), rig.timing)

    def tell(step, finding):
        if finding is None:
            posture[:] = step.posture

    def steps(agreed, devices):
        made = preflight.preflight_steps(agreed, devices)[0 if sensors else SENSORS :]
        return made + ([preflight.push_step(agreed)] if push else [])

    real = rig.calibrated(**{**scales, **truth}) if truth else None
    with start_by_hand(machine or rig, posture, bars, real, fifo=FIFO) as twin:
        procedure = go_through(
            rig, twin.paths, schedule, steps, tell, excitation=preflight.preflight_push(rig.drive_kind), fifo=FIFO
        )
    return {step.name: finding for step, finding in procedure.findings}, procedure.outcome()


def bad(found):
    return [name for name, finding in found.items() if not finding.good]


# The other two are gone through, but for what is wrong on purpose, by the tests below.
ONE_BEFORE_ALL = ("node", *(pytest.param(name, marks=pytest.mark.slow) for name in EXAMPLES[1:]))


@pytest.mark.realtime
@pytest.mark.parametrize("name", ONE_BEFORE_ALL)
def test_example_rigs_are_in_order(name):
    found, outcome = findings(read_rig(RIGS / f"{name}.toml"))
    assert bad(found) == [], found
    assert len(found) == 9
    assert outcome.reason == "success"


@pytest.mark.realtime
@pytest.mark.parametrize(
    "drive",
    [InnerLoop(kind="rate", bandwidth=50.0, damping=1.0), InnerLoop(kind="angle", bandwidth=60.0, damping=1.0)],
    ids=["rate", "angle"],
)
def test_a_steer_drive_is_pushed_gently_in_its_own_unit(drive):
    rig = replace(read_rig(RIGS / "node.toml"), drive=drive)
    found, outcome = findings(rig, sensors=False)
    assert bad(found) == [], found
    assert len(found) == 2
    assert outcome.reason == "success"
    turned = float(re.search(r"turned \+([0-9.]+) deg", found["drive's direction"].sentence)[1])
    assert 1.5 < turned < 8.0


@pytest.mark.realtime
def test_signs_and_mounting_that_are_wrong_are_found():
    turned = ((-1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, 1.0))  # the box sits backwards
    rig = read_rig(RIGS / "node.toml")
    found, outcome = findings(rig, push=False, mounting=turned, steer_sign=-1, wheel_sign=-1)
    assert bad(found) == ["lean", "steer right", "steer left", "wheel"]
    assert "point backwards" in found["lean"].sentence
    assert "steer_sign" in found["steer right"].sentence
    assert "wheel_sign" in found["wheel"].sentence
    assert outcome.cause == "not in order: lean, steer right, steer left, wheel"


@pytest.mark.realtime
def test_a_drive_that_steers_into_the_fall_is_found():
    found, _ = findings(read_rig(RIGS / "vectornav-vesc.toml"), sensors=False, torque_sign=-1)
    assert bad(found) == ["drive's direction"]
    assert "torque_sign" in found["drive's direction"].sentence


@pytest.mark.realtime
def test_offsets_tilt_and_an_early_stop_are_found():
    c, s = math.cos(0.15), math.sin(0.15)
    rig = read_rig(RIGS / "vectornav-odrive.toml")
    impatient = replace(rig.limits, check_timeout=replace(rig.limits.check_timeout, value=2.5))
    found, _ = findings(
        replace(rig, limits=impatient),
        push=False,
        bars=Bars(stop=0.5),
        mounting=((1.0, 0.0, 0.0), (0.0, c, -s), (0.0, s, c)),
        steer_offset=0.0,
    )
    assert bad(found) == ["at rest", "steer right", "steer left", "drive and watchdog"], (
        "which asks for an upright frame"
    )
    assert "mounted otherwise" in found["at rest"].sentence
    assert "before the limit" in found["steer right"].sentence


@pytest.mark.realtime
@pytest.mark.parametrize(
    ("mm_per_unit", "says"),
    [
        (1.0, r"moved \+0.(19|20) m"),
        (-1.0, r"moved -0.(19|20) m.*to the right must be positive"),
        (2.0, "correct the scale"),
    ],
)
def test_a_push_to_the_side_shows_sign_and_scale_of_the_sensor_of_place(mm_per_unit, says):
    rig = read_rig(RIGS / "lane.toml")
    sensor = replace(rig.ports[1], settings={**rig.ports[1].settings, "mm_per_unit": mm_per_unit})
    found, _ = findings(rig, push=False, machine=replace(rig, ports=(rig.ports[0], sensor)))
    assert bad(found) == ([] if mm_per_unit == 1.0 else ["place by hand"]), found
    assert re.search(says, found["place by hand"].sentence)


def test_a_place_that_drifts_while_nobody_moves_the_bicycle_is_found():
    steps = {step.name: step for step in preflight.preflight_steps(read_rig(RIGS / "lane.toml"), [])}
    for drift, good in ((0.005, True), (0.1, False)):
        finding = steps["place"].look(rows(n=600, place_age=0.01, y_meas=np.linspace(0.0, 3.0 * drift, 600)), False)
        assert finding is not None
        assert finding.good == good, finding
    assert "it drifts by +0.23 m" in finding.sentence


def test_a_place_that_is_not_pushed_is_waited_for():
    still = rows(y_est=0.01)
    assert preflight.check_place_push(still, False) is None
    finding = preflight.check_place_push(still, True)
    assert finding is not None
    assert "no push was seen" in finding.sentence


def rows(n=400, rate=200.0, **columns):
    made = np.zeros(n, TICK)
    made["t"] = made["t_host"] = np.arange(n) / rate
    made["k"], made["valid"] = np.arange(n), 1
    made["a_z_meas"] = -9.81
    for name, value in columns.items():
        made[name] = value
    return made


def test_looks_wait_until_there_is_something_to_see():
    still = rows()
    assert preflight.check_lean(still, False) is None
    assert preflight.check_wheel(still, False) is None
    assert preflight.check_push(still, False) is None
    for look in (preflight.check_lean, preflight.check_wheel, preflight.check_push):
        finding = look(still, True)
        assert finding is not None
        assert not finding.good


def test_gyro_and_gravity_must_agree_on_a_lean():
    ramp = np.r_[np.zeros(50), np.full(100, 0.4), np.zeros(250)]  # 0.2 rad to the right
    lean = np.cumsum(ramp) / 200
    good = preflight.check_lean(rows(phi_dot_meas=ramp, a_y_meas=-9.81 * np.sin(lean)), False)
    assert good is not None
    assert good.good
    crossed = preflight.check_lean(rows(phi_dot_meas=ramp, a_y_meas=9.81 * np.sin(lean)), False)
    assert crossed is not None
    assert "they must agree" in crossed.sentence


def test_a_drive_that_is_refused_says_why():
    fault = rows(state=State.FAULT, cause=9)
    finding = preflight.check_push(fault, False)
    assert finding is not None
    assert "watchdog" in finding.sentence


def test_a_check_that_is_given_up_is_told_at_once():
    checked = np.full(400, State.DISARMED)
    assert check_armed(rows(state=checked), False) is None, "it has not begun"
    checked[100:300] = State.CHECK
    assert check_armed(rows(state=checked)[:300], False) is None
    finding = check_armed(rows(state=checked, cause=Cause.CHECK_UPRIGHT), False)
    assert finding is not None
    assert finding.sentence == SENTENCES[Cause.CHECK_UPRIGHT]


def test_every_device_can_be_introduced_by_its_registry_name():
    for name in EXAMPLES:
        rig = read_rig(RIGS / f"{name}.toml")
        assert all(device(port.device).carries & port.role == port.role for port in rig.ports)


@pytest.mark.parametrize(
    ("readings", "told"),
    [
        ({"psi_dot_meas": 3.0}, "the yaw gyro reads +3.00 rad/s at rest, wanted within 0.35 rad/s"),
        ({"a_z_meas": 9.81}, "it is upside down, or its z axis has the wrong sign"),
        ({"a_z_meas": -19.6}, "the accelerometer reads 19.6 m/s^2 at rest, wanted 9.8"),
    ],
)
def test_what_a_run_would_not_be_armed_with_is_said_in_the_same_words(readings, told):
    steps = {step.name: step for step in preflight.preflight_steps(read_rig(RIGS / "node.toml"), [])}
    finding = steps["at rest"].look(rows(**readings), False)
    assert finding is not None
    assert not finding.good
    assert told in finding.sentence
