"""The log is deleted, cut or moved while the bicycle rides: the torque ramps down, and the program says why."""

import os
import subprocess
import sys
import time

import pytest

from riderless.experiments.emulation.workstand import start_twin
from riderless.hil.logs.log import RUN_FILE, read_run
from riderless.hil.loop.states import Cause, State
from riderless.hil.runners import session
from tests.hil.machine import gains, rig_of, scenario

pytestmark = pytest.mark.realtime
FIFO = 20


def ridden(folder, harm):
    """Outcome, rows that were seen, and the drive's torque of a ride in which ``harm(file)`` is done to the log."""
    rig, seen, harmed = rig_of(), [], []

    def watch(row):
        seen.append(row.copy())
        if row["state"] == State.RUNNING and not harmed:
            harmed.append(float(row["t_host"]))
            harm(folder / RUN_FILE)

    with start_twin(rig, scenario(), fifo=FIFO) as twin:
        outcome = session.run_realtime(folder, rig, gains(rig), twin.path, 2.0, watch=watch, fifo=FIFO)
        assert twin.report.T == 0.0
    assert harmed, outcome.cause
    return outcome, seen, harmed[0]


@pytest.mark.parametrize("harm", [os.unlink, lambda file: os.truncate(file, 100)], ids=["deleted", "cut"])
def test_the_ride_ends_softly_within_a_second(tmp_path, harm):
    outcome, seen, harmed = ridden(tmp_path / "run", harm)
    assert outcome.reason == "fault"
    assert outcome.cause.startswith("the log could not be written: ")
    assert "was deleted" in outcome.cause or "was changed by another program" in outcome.cause
    assert "make room" not in outcome.cause
    noticed = next(row for row in seen if not row["recording"])
    assert noticed["t_host"] - harmed < 1.0
    assert Cause(int(seen[-1]["cause"])) is Cause.RECORDER
    states = [State(int(row["state"])) for row in seen if row["t_host"] > harmed]
    assert State.RAMPDOWN in states, "softly"
    assert states[-1] is State.FAULT


def test_a_moved_log_is_whole_where_it_lies(tmp_path):
    outcome, _, _ = ridden(tmp_path / "run", lambda file: file.parent.rename(tmp_path / "elsewhere"))
    assert outcome.reason == "success", outcome.cause
    assert outcome.folder == tmp_path / "elsewhere"
    assert any(f"it lies in {tmp_path / 'elsewhere'}" in remark for remark in outcome.remarks)
    assert read_run(outcome.folder).complete


def test_the_command_line_names_no_run_that_is_not_there(tmp_path):
    command = [
        sys.executable,
        "-m",
        "riderless.experiments.cli",
        "run",
        "--emulated",
        "--bicycle",
        "Silver",
        "--duration",
        "20",
    ]
    process = subprocess.Popen(
        [*command, "-o", str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    )
    while not (files := list(tmp_path.glob(f"*/{RUN_FILE}"))):
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    time.sleep(0.2)
    files[0].unlink()
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1, out + err
    assert "was deleted while it was written" in out
    assert "run: " not in out
    assert "Traceback" not in err
