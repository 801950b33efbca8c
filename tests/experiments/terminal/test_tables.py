"""Tables on screens of any width, and in files: every cell of every column is there to be read."""

import io
import os
import pty
import re
import subprocess
import sys
from collections import Counter

import pytest
from rich.console import Console

from riderless.experiments.terminal.console import print_verdict
from riderless.experiments.terminal.tables import GAP, table_blocks
from riderless.hil.runners.simulated_run import run_lockstep
from tests.hil.machine import gains, rig_of, scenario

WIDTHS = (60, 100)
SHOW = """
import fcntl, shlex, struct, sys, termios
from riderless.experiments.cli import app
for columns in map(int, sys.argv[1].split(",")):
    if columns:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    for line in sys.argv[2:]:
        print("\\n@@", flush=True)
        app(shlex.split(line), standalone_mode=False)
"""
NAME = "Silver under poles, the second afternoon, 5.0 m/s"


@pytest.fixture(scope="module")
def commands(tmp_path_factory):
    """One line for each command with a table, over a run with two kicks and a long name."""
    folder = tmp_path_factory.mktemp("runs") / "kicked"
    rig = rig_of()
    run_lockstep(folder, rig, gains(rig, "poles", zeta=0.2), scenario(kicks=(1.0, 5.0)), 9.0, NAME)
    return (
        "bikes",
        "eig Silver --speeds 2:8:2",
        "modes Silver",
        "turns Silver --lean 5 --steer 3",
        "design Silver --speeds 4,5",
        "faults --case 1",
        f"identify {folder} --free drive_gain,steer_damping",
        f"plot {folder} --force -o {folder.parent / 'kicked.png'}",
        f"analyze {folder}",
    )


@pytest.fixture(scope="module")
def whole(commands):
    """What a file gets of each command; `COLUMNS` says 60, which is of no concern to it."""
    call = [sys.executable, "-c", SHOW, "0", *commands]
    done = subprocess.run(call, env=os.environ | {"COLUMNS": "60"}, capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("@@")[1:]


@pytest.fixture(scope="module")
def shown(commands):
    """What terminals of each width show of each command: one process, whose window somebody draws wider."""
    call = [sys.executable, "-c", SHOW, ",".join(map(str, WIDTHS)), *commands]
    environment = {name: text for name, text in os.environ.items() if name not in ("COLUMNS", "LINES")}
    master, slave = pty.openpty()
    process = subprocess.Popen(call, env=environment | {"TERM": "xterm"}, stdout=slave, stderr=subprocess.DEVNULL)
    os.close(slave)
    text = b""
    try:
        while piece := os.read(master, 65536):
            text += piece
    except OSError:  # the other side has closed
        pass
    os.close(master)
    assert process.wait(60) == 0, text[-2000:]
    parts = re.sub(r"\x1b\[[0-9;]*m", "", text.decode()).replace("\r\n", "\n").split("@@")[1:]
    n = len(commands)
    return {columns: parts[i * n : (i + 1) * n] for i, columns in enumerate(WIDTHS)}


def words(text):
    return Counter(word for word in text.split() if not re.fullmatch("─+", word))


def test_a_file_gets_whole_tables_whatever_the_terminal(whole):
    assert all("…" not in text and "..." not in text for text in whole)
    head = next(line for line in whole[-1].splitlines() if line.startswith("recording"))
    assert re.split(r"\s{2,}", head.strip()) == [
        "recording",
        "window s",
        "v m/s",
        "measured",
        "std re, im",
        "frozen",
        "like for like",
        "z re, im",
    ]
    assert sum(line.startswith(NAME) for line in whole[-1].splitlines()) == 3  # two windows, one condition
    assert max(len(line) for line in whole[-1].splitlines()) > 120  # no sentence and no row is broken


@pytest.mark.parametrize("columns", WIDTHS)
def test_a_terminal_shows_every_column_and_every_cell(whole, shown, commands, columns):
    for command, text, complete in zip(commands, shown[columns], whole, strict=True):
        assert "…" not in text, command
        missing = words(complete) - words(text)
        assert not missing, f"{command} at {columns} columns lacks {missing}"
        rows = [line for line in text.splitlines() if "/" not in line]  # a path is never broken
        assert max(map(len, rows)) <= columns, command


def test_a_finding_is_folded_below_its_sentence_on_a_terminal_alone():
    def printed(what, terminal):
        where = Console(file=io.StringIO(), width=40, force_terminal=terminal, color_system=None)
        print_verdict(where, True, what, "the drive switches on, and off by itself", room=8)
        return [line.rstrip() for line in where.file.getvalue().splitlines()]

    assert printed("drive", True) == ["ok  drive    the drive switches on, and", "             off by itself"]
    assert printed("drive", False) == ["ok  drive    the drive switches on, and off by itself"]
    long = "/dev/serial/by-id/usb-node"  # beside so long a name a sentence has no room
    assert printed(long, True) == [f"ok  {long} the drive switches on, and off by itself"]


def test_key_columns_stand_in_every_block():
    rows = [["a recording with a long name", "1.00-2.00", *("12345.678" for _ in range(9))]]
    columns = ["recording", "window", *(f"number {i}" for i in range(9))]
    blocks = table_blocks(columns, rows, 50, keys=2)
    assert len(blocks) > 1
    assert all(block.columns[:2] == (0, 1) for block in blocks)
    assert [i for block in blocks for i in block.columns[2:]] == list(range(2, 11))
    assert all(sum(block.widths) + GAP * (len(block.widths) - 1) <= 50 for block in blocks)


def test_no_column_is_lost_at_any_width():
    columns = ["name", "v m/s", "measured eigenvalue", "a sentence"]
    rows = [["x" * 30, "5.00", "-1.00±2.00i", "words that go on and on over thirty characters"], ["", "", "", ""]]
    for room in range(1, 140):
        blocks = table_blocks(columns, rows, room)
        assert sorted({i for block in blocks for i in block.columns}) == [0, 1, 2, 3], room
        for block in blocks:
            for i, width in zip(block.columns, block.widths, strict=True):
                assert width >= max(map(len, columns[i].split())), room
                # only the name and the sentence fold
                assert width >= max(len(row[i]) for row in rows) or i in (0, 3), room
