"""Ctrl-C at a terminal while the virtual bicycle starts: one sentence, and none of a process that still imports."""

import sys

from tests.experiments.commands.test_run_keys import Terminal
from tests.paths import ROOT

ON_ITS_OWN_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "os.execv(sys.executable, [sys.executable, '-m', 'experiments.cli', *sys.argv[1:]])"
)


def test_a_run_that_is_interrupted_at_its_start_says_so_and_no_more(tmp_path):
    command = ("run", str(ROOT / "docs/rigs/node.toml"), "--emulated", "-o", str(tmp_path))
    screen = Terminal([sys.executable, "-c", ON_ITS_OWN_TERMINAL, *command])
    try:
        screen.see("starting the virtual bicycle")
        screen.press("\x03")  # the terminal makes a SIGINT of it, for each process
        assert screen.ended() == 0
    finally:
        screen.close()
    assert "abort: stopped by SIGINT before the run began" in screen.all
    assert "Traceback" not in screen.all
