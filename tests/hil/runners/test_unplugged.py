"""A machine of three devices whose cables are pulled and put back: the run ends safe, and the next one just works."""

import threading

import pytest

from riderless.experiments.emulation.workstand import start_twin
from riderless.hil.logs.log import read_run
from riderless.hil.loop.states import State
from riderless.hil.rig.file import read_rig
from riderless.hil.runners.replay import replay
from riderless.hil.runners.session import run_realtime
from tests.hil.machine import gains, scenario
from tests.paths import DOCS

RIG = DOCS / "rigs/vectornav-vesc.toml"


@pytest.mark.realtime
def test_pulled_and_plugged_in_again(tmp_path):
    rig = read_rig(RIG)
    twin = start_twin(rig, scenario(), fifo=20)

    def pull(row):
        if row["state"] == State.RUNNING and not pulled.is_set():
            pulled.set()
            threading.Thread(target=twin.kill).start()

    pulled = threading.Event()
    outcome = run_realtime(tmp_path / "1", rig, gains(rig), twin.paths, 20.0, watch=pull, fifo=20)
    assert pulled.is_set()
    assert outcome.reason == "fault"
    assert "was lost" in outcome.cause
    assert "plug it in again" in outcome.cause
    last = read_run(tmp_path / "1").ticks[-1]
    assert last["T_cmd"] == 0.0
    assert State(int(last["state"])) in (State.FAULT, State.DISARMED)
    with start_twin(rig, scenario(), fifo=20) as again:
        outcome = run_realtime(tmp_path / "2", rig, gains(rig), again.paths, 1.0, fifo=20)
    assert outcome.reason == "success", outcome.cause
    assert replay(read_run(tmp_path / "2")).identical
