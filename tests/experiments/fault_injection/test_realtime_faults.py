"""Faults in real time: real processes, signals, disks and terminals; and a judge that would notice."""

import signal
import sys
import time
from dataclasses import replace
from pathlib import Path
from subprocess import Popen

import numpy as np
import pytest

from riderless.experiments.fault_injection.realtime.bench import Instant, RealtimeBench
from riderless.experiments.fault_injection.realtime.campaign import (
    judge_lateness,
    judge_log,
    merge_rows,
    realtime_case,
    realtime_cases,
    run_realtime_case,
    time_to_zero,
)
from riderless.experiments.fault_injection.realtime.faults import REALTIME_FAULTS, When
from riderless.firmware_interface.twins.virtual_node import Report
from riderless.hil.logs.header import RunHeader
from riderless.hil.logs.log import RunWriter, read_run
from riderless.hil.loop.tick_record import TICK
from riderless.models.errors import InputError

pytestmark = pytest.mark.realtime

SEED = 1
CASES = realtime_cases(SEED)
QUICK = {
    ("kill -9", When.KICK),
    ("SIGINT twice", When.KICK),
    ("adapter unplugged", When.KICK),
    ("log may not grow", When.KICK),
}


def marked(case):
    slow = () if (case.fault.name, case.when) in QUICK else (pytest.mark.slow,)
    return pytest.param(case, id=f"{case.fault.name}-{case.when.name}", marks=slow)


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    with RealtimeBench(tmp_path_factory.mktemp("bench"), SEED) as bench:
        yield bench


@pytest.mark.timeout(300)
@pytest.mark.parametrize("case", [marked(case) for case in CASES])
def test_every_promise_is_kept(case, bench, tmp_path):
    for n in range(3):  # on a machine that is busy with other things a run may end before its fault
        (tmp_path / str(n)).mkdir()
        row = run_realtime_case(case, tmp_path / str(n), bench)
        if row.cases == 0:
            pytest.skip(row.outcomes[0][0])
        if not row.violations:
            return
    assert row.violations == ()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_the_loop_is_being_loaded_ends_it_without_a_run(bench, number):
    root = bench.visit()
    with (root / "said").open("wb") as said:
        process = Popen(
            [sys.executable, "-m", "riderless.experiments.cli", *bench.command(root)], stdout=said, stderr=said
        )
    try:
        while process.poll() is None and "llvmlite" not in Path(f"/proc/{process.pid}/maps").read_text():
            time.sleep(0.01)
        process.send_signal(number)
        code = process.wait(60.0)
    finally:
        process.kill()
        process.wait()
    assert code in (128 + number, -number)  # told by the command, or before it listened
    assert "Traceback" not in (root / "said").read_text()
    assert not (root / "runs").exists()


def fault_of(name):
    return next(fault for fault in REALTIME_FAULTS if fault.name == name)


def test_cases_are_numbered_and_replayed_by_number():
    assert [case.index for case in CASES] == list(range(len(CASES)))
    assert realtime_case(SEED, 3) == CASES[3]
    assert CASES[3].replay == "riderless faults --real-time --seed 1 --case 3"
    with pytest.raises(InputError, match=f"0 to {len(CASES) - 1}"):
        realtime_case(SEED, len(CASES))


def test_controllers_are_killed_at_every_state():
    assert {case.when for case in CASES if case.fault.name == "kill -9"} == set(When)


def test_torque_after_a_strike_is_measured_and_judged():
    stopped, run = fault_of("SIGINT"), None
    struck = Instant(100.0, Report(t=5.0, T=1.0))
    after = Report(zero_host=100.4, zero_t=5.39)
    lasted = time_to_zero(stopped, struck, after, run)
    assert lasted == pytest.approx(0.4)
    assert judge_lateness(stopped, lasted)
    assert not judge_lateness(stopped, 0.23)
    assert time_to_zero(stopped, struck, Report(zero_host=99.0), run) == 0.0, "there was none"


def test_a_drive_left_alone_is_judged_by_its_own_clock():
    killed = fault_of("kill -9")
    record = Report(heard_t=4.9, zero_t=4.94, zero_host=100.2)
    lasted = time_to_zero(killed, Instant(100.0, record), Report(zero_host=101.0, heard_t=9.0), None)
    assert lasted == pytest.approx(0.04)
    assert judge_lateness(killed, lasted), "40 ms is more than watchdog and two sampling instants"
    assert not judge_lateness(killed, 0.035)


def written(folder, ks, reason="fault"):
    """A log of ticks 5 ms apart that ends at 100 s, without raw bytes."""
    rows = np.zeros(len(ks), TICK)
    rows["k"] = ks
    rows["t_host"] = 100.0 - 0.005 * np.arange(len(ks))[::-1]
    with RunWriter(folder, RunHeader({})) as writer:
        writer.write(rows)
        writer.close(reason)
    return read_run(folder)


@pytest.fixture
def _no_replay(monkeypatch):
    """A log without raw bytes cannot be replayed; here only its rows matter."""
    from riderless.hil.runners.replay import Replay

    monkeypatch.setattr(
        "riderless.experiments.fault_injection.realtime.campaign.replay", lambda run: Replay(1, 1, None, "")
    )


@pytest.mark.usefixtures("_no_replay")
def test_a_log_with_gaps_or_a_missing_end_is_noticed(tmp_path):
    fault, struck = fault_of("device hangs"), Instant(100.0, Report())
    assert judge_log(fault, struck, written(tmp_path / "whole", [1, 2, 3])) == []
    assert "missing" in judge_log(fault, struck, written(tmp_path / "gap", [1, 2, 4]))[0]
    assert "before the strike" in judge_log(fault, Instant(100.5, Report()), written(tmp_path / "early", [1, 2]))[0]
    assert "stop reason is abort" in judge_log(fault, struck, written(tmp_path / "other", [1, 2], "abort"))[0]


def test_rows_of_one_fault_become_one_with_the_worst_of_each():
    from riderless.experiments.fault_injection.summary_table import FaultRow

    good = FaultRow("kill -9", 1, (("killed", 1),), 0.02, "stops", True)
    bad = replace(good, worst=0.03, log_intact=False, violations=("it did not",))
    assert merge_rows([good, bad, good]) == FaultRow(
        "kill -9", 3, (("killed", 3),), 0.03, "stops", False, ("it did not",)
    )
