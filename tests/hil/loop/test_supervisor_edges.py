"""The supervisor exactly at its limits, what it remembers and what it tells."""

import math

import pytest

from riderless.firmware_interface.messages import COMMAND_CLEAR, COMMAND_ENABLE, STATUS_ENABLED, STATUS_WATCHDOG
from riderless.hil.loop.states import Demand, Verdict
from riderless.hil.loop.transitions import Stage
from tests.hil.loop.test_supervisor_table import DT, LIMITS, Machine

WATCHDOG = 0.025


def at_rest(stage, since):
    """A machine that has been at a stage for so long, and a tick in which no time passes."""
    machine = Machine(stage)
    machine.s["since"], machine.news["dt"] = since, 0.0
    return machine


@pytest.mark.parametrize(("angle", "limit"), [("phi", LIMITS.lean_arm), ("delta", LIMITS.steer_arm)])
@pytest.mark.parametrize("side", [1, -1])
def test_a_bicycle_just_at_the_arming_limit_is_upright(angle, limit, side):
    machine = Machine(Stage.STREAM)
    machine.e[angle] = side * limit.value
    machine.tick()
    assert machine.s["good"] == DT
    machine.e[angle] = side * math.nextafter(limit.value, 10.0)
    machine.tick()
    assert machine.s["good"] == 0.0


@pytest.mark.parametrize(("angle", "limit"), [("phi", LIMITS.lean), ("delta", LIMITS.steer)])
@pytest.mark.parametrize("side", [1, -1])
def test_just_at_the_limit_it_runs_on(angle, limit, side):
    machine = Machine(Stage.RUNNING)
    machine.e[angle] = side * limit.value
    assert machine.tick() is Stage.RUNNING
    machine.e[angle] = side * math.nextafter(limit.value, 10.0)
    assert machine.tick() is Stage.FAULT


def test_a_drive_has_gone_off_only_where_a_new_sample_says_so():
    machine = Machine(Stage.RUNNING)
    machine.sample["status"], machine.news["fresh"] = 0, 0
    assert machine.tick() is Stage.RUNNING
    machine.news["fresh"] = 1
    assert machine.tick() is Stage.FAULT


def test_a_run_begins_with_a_drive_that_a_new_sample_calls_on():
    machine = Machine(Stage.ARMED)
    machine.news["demand"] = Demand.RUN
    for status, fresh, wanted in (
        (0, 1, Stage.ARMED),
        (STATUS_ENABLED, 0, Stage.ARMED),
        (STATUS_ENABLED, 1, Stage.RUNNING),
    ):
        machine.sample["status"], machine.news["fresh"] = status, fresh
        assert machine.tick() is wanted


def test_silence_of_the_whole_time_out_breaks_the_stream():
    machine = Machine(Stage.STREAM)
    machine.limits["stale"] = 1.0
    machine.news["silence"] = WATCHDOG
    machine.tick()
    assert machine.s["good"] == 0.0


def test_each_stage_waits_for_just_as_long_as_it_says():
    stream = at_rest(Stage.STREAM, LIMITS.check_timeout.value)
    stream.e["phi"] = 1.0
    enable, withhold = at_rest(Stage.ENABLE, 0.25), at_rest(Stage.WITHHOLD, 2.0 * WATCHDOG + 0.05)
    clear = at_rest(Stage.CLEAR, 0.25)
    clear.sample["status"] = STATUS_WATCHDOG
    for machine in (stream, enable, withhold, clear):
        before = int(machine.s["stage"])
        assert machine.tick() == before
        machine.s["since"] = math.nextafter(float(machine.s["since"]), 100.0)
        assert machine.tick() in (Stage.FAULT, Stage.DISARMED)


def test_a_ramp_is_over_when_its_time_is():
    assert at_rest(Stage.RAMPDOWN, LIMITS.ramp.value).tick() is not Stage.RAMPDOWN
    assert at_rest(Stage.RAMPDOWN, math.nextafter(LIMITS.ramp.value, 0.0)).tick() is Stage.RAMPDOWN


def test_a_new_start_forgets_the_last_one_and_nothing_else_does():
    machine = Machine(Stage.DISARMED)
    machine.s["good"], machine.s["lateness"], machine.s["released"] = 5.0, 3.0, 1
    assert machine.tick() is Stage.STREAM
    assert (machine.s["good"], machine.s["lateness"], machine.s["released"]) == (0.0, 0.0, 1)
    machine = Machine(Stage.RUNNING)
    machine.s["good"], machine.s["lateness"], machine.s["released"] = 5.0, 3.0, 1
    machine.limits["late"] = 4.0
    machine.e["v"] = 0.0
    assert machine.tick() is Stage.RAMPDOWN
    assert (machine.s["good"], machine.s["released"]) == (5.0, 1)
    assert machine.s["lateness"] == pytest.approx(3.0 - 4.0 * DT)


def test_who_was_disarmed_must_let_go_before_arming_again():
    machine = Machine(Stage.ARMED)
    machine.s["released"], machine.news["demand"] = 1, Demand.OFF
    assert machine.tick() is Stage.DISARMED
    assert machine.s["released"] == 0


def verdict(machine):
    machine.s["verdict"] = Verdict.NO_FRESH_SAMPLE  # of the tick before
    machine.tick()
    return Verdict(int(machine.s["verdict"]))


def test_the_verdict_names_what_was_done_to_the_wish_and_nothing_else():
    assert verdict(Machine(Stage.RUNNING)) == Verdict(0)
    wild, sudden = Machine(Stage.RUNNING), Machine(Stage.RUNNING)
    wild.news["T_req"], wild.s["T_cmd"] = LIMITS.torque.value + 1.0, LIMITS.torque.value
    assert verdict(wild) == Verdict.TORQUE_LIMIT
    sudden.news["T_req"], sudden.s["T_cmd"] = LIMITS.torque.value, -LIMITS.torque.value
    assert verdict(sudden) == Verdict.RATE_LIMIT
    assert verdict(Machine(Stage.RAMPDOWN)) == Verdict.RAMP
    assert verdict(Machine(Stage.STREAM)) == Verdict.NOT_RUNNING
    assert verdict(Machine(Stage.WITHHOLD)) == Verdict.NOT_RUNNING | Verdict.WITHHELD


def test_a_wish_beyond_the_limit_and_an_old_sample_are_both_told():
    machine = Machine(Stage.RUNNING)
    machine.news["T_req"], machine.s["T_cmd"] = LIMITS.torque.value + 1.0, LIMITS.torque.value
    machine.news["fresh"] = 0
    assert verdict(machine) == Verdict.TORQUE_LIMIT | Verdict.NO_FRESH_SAMPLE | Verdict.WITHHELD


FLAGS = dict.fromkeys((Stage.ENABLE, Stage.ARMED, Stage.RUNNING, Stage.RAMPDOWN), COMMAND_ENABLE)
FLAGS |= dict.fromkeys((Stage.STREAM, Stage.CLEAR), COMMAND_CLEAR)


@pytest.mark.parametrize("stage", Stage, ids=lambda stage: stage.name)
@pytest.mark.parametrize("kind", ["torque", "angle"])
def test_each_stage_tells_the_drive_its_flags_and_an_angle_only_while_it_is_on(kind, stage):
    machine = Machine(stage)
    machine.limits = LIMITS.as_record(kind)
    machine.e["delta"] = machine.news["T_req"] = machine.s["T_cmd"] = machine.s["T_ramp"] = 0.1
    assert machine.tick() is stage
    assert machine.s["flags"] == FLAGS.get(stage, 0)
    assert machine.s["send"] == (stage is not Stage.WITHHOLD)
    if kind == "angle":
        on = FLAGS.get(stage) == COMMAND_ENABLE
        assert machine.s["T_cmd"] == (0.1 if on else 0.0)
    elif stage not in (Stage.RUNNING, Stage.RAMPDOWN):
        assert machine.s["T_cmd"] == 0.0


@pytest.mark.parametrize("stage", [Stage.RUNNING, Stage.STREAM])
def test_time_at_the_torque_limit_counts_in_one_piece(stage):
    machine = Machine(stage)
    machine.s["at_limit"] = 0.1
    machine.tick()
    assert machine.s["at_limit"] == 0.0


def test_a_ramp_from_no_number_makes_no_torque():
    machine = Machine(Stage.RAMPDOWN)
    machine.s["T_ramp"] = math.nan
    assert verdict(machine) == Verdict.RAMP | Verdict.NOT_A_NUMBER
    assert machine.s["T_cmd"] == 0.0
    assert machine.sample["status"] & STATUS_ENABLED
