"""Privileges are taken, told and given back; where they are refused, a sentence says what to do."""

import json
import os
import subprocess
import sys
import threading
from contextlib import suppress

import pytest

from riderless.hil.runners import scheduling as module
from riderless.hil.runners.scheduling import privileges, require_existing
from riderless.models.errors import InputError

pytestmark = pytest.mark.realtime

IN_FORCE = """
import ctypes, json, os, sys
from pathlib import Path
from riderless.hil.runners.scheduling import privileges
def now():
    locked = [l for l in Path("/proc/self/status").read_text().splitlines() if l.startswith("VmLck")][0]
    slack = ctypes.CDLL(None).prctl(30, 0, 0, 0, 0)
    return [slack, os.sched_getscheduler(0), os.sched_getparam(0).sched_priority, int(locked.split()[1]) > 0,
            sorted(os.sched_getaffinity(0))]
"""
TAKEN = """
before = now()
with privileges(7, 0) as said:
    during = now()
print(json.dumps([before, during, now(), said]))
"""
FORBID = """
import resource
resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0))
resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))
if os.geteuid() == 0:
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
"""


def child(script):
    """What a process of its own finds: settings before, during, after, and the sentences."""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def fifo_is_permitted():
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(7))
    except PermissionError:
        return False
    os.sched_setscheduler(0, *before)
    return True


def test_normal_scheduling_takes_the_timer_slack_and_gives_it_back():
    before, during, after, said = child(IN_FORCE + TAKEN.replace("(7, 0)", "()"))
    assert before[0] > 1
    assert during == [1, *before[1:]]
    assert after == before
    assert said[0] == "timer slack is 1 ns"
    assert "normal priority: no real-time priority was asked for" in said


def test_priority_memory_and_cpu_are_taken_and_given_back():
    if not fifo_is_permitted():
        pytest.skip("SCHED_FIFO is not permitted here")
    before, during, after, said = child(IN_FORCE + TAKEN)
    assert before[1:4] == [os.SCHED_OTHER, 0, False]
    assert during[1:] == [os.SCHED_FIFO, 7, True, [0]]
    assert after == before
    assert "real-time priority SCHED_FIFO 7" in said
    assert said[-1] == "memory is locked"
    assert any(sentence.startswith("bound to CPU 0") for sentence in said)


def test_memory_is_fetched_before_the_priority_is_taken(monkeypatch):
    """It takes tenths of a second, in which nobody else would run."""
    if not fifo_is_permitted():
        pytest.skip("SCHED_FIFO is not permitted here")
    lock, under = module._locked_memory, []

    def watched(undo):
        under.append(os.sched_getscheduler(0))
        return lock(undo)

    monkeypatch.setattr(module, "_locked_memory", watched)
    with privileges(7) as said:
        assert os.sched_getscheduler(0) == os.SCHED_FIFO
    assert under == [os.SCHED_OTHER]
    assert said[-1] == "memory is locked"


def test_under_normal_scheduling_turns_are_short_where_the_kernel_knows_them():
    script = """
from riderless.hil.runners.scheduling import privileges, _turn
before = _turn()
with privileges() as said:
    during = _turn()
import json; print(json.dumps([before, during, _turn(), said]))
"""
    before, during, after, said = child(script)
    short = "turns of the CPU are as short as 100 us" in said
    assert short is (during == 100_000)
    assert short or any("from Linux 6.12 on" in sentence for sentence in said)
    assert after == before != 100_000


def test_what_is_refused_is_told_with_the_line_to_add_and_the_file():
    before, during, after, said = child(IN_FORCE + FORBID + TAKEN)
    assert during == [1, os.SCHED_OTHER, 0, False, [0]]
    assert after == before
    (priority,) = [s for s in said if s.startswith("normal priority")]
    assert "SCHED_FIFO 7 was refused (Operation not permitted)" in priority
    assert "'USER - rtprio 99' to /etc/security/limits.conf" in priority
    (memory,) = [s for s in said if s.startswith("memory is not locked")]
    assert "up to 0 kB" in memory
    assert "'USER - memlock unlimited' to /etc/security/limits.conf" in memory


def test_they_are_the_callers_thread_s_and_end_with_an_exception():
    found = {}

    def body():
        before = os.sched_getaffinity(0)
        with suppress(ZeroDivisionError), privileges(cpu=0):
            found["inside"] = os.sched_getaffinity(0)
            found["outside"] = os.sched_getaffinity(threading.main_thread().native_id)
            raise ZeroDivisionError
        found["given back"] = os.sched_getaffinity(0) == before

    everywhere = os.sched_getaffinity(0)
    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    assert found == {"inside": {0}, "outside": everywhere, "given back": True}


@pytest.mark.parametrize(
    ("isolated", "sentence"),
    [
        ("0,4-7\n", "bound to CPU 0, which is isolated from other programs"),
        ("4-7\n", "add 'isolcpus=0' to GRUB_CMDLINE_LINUX in /etc/default/grub"),
        ("\n", "add 'isolcpus=0'"),
        (None, "add 'isolcpus=0'"),
    ],
)
def test_a_shared_cpu_is_told_how_to_be_isolated(tmp_path, monkeypatch, isolated, sentence):
    file = tmp_path / "isolated"
    if isolated is not None:
        file.write_text(isolated)
    monkeypatch.setattr(module, "_ISOLATED_FILE", file)
    with privileges(cpu=0) as said:
        assert any(sentence in s for s in said)


def test_the_cpus_stay_awake_while_the_file_is_open(tmp_path, monkeypatch):
    file = tmp_path / "latency"
    file.write_bytes(b"")
    monkeypatch.setattr(module, "_LATENCY_FILE", file)
    with privileges() as said:
        assert "the CPUs are kept from deep sleep" in said
        assert file.read_bytes() == b"\0\0\0\0"
        assert str(file) in [os.readlink(f"/proc/self/fd/{fd}") for fd in open_files()]
    assert str(file) not in [os.readlink(f"/proc/self/fd/{fd}") for fd in open_files()]
    monkeypatch.setattr(module, "_LATENCY_FILE", tmp_path / "absent")
    with privileges() as said:
        assert any(s.startswith("the CPUs may sleep deeply") and "No such file" in s for s in said)


def open_files():
    return [fd for fd in os.listdir("/proc/self/fd") if os.path.islink(f"/proc/self/fd/{fd}")]


@pytest.mark.parametrize(
    ("fifo", "cpu", "sentence"),
    [
        (100, None, "must be 1 to 99, or 0 for none, found 100"),
        (-1, None, "found -1"),
        (0, -1, "there is no CPU -1"),
        (0, 10_000, "there is no CPU 10000 in this computer: name one from 0 to "),
    ],
)
def test_what_no_permission_could_give_is_refused(fifo, cpu, sentence):
    with pytest.raises(InputError, match=sentence):
        require_existing(fifo, cpu)
    with pytest.raises(InputError, match=sentence), privileges(fifo, cpu):
        pass
