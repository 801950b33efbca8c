"""What a run waits for before it is armed is said in words, with figures and what to do."""

import math

import numpy as np
import pytest

from riderless.experiments.emulation.workstand import start_twin
from riderless.experiments.terminal.obstacles import ADVICE, beyond_gains, obstacles
from riderless.firmware_interface.messages import FAULT_ENCODER, FAULT_GUARD_LEAN, STATUS_FOREIGN, STATUS_STOP_BUTTON
from riderless.hil.design.methods import design
from riderless.hil.loop.states import Symptom
from riderless.hil.loop.tick_record import TICK
from riderless.hil.loop.transitions import EVENT_INDEX, OBSTACLES, RULES, Stage
from riderless.hil.rig.rig import Rig
from riderless.models import catalogue
from riderless.models.plant.plant import Scenario
from tests.experiments.commands.test_run_keys import terminal

RIG = Rig(catalogue.load_bicycle("Benchmark"))
UNSEEN = {"saturated", "ticks late", "unattended"}  # pile up over time, or need torque: only their cause tells
OF_GAINS = {"speed of other gains"}  # is seen by who knows the gains


def row(**values):
    made = np.zeros(1, TICK)[0]
    made["v_est"], made["bus_meas"], made["recording"], made["silence"] = 5.0, 24.0, 1, 0.004
    for name, value in values.items():
        made[name] = value
    return made


SEEN = {  # event of the supervisor's table: a row that shows it, and what must be told
    "stream broken": (row(silence=math.inf), ("no sample yet", "cable")),
    "not a number": (row(phi_est=math.nan), ("not a number", "riderless monitor")),
    "stop button": (row(status=STATUS_STOP_BUTTON), ("stop button is pressed", "release it")),
    "foreign commands": (row(status=STATUS_FOREIGN), ("not this run's", "writes to its port")),
    "node's guard": (row(faults=FAULT_GUARD_LEAN), ("guard lean", "another session")),
    "device fault": (row(faults=FAULT_ENCODER), ("encoder", "switch the device off and on")),
    "lean limit": (row(phi_est=0.6), ("lean +34.4 deg", "within 5 deg", "hold it upright")),
    "steer limit": (row(delta_est=-0.9), ("steer -51.6 deg", "within 10 deg", "straight")),
    "not upright": (row(phi_est=-0.1), ("lean -5.7 deg", "within 5 deg")),
    "speed window": (row(v_est=0.1), ("0.10 m/s", "0.3 to 10 m/s", "belt")),
    "bus voltage": (row(bus_meas=18.2), ("18.2 V", "20 to 30 V", "battery")),
    "log fails": (row(recording=0), ("log could not be written", "disk")),
    "sensor stuck": (row(symptoms=Symptom.SENSOR_STUCK), ("stopped changing", "cable")),
    "sensor out of range": (row(symptoms=Symptom.SENSOR_RANGE), ("outside what the sensor", "scale")),
    "sensor jumped": (row(symptoms=Symptom.SENSOR_JUMP), ("jumped", "hold it still")),
    "sensors disagree": (row(symptoms=Symptom.SENSORS_DISAGREE), ("contradict", "riderless calibrate")),
    "drive disobeys": (row(symptoms=Symptom.DRIVE_DISOBEYS), ("torque", "riderless check")),
    "clock stepped": (row(symptoms=Symptom.CLOCK_STEP), ("clock", "off and on")),
    "device restarted": (row(symptoms=Symptom.DEVICE_RESTARTED), ("restarted", "supply")),
    "gyro at rest": (
        row(symptoms=Symptom.REST_RATE, psi_dot_meas=-3.0, a_z_meas=-9.81),
        ("yaw gyro reads -3.00 rad/s at rest", "within 0.35 rad/s", "riderless calibrate"),
    ),
    "gravity at rest": (
        row(symptoms=Symptom.REST_FORCE, a_z_meas=-19.62),
        ("19.6 m/s^2", "wanted 9.8", "scale", "settings"),
    ),
    "sensor not upright": (
        row(symptoms=Symptom.REST_TILT, a_z_meas=9.81),
        ("180 deg off upright", "upside down", "riderless calibrate"),
    ),
    "samples seldom": (row(symptoms=Symptom.RATE_LOW), ("too seldom", "rate")),
    "link noisy": (row(symptoms=Symptom.LINK_NOISY), ("broken", "baud")),
    "samples too often": (row(symptoms=Symptom.RATE_HIGH), ("too often", "rate")),
    "place lost": (row(symptoms=Symptom.PLACE_LOST), ("place", "sensor")),
    "belt edge": (row(symptoms=Symptom.BELT_EDGE), ("belt", "middle")),
    "speed drive failed": (row(symptoms=Symptom.SPEED_DRIVE), ("treadmill", "line")),
}


def test_every_obstacle_of_the_supervisor_is_seen_or_known_by_its_cause():
    assert set(SEEN) | UNSEEN | OF_GAINS == set(OBSTACLES)


@pytest.mark.parametrize("event", SEEN)
def test_an_obstacle_is_told_with_what_to_do(event):
    seen, told = SEEN[event]
    said = obstacles(seen, RIG)
    assert said
    for words in told:
        assert words in said[0]


def test_every_cause_that_ends_a_check_has_advice():
    before_running = [rule for rule in RULES if any(Stage.STREAM <= stage <= Stage.ARMED for stage in rule.goes)]
    causes = {rule.cause for rule in before_running} | {RULES[EVENT_INDEX[event]].cause for event in OBSTACLES}
    mere_wishes = {rule.cause for rule in RULES if rule.event in ("off", "stop", "go", "cleared")}
    assert causes - mere_wishes <= set(ADVICE)


def test_nothing_is_in_the_way_of_a_bicycle_that_is_held_upright():
    assert obstacles(row(), RIG) == []


def test_several_are_told_the_gravest_first():
    said = obstacles(row(status=STATUS_STOP_BUTTON, v_est=0.0, bus_meas=12.0), RIG)
    assert [one.split()[0] for one in said] == ["the", "speed", "supply"]


def test_gains_of_other_speeds_are_told_before_arming():
    gains = design(RIG.bicycle, "lqr", (8.0, 9.0))
    assert obstacles(row(v_est=7.6), RIG, gains) == []
    (said,) = obstacles(row(v_est=3.0), RIG, gains)
    assert said.startswith("speed 3.00 m/s, the gains are of 8 to 9 m/s: bring belt or wheel to those speeds")
    assert obstacles(row(v_est=3.0), RIG, design(RIG.bicycle, "off", (9.0,))) == []


def test_a_speed_beyond_the_gains_is_told():
    gains = design(RIG.bicycle, "lqr", (4.0, 5.0))
    assert "4 to 5 m/s" in beyond_gains(5.6, gains)
    assert beyond_gains(4.5, gains) == ""


@pytest.mark.realtime
def test_who_waits_is_told_what_is_in_the_way(tmp_path):
    with (
        start_twin(RIG, Scenario(speed=((0.0, 0.1),))) as twin,
        terminal("run", "--port", twin.path, "-o", str(tmp_path)) as screen,
    ):
        screen.see("then Enter arms", 120.0)
        screen.see("waits: speed 0.10 m/s, wanted 0.3 to 10 m/s: bring belt or")
        screen.press("q")
        screen.see("abort: stopped by a key")
