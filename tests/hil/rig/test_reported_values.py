"""No value a device reports widens what the rig states: each row of the table, with devices that report it badly."""

import dataclasses
import math
from dataclasses import replace

import numpy as np
import pytest

from riderless.experiments.fault_injection.simulate import node_introduction
from riderless.firmware_interface.devices.driver import Introduction
from riderless.firmware_interface.messages import COMMAND_KIND_RATE
from riderless.firmware_interface.node.layouts import HELLO
from riderless.hil.loop.limits import WATCHDOG_RANGE, Limit, Limits
from riderless.hil.loop.states import Cause, Demand, State
from riderless.hil.loop.tick_record import TICK
from riderless.hil.loop.wire_tape import new_tape
from riderless.hil.rig.armable import require_time_outs
from riderless.hil.rig.file import read_rig
from riderless.hil.rig.reported_values import REPORTED_VALUES
from riderless.hil.runners import lockstep
from riderless.hil.runners.assembly import new_loop
from riderless.hil.runners.emulation import emulated_node, emulated_plant
from riderless.hil.runners.session import agree_with_devices
from riderless.models.errors import InputError
from riderless.models.linear.prescribed_steer import InnerLoop
from riderless.models.plant.plant import Kick, Scenario
from tests.hil.machine import gains, rig_of
from tests.paths import ROOT

RIG = rig_of()  # a watchdog of 25 ms, 7 N m
IMPATIENT = rig_of(limits=Limits(check_timeout=Limit(2.0, "s", "a test is short")))
SPEEDY, ANGULAR = (rig_of(drive=InnerLoop(kind=kind, damping=d)) for kind, d in (("rate", None), ("angle", 1.0)))
NODE = node_introduction(emulated_node(RIG), ())
NO_NUMBERS = (math.nan, -1.0)
# by row: the rig, what must be refused, and words of the refusal; None where nothing depends on the value
BAD = {
    "name": (RIG, ("", "\x1b[2J", 5000 * "x"), None),
    "rate_hz": (RIG, (0, 199, 400), "samples at"),
    "obeys": (RIG, (0, 1 << COMMAND_KIND_RATE), "obeys a steer torque"),
    "watchdog": (RIG, (*NO_NUMBERS, 0.0, 0.009, 0.026, 0.05, 0.25, 0.9, 60.0, math.inf), "ms after the last command"),
    "torque_limit": (RIG, (*NO_NUMBERS, 0.0, 6.9), "makes no more than"),
    "rate_limit": (SPEEDY, (*NO_NUMBERS, 0.0, 5.9), "obeys no more than"),
    "angle_limit": (ANGULAR, (*NO_NUMBERS, 0.0, 0.6), "obeys no more than"),
    "gyro_lsb": (RIG, (*NO_NUMBERS, 0.0, 1e-8, 0.01, math.inf), "gyro_lsb of the device .* should lie"),
    "accel_lsb": (RIG, (*NO_NUMBERS, 0.0, 1e-8, 0.1, math.inf), "accel_lsb of the device .* should lie"),
    "steer_counts_per_turn": (RIG, (*NO_NUMBERS, 0, 10, 4e9), "steer_counts_per_turn of the device .* should lie"),
    "scale": (RIG, (*NO_NUMBERS, 0.0, math.inf), "should have a positive scale"),
    "unit": (RIG, (*NO_NUMBERS, 0.0, math.inf), "should have a positive unit"),
    "per_amp": (RIG, (*NO_NUMBERS, 0.0, math.inf), "should have a positive per_amp"),
    "session": (RIG, (0, 2**32 - 1), None),
    "reset_cause": (RIG, ("unknown", "brown-out"), None),
    "flash_good": (RIG, (False,), "should have the checksum it was built with"),
    "serial": (RIG, ("", 12 * "ff"), None),
    "steer_limit": (RIG, (math.nan, 0.83, 1.5, math.inf), "was told a steer limit of 0.825 rad and keeps"),
    "lean_limit": (RIG, (math.nan, 0.61, 1.5, math.inf), "was told a lean limit of 0.607 rad and keeps"),
    "torque_step": (RIG, (math.nan, 3.1, 14.0, math.inf), "was told a torque step of 3 N m and keeps"),
    "protocol": (RIG, (0, 1, 2, 3, 5), "should speak protocol version 4"),
}


def test_the_table_has_every_value_that_a_device_reports():
    names = [value.name for value in REPORTED_VALUES]
    assert sorted(names) == sorted(BAD) == sorted(field.name for field in dataclasses.fields(Introduction))
    units = ("_mNm", "_ms", "_mrad_s", "_100urad", "_mrad", "_counts")
    of_hello = {name.removesuffix(unit) for name in HELLO.names for unit in units} & {*names}
    assert len(of_hello) == len(HELLO.names) - len({"seq", "firmware", "kind"}), "number, name and kind of the request"


@pytest.mark.parametrize("value", REPORTED_VALUES, ids=lambda value: value.name)
def test_a_bad_value_is_refused_or_changes_nothing(value):
    rig, bad, words = BAD[value.name]
    node = node_introduction(emulated_node(rig), ())
    agreed = agree_with_devices(rig, [node])
    assert agreed[0] == rig
    for number in bad:
        if words is None:
            assert agree_with_devices(rig, [replace(node, **{value.name: number})]) == agreed
            continue
        with pytest.raises(InputError, match=words) as refusal:
            agree_with_devices(rig, [replace(node, **{value.name: number})])
        assert "\n" not in str(refusal.value)


def test_a_watchdog_longer_than_the_rigs_is_told_with_both_and_what_to_do():
    with pytest.raises(InputError, match=r"for 25 ms .*\(watchdog_s\).* keeps it for 500 ms: shorten the time-out"):
        agree_with_devices(RIG, [replace(NODE, watchdog=0.5)])


def test_no_limit_of_the_loop_follows_a_device_that_can_do_more():
    strong = replace(NODE, torque_limit=30.0, watchdog=0.0254, rate_limit=30.0, angle_limit=3.0)
    rig, _ = agree_with_devices(RIG, [strong])
    loop = new_loop(rig, gains(rig), rig.calibrated().as_record(), [strong])
    assert rig == RIG
    assert (loop.limits["command"], loop.pulse["expiry_ms"], loop.supervisor["watchdog"]) == (7.0, 25, 0.025)


def test_a_scale_that_the_rig_states_goes_before_the_devices():
    rig = rig_of(calibration={"steer_counts_per_turn": 4096.0})
    assert agree_with_devices(rig, [replace(NODE, steer_counts_per_turn=10)])[1].steer_counts_per_turn == 4096.0


@pytest.mark.parametrize("watchdog", [0.0, -0.025, 0.0009, 0.201, 1.0, 25.0, math.inf, math.nan])
def test_the_watchdog_of_a_rig_has_a_range_with_its_reason(watchdog, tmp_path):
    least, most, _ = WATCHDOG_RANGE
    with pytest.raises(InputError, match=rf"watchdog_s .* between {least:g} and {most:g} s, found .*in ms\?"):
        require_time_outs(replace(RIG, watchdog=watchdog))
    text = (ROOT / "docs" / "rigs" / "node.toml").read_text(encoding="utf-8")
    path = tmp_path / "rig.toml"
    path.write_text(text.replace("watchdog_s = 0.025", f"watchdog_s = {watchdog:f}"), encoding="utf-8")
    with pytest.raises(InputError, match=r"line \d+: watchdog_s"):
        read_rig(path)


# a node that reports 25 ms and has another time-out


def ride(real_ms=25, seconds=2.0, **lies):
    """Rows and diary of a ride with a node whose HELLO says 25 ms and ``lies``, and whose watchdog has ``real_ms``."""
    rig, calibration = agree_with_devices(IMPATIENT, [replace(NODE, **lies)])
    loop = new_loop(rig, gains(rig), calibration.as_record())
    bench = lockstep.new_bench(
        emulated_plant(rig, Scenario(speed=((0.0, 5.0),), kicks=(Kick(1.5, 6.0),), seed=1)), emulated_node(RIG)
    )
    bench.node.firmware["watchdog_us"], bench.node.firmware["window"] = 1000 * real_ms, real_ms // 5
    loop.orders["demand"] = Demand.RUN
    n = round(seconds * rig.rate)
    rows, diary = np.zeros(n, TICK), lockstep.new_diary(n)
    lockstep.run_ticks(loop, bench, 24.0, rig.dt, rows, new_tape(1, n), diary)
    return rows, diary


@pytest.mark.parametrize("real_ms", [50, 250, 500, 900, 5000])
def test_a_node_that_lies_about_its_watchdog_is_found_by_the_check(real_ms):
    rows, diary = ride(real_ms)
    assert Cause(int(rows["cause"][-1])) is Cause.CHECK_WATCHDOG
    assert not np.isin(rows["state"], [State.ARMED, State.RUNNING]).any()
    assert (diary["T_made"] == 0.0).all()
    found = rows["t"][rows["state"] == State.FAULT][0] - rows["t"][np.flatnonzero(diary["on"])[0]]
    assert found < 0.06, "as soon as the trip is overdue"


@pytest.mark.parametrize("real_ms", [25, 45])
def test_a_watchdog_that_trips_a_few_periods_late_is_armed(real_ms):
    rows, _ = ride(real_ms)
    assert rows["state"][-1] == State.RUNNING


@pytest.mark.parametrize(
    ("name", "factor", "cause"),
    [
        ("accel_lsb", 0.8, Cause.CHECK_GRAVITY),
        ("accel_lsb", 1.25, Cause.CHECK_GRAVITY),
        ("gyro_lsb", 0.1, Cause.SENSORS_DISAGREE),
        ("gyro_lsb", 2.0, Cause.SENSORS_DISAGREE),
        ("steer_counts_per_turn", 0.5, Cause.SENSORS_DISAGREE),
        ("steer_counts_per_turn", 10.0, Cause.SENSORS_DISAGREE),
    ],
)
def test_a_node_that_lies_about_a_scale_is_contradicted_by_the_others(name, factor, cause):
    rows, _ = ride(seconds=4.0, **{name: factor * getattr(NODE, name)})
    assert Cause(int(rows["cause"][-1])) is cause
