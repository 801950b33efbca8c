"""A rig that asks for a present operator: nothing arms without one, and what runs ramps down when they are gone."""

import numpy as np
import pytest

from riderless.hil.loop.states import Demand, State
from riderless.hil.loop.tick_record import TICK
from riderless.hil.rig.file import read_rig
from riderless.hil.runners import session
from riderless.hil.runners.operator import NOBODY_THERE, Operator
from riderless.models.errors import InputError
from tests.hil.machine import gains, rig_of
from tests.paths import DOCS


def row(t, state):
    made = np.zeros(1, TICK)[0]
    made["t_host"], made["state"] = t, state
    return made


def test_nothing_arms_before_somebody_is_there_and_it_ends_when_they_go():
    there = []
    operator = Operator(10.0)
    operator.require_presence(lambda t: bool(there))
    assert operator.demand == Demand.OFF
    for t in (0.0, 1.0, 5.0):
        operator.watch(row(t, State.DISARMED))
        assert operator.demand == Demand.OFF
        assert operator.over_since is None, "it waits"
    there.append("somebody")
    operator.watch(row(6.0, State.DISARMED))
    assert operator.demand == Demand.RUN
    for t in (6.1, 7.0, 8.0):
        operator.watch(row(t, State.RUNNING))
    assert operator.demand == Demand.RUN
    there.clear()
    operator.watch(row(8.1, State.RUNNING))
    assert operator.demand == Demand.STOP
    operator.watch(row(8.3, State.RAMPDOWN))
    assert operator.demand == Demand.STOP, "gone is gone: that is no second stop"
    operator.watch(row(8.5, State.DISARMED))
    assert (operator.outcome().reason, operator.outcome().cause) == ("abort", NOBODY_THERE)
    assert [text for _, _, text in operator.marks] == [NOBODY_THERE]


def test_without_such_a_rig_nobody_need_be_there():
    operator = Operator(10.0)
    assert operator.demand == Demand.RUN
    operator.watch(row(0.0, State.RUNNING))
    assert operator.demand == Demand.RUN


def test_a_run_that_nobody_can_look_at_is_refused(tmp_path):
    rig = rig_of(present=True)
    with pytest.raises(InputError, match="asks for a present operator"):
        session.run_realtime(tmp_path / "run", rig, gains(rig), "/dev/no-port", 1.0)


def test_the_rig_file_says_it(tmp_path):
    text = next(DOCS.glob("rigs/*.toml")).read_text()
    path = tmp_path / "rig.toml"
    path.write_text(text + "\n[operator]\npresent = true\n")
    assert read_rig(path).present
    path.write_text(text)
    assert not read_rig(path).present
    path.write_text(text + "\n[operator]\nabsent = true\n")
    with pytest.raises(InputError, match="absent"):
        read_rig(path)
