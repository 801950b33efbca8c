"""Odd inputs of real processes: the installed command, and a disk that fills up."""

import os
import resource
import signal
import subprocess
import sys

import pytest

from tests.experiments.commands.odd_inputs.litter import make_litter
from tests.experiments.commands.test_cli import run_folder  # noqa: F401

LONGEST = 300.0  # s, however busy the machine; what hangs, hangs longer
ROOM = 2000  # bytes, of a disk that fills up


@pytest.fixture(scope="module")
def litter(tmp_path_factory, run_folder):  # noqa: F811
    folder = tmp_path_factory.mktemp("litter")
    make_litter(folder, run_folder)
    return folder


def ended(litter, *arguments, room=None):
    """Exit code and words of `riderless ARGUMENTS` in a process of its own, which may write ``room`` bytes a file."""

    def limit():
        if room is not None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # an error of the write, as on a full disk
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))

    script = os.path.join(os.path.dirname(sys.executable), "riderless")
    done = subprocess.run(
        [script, *map(str, arguments)],
        cwd=litter,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LONGEST,
        preexec_fn=limit,
    )
    assert "Traceback" not in done.stderr + done.stdout
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("campaign", "torn.toml"), "not valid TOML"),
        (("info", "run-torn"), "without one"),
    ],
)
def test_one_sentence_on_standard_error(litter, arguments, told):
    code, err = ended(litter, *arguments)
    assert code == 2
    assert [told in line for line in err.splitlines() if line.startswith("riderless: ")] == [True]


@pytest.mark.parametrize(
    ("arguments", "file"),
    [
        (("design", "Silver", "--speeds", "3:8:0.25", "-o", "new.toml"), "new.toml"),
        *(
            pytest.param(("export", "run", "--to", kind, "-o", f"new.{kind}"), f"new.{kind}", marks=pytest.mark.slow)
            for kind in ("csv", "parquet", "mat", "mcap")
        ),
        (("eig", "Silver", "--plot", "new.png"), "new.png"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_disk_that_fills_up_keeps_no_half_of_a_file(litter, arguments, file):
    before = sorted(path.name for path in litter.iterdir())
    code, err = ended(litter, *arguments, room=ROOM)
    assert code == 2, err
    assert "riderless: " in err
    assert sorted(path.name for path in litter.iterdir()) == before, file


def test_what_is_printed_into_a_full_disk(litter):
    script = os.path.join(os.path.dirname(sys.executable), "riderless")
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [script, "eig", "Silver"], cwd=litter, stdout=full, stderr=subprocess.PIPE, text=True, timeout=LONGEST
        )
    assert done.returncode == 2
    assert done.stderr == (
        "riderless: the system refused a file: No space left on device: make room, or name a place on another disk\n"
    )
