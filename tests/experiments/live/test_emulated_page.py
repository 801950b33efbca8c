"""`riderless emulate --live`: the machine itself on the page, kicked and broken from there, and the run at its port."""

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from websockets.sync.client import connect

from tests.experiments.live.page.riding import FIFO
from tests.experiments.live.shared_memory import hear, socket_address

CLI = [sys.executable, "-m", "riderless.experiments.cli"]


@contextmanager
def emulated(*arguments):
    """The command; gives what it says of itself, and its process."""
    command = [*CLI, "emulate", "Silver", "--speed", "4", "--kick-every", "0", "--live", "--json", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            yield json.loads(process.stdout.readline()), process.pid
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(30.0) == 0


def looking(told):
    """A page before it."""
    return connect(socket_address(told["address"]), max_size=None)


def heard(page, kind, true, patience=60.0):
    """First message of a kind of which something is true."""
    while not true(message := hear(page, kind, patience)):
        pass
    return message


def test_without_a_program_it_says_how_to_connect_and_shows_the_machine_itself():
    with emulated() as (told, _), looking(told) as page:
        hello = hear(page, "hello")
        assert hello["bicycle"]["name"] == told["bike"] == "Silver"
        assert set(hello["can"]) == {"kick", "wind", "speed", "fault"}, "there is nothing to stop"
        status = hear(page, "status")
        assert [told["connect"] in obstacle["do"] for obstacle in status["obstacles"]] == [True]
        assert hear(page, "rows")["v"] == [4.0]
        page.send('{"type":"speed","speed":5.5}')
        heard(page, "rows", lambda rows: rows["v"] == [5.5])  # at once, while somebody holds it
        page.send('{"type":"kick","side":"left"}')
        heard(page, "event", lambda event: "somebody holds the bicycle" in event["text"])


@pytest.mark.realtime
@pytest.mark.slow
def test_the_run_at_its_port_is_shown_stopped_and_left(tmp_path):
    with emulated() as (told, pid), looking(told) as page:
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            with suppress(PermissionError):
                os.sched_setscheduler(int(child), os.SCHED_FIFO, os.sched_param(FIFO + 1))
        hear(page, "hello")
        run = ["run", "--bicycle", "Silver", "--port", told["path"], "--duration", "20", "--fifo", str(FIFO)]
        with subprocess.Popen([*CLI, *run, "--yes-arm-unattended", "--out", str(tmp_path / "out")]) as running:
            hello = hear(page, "hello", 60.0)
            assert {"stop", "kick", "fault"} <= set(hello["can"])
            heard(page, "status", lambda status: status["code"] == "RUNNING")
            page.send('{"type":"kick","side":"left"}')
            kick = heard(page, "event", lambda event: event["kind"] == "kick")
            assert kick["text"].startswith("kicked to the left")
            heard(page, "rows", lambda rows: rows["t"][-1] > kick["t"] + 0.3 and min(rows["phi"]) < -0.01)
            page.send('{"type":"stop"}')
            heard(page, "status", lambda status: "stopped on the live page" in status["why"])
            assert running.wait(30.0) == 0
        heard(page, "status", lambda status: status["state"] == "emulated machine: no program runs it")
