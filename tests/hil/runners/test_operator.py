"""The operator fed with rows by hand: when it demands what, when the run is over, and what it says of it."""

import os
import signal
import threading

import numpy as np
import pytest

from riderless.hil.loop.states import SENTENCES, Cause, Demand, State
from riderless.hil.loop.tick_record import TICK
from riderless.hil.runners.operator import NOBODY_THERE, Operator, Outcome


def row(state, t, cause=Cause.NONE):
    made = np.zeros(1, TICK)[0]
    made["state"], made["t_host"], made["cause"] = state, t, cause
    return made


def shown(operator, *rows):
    """The operator after rows of (state, t) or (state, t, cause)."""
    for each in rows:
        operator.watch(row(*each))
    return operator


def test_it_runs_for_as_long_as_asked_and_then_stops():
    operator = shown(Operator(2.0), (State.DISARMED, 9.0), (State.CHECK, 9.5), (State.ARMED, 9.9))
    assert operator.demand is Demand.RUN
    assert operator.running_since is None
    shown(operator, (State.RUNNING, 10.0), (State.RUNNING, 11.99))
    assert operator.demand is Demand.RUN
    assert operator.running_since == 10.0
    shown(operator, (State.RUNNING, 12.0))
    assert operator.demand is Demand.STOP
    shown(operator, (State.RAMPDOWN, 12.1))
    assert operator.over_since is None
    shown(operator, (State.DISARMED, 12.3, Cause.OPERATOR_STOP))
    assert operator.over_since == 12.3
    assert operator.demand is Demand.OFF
    shown(operator, (State.DISARMED, 12.5, Cause.OPERATOR_STOP))
    assert operator.over_since == 12.3, "the first row of the end counts"
    assert operator.outcome() == Outcome("success", "the planned duration was reached")


def test_what_follows_the_end_is_recorded_for_three_tenths_of_a_second():
    operator = shown(Operator(1.0), (State.FAULT, 0.0, Cause.LEAN_LIMIT))
    assert not operator.finished(0.29)
    assert operator.finished(0.3)
    operator = shown(Operator(1.0), (State.FAULT, 5.0, Cause.LEAN_LIMIT))
    assert not operator.finished(5.29)
    assert operator.finished(5.31)
    assert not Operator(1.0).finished(1e9), "what has not ended is not finished"


def test_a_demand_that_a_person_has_lowered_is_not_raised_at_the_end():
    operator = shown(Operator(1.0), (State.RUNNING, 1.0))
    operator.demand = Demand.OFF
    shown(operator, (State.RUNNING, 3.0))
    assert operator.demand is Demand.OFF


def test_disarmed_at_the_beginning_is_not_the_end_and_after_a_check_it_is():
    operator = shown(Operator(1.0), (State.DISARMED, 1.0), (State.DISARMED, 2.0))
    assert operator.over_since is None
    for state in (State.CHECK, State.ARMED):
        operator = shown(Operator(1.0), (state, 1.0), (State.DISARMED, 2.0, Cause.CHECK_UPRIGHT))
        assert operator.over_since == 2.0
        assert operator.outcome() == Outcome("fault", SENTENCES[Cause.CHECK_UPRIGHT])


def test_a_run_given_up_before_it_was_armed_is_over_at_once():
    operator = Operator(1.0)
    operator.interrupt("stopped by SIGINT")
    assert operator.demand is Demand.STOP
    assert shown(operator, (State.DISARMED, 1.0)).over_since == 1.0
    assert operator.outcome() == Outcome("abort", "stopped by SIGINT")


def test_a_demand_of_arm_is_no_end():
    operator = Operator(1.0)
    operator.demand = Demand.ARM
    assert shown(operator, (State.DISARMED, 1.0)).over_since is None


def test_the_last_cause_that_was_told_is_the_outcome():
    operator = shown(Operator(9.0), (State.RUNNING, 1.0), (State.FAULT, 2.0, Cause.STEER_LIMIT), (State.DISARMED, 2.1))
    assert operator.outcome() == Outcome("fault", SENTENCES[Cause.STEER_LIMIT])
    assert operator.outcome().remarks == ()


@pytest.mark.parametrize("cause", [Cause.NONE, Cause.OPERATOR_STOP])
def test_without_control_there_is_no_success(cause):
    operator = shown(Operator(1.0), (State.CHECK, 1.0), (State.DISARMED, 2.0, cause))
    assert operator.outcome() == Outcome("fault", SENTENCES[cause])


@pytest.mark.parametrize("seen", [True, False])
def test_who_presses_when_it_has_fallen_takes_nothing_from_its_cause(seen):
    """A person who sees it fall presses at that moment: before the operator has seen a row of the fall, or after."""
    fault = (State.FAULT, 2.0, Cause.LEAN_LIMIT)
    operator = shown(Operator(9.0), (State.RUNNING, 1.0), *([fault] if seen else []))
    operator.interrupt("stopped by SIGINT")
    shown(operator, fault, (State.FAULT, 2.1, Cause.LEAN_LIMIT))
    outcome = operator.outcome()
    assert (outcome.reason, outcome.cause) == ("fault", SENTENCES[Cause.LEAN_LIMIT])
    assert outcome.stopped == "stopped by SIGINT"
    assert operator.demand is Demand.OFF


def test_who_stops_it_first_is_the_cause_whatever_it_does_in_its_ramp():
    operator = shown(Operator(9.0), (State.RUNNING, 1.0))
    operator.interrupt("stopped by a key")
    shown(operator, (State.RAMPDOWN, 1.1, Cause.OPERATOR_STOP), (State.FAULT, 1.2, Cause.OPERATOR_STOP))
    assert operator.outcome() == Outcome("abort", "stopped by a key")
    shown(operator, (State.FAULT, 1.3, Cause.LEAN_LIMIT))
    assert operator.outcome().cause == f"stopped by a key; then, in its ramp: {SENTENCES[Cause.LEAN_LIMIT]}"
    operator = shown(Operator(9.0), (State.RUNNING, 1.0))
    operator.interrupt("stopped by a key")
    shown(operator, (State.RAMPDOWN, 1.1, Cause.OPERATOR_STOP), (State.FAULT, 1.2, Cause.OPERATOR_STOP))
    assert operator.outcome().stopped == "stopped by a key"
    assert not operator.outcome().stopped_by_signal


def test_a_run_that_has_reached_its_end_is_a_success_whoever_presses_after_it():
    ramp, end = (State.RAMPDOWN, 2.1, Cause.OPERATOR_STOP), (State.DISARMED, 2.3, Cause.OPERATOR_STOP)
    operator = shown(Operator(1.0), (State.RUNNING, 1.0), (State.RUNNING, 2.0), ramp, end)
    operator.interrupt("stopped by SIGTERM")
    assert operator.outcome().reason == "success"
    assert operator.outcome().stopped == "stopped by SIGTERM"
    assert operator.outcome().stopped_by_signal
    assert shown(Operator(1.0), (State.RUNNING, 1.0), ramp, end).outcome().stopped == ""


# a person who must want it


def test_it_waits_for_a_person_and_looks_at_nothing_before():
    operator = Operator(1.0, waiting=True)
    assert operator.demand is Demand.OFF
    shown(operator, (State.FAULT, 1.0, Cause.LEAN_LIMIT), (State.DISARMED, 1.5))
    assert (operator.over_since, operator.seen) == (None, 1.5)
    operator.arm()
    assert (operator.waiting, operator.demand) == (False, Demand.RUN)
    shown(operator, (State.CHECK, 2.0), (State.RUNNING, 3.0), (State.RUNNING, 4.0), (State.DISARMED, 4.2))
    assert operator.outcome().reason == "success"


def test_a_person_arms_once_and_not_after_an_interrupt():
    operator = Operator(1.0)
    operator.demand = Demand.STOP
    operator.arm()
    assert operator.demand is Demand.STOP, "it has not been waiting"
    operator = Operator(1.0, waiting=True)
    operator.interrupt("stopped by SIGTERM")
    operator.arm()
    assert (operator.waiting, operator.demand) == (True, Demand.OFF)
    assert shown(operator, (State.DISARMED, 7.0)).over_since == 7.0, "an interrupt ends the waiting"


def test_the_second_interrupt_switches_off():
    operator = Operator(1.0)
    operator.interrupt("first")
    assert operator.demand is Demand.STOP
    operator.interrupt("second")
    assert operator.demand is Demand.OFF
    assert operator.outcome().cause == "second"


def test_an_early_end_ramps_down_and_raises_nothing():
    operator = shown(Operator(9.0), (State.RUNNING, 1.0))
    operator.end()
    assert operator.demand is Demand.STOP
    operator.demand = Demand.OFF
    operator.end()
    assert operator.demand is Demand.OFF
    assert operator.outcome().reason == "success"


def test_a_new_operator_has_heeded_no_press():
    assert Operator(1.0).presses == 0


# a present operator, where the rig asks for one


def attended(*there, waiting=False):
    """An operator whose presence is that of each time asked; and the times that were asked for."""
    operator, left, asked = Operator(9.0, waiting), list(there), []

    def attendance(t):
        asked.append(t)
        return left.pop(0)

    operator.require_presence(attendance)
    return operator, asked


def test_without_anybody_there_it_does_not_arm_and_with_somebody_it_does():
    operator, asked = attended(False, False, True, True)
    assert operator.demand is Demand.OFF
    shown(operator, (State.DISARMED, 1.0), (State.DISARMED, 2.0))
    assert (operator.demand, operator.over_since, list(operator.marks)) == (Demand.OFF, None, [])
    shown(operator, (State.DISARMED, 3.0))
    assert operator.demand is Demand.RUN
    shown(operator, (State.CHECK, 4.0))
    assert operator.demand is Demand.RUN
    assert asked == [1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize("state", [State.CHECK, State.ARMED, State.RUNNING])
def test_somebody_who_leaves_stops_it_once(state):
    operator, asked = attended(True, False)
    shown(operator, (State.DISARMED, 1.0), (state, 2.0))
    assert operator.demand is Demand.STOP
    assert operator.interrupted == NOBODY_THERE
    shown(operator, (State.RAMPDOWN, 3.0))
    assert operator.demand is Demand.STOP  # a second interruption would switch off
    assert list(operator.marks) == [(2.0, "operator", NOBODY_THERE)]
    assert asked == [1.0, 2.0]
    assert operator.outcome() == Outcome("abort", NOBODY_THERE)


def test_nobody_need_stay_when_it_is_over():
    operator, asked = attended(True, True, False)
    shown(operator, (State.DISARMED, 1.0), (State.FAULT, 2.0, Cause.LEAN_LIMIT), (State.FAULT, 2.1, Cause.LEAN_LIMIT))
    assert asked == [1.0, 2.0]
    assert operator.outcome() == Outcome("fault", SENTENCES[Cause.LEAN_LIMIT])


def test_who_waits_for_a_person_is_armed_by_that_person_only():
    operator, asked = attended(True, True, waiting=True)
    shown(operator, (State.DISARMED, 1.0))
    assert (operator.demand, asked) == (Demand.OFF, [])
    operator.arm()
    assert operator.demand is Demand.RUN
    operator.demand = Demand.ARM  # lowered by hand: presence raises nothing
    shown(operator, (State.CHECK, 2.0), (State.ARMED, 3.0))
    assert operator.demand is Demand.ARM


def test_an_interruption_before_anybody_came_is_the_end():
    operator, _ = attended(False)
    shown(operator, (State.DISARMED, 1.0))
    operator.interrupt("stopped by a person")
    shown(operator, (State.DISARMED, 2.0))
    assert operator.over_since == 2.0
    assert operator.outcome() == Outcome("abort", "stopped by a person")


# what the screen shows, and marks


def test_time_left_is_the_whole_duration_until_control_begins_and_never_negative():
    operator = Operator(2.0)
    assert operator.left == 2.0
    assert shown(operator, (State.ARMED, 10.0)).left == 2.0
    assert shown(operator, (State.RUNNING, 11.0), (State.RUNNING, 11.5)).left == 1.5
    assert shown(operator, (State.RAMPDOWN, 14.0)).left == 0.0


def test_a_mark_carries_the_time_of_the_newest_row_and_none_is_made_before_it():
    operator = Operator(1.0)
    operator.mark("kick")
    assert not operator.marks
    shown(operator, (State.ARMED, 3.0)).mark("kick", "left")
    operator.mark("note")
    assert list(operator.marks) == [(3.0, "kick", "left"), (3.0, "note", "")]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_are_interruptions_while_it_heeds_them_and_afterwards_what_they_were(number):
    before = signal.getsignal(number)
    operator = Operator(1.0)
    with operator.heeding_signals():
        os.kill(os.getpid(), number)
        assert signal.getsignal(number) is not before
    assert operator.interrupted == f"stopped by {number.name}"
    assert operator.outcome().stopped_by_signal
    assert operator.demand is Demand.STOP
    assert signal.getsignal(number) is before


def test_in_another_thread_signals_are_left_alone():
    operator, found = Operator(1.0), []

    def body():
        with operator.heeding_signals():
            found.append(signal.getsignal(signal.SIGTERM))
        found.append("and goes on")

    before = signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    assert found == [before, "and goes on"]
