"""The tick between decoding and the log, fed by hand: two devices whose readings a test writes."""

import math

import pytest

from riderless.firmware_interface.devices.link import ROLE_DRIVE, ROLE_IMU, ROLE_STEER, ROLE_WHEEL
from riderless.firmware_interface.messages import (
    COMMAND_ENABLE,
    FAULT_BUS,
    FAULT_DRIVE,
    FAULT_ENCODER,
    FAULT_IMU,
    STATUS_ENABLED,
    STATUS_SATURATED,
    STATUS_STOP_BUTTON,
    STATUS_WATCHDOG,
)
from riderless.hil.loop.states import Cause, Demand, State, Symptom, Verdict
from riderless.hil.loop.tick import FAREWELL_FRAMES, farewell
from riderless.hil.loop.transitions import Stage
from tests.hil.loop.scripted import DT, START, Scripted

SENSORS, DRIVE = 0, 1  # ports


# what devices say


@pytest.mark.parametrize(
    ("port", "fault"), [(SENSORS, FAULT_IMU), (SENSORS, FAULT_ENCODER), (DRIVE, FAULT_DRIVE), (DRIVE, FAULT_BUS)]
)
def test_a_fault_of_a_part_ends_the_run_by_the_port_that_carries_it(port, fault):
    s = Scripted().running()
    assert s.ticks(2)["faults"] == 0
    s.raw(port)["faults"] = fault
    assert s.tick()["faults"] == fault
    assert State(int(s.row["state"])) is State.FAULT
    assert Cause(int(s.row["cause"])) is Cause.DEVICE_FAULT


def test_faults_of_two_ports_are_all_logged_and_gone_when_they_are():
    s = Scripted()
    s.raw(SENSORS)["faults"], s.raw(DRIVE)["faults"] = FAULT_IMU, FAULT_BUS | FAULT_DRIVE
    assert s.tick()["faults"] == FAULT_IMU | FAULT_BUS | FAULT_DRIVE
    s.raw(SENSORS)["faults"] = s.raw(DRIVE)["faults"] = 0
    assert s.tick()["faults"] == 0


def test_the_stop_button_counts_on_every_port_and_the_rest_of_the_status_is_the_drives():
    s = Scripted()
    s.raw(SENSORS)["status"] = STATUS_ENABLED | STATUS_WATCHDOG | STATUS_SATURATED
    s.raw(DRIVE)["status"] = STATUS_ENABLED
    assert s.tick()["status"] == STATUS_ENABLED
    s.raw(SENSORS)["status"] = STATUS_STOP_BUTTON | STATUS_WATCHDOG
    assert s.tick()["status"] == STATUS_ENABLED | STATUS_STOP_BUTTON
    s.raw(SENSORS)["status"], s.raw(DRIVE)["status"] = 0, STATUS_STOP_BUTTON | STATUS_WATCHDOG
    assert s.tick()["status"] == STATUS_STOP_BUTTON | STATUS_WATCHDOG
    s.raw(DRIVE)["status"] = 0
    assert s.tick()["status"] == 0


@pytest.mark.parametrize("port", [SENSORS, DRIVE])
def test_a_reading_off_its_scale_on_either_port_spoils_the_sample(port):
    s = Scripted()
    assert s.tick()["valid"] == 1
    s.raw(port)["off_scale"] = 1
    assert s.tick()["valid"] == 0
    assert s.row["samples_stale"] == 1
    s.raw(port)["off_scale"] = 0
    assert s.tick()["valid"] == 1
    assert s.row["samples_stale"] == 1


def test_each_reading_is_taken_from_the_device_that_carries_it():
    roles = (ROLE_IMU, ROLE_STEER, ROLE_WHEEL, ROLE_DRIVE)
    s = Scripted(roles)
    for port in range(4):
        raw, more = s.raw(port), port + 1
        raw["gyro_counts"], raw["accel_counts"] = (10 * more, 20 * more, 30 * more), (40 * more, 50 * more, -900 - more)
        raw["steer_counts"], raw["wheel_mrad_s"] = 100 * more, 10_000 * more
        raw["torque_mNm"], raw["bus_mV"], raw["rejected"] = 100 * more, 20_000 + more, more
        raw["seq"] = 1000 * more
    row = s.tick(answered=False)  # it stirs the last digits by one, and counts on
    assert row["phi_dot_meas"] == pytest.approx(0.011)
    assert row["theta_dot_meas"] == pytest.approx(0.021)
    assert row["psi_dot_meas"] == pytest.approx(0.031)
    assert row["a_x_meas"] == pytest.approx(0.41)
    assert row["a_y_meas"] == pytest.approx(0.51)
    assert row["a_z_meas"] == pytest.approx(-9.00)
    assert row["delta_meas"] == pytest.approx(2 * math.pi * 200 / 20000)
    assert row["v_meas"] == pytest.approx(0.5 * 30.0)
    assert row["T_meas"] == pytest.approx(0.4)
    assert row["bus_meas"] == pytest.approx(20.004)
    assert s.loop.sample["rejected"] == 4
    assert row["seq"] == 1001
    assert row["t"] == pytest.approx(s.t - START)


# what is clean, fresh, silent


@pytest.mark.parametrize("port", [SENSORS, DRIVE])
def test_a_gap_or_a_broken_frame_on_either_port_is_not_clean(port):
    s = Scripted()
    assert s.ticks(3) is not None
    assert s.loop.news["clean"] == 1
    for kind in range(3):  # CRC, length, version
        s.tick(broken=(port, kind))
        assert s.loop.news["clean"] == 0
        s.tick()
        assert s.loop.news["clean"] == 1
    s.tick(lost=port)
    assert s.loop.news["clean"] == 0
    s.tick()
    assert s.loop.news["clean"] == 1


def test_a_lost_sample_starts_the_second_of_clean_data_anew():
    s = Scripted()
    s.loop.supervisor["stage"] = Stage.STREAM
    s.ticks(20)
    assert s.loop.supervisor["good"] == pytest.approx(20 * DT)
    s.tick(lost=SENSORS)
    assert s.loop.supervisor["good"] == 0.0


def test_every_port_is_counted_in_the_log():
    s = Scripted()
    for port in (SENSORS, DRIVE):
        for kind in range(3):
            s.tick(broken=(port, kind))
        s.tick(lost=port)
        s.wire.rx[port, 5] = 3
    names = ("frames_bad_crc", "frames_bad_length", "frames_bad_version", "samples_lost")
    assert [int(s.row[name]) for name in names] == [2, 2, 2, 2]
    assert s.row["frames_ok"] == 16
    s.loop.links["receiver"]["bytes_skipped"] = 5, 7
    assert s.tick()["bytes_skipped"] == 12


def test_only_inertial_readings_make_a_sample():
    s = Scripted()
    s.tick()
    assert s.tick(came=(0, 1))["valid"] == 0
    assert s.row["samples_stale"] == 1
    assert s.tick(came=(1, 0))["valid"] == 1
    t = float(s.row["t"])
    s.tick(came=(0, 1))
    assert s.row["t"] == t, "an old sample is not stamped anew"


@pytest.mark.parametrize("port", [SENSORS, DRIVE])
def test_silence_is_that_of_the_device_that_has_been_silent_longest(port):
    s = Scripted()
    assert s.ticks(3)["silence"] == pytest.approx(0.0, abs=1e-9)
    came = [1, 1]
    came[port] = 0
    for n in range(1, 6):
        assert s.tick(came=came)["silence"] == pytest.approx(n * DT)
        assert s.row["age"] == pytest.approx(0.0, abs=1e-9), "of the last sample, which was no late one"
    assert s.tick()["silence"] == pytest.approx(0.0, abs=1e-9)


def test_before_the_first_sample_silence_is_endless():
    s = Scripted()
    assert s.tick(came=(1, 0))["silence"] == math.inf
    assert s.row["t_host"] == pytest.approx(100.0 + DT)


def test_a_sample_that_comes_late_is_as_bad_as_one_that_does_not():
    s = Scripted()
    assert s.ticks(5)["age"] == pytest.approx(0.0, abs=1e-6)
    row = s.tick(late=0.06)
    assert row["age"] == pytest.approx(0.06, abs=1e-6)
    assert row["silence"] == pytest.approx(0.06, abs=1e-6)
    assert row["host_offset"] == pytest.approx(START, abs=1e-6)


def test_commands_that_are_not_answered_are_silence_too():
    s = Scripted()
    s.ticks(3)
    for n in range(1, 12):  # the answer to the last command is never here yet
        row = s.tick(answered=False)
        assert row["silence"] == pytest.approx(max(0.0, (n - 1) * DT), abs=1e-9)
    assert s.tick()["silence"] == pytest.approx(0.0, abs=1e-9)


def test_silence_goes_over_the_wrap_of_the_command_number():
    s = Scripted()
    s.loop.pulse["seq"] = 0xFFFE
    assert s.ticks(6)["silence"] == pytest.approx(0.0, abs=1e-9)
    assert s.row["command_seq"] == 4
    assert s.told()["seq"] == 4


# the age of readings


@pytest.mark.parametrize("polled", [0, 1])
def test_steer_wheel_and_drive_readings_have_an_age_of_their_own(polled):
    s = Scripted((ROLE_IMU, ROLE_STEER, ROLE_WHEEL, ROLE_DRIVE))
    s.loop.links["polled"] = polled
    s.ticks(3)
    asked = polled * DT  # a device that is asked once a tick gives what was asked for in the tick before
    for name in ("steer_age", "wheel_age", "drive_age"):
        assert s.row[name] == pytest.approx(asked, abs=1e-9)
    s.ticks(2, came=(1, 0, 1, 1))
    s.tick(came=(1, 0, 0, 1))
    assert s.row["steer_age"] == pytest.approx(3 * DT + asked)
    assert s.row["wheel_age"] == pytest.approx(DT + asked)
    assert s.row["drive_age"] == pytest.approx(asked, abs=1e-9)
    assert s.loop.sample["steer_age"] == s.row["steer_age"]


def test_readings_of_the_inertial_device_have_no_age_and_nothing_is_older_than_for_ever():
    s = Scripted()
    s.ticks(3, came=(1, 0))
    assert s.row["steer_age"] == s.row["wheel_age"] == 0.0
    assert s.row["drive_age"] == 0.0, "nothing came yet: its silence tells"
    assert s.row["silence"] == math.inf


def test_an_old_steer_angle_is_taken_for_what_it_was():
    """The bars turn at 1 rad/s; their angle comes two samples late, and the estimate must not lag by that."""
    apart, age = Scripted((ROLE_IMU | ROLE_WHEEL | ROLE_DRIVE, ROLE_STEER)), 2 * DT
    for k in range(60):
        apart.raw(1)["steer_counts"] = round(20000 / (2 * math.pi) * 1.0 * (k * DT - age))
        apart.loop.links["taken"][1] = -math.inf
        apart.loop.links["polled"][1] = 1
        apart.loop.links["asked"][1] = apart.t + DT - age
        apart.tick()
    assert apart.row["steer_age"] == pytest.approx(age)
    assert apart.row["delta_dot_est"] == pytest.approx(1.0, abs=0.01)
    assert apart.row["delta_est"] == pytest.approx(59 * DT, abs=0.004)


# what is wished and sent


def test_a_command_carries_the_rigs_time_out_the_sample_and_its_own_number():
    s = Scripted(watchdog=0.03).running()
    s.gains[:, 0] = -20.0  # N m/rad
    s.raw(SENSORS)["seq"] = 4708
    s.ticks(3)
    s.loop.estimate["phi"] = 0.05
    row = s.tick()
    told = s.told(DRIVE)
    assert told["expiry_ms"] == 30
    assert told["sample_seq"] == 4712
    assert told["seq"] == row["command_seq"] == 4
    assert told["said"] == 4
    assert told["flags"] == COMMAND_ENABLE
    assert told["torque_mNm"] == round(1e3 * float(row["T_cmd"]))
    assert 900 < told["torque_mNm"] < 1100
    assert s.told(SENSORS)["said"] == 0, "no command goes where there is no drive"
    assert s.wire.n_tx.tolist() == [0, 7]


def test_the_drive_is_commanded_in_its_own_sense():
    s = Scripted(torque_sign=-1).running()
    s.gains[:, 0] = -20.0
    s.ticks(3)
    s.loop.estimate["phi"] = 0.05
    assert s.tick()["T_cmd"] > 0.9
    assert s.told()["torque_mNm"] < -900


def test_nothing_is_sent_under_torque_without_a_fresh_sample_and_the_drive_is_believed_to_go_on():
    s = Scripted().running()
    s.gains[:, 0] = -20.0
    s.ticks(3)
    s.loop.estimate["phi"] = 0.05
    s.tick()
    sent = float(s.row["T_cmd"])
    assert sent > 0.9
    assert s.loop.estimate["u_prev"] == sent
    s.loop.estimate["phi"] = 0.02
    row = s.tick(came=(0, 1))
    assert s.told()["said"] == 4
    assert s.wire.n_tx.tolist() == [0, 0]
    assert row["verdict"] & Verdict.WITHHELD
    assert 0.3 < row["T_cmd"] < 0.5, "it was decided, and not sent"
    assert s.loop.estimate["u_prev"] == sent, "the drive still follows the last command it was given"
    s.tick()
    assert s.told()["said"] == 5
    assert s.loop.estimate["u_prev"] == s.row["T_cmd"]


def test_the_last_command_takes_the_torque_away_whatever_was_decided():
    s = Scripted().running()
    s.gains[:, 0] = -20.0
    s.ticks(3)
    s.loop.estimate["phi"] = 0.05
    s.tick()
    assert s.told()["torque_mNm"] > 900
    s.loop.supervisor["send"] = 0
    farewell(s.loop, s.wire)
    told = s.told()
    assert (told["torque_mNm"], told["flags"], told["seq"], told["said"]) == (0, 0, 5, 5)
    assert s.wire.n_tx.tolist() == [0, 7]
    assert s.loop.supervisor["T_cmd"] == 0.0
    assert s.loop.links["asked"].tolist() == [s.t, s.t]
    assert FAREWELL_FRAMES == 5, "as docs/safety.md says"


# held or steered


@pytest.mark.parametrize(("stage", "faster"), [(Stage.ARMED, 8.0), (Stage.RUNNING, 1.0), (Stage.RAMPDOWN, 1.0)])
def test_biases_are_learned_fast_only_while_a_person_holds_the_bicycle(stage, faster):
    """One tick of a yaw rate of 1 rad/s beyond rolling: yaw_bandwidth 0.4 rad/s, held_factor 8."""
    s = Scripted().running()
    s.tick()
    s.loop.supervisor["stage"] = stage
    s.loop.supervisor["state"] = State[stage.name]
    s.loop.estimate["yaw_bias"], before = 0.0, 0.0
    s.raw(SENSORS)["gyro_counts"][2] = 1000
    s.tick()
    assert s.row["yaw_bias_est"] - before == pytest.approx(faster * 0.4 * DT * 1.0, rel=0.01)


@pytest.mark.parametrize(("stage", "asked"), [(Stage.ARMED, False), (Stage.RUNNING, True)])
def test_a_drive_is_asked_for_obedience_only_under_torque(stage, asked):
    s = Scripted().running()
    s.ticks(3)
    s.raw(DRIVE)["torque_mNm"] = 3000
    noticed = Symptom.NONE
    for _ in range(30):
        s.loop.supervisor["stage"], s.loop.supervisor["state"] = stage, State[stage.name]
        s.loop.orders["demand"] = Demand.RUN if asked else Demand.ARM
        noticed |= Symptom(int(s.tick()["symptoms"]))
    assert bool(noticed & Symptom.DRIVE_DISOBEYS) is asked


# the log


def test_the_first_tick_is_one_period_long_and_the_next_as_long_as_it_was():
    s = Scripted()
    s.tick(dt=17.0)
    assert s.loop.news["dt"] == DT
    s.tick(dt=0.004)
    assert s.loop.news["dt"] == pytest.approx(0.004)
    assert s.row["k"] == 2


@pytest.mark.parametrize("order", ["acknowledged", "attended", "recording", "tested", "late"])
def test_each_order_reaches_the_supervisor_and_the_log(order):
    s = Scripted()
    for name in ("acknowledged", "attended", "recording", "tested", "late"):
        s.loop.orders[name] = name != order
    for value in (0, 1):
        s.loop.orders[order] = value
        row = s.tick()
        assert row[order] == s.loop.news[order] == value
    assert row["demand"] == s.loop.news["demand"] == Demand.RUN
    assert row["late"] == 1
    assert row["ticks_late"] == (1 if order == "late" else 2)


def test_a_row_holds_what_the_tick_knew():
    s = Scripted().running()
    s.gains[:, 0] = -20.0
    s.raw(SENSORS)["gyro_counts"] = 3, 4, 5
    s.raw(SENSORS)["accel_counts"] = 6, 7, -975
    s.raw(SENSORS)["steer_counts"] = 300
    s.raw(DRIVE)["torque_mNm"] = 250
    s.ticks(7)
    s.loop.counters["ticks_skipped"], s.loop.counters["write_short"] = 2, 3
    s.row["compute"] = 99.0
    row, e = s.tick(), s.loop.estimate
    for column, known in (
        ("phi_est", e["phi"]),
        ("delta_est", e["delta"]),
        ("phi_dot_est", e["phi_dot"]),
        ("delta_dot_est", e["delta_dot"]),
        ("v_est", e["v"]),
        ("T_est", e["T"]),
        ("gyro_bias_est", e["gyro_bias"]),
        ("yaw_bias_est", e["yaw_bias"]),
        ("T_req", s.loop.news["T_req"]),
        ("T_cmd", s.loop.supervisor["T_cmd"]),
        ("cause", s.loop.supervisor["cause"]),
        ("verdict", s.loop.supervisor["verdict"]),
        ("symptoms", s.loop.news["symptoms"]),
        ("host_offset", s.loop.timebase["offset"]),
        ("age", s.loop.timebase["age"]),
        ("t", s.loop.sample["t"]),
    ):
        assert row[column] == known, column
    assert row["t_host"] == s.t
    assert row["t_due"] == s.t - 1e-4
    assert row["compute"] == 0.0
    assert row["k"] == 8
    assert row["acked_seq"] == 7
    assert row["command_seq"] == 8
    assert row["state"] == State.RUNNING
    assert row["ticks_skipped"] == 2
    assert row["write_short"] == 3
    assert row["T_req"] != row["T_est"]
