"""Every command that reads a file, given one that cannot be read: plain words, not the numbers of the system."""

import errno
import shlex
import shutil

import pytest

from riderless.experiments import cli
from riderless.models.text_file import why_unreadable
from tests.experiments.commands.test_cli import riderless, run_folder  # noqa: F401
from tests.paths import DOCS

READING = (  # FILE is what cannot be read, RUN a run that can be
    "analyze FILE",
    "analyze RUN --mapping FILE",
    "analyze log.csv --mapping FILE",
    "analyze log.csv --mapping riderless-ticks --bicycle FILE",
    "analyze RUN --windows FILE",
    "analyze RUN --controller FILE",
    "calibrate FILE --emulated",
    "calibrate rig.toml --pull-test FILE",
    "campaign FILE --lockstep --dry-run",
    "certify FILE",
    "certify lqr --bicycle FILE",
    "check FILE",
    "check --emulated --controller FILE",
    "cite FILE",
    "compare FILE",
    "convert FILE --to toml",
    "design FILE",
    "eig FILE",
    "emulate FILE",
    "envelope FILE",
    "export FILE",
    "hazards FILE",
    "identify FILE --free mB",
    "identify log.csv --mapping FILE --free mB",
    "info FILE",
    "init made --bicycle FILE",
    "latency FILE",
    "live FILE --no-browser --tcp-port 0",
    "live log.csv --mapping FILE --no-browser --tcp-port 0",
    "load FILE log.csv",
    "load Silver FILE",
    "margins FILE",
    "margins lqr --bicycle FILE",
    "measure FILE",
    "measure --import FILE",
    "period FILE",
    "migrate FILE",
    "modes FILE",
    "monitor FILE",
    "package FILE",
    "paper FILE",
    "path FILE",
    "path path.toml FILE",
    "plan FILE",
    "play FILE --no-browser --tcp-port 0",
    "plot FILE",
    "plot log.csv --mapping FILE",
    "replay FILE",
    "replay RUN --controller FILE",
    "run FILE",
    "run --emulated --bicycle FILE",
    "run --emulated --controller FILE",
    "run --emulated --path FILE",
    "run --emulated --reference FILE",
    "simulate FILE -o made",
    "simulate Silver --controller FILE -o made",
    "simulate Silver --path FILE -o made",
    "simulate Silver --reference FILE -o made",
    "tune FILE",
    "turns FILE",
)
UMLAUTS = ("umlaut.toml", "umlaut.csv", "umlaut.py")  # saved as another program does, not in UTF-8
TAKE_TURNS = ("toml", "py", "csv")  # the suffix of a name that leads to no file: one a command, the others are slow
READ_NO_FILE = {"bikes", "doctor", "faults", "ports", "warmup"}


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with names behind which there is nothing that can be read."""
    for name in ("folder.toml", "folder.csv", "folder.py"):
        (tmp_path / name).mkdir()
    for name in UMLAUTS:
        (tmp_path / name).write_bytes("t = 'für'\n".encode("latin-1"))
    (tmp_path / "loop.toml").symlink_to("loop.toml")
    (tmp_path / "log.csv").write_text("t,phi_dot\n0,0\n0.01,0\n")
    shutil.copy(DOCS / "rigs/node.toml", tmp_path / "rig.toml")
    shutil.copy(DOCS / "path_files/circle.toml", tmp_path / "path.toml")
    monkeypatch.chdir(tmp_path)


def cases():
    for i, command in enumerate(READING):
        for file in ("loop.toml", *UMLAUTS):
            yield command, file
        for k, suffix in enumerate(TAKE_TURNS):
            for name in ("nowhere", "folder"):
                yield pytest.param(command, f"{name}.{suffix}", marks=[pytest.mark.slow] * (k != i % 3))


@pytest.mark.parametrize(("command", "file"), [*cases()])
def test_told_in_plain_words(riderless, run_folder, here, command, file):  # noqa: F811
    words = shlex.split(command.replace("FILE", file).replace("RUN", str(run_folder)))
    code, out, err = riderless(*words)
    assert "[Errno" not in out + err
    assert "codec" not in out + err
    assert "Traceback" not in err
    assert code == 2, out + err


def test_a_file_of_somebody_else_is_told_as_such():
    """Permissions do not bind who may do all, as a test may."""
    assert why_unreadable(PermissionError(errno.EACCES, "Permission denied", "rig.toml")) == "you may not read it"
    assert why_unreadable(OSError(errno.EIO, "Input/output error", "rig.toml")) == "Input/output error"


def test_no_command_that_reads_a_file_is_left_out():
    assert {command.split()[0] for command in READING} == set(cli.COMMANDS) - READ_NO_FILE
