"""`riderless play` beside programs that leave it too little of a processor: it rides on, slower."""

import json
import os
import signal
import subprocess
import sys

from websockets.sync.client import connect

from riderless.hil.logs.log import read_run
from riderless.hil.runners.replay import replay
from tests.experiments.live.shared_memory import hear

PLAY = [
    sys.executable,
    "-m",
    "riderless.experiments.cli",
    "play",
    "--model",
    "linear",
    "--port",
    "0",
    "--no-browser",
    "--json",
]
BUSY = 4
FREE = 15  # digests under control after which nobody holds the bicycle, 1.5 s
NICE = 5  # less of a processor than a ride takes, beside so many


def test_on_a_busy_computer_it_rides_on_and_the_page_says_how_slowly(tmp_path):
    processor = min(os.sched_getaffinity(0))
    loops = []
    with subprocess.Popen([*PLAY, "--out", str(tmp_path)], stdout=subprocess.PIPE, text=True) as play:
        try:
            address = json.loads(play.stdout.readline())["address"]
            with connect(address.replace("http", "ws").replace("/?", "/ws?"), max_size=None) as page:
                free = 0
                while free < FREE:
                    free += hear(page, "status", 60.0)["code"] == "RUNNING"
                loops += [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(BUSY)]
                for process in (play, *loops):
                    os.sched_setaffinity(process.pid, {processor})
                os.setpriority(os.PRIO_PROCESS, play.pid, NICE)
                while (status := hear(page, "status", 60.0))["pace"] > 0.7:
                    assert status["code"] == "RUNNING"
                page.send('{"type":"kick","side":"left"}')
                while "kicked to the left" not in hear(page, "event", 60.0)["text"]:
                    pass
                assert hear(page, "status", 60.0)["code"] == "RUNNING"
        finally:
            for process in loops:
                process.kill()
                process.wait()
            play.send_signal(signal.SIGINT)
            assert play.wait(60.0) == 0
    run = read_run(next(tmp_path.iterdir()))
    assert (run.stop.reason, run.stop.cause) == ("abort", "stopped by SIGINT")
    assert run.header.time == "simulated"
    assert replay(run).identical
