"""Emulated devices on a computer that keeps them waiting: their clocks go on, as those of devices do."""

import time
from types import SimpleNamespace

import numpy as np
import pytest

from firmware_interface.twins.faults import READING_NAMES
from firmware_interface.twins.machine import VirtualMachine
from firmware_interface.twins.twin import STEP_RATE
from firmware_interface.twins.virtual_node import VirtualNode
from hil.loop.clock_offset import TIMEBASE, follow_clock
from hil.loop.limits import Limits
from hil.rig.file import read_rig
from hil.runners.emulation import emulated_machine
from tests.paths import DOCS

LATE, EACH = 0.004, 6  # s, and of how many sleeps one ends so late
SECONDS = 3.0


@pytest.mark.parametrize(("name", "kind"), [("node", VirtualNode), ("vectornav-vesc", VirtualMachine)])
def test_samples_of_a_twin_that_often_wakes_late_do_not_seem_old(monkeypatch, name, kind):
    """Each lateness once set its clock back for good; ten in a third of a second were a sample too old to ride by."""
    rig = read_rig(DOCS / f"rigs/{name}.toml")
    now, sleeps, seen = [100.0], [0], []

    def sleep(duration):
        sleeps[0] += 1
        now[0] += duration + (LATE if sleeps[0] % EACH == 0 else 0.0)

    def read():
        seen.append(now[0])
        return np.zeros(len(READING_NAMES))

    machine = emulated_machine(rig).make(SimpleNamespace(advance=lambda *_: None, read=read))
    assert isinstance(machine, kind)
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "sleep", sleep)
    try:
        machine.serve(lambda: now[0] > 100.0 + SECONDS)
    finally:
        machine.close()
    timebase, ages = np.zeros(1, TIMEBASE)[0], []
    step_rate = rig.rate if kind is VirtualNode else STEP_RATE
    for k, t_host in enumerate(seen):
        follow_clock(timebase, k / step_rate, t_host)
        ages.append(float(timebase["age"]))
    assert len(seen) == pytest.approx(SECONDS * step_rate, rel=0.01)
    assert LATE / 2 < max(ages) < 3 * LATE < Limits().stale.value / 4
