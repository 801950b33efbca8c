"""SIGTERM, as of a service that stops or a job that took too long, ends a command tidily."""

import signal
import time

from tests.experiments.commands.test_run_keys import terminal

HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"
LONG_RUNS = ("--duration", "20000", "--seeds", "2", "--jobs", "2")


def test_long_runs_end_at_once_and_the_cursor_is_shown_again(tmp_path, monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    with terminal("simulate", "Benchmark", *LONG_RUNS, "-o", str(tmp_path)) as screen:
        screen.see(HIDE)
        end = time.monotonic() + 120.0
        while len(list(tmp_path.glob("*/run.mcap"))) < 2:
            assert time.monotonic() < end, screen.all
            time.sleep(0.05)
        screen.process.send_signal(signal.SIGTERM)
        assert screen.ended() == 128 + signal.SIGTERM
    assert screen.all.rindex(SHOW) > screen.all.rindex(HIDE)
    assert "Traceback" not in screen.all
