"""Ctrl-C at a terminal while the virtual bicycle starts: one sentence, and none of a process that still imports."""

import contextlib
import signal
import sys

import pytest

from tests.experiments.commands.test_run_keys import Terminal
from tests.paths import ROOT

ON_ITS_OWN_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "os.execv(sys.executable, [sys.executable, '-m', 'riderless.experiments.cli', *sys.argv[1:]])"
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


def test_an_interrupt_that_the_compiler_loses_ends_a_command_all_the_same(monkeypatch):
    """It fell into a callback of LLVM, and numba then missed "no compiled object yet": a traceback and exit code 1."""
    from riderless.experiments import cli

    def lost(*_):
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        raise RuntimeError("no compiled object yet")

    monkeypatch.setattr(cli, "_command_line", lambda: lost)
    with pytest.raises(SystemExit) as ending:
        cli.main()
    assert ending.value.code == 130
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
