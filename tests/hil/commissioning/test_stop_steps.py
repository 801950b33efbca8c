"""Steps of the check that concern the stop: its time as measured, and the hardware stop as pressed by a person."""

from dataclasses import replace

import numpy as np
import pytest

from riderless.firmware_interface.messages import STATUS_ENABLED, STATUS_STOP_BUTTON, STATUS_WATCHDOG
from riderless.hil.commissioning.preflight import (
    check_hardware_stop,
    check_stop_time,
    hardware_stop_step,
    measured_lateness,
    measured_trip,
)
from riderless.hil.loop.states import Cause, Demand, State, Verdict
from riderless.hil.loop.tick_record import TICK
from riderless.hil.rig.rig import Rig
from riderless.models.catalogue import load_bicycle
from riderless.models.linear.prescribed_steer import InnerLoop

RIG = Rig(load_bicycle("Silver"))
DT = RIG.dt


def pushed(trip=0.03, late=0.01, seconds=0.7):
    """Rows of a drive whose watchdog trips after ``trip`` and whose torque is ``late`` [s], pushed once."""
    n = 400 + round(seconds / DT)
    rows = np.zeros(n, TICK)
    rows["t"] = rows["t_host"] = DT * np.arange(n)
    rows["state"][:200], rows["state"][200:400], rows["state"][400:] = State.CHECK, State.ARMED, State.RUNNING
    rows["verdict"][100:200] = Verdict.WITHHELD
    rows["status"][90:] = STATUS_ENABLED
    rows["status"][100 + round(trip / DT) : 150] = STATUS_WATCHDOG
    t = rows["t"] - rows["t"][400]
    for name, shift in (("T_cmd", 0.0), ("T_meas", late)):
        phase = np.clip((t - shift) / 0.4, 0.0, 1.0)
        rows[name] = 0.4 * np.sin(np.pi * phase)
    return rows


def test_the_stop_time_is_ramp_watchdog_and_the_way_through_the_drive():
    assert RIG.stop_time == pytest.approx(0.2 + 0.025 + 0.005 + 0.005 + 5 * 0.005)
    assert replace(RIG, input_delay=0.008).stop_time == pytest.approx(RIG.stop_time + 0.008)
    assert replace(RIG, watchdog=0.05, drive_lag=0.01).stop_time == pytest.approx(RIG.stop_time + 0.025 + 0.025)


def test_trip_and_lateness_are_measured():
    assert measured_trip(pushed(trip=0.03)) == pytest.approx(0.03)
    assert measured_lateness(pushed(late=0.02)[400:]) == pytest.approx(0.02, abs=0.002)
    silent = pushed()
    silent["T_meas"] = 0.0
    assert measured_lateness(silent[400:]) is None
    assert measured_trip(pushed()[:95]) is None


def look(rows, over=False, rig=RIG):
    return check_stop_time(rig, rows, over, "turned")


def test_a_stop_that_takes_longer_than_the_rig_says_is_refused():
    finding = look(pushed())
    assert finding.good
    assert "turned; torque gone 265 ms after a stop at the latest, the rig says 260 ms" in finding.sentence
    for slow in (pushed(trip=0.1), pushed(late=0.08)):
        finding = look(slow)
        assert not finding.good
        assert "correct watchdog_s, drive_lag_s or input_delay_s" in finding.sentence


def test_it_waits_for_the_whole_push_and_tells_what_did_not_come():
    assert look(pushed(seconds=0.3)) is None
    silent = pushed()
    silent["T_meas"] = 0.0
    assert "not measured, the rig says 260 ms: its torque is not seen to follow" in look(silent).sentence
    assert "its watchdog was not seen" in look(pushed()[200:]).sentence


def test_of_a_drive_that_obeys_a_rate_the_watchdog_alone_counts():
    steered = replace(RIG, drive=InnerLoop(kind="rate", bandwidth=50.0, damping=1.0))
    assert look(pushed(seconds=0.1, late=0.09), rig=steered).good
    assert not look(pushed(trip=0.1), rig=steered).good


def held(seconds=4.0):
    """Rows of a drive that is on while a person stands beside it."""
    rows = np.zeros(round(seconds / DT), TICK)
    rows["t"] = rows["t_host"] = DT * np.arange(len(rows))
    rows["state"], rows["status"], rows["bus_meas"] = State.ARMED, STATUS_ENABLED, 24.0
    return rows


def test_a_stop_that_is_pressed_and_released_is_seen_by_button_drive_or_supply():
    for name, value in (("status", STATUS_STOP_BUTTON), ("status", 0), ("bus_meas", 2.0), ("drive_age", 0.5)):
        rows = held()
        rows[name][300:500] = value
        finding = check_hardware_stop(rows, False)
        assert finding.good, name
        assert finding.sentence.endswith("released")


def test_a_stop_that_nobody_sees_or_that_stays_pressed_is_told():
    assert hardware_stop_step().demand is Demand.ARM
    rows = held()
    assert check_hardware_stop(rows, False) is None
    assert "no stop was seen" in check_hardware_stop(rows, True).sentence
    rows["bus_meas"][300:] = 2.0
    assert check_hardware_stop(rows, False) is None
    assert "cut the supply, and was not released" in check_hardware_stop(rows, True).sentence


def test_a_drive_that_was_never_on_proves_nothing():
    rows = held()
    rows["state"] = State.DISARMED
    assert check_hardware_stop(rows, False) is None
    assert "was not on" in check_hardware_stop(rows, True).sentence
    rows["state"], rows["cause"] = State.FAULT, Cause.CHECK_UPRIGHT
    assert "upright" in check_hardware_stop(rows, False).sentence


def test_a_watchdog_that_trips_is_no_pressed_stop():
    rows = held()
    rows["status"][300:] = STATUS_WATCHDOG
    assert check_hardware_stop(rows, False) is None
