"""What the tick does between its parts: each is asked when it should be, and what it answers is used."""

import math

import numpy as np
import pytest

from riderless.firmware_interface.devices.link import (
    ROLE_DRIVE,
    ROLE_IMU,
    ROLE_PLACE,
    ROLE_SENSORS,
    ROLE_SPEED,
    ROLE_STEER,
    ROLE_WHEEL,
)
from riderless.firmware_interface.devices.speed.speed_memory import SPEED_SAY, SPEED_SAY_RUN, SPEED_SAY_SPEED
from riderless.firmware_interface.messages import (
    COMMAND_KIND_RATE,
    COMMAND_KIND_TORQUE,
    FAULT_BUS,
    FAULT_DRIVE,
    FAULT_ENCODER,
    FAULT_IMU,
    STATUS_ENABLED,
    STATUS_STOP_BUTTON,
)
from riderless.hil.loop.excitation import Excitation
from riderless.hil.loop.states import State, Symptom, Verdict
from riderless.hil.loop.tick import farewell
from tests.hil.loop.scripted import DT, Scripted


def in_state(state, **made):
    """A scripted loop that is in this state at the next tick."""
    s = Scripted(**made)
    s.tick()
    return s.into(state)


# what is heard


@pytest.mark.parametrize("role", [ROLE_PLACE, ROLE_SPEED])
def test_a_device_at_its_own_pace_is_not_the_loops_to_judge(role):
    s = Scripted(roles=(ROLE_SENSORS, ROLE_DRIVE, role))
    s.ticks(5)
    assert s.loop.links["receiver"]["frames_ok"][2] == 5  # it is heard
    assert s.ticks(40, came=(1, 1, 0))["silence"] == pytest.approx(0.0, abs=1e-9)
    s.tick(broken=(2, 0))
    assert s.loop.news["clean"] == 1
    s.tick(lost=2)
    assert s.loop.news["clean"] == 1


@pytest.mark.parametrize("kind", range(3))
def test_one_broken_frame_in_each_sample_is_more_than_a_line_may_have(kind):
    s = Scripted()
    seen = 0
    for _ in range(800):
        seen |= int(s.tick(broken=(0, kind))["symptoms"])
    assert seen & Symptom.LINK_NOISY


@pytest.mark.parametrize(("ahead", "strange"), [(-1, 0), (0, 0), (1, 1), (0x7FFF, 1), (0x8000, 0)])
def test_an_answer_to_a_command_that_was_never_sent_is_strange(ahead, strange):
    """Ahead by less than half of all numbers; beyond, it is behind."""
    s = Scripted()
    s.loop.pulse["seq"] = 100
    s.raw(1)["command_seq"] = (100 + ahead) & 0xFFFF
    s.tick(answered=False)
    assert s.loop.news["strange"] == strange


def test_every_tick_without_a_new_sample_is_counted():
    s = Scripted()
    assert s.tick()["samples_stale"] == 0
    assert s.ticks(3, came=(0, 1))["samples_stale"] == 3


def test_the_drives_readings_are_those_of_the_port_that_carries_it():
    s = Scripted(roles=(ROLE_DRIVE, ROLE_SENSORS))
    s.raw(0)["torque_mNm"], s.raw(1)["torque_mNm"] = 1234, 77
    assert s.tick()["T_meas"] == pytest.approx(1.234)


ABSENT = FAULT_IMU | FAULT_ENCODER | FAULT_DRIVE | FAULT_BUS


@pytest.mark.parametrize(
    ("role", "counted"),
    [
        (ROLE_WHEEL, 0),
        (ROLE_STEER | ROLE_WHEEL, FAULT_ENCODER),
        (ROLE_STEER | ROLE_WHEEL | ROLE_DRIVE, FAULT_ENCODER | FAULT_DRIVE | FAULT_BUS),
    ],
)
def test_a_fault_counts_of_a_part_that_the_device_carries(role, counted):
    """A node that carries the wheel alone reports sensor, encoder and drive as absent."""
    s = Scripted(roles=(ROLE_SENSORS & ~role | (ROLE_DRIVE & ~role), role))
    s.raw(1)["faults"] = ABSENT
    assert s.tick()["faults"] == counted


def test_the_drives_age_is_its_own():
    s = Scripted(roles=(ROLE_IMU, ROLE_DRIVE, ROLE_STEER | ROLE_WHEEL))
    s.ticks(3)
    row = s.ticks(3, came=(1, 0, 1))
    assert row["drive_age"] == pytest.approx(3 * DT)
    assert row["steer_age"] == row["wheel_age"] == 0.0


# when each part is asked


@pytest.mark.parametrize("state", [State.DISARMED, State.CHECK, State.ARMED, State.RUNNING, State.FAULT])
def test_rest_is_looked_for_while_a_person_holds_the_machine(state):
    s = in_state(state)
    s.loop.resting["since"] = 0.0
    s.tick()
    assert (s.loop.resting["since"] > 0.0) == (state in (State.CHECK, State.ARMED))


def test_what_no_resting_machine_shows_is_a_symptom():
    s = in_state(State.CHECK).turning()
    assert s.tick()["symptoms"] & Symptom.REST_RATE


def test_gains_of_other_speeds_are_told_to_the_supervisor():
    s = Scripted()  # gains of 4 to 5 m/s, at 5 m/s
    s.ticks(3)
    assert s.loop.news["other_gains"] == 0
    s.loop.law["fastest"] = 2.0
    s.tick()
    assert s.loop.news["other_gains"] == 1


def test_the_lane_is_held_back_at_its_moments_under_control_only():
    s = Scripted(excitation=Excitation(held_back=((0.0, 2 * DT),)))
    assert not any(s.tick()["verdict"] & Verdict.LANE_HELD_BACK for _ in range(4))
    s.running()
    verdicts = [int(s.tick()["verdict"]) for _ in range(5)]
    assert verdicts == [Verdict.LANE_HELD_BACK] * 2 + [Verdict.NONE] * 3


@pytest.mark.parametrize("state", [State.DISARMED, State.CHECK, State.ARMED, State.RUNNING, State.FAULT])
def test_a_law_forgets_while_the_machine_is_off(state):
    s = in_state(state)
    s.loop = s.loop._replace(law_state=np.ones(2))
    s.tick()
    assert s.loop.law_state.tolist() == ([0.0] * 2 if state in (State.DISARMED, State.FAULT) else [1.0] * 2)


def test_references_are_told_under_control():
    s = Scripted()
    s.loop = s.loop._replace(references=np.array([[0.1, 0.2, 0.3]]))
    s.tick()
    assert s.loop.reference.tolist() == (0.0, 0.0, 0.0)
    s.running().tick()
    assert s.loop.reference.tolist() == (0.1, 0.2, 0.3)


@pytest.mark.parametrize("T", [0.25, 1.0, -0.5])
def test_the_torque_of_a_route_is_added_to_the_laws_wish(T):
    s = Scripted()
    s.loop.on_route["T"] = T
    assert s.tick()["T_req"] == pytest.approx(T, abs=1e-12)


def test_without_a_sensor_of_place_the_law_is_told_none_and_the_row_has_none():
    s = Scripted()
    s.loop.place["psi"], s.loop.place["y"] = 0.3, 0.2
    row = s.tick()
    assert (s.loop.signals["psi"], s.loop.signals["y_P"]) == (0.0, 0.0)
    assert all(math.isnan(row[name]) for name in ("psi_est", "x_est", "y_est", "y_meas", "place_age"))
    assert all(math.isnan(row[name]) for name in ("v_asked", "v_cmd", "v_belt", "belt_age"))


# what is told to the devices


def test_the_drive_is_expected_to_do_what_it_obeys():
    """A drive of torque builds it up; of one that obeys a rate, a person's hands hold the steer before control."""
    for kind in (COMMAND_KIND_TORQUE, COMMAND_KIND_RATE):
        s = Scripted()
        s.loop.limits["kind"] = kind
        s.tick()
        s.loop.estimate["T"], s.loop.estimate["T_dot"] = 2.0, 1.0
        s.tick()
        T, rate = float(s.loop.estimate["T"]), float(s.loop.estimate["T_dot"])
        if kind == COMMAND_KIND_TORQUE:
            assert 0.0 < T < 2.0  # it decays
            assert rate == 1.0
        else:
            assert pytest.approx(float(s.loop.estimate["delta_dot"])) == T
            assert rate == 0.0
        assert s.loop.command["kind"] == kind


@pytest.mark.parametrize("state", [State.CHECK, State.ARMED, State.RUNNING, State.RAMPDOWN])
@pytest.mark.parametrize("stopped", [False, True])
def test_a_drive_that_obeys_a_rate_is_followed_from_control_on(state, stopped):
    """What it is expected to do: its command under control, what the hands do with the steer before and after."""
    s = in_state(state)
    s.loop.limits["kind"] = COMMAND_KIND_RATE
    s.loop.supervisor["T_cmd"] = 1.0  # rad/s, so that a ramp has a way to go
    s.loop.estimate["delta_dot"] = 5.0
    s.raw(1)["status"] = STATUS_ENABLED | (STATUS_STOP_BUTTON if stopped else 0)
    s.tick()
    expected, hands, command = (float(s.loop.estimate[name]) for name in ("T", "delta_dot", "u_prev"))
    assert abs(hands - command) > 1.0
    now = State(int(s.row["state"]))  # an armed machine that shall run runs in this tick
    steered = now in (State.RUNNING, State.RAMPDOWN)
    assert steered == (not stopped and state != State.CHECK)
    assert expected == pytest.approx(command if steered else hands)


def test_the_last_word_of_a_run_stops_the_belt_too():
    s = Scripted(roles=(ROLE_SENSORS, ROLE_DRIVE, ROLE_SPEED))
    s.tick()
    memory = s.loop.links["memory"][2]
    memory[SPEED_SAY_RUN], memory[SPEED_SAY_SPEED], memory[SPEED_SAY] = 1, 5000, 0
    farewell(s.loop, s.wire)
    assert (memory[SPEED_SAY], memory[SPEED_SAY_RUN], memory[SPEED_SAY_SPEED]) == (1, 0, 0)
