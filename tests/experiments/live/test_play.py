"""`riderless play` on a computer that leaves it too little of a processor: it rides on, slower."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

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
    "--tcp-port",
    "0",
    "--no-browser",
    "--json",
]
FREE = 15  # digests under control after which nobody holds the bicycle, 1.5 s
RESTS, RUNS = 0.4, 0.2  # s: it makes up for 0.1 s of each rest, and so keeps half the pace


@contextmanager
def starved(process: subprocess.Popen[str]) -> Iterator[None]:
    """Let a process rest again and again, as beside busy programs; it costs no processor and needs no busy one."""
    over = Event()

    def rest() -> None:
        while not over.wait(RUNS):
            process.send_signal(signal.SIGSTOP)
            over.wait(RESTS)
            process.send_signal(signal.SIGCONT)

    resting = Thread(target=rest)
    resting.start()
    try:
        yield
    finally:
        over.set()
        resting.join()


def test_on_a_busy_computer_it_rides_on_and_the_page_says_how_slowly(tmp_path):
    with subprocess.Popen([*PLAY, "--out", str(tmp_path)], stdout=subprocess.PIPE, text=True) as play:
        try:
            address = json.loads(play.stdout.readline())["address"]
            with connect(address.replace("http", "ws").replace("/?", "/ws?"), max_size=None) as page:
                free = 0
                while free < FREE:
                    free += hear(page, "status", 60.0)["code"] == "RUNNING"
                with starved(play):
                    while (status := hear(page, "status", 60.0))["pace"] > 0.7:
                        assert status["code"] == "RUNNING"
                    page.send('{"type":"kick","side":"left"}')
                    while "kicked to the left" not in hear(page, "event", 60.0)["text"]:
                        pass
                    assert hear(page, "status", 60.0)["code"] == "RUNNING"
        finally:
            play.send_signal(signal.SIGINT)
            assert play.wait(60.0) == 0
    run = read_run(next(tmp_path.iterdir()))
    assert (run.stop.reason, run.stop.cause) == ("abort", "stopped by SIGINT")
    assert run.header.time == "simulated"
    assert replay(run).identical
