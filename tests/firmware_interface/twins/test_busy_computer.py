"""Emulated devices on a computer that keeps them waiting: their clocks go on, as those of devices do."""

import time
from types import SimpleNamespace

import numpy as np
import pytest

from riderless.firmware_interface.twins.faults import READING_NAMES
from riderless.firmware_interface.twins.machine import VirtualMachine
from riderless.firmware_interface.twins.twin import STEP_RATE
from riderless.firmware_interface.twins.virtual_node import VirtualNode
from riderless.hil.loop.clock_offset import TIMEBASE, follow_clock
from riderless.hil.loop.limits import Limits
from riderless.hil.rig.file import read_rig
from riderless.hil.runners.emulation import emulated_machine
from tests.paths import DOCS

SECONDS = 3.0
MACHINES = [("node", VirtualNode), ("vectornav-vesc", VirtualMachine)]


def served(monkeypatch, name, kind, late, each):
    """Seconds of its own clock that a twin gives in `SECONDS`, and the greatest age of its samples [s].

    Each so many-th of its sleeps ends ``late`` s late.
    """
    rig = read_rig(DOCS / f"rigs/{name}.toml")
    now, sleeps, seen = [100.0], [0], []

    def sleep(duration):
        sleeps[0] += 1
        now[0] += duration + (late if sleeps[0] % each == 0 else 0.0)

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
    return len(seen) / step_rate, max(ages)


@pytest.mark.parametrize(("name", "kind"), MACHINES)
def test_samples_of_a_twin_that_often_wakes_late_do_not_seem_old(monkeypatch, name, kind):
    """Each lateness once set its clock back for good; ten in a third of a second were a sample too old to ride by."""
    late = 0.004
    lasted, oldest = served(monkeypatch, name, kind, late, each=6)
    assert lasted == pytest.approx(SECONDS, rel=0.01)
    assert late / 2 < oldest < 3 * late < Limits().stale.value / 4


@pytest.mark.parametrize(("name", "kind"), MACHINES)
def test_one_that_wakes_too_late_loses_what_exceeds_that(monkeypatch, name, kind):
    """All of it was lost, and samples seemed 80 ms old: too old to ride by."""
    lasted, oldest = served(monkeypatch, name, kind, late=0.020, each=40 if kind is VirtualNode else 150)
    assert 0.9 * SECONDS < lasted < SECONDS
    assert 0.020 < oldest < Limits().stale.value
