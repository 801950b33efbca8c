"""`riderless run` with a person at a real terminal: Enter arms, k marks a kick, any key stops."""

import os
import pty
import select
import subprocess
import sys
import termios
import time
from contextlib import contextmanager

import numpy as np
import pytest

from riderless.experiments.emulation.workstand import start_twin
from riderless.experiments.terminal.operator import heed, mark_echo
from riderless.hil.logs.log import read_run
from riderless.hil.loop.states import Demand, State
from riderless.hil.rig.rig import Rig
from riderless.hil.runners.operator import Operator
from riderless.models import catalogue
from riderless.models.plant.plant import Scenario


class Terminal:
    """A program behind a pseudo-terminal, and what it has shown."""

    def __init__(self, command, columns=80):
        self._master, slave = pty.openpty()
        termios.tcsetwinsize(slave, (24, columns))
        self.process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
        os.close(slave)
        self.shown, self.all = "", ""

    def see(self, text, longest=90.0):
        """Wait until ``text`` was shown after what was seen before."""
        end = time.monotonic() + longest
        while text not in self.shown:
            assert time.monotonic() < end, f"{text!r} was never shown: {self.shown[-800:]}"
            if select.select([self._master], [], [], 0.1)[0]:
                try:
                    new = os.read(self._master, 65536).decode(errors="replace")
                    self.shown, self.all = self.shown + new, self.all + new
                except OSError:
                    assert text in self.shown, self.shown[-800:]
        self.shown = self.shown.split(text, 1)[1]

    def ended(self, longest=60.0):
        """Take all that it still shows; its exit code."""
        while True:
            try:
                new = os.read(self._master, 65536)
            except OSError:  # the other end is closed
                return self.process.wait(longest)
            self.all += new.decode(errors="replace")

    def press(self, keys):
        os.write(self._master, keys.encode())

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self._master)


@contextmanager
def terminal(*command, columns=80):
    opened = Terminal([sys.executable, "-m", "riderless.experiments.cli", *command], columns)
    try:
        yield opened
    finally:
        opened.close()


@pytest.mark.realtime
def test_enter_arms_k_marks_and_a_key_stops(tmp_path):
    rig = Rig(catalogue.load_bicycle("Benchmark"))
    with (
        start_twin(rig, Scenario(speed=((0.0, 5.0),))) as twin,
        terminal("run", "--port", twin.path, "--duration", "60", "-o", str(tmp_path)) as screen,
    ):
        screen.see("then Enter arms")
        assert twin.report.commands > 0, "the loop runs, disarmed"
        assert not twin.report.enabled
        screen.press("\n")
        screen.see("s left")
        screen.press("k")
        screen.see("kick marked at ")
        time.sleep(0.2)
        screen.press("q")
        screen.see("abort: stopped by a key")
        assert screen.process.wait(20.0) == 0
        assert not twin.result().enabled
    (folder,) = tmp_path.iterdir()
    run = read_run(folder)
    kicks = [marker for marker in run.markers if marker.kind == "kick"]
    assert len(kicks) == 1
    running = run.ticks[run.ticks["state"] == State.RUNNING]
    assert kicks[0].text.startswith("by key")
    assert running["t_host"][0] <= kicks[0].t <= running["t_host"][-1]
    assert run.ticks["demand"][0] == Demand.OFF


def test_only_the_key_k_is_answered():
    assert mark_echo("k", 12.44) == "kick marked at 12.4 s"
    assert mark_echo("q", 12.44) == mark_echo("", 12.44) == ""


def row(t, state=State.DISARMED):
    from riderless.hil.loop.tick_record import TICK

    made = np.zeros(1, TICK)[0]
    made["t_host"], made["state"] = t, state
    return made


def test_an_operator_who_waits_does_nothing_until_armed():
    operator = Operator(2.0, waiting=True)
    for t in (0.0, 1.0, 2.0):
        operator.watch(row(t))
    assert operator.demand == Demand.OFF
    assert not operator.finished(3.0)
    heed("\n", operator)
    assert operator.demand == Demand.RUN
    operator.watch(row(3.0, State.RUNNING))
    operator.watch(row(3.5, State.RUNNING))
    assert operator.left == pytest.approx(1.5)
    heed("k", operator)
    assert list(operator.marks) == [(3.5, "kick", "by key")]
    heed("\n", operator)
    assert operator.demand == Demand.STOP, "once armed, Enter is a key like any other"
    heed(" ", operator)
    assert operator.demand == Demand.OFF, "a second key switches off at once"


def test_a_key_before_arming_ends_the_wait():
    operator = Operator(2.0, waiting=True)
    operator.watch(row(0.0))
    heed("q", operator)
    operator.watch(row(0.1))
    assert operator.finished(0.5)
    assert operator.outcome().reason == "abort"
    heed("\n", operator)
    assert operator.demand == Demand.OFF
