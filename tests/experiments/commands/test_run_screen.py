"""`riderless run` as it looks at 80 and at 60 columns, and the keys that are pressed before it has begun."""

import io
import json
import math
import shutil
import time
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console
from rich.live import Live

from riderless.experiments.emulation.hand import Hand
from riderless.experiments.live.rows import SharedRun
from riderless.experiments.terminal.operator import STOPPED_BY_KEY, heed, live_line
from riderless.experiments.terminal.run_screen import RunScreen
from riderless.hil.logs.log import read_run
from riderless.hil.loop.states import State
from riderless.hil.loop.tick_record import TICK
from riderless.hil.rig.rig import Rig
from riderless.hil.runners.operator import Operator
from riderless.models import catalogue
from riderless.models.linear.prescribed_steer import InnerLoop
from riderless.models.plant.plant import Kick
from tests.experiments.commands.terminal_screen import Screen
from tests.experiments.commands.test_init import be_patient
from tests.experiments.commands.test_run_keys import terminal
from tests.experiments.live.shared_memory import areas, new_feed
from tests.hil.machine import gains
from tests.paths import DOCS

RIG = Rig(catalogue.load_bicycle("Benchmark"))
NARROW = 60  # columns


@pytest.fixture
def patient(tmp_path):
    """A rig that a busy machine does not stop."""
    shutil.copy(DOCS / "rigs/node.toml", tmp_path / "patient.toml")
    be_patient(tmp_path / "patient.toml")
    return tmp_path / "patient.toml"


def row(state, t=1.0, **values):
    made = np.zeros(1, TICK)[0]
    made["t_host"], made["state"], made["v_est"], made["bus_meas"] = t, state, 5.0, 24.0
    for name, value in values.items():
        made[name] = value
    return made


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("waiting", [True, False])
@pytest.mark.parametrize("pushed", [True, False])
def test_each_state_says_how_to_stop_and_fits_60_columns(state, waiting, pushed):
    operator = Operator(86399.0, waiting=waiting)
    largest = {"phi_est": math.radians(-89.0), "delta_est": math.radians(-89.0), "T_cmd": -19.99, "v_est": 29.99}
    lines = live_line(row(state, **largest), RIG, operator, pushed).splitlines()
    assert max(map(len, lines)) <= NARROW, lines
    assert "any key" in lines[0]


@pytest.mark.parametrize(
    ("drive", "said"),
    [
        (InnerLoop(kind="rate", bandwidth=50.0), "rate  -57.3 of 344 deg/s"),  # 1 rad/s of 6 rad/s
        (InnerLoop(kind="angle", bandwidth=50.0, damping=1.0), "asked  -57.3 of 40 deg"),
    ],
)
def test_a_command_is_said_in_what_the_drive_obeys(drive, said):
    lines = live_line(
        row(State.RUNNING, T_cmd=-1.0, v_est=29.99), replace(RIG, drive=drive), Operator(1.0)
    ).splitlines()
    assert said in lines[-1]
    assert "N m" not in lines[-1]
    assert len(lines[-1]) <= NARROW


def test_a_stopping_run_says_what_a_second_key_does_and_a_past_one_that_it_is_over():
    operator = Operator(10.0)
    operator.interrupt("stopped by a key")
    assert "any key switches the drive off at once" in live_line(row(State.RAMPDOWN), RIG, operator)
    operator.watch(row(State.DISARMED))
    assert "over" in live_line(row(State.DISARMED), RIG, operator)


def test_an_arrow_is_one_key_and_kicks_only_an_emulated_bicycle():
    sides, operator = [], Operator(10.0)
    heed("\x1b[D\x1b[C[]", operator, sides.append)
    assert sides == [-1, 1, -1, 1]
    assert not operator.interrupted
    heed("\x1b[D", operator)
    assert operator.interrupted == STOPPED_BY_KEY
    assert operator.demand == 1, "one key ramps down, and does not switch off at once"


def test_wishes_of_a_page_kick_the_emulated_bicycle_and_whatever_else_lies_there_does_nothing():
    """Each process of this user may write to the memory that wishes lie in."""
    asked, operator = [], Operator(10.0)
    shown = RunScreen(str, Live(console=Console(file=io.StringIO())), RIG, gains(RIG), operator)
    shown.feed = new_feed()
    shown.hand = Hand(lambda side: asked.append(side) or Kick(0.0, 3.0 * side))
    run = SharedRun(areas().rows, areas().orders)
    for wish in (
        {"type": "kick"},
        {"type": "kick", "side": "left"},
        {"type": "kick", "side": "up", "strength": 1.0},
        {"type": "kick", "side": "left", "strength": "hard"},
        {"type": "wind", "force": 3.0},
        ["kick"],
        {"type": "kick", "side": "left", "strength": 0.5},
    ):
        run.ask(json.dumps(wish))
    run.close()
    shown.watch(row(State.RUNNING))
    assert asked == [-1]
    assert -1.5 in list(shown.hand.memory), "half as hard"


def require_whole(live, columns):
    """What was repainted is neither broken nor left behind."""
    screen = Screen(columns)
    screen.feed(live)
    assert live.count("s left; any key stops") > 3, "it was repainted"
    assert screen.broken == []
    assert not [line for line in screen.rows if "s left" in line]


@pytest.mark.realtime
def test_a_narrow_run_is_never_broken_and_is_stopped_by_a_key(tmp_path, patient):
    runs = tmp_path / "runs"
    command = ("run", str(patient), "--emulated", "--duration", "60", "-o", str(runs))
    with terminal(*command, columns=NARROW) as shown:
        shown.see("s left; any key stops", 300.0)
        time.sleep(1.0)  # a few repaints of RUNNING
        shown.press("q")
        shown.see("abort: stopped by a key")
        assert shown.process.wait(30.0) == 0
    live, _ = shown.all.split("abort:")  # the sentences after it are left whole, so that paths can be copied
    require_whole(live, NARROW)


@pytest.mark.parametrize("moment", ["at once", "while it starts"])
@pytest.mark.realtime
def test_a_key_pressed_early_stops(tmp_path, moment):
    with terminal("run", "--emulated", "--duration", "60", "-o", str(tmp_path)) as shown:
        if moment == "while it starts":
            shown.see("any key stops", 120.0)
        shown.press("q")
        shown.see(f"abort: {STOPPED_BY_KEY} before the run began", 120.0)
        assert shown.process.wait(60.0) == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.realtime
def test_a_key_kicks_the_emulated_bicycle_and_the_log_says_when(tmp_path, patient):
    runs = tmp_path / "runs"
    with terminal("run", str(patient), "--emulated", "--duration", "3.5", "-o", str(runs)) as shown:
        shown.see("s left;", 300.0)
        time.sleep(2.4)  # the kick that comes by itself, 1.1 s after RUNNING began, is over
        shown.press("\x1b[C")
        shown.see("kicked to the right")
        shown.see("success")
        assert shown.process.wait(30.0) == 0
    require_whole(shown.all.split("success:")[0], 80)
    (folder,) = runs.iterdir()
    run = read_run(folder)
    (kick,) = (marker for marker in run.markers if marker.kind == "kick")
    assert kick.text.startswith("kicked to the right, ")
    t, rate = run.ticks["t_host"], run.ticks["phi_dot_meas"]
    before, after = rate[(t > kick.t - 0.1) & (t < kick.t)], rate[(t > kick.t + 0.05) & (t < kick.t + 0.2)]
    # a kick by hand gives the lean rate 0.35 rad/s, or nearly: `hand_kick`
    assert 0.15 < np.max(after) - np.mean(before) < 0.6
