"""The latency test itself: its floor, its load, and short real runs."""

import json
import os
import platform
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from riderless.hil.commissioning import cyclictest
from riderless.hil.commissioning.latency_measure import LatencyTrial, loaded_computer
from riderless.hil.runners import latency_certificate
from riderless.hil.runners.latency_certificate import TOO_SHORT, LatencyResult, describe_computer, recent_latency_result
from riderless.models.errors import InputError

pytestmark = pytest.mark.realtime

# as printed by cyclictest 2.40 (-q -t1 -i5000 -l10 -h8), with three wake-ups beyond its histogram
RECORDED = """\
# /dev/cpu_dma_latency set to 0us
# Histogram
000000 000000
000001 000000
000002 000001
000003 000004
000004 000002
000005 000000
000006 000000
000007 000000
# Total: 000000007
# Min Latencies: 00002
# Avg Latencies: 00009
# Max Latencies: 00031
# Histogram Overflows: 00003
# Histogram Overflow at cycle number:
# Thread 0: 00000 00001 00008

"""


@pytest.fixture
def state(tmp_path, monkeypatch):
    """Where results are kept, for the time of a test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "riderless" / "latency.json"


# ---- floor -----------------------------------------------------------------------------------------------


def test_the_recorded_output_of_cyclictest_is_understood():
    floor = cyclictest.parse_histogram(RECORDED, bins=9)
    assert floor.counts.tolist() == [0, 0, 1, 4, 2, 0, 0, 0, 3]
    assert floor.worst == pytest.approx(31e-6, abs=1e-12)
    assert floor.percentile(50) == pytest.approx(4e-6, abs=1e-12)  # the fifth of ten ends the bin of 3 us
    assert floor.percentile(99) == pytest.approx(31e-6, abs=1e-12)


@pytest.mark.parametrize("text", ["", "usage: cyclictest", RECORDED.replace("Max", "Most"), "000001 000001\n"])
def test_other_output_is_refused(text):
    with pytest.raises(InputError, match="printed no histogram"):
        cyclictest.parse_histogram(text, 9)


def test_cyclictest_is_asked_for_what_we_do_ourselves():
    words = cyclictest.cyclictest_command(rate=200.0, n=400, bins=5001)
    assert words == ["cyclictest", "-q", "-t1", "-i5000", "-l400", "-h5000"]
    words = cyclictest.cyclictest_command(rate=1000.0, n=1000, bins=1001, fifo=80, cpu=1)
    assert words[3:] == ["-i1000", "-l1000", "-h1000", "-m", "-p80", "-a1"]


def fake_cyclictest(folder, script, monkeypatch):
    program = folder / "cyclictest"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def test_its_refusal_is_passed_on_in_its_own_words(tmp_path, monkeypatch):
    fake_cyclictest(tmp_path, "echo 'no thread for you' >&2; exit 3", monkeypatch)
    with pytest.raises(InputError, match="ended with 'no thread for you'"):
        cyclictest.run_cyclictest(200.0, 10, 9)


def test_it_inherits_our_timer_slack(tmp_path, monkeypatch):
    (tmp_path / "said").write_text(RECORDED)
    script = f"cat /proc/$$/timerslack_ns > {tmp_path}/slack; cat {tmp_path}/said"
    fake_cyclictest(tmp_path, script, monkeypatch)
    assert cyclictest.run_cyclictest(200.0, 10, 9).n == 10
    assert (tmp_path / "slack").read_text().strip() == "1"


# ---- the test itself -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"rate": 5.0}, "the rate of a latency test must be 10 to 2000 Hz, found 5"),
        ({"rate": float("nan")}, "found nan"),
        ({"duration": 0.0}, "the duration of a latency test must be 0.1 to 86400 s, found 0"),
        ({"cpu": 4096}, "there is no CPU 4096"),
        ({"fifo": 100}, "must be 1 to 99"),
    ],
)
def test_a_trial_that_cannot_be_made_is_refused(changes, sentence):
    with pytest.raises(InputError, match=sentence):
        LatencyTrial(**changes)


def test_the_computer_is_described_in_sentences():
    said = describe_computer()
    assert any(platform.release() in s for s in said)
    assert any("governor" in s for s in said)
    assert any("timer resolution" in s for s in said)


def test_a_cpu_that_is_switched_off_tells_no_governor_and_spoils_no_test(tmp_path, monkeypatch):
    """Its file cannot be read: that ended a latency test of minutes at its very end."""
    for cpu, governor in (("cpu0", "powersave"), ("cpu1", None)):
        file = tmp_path / "cpu" / cpu / "cpufreq" / "scaling_governor"
        file.parent.mkdir(parents=True)
        if governor is None:
            file.mkdir()  # no file that can be read
        else:
            file.write_text(f"{governor}\n", encoding="utf-8")
    monkeypatch.setattr(latency_certificate, "_SYSTEM", tmp_path)
    said = describe_computer()
    assert any(s.startswith("CPU governor powersave: set it with") for s in said)
    assert any(s.startswith("clock source unknown,") for s in said)


def test_the_load_is_there_and_gone_again():
    with loaded_computer() as hogs:
        assert len(hogs) == len(os.sched_getaffinity(0)) - 1
        assert "load" in [t.name for t in threading.enumerate()]
        assert all(Path(f"/proc/{pid}").exists() for pid in hogs)
    assert "load" not in [t.name for t in threading.enumerate()]
    assert not any(Path(f"/proc/{pid}").exists() for pid in hogs)


def test_the_load_leaves_the_loop_s_cpu_alone():
    with loaded_computer(cpu=0) as hogs:
        assert all(0 not in os.sched_getaffinity(pid) for pid in hogs)


def test_the_load_does_not_outlive_a_killed_program():
    script = "import time; from riderless.hil.commissioning.latency_measure import loaded_computer\n"
    script += "with loaded_computer() as hogs: print(*hogs, flush=True); time.sleep(60)"
    program = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    hogs = [int(pid) for pid in program.stdout.readline().split()]
    program.kill()
    program.wait()
    assert wait_until(lambda: not any(running(pid) for pid in hogs))


def running(pid):
    """It exists and is no zombie that waits for somebody to look."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until(condition, patience=30.0):
    end = time.monotonic() + patience
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def riderless(*words):
    from riderless.experiments.cli import app

    return CliRunner().invoke(app, ["latency", *words], catch_exceptions=False)


def test_a_short_real_run_has_everything_and_is_kept(state, tmp_path):
    done = riderless("--duration", "0.5", "--rate", "100", "--json", "-o", str(tmp_path / "latency.json"))
    document = json.loads(done.stdout)
    assert document == json.loads((tmp_path / "latency.json").read_text())
    assert 20 < document["ours"]["n"] < 200  # half a second, however busy this computer is
    assert sum(document["histogram_us"]["ours"].values()) == document["ours"]["n"]
    if cyclictest.cyclictest_installed():
        assert document["floor"]["n"] == 50
    else:
        assert document["floor"] is None
        assert "rt-tests" in document["floor_note"]
    assert 0 < document["compute_p50"] < 0.1
    assert document["verdict"] == TOO_SHORT
    assert done.exit_code == 0
    kept = json.loads(state.read_text())
    assert [LatencyResult.from_dict(entry).rate for entry in kept.values()] == [100.0]
    assert recent_latency_result(100.0, 0) is None  # too short to vouch for anything


def test_without_cyclictest_there_is_a_sentence_and_idle_is_not_kept(state, monkeypatch):
    monkeypatch.setattr(cyclictest, "cyclictest_installed", lambda: False)
    done = riderless("--duration", "0.2", "--rate", "100", "--no-load")
    assert "sudo apt install rt-tests" in " ".join(done.stdout.split())
    assert "cyclictest %" not in done.stdout
    assert "only a test under load vouches" in done.stdout
    assert not state.exists()


@pytest.mark.slow
def test_ctrl_c_ends_it_cleanly(state):
    command = [sys.executable, "-m", "riderless.experiments.cli", "latency", "--duration", "600"]
    program = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    children = Path(f"/proc/{program.pid}/task/{program.pid}/children")

    def under_way():
        names = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in children.read_text().split()]
        return program.poll() is not None or any(b"getppid" in name for name in names)

    try:
        assert wait_until(under_way, 100.0)
        started = [int(pid) for pid in children.read_text().split()]
        program.send_signal(signal.SIGINT)
        _, complaint = program.communicate(timeout=60)
    finally:
        program.kill()
    assert program.returncode == 2
    assert "the latency test was interrupted and is not kept" in " ".join(complaint.split())
    assert "Traceback" not in complaint
    assert wait_until(lambda: not any(running(pid) for pid in started))
    assert not state.exists()
