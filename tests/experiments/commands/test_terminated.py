"""SIGTERM, as of a service that stops or a job that took too long, ends a command tidily."""

import os
import pty
import signal
import subprocess
import sys
import termios
import time

HIDE, SHOW = b"\x1b[?25l", b"\x1b[?25h"
LONG_RUNS = ("--duration", "20000", "--seeds", "2", "--jobs", "2")


def test_long_runs_end_at_once_and_the_cursor_is_shown_again(tmp_path):
    main, slave = pty.openpty()
    termios.tcsetwinsize(slave, (24, 80))
    command = [sys.executable, "-m", "experiments.cli", "simulate", "Benchmark", *LONG_RUNS, "-o", str(tmp_path)]
    environment = {**os.environ, "TERM": "xterm-256color"}
    with subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=environment) as running:
        os.close(slave)
        shown, end = b"", time.monotonic() + 120.0
        while len(list(tmp_path.glob("*/run.mcap"))) < 2 or HIDE not in shown:
            assert time.monotonic() < end, shown
            shown += os.read(main, 65536)
        running.send_signal(signal.SIGTERM)
        try:
            while more := os.read(main, 65536):
                shown += more
        except OSError:  # the other end is closed
            pass
        assert running.wait(60.0) == 128 + signal.SIGTERM
    os.close(main)
    assert shown.rindex(SHOW) > shown.rindex(HIDE)
    assert b"Traceback" not in shown
