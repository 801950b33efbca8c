"""Paced runner: the bicycle's clock beside the one on the wall, the log that is left, and no port anywhere."""

import json
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from riderless.experiments.emulation.plaything import PlayedPlant, Playmate
from riderless.hil.design.methods import design
from riderless.hil.logs.log import read_run
from riderless.hil.rig.rig import Rig, RigPort
from riderless.hil.runners.operator import Operator, Outcome
from riderless.hil.runners.paced.run import LOOK_EVERY, run_paced
from riderless.hil.runners.paced.wall_clock import CATCH_UP, WallClock
from riderless.hil.runners.replay import replay
from riderless.hil.runners.simulated_run import run_lockstep
from riderless.models import load_bicycle
from riderless.models.errors import InputError
from riderless.models.plant.plant import Kick, Scenario

SPEED = 4.6  # m/s
RIG = Rig(load_bicycle("Benchmark"))
GAINS = design(RIG.bicycle, "lqr", (4.0, SPEED, 6.0), RIG.timing)
KICK = 2.5  # s of the run


class BusyComputer:
    """Computer on which each step of the run takes ``step`` s; its clock knows nothing of the real one."""

    def __init__(self, step: float) -> None:
        self.t, self.step, self.slept = 100.0, step, 0.0

    def now(self) -> float:
        self.t += self.step
        return self.t

    def sleep(self, seconds: float) -> None:
        self.t += seconds
        self.slept += seconds

    def clock(self) -> WallClock:
        return WallClock(self.now, self.sleep)


def ride(folder: Path, clock: WallClock, rig: Rig = RIG, duration: float = 3.0) -> tuple[Outcome, list[float]]:
    """Ride with one kick; the outcome, and the rate of the bicycle's clock at each look."""
    mate, operator, rates = Playmate(lambda side: Kick(0.0, impulse=4.0 * side), SPEED), Operator(duration), []

    def watch(row: np.void, rate: float) -> None:
        rates.append(rate)
        if abs(float(row["t_host"]) - KICK) < 0.5 * LOOK_EVERY:
            mate.push(1)
        operator.marks.extend((t, "kick", text) for t, text in mate.news() if t is not None)

    plant = partial(PlayedPlant, memory=mate.memory, simulated=True)
    return run_paced(folder, rig, GAINS, plant, Scenario(speed=((0.0, SPEED),)), operator, watch, clock=clock), rates


def test_on_a_busy_computer_the_clock_slows_and_the_ride_is_the_same(tmp_path):
    slow, quick = BusyComputer(step=LOOK_EVERY / 0.6), BusyComputer(step=0.1 * LOOK_EVERY)
    outcome, rates = ride(tmp_path / "slow", slow.clock())
    assert outcome == Outcome("success", "the planned duration was reached")
    assert rates[-1] == pytest.approx(0.6, rel=1e-6)
    assert slow.slept == 0.0
    _, rates = ride(tmp_path / "quick", quick.clock())
    assert min(rates) == pytest.approx(1.0)
    runs = [read_run(tmp_path / name) for name in ("slow", "quick")]
    assert runs[0].ticks.tobytes() == runs[1].ticks.tobytes()
    run_lockstep(tmp_path / "lockstep", RIG, GAINS, Scenario(speed=((0.0, SPEED),)), 2.0)
    before = round(KICK / RIG.dt)
    assert runs[0].ticks[:before].tobytes() == read_run(tmp_path / "lockstep").ticks[:before].tobytes()
    for run in runs:
        assert run.header.time == "simulated"
        np.testing.assert_allclose(np.diff(run.ticks["t_host"]), RIG.dt)
        kick = next(marker.t for marker in run.markers if marker.kind == "kick")
        assert kick == pytest.approx(KICK, abs=2 * LOOK_EVERY)
        assert replay(run).identical


def test_a_short_delay_is_made_up_and_of_a_long_one_the_rest_is_forgotten():
    computer = BusyComputer(step=0.0)
    clock = computer.clock()
    clock.keep_to(0.0)
    computer.t += 0.5 * CATCH_UP
    clock.keep_to(0.4 * CATCH_UP)
    assert computer.slept == 0.0
    clock.keep_to(0.6 * CATCH_UP)
    assert computer.slept == pytest.approx(0.1 * CATCH_UP)
    computer.t += 10.0
    clock.keep_to(0.7 * CATCH_UP)
    clock.keep_to(1.7 * CATCH_UP)
    assert computer.slept == pytest.approx(0.1 * CATCH_UP), "it may still make up for so much"
    clock.keep_to(1.8 * CATCH_UP)
    assert computer.slept == pytest.approx(0.2 * CATCH_UP)


def test_a_wired_rig_is_refused_before_anything_is_written(tmp_path):
    wired = replace(RIG, ports=(RigPort(path="/dev/ttyACM0"),))
    with pytest.raises(InputError, match="play is for an emulated bicycle, found a rig wired to /dev/ttyACM0"):
        ride(tmp_path / "run", WallClock(), wired)
    assert list(tmp_path.iterdir()) == []


WATCHED = """
import json, sys
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
from pathlib import Path
from tests.hil.runners.test_paced import BusyComputer, ride
ride(Path(sys.argv[1]), BusyComputer(0.0).clock(), duration=0.2)
ports = [path for path in opened if path.startswith(("/dev/tty", "/dev/pts", "/dev/ptmx", "/dev/serial"))]
logs = [path for path in opened if path.endswith("run.mcap")]
print(json.dumps({"logs": len(logs), "ports": ports}))
"""


def test_no_port_is_opened(tmp_path):
    watched = subprocess.run(
        [sys.executable, "-c", WATCHED, str(tmp_path / "run")], capture_output=True, text=True, check=True
    )
    assert json.loads(watched.stdout) == {"logs": 1, "ports": []}


def test_a_bicycle_that_is_played_is_balanced_by_the_computer_whatever_its_rig_says(tmp_path):
    outcome, _ = ride(tmp_path / "run", BusyComputer(0.0).clock(), replace(RIG, closed_by="node"), duration=1.0)
    assert outcome.reason == "success"
    assert read_run(tmp_path / "run").header.closed_by == "computer"
