"""`riderless export -o` a pipe or an open output: the table alone, for the program that reads it."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from riderless.hil.logs.export import export_run
from riderless.hil.logs.log import read_run
from tests.experiments.commands.test_cli import riderless, run_folder  # noqa: F401


def shell(folder, command):
    """What a shell's command line prints on either output, and its exit code."""
    line = command.replace("riderless", f"{sys.executable} -m riderless.experiments.cli")
    done = subprocess.run(["sh", "-c", line], cwd=folder, capture_output=True, text=True, timeout=120)
    return done.stdout, done.stderr, done.returncode


@pytest.fixture(scope="module")
def table(run_folder, tmp_path_factory):  # noqa: F811
    """Rows of the run's export to a file."""
    rows, *_ = export_run(read_run(run_folder), "csv", tmp_path_factory.mktemp("file") / "table.csv")
    return rows.read_text()


@pytest.fixture
def beside(run_folder, table, tmp_path):  # noqa: F811
    """A folder with a run in it alone, and the rows of its export as a file."""
    (tmp_path / "run").symlink_to(run_folder)
    return tmp_path, table


def test_an_open_output_gets_the_table_and_nothing_else(beside):
    folder, table = beside
    out, err, code = shell(folder, "riderless export run -o /dev/stdout > redirected.csv")
    assert (out, code) == ("", 0)
    assert (folder / "redirected.csv").read_text() == table
    assert "rows written to /dev/stdout" in err
    out, err, code = shell(folder, "riderless export run -o /dev/null --force")
    assert (out, code) == ("", 0)
    assert {path.name for path in folder.iterdir()} == {"run", "redirected.csv"}
    assert not [name for name in os.listdir("/dev") if name.startswith(("stdout.", "null."))]


def test_a_reader_that_has_had_enough_ends_it_without_a_word(beside):
    folder, table = beside
    out, err, code = shell(folder, "riderless export run -o /dev/stdout | head -n 1")
    assert out == table.splitlines(keepends=True)[0]
    assert code == 0
    assert "cannot" not in err
    assert "Error" not in err


def test_a_dash_is_the_standard_output(beside):
    folder, table = beside
    assert shell(folder, "riderless export run -o - | cat")[0] == table
    assert {path.name for path in folder.iterdir()} == {"run"}


@pytest.mark.parametrize(
    "kind", ["mat", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("csv", "parquet", "mcap"))]
)
def test_a_reader_that_leaves_is_no_fault_of_the_export(beside, kind):
    folder, _ = beside
    export = [sys.executable, "-m", "riderless.experiments.cli", "export", "run", "--to", kind, "-o", "/dev/stdout"]
    with subprocess.Popen(export, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as exporting:
        exporting.stdout.close()
        said = exporting.stderr.read()
        code = exporting.wait(120.0)
    assert code == 0
    assert "Error" not in said


def test_a_named_pipe_gets_the_table_and_no_file_lies_beside_it(beside, riderless, monkeypatch):  # noqa: F811
    folder, table = beside
    monkeypatch.chdir(folder)
    os.mkfifo("rows.csv")
    heard = []
    reader = threading.Thread(target=lambda: heard.append(Path("rows.csv").read_text()), daemon=True)
    reader.start()
    code, out, _ = riderless("export", "run", "-o", "rows.csv", "--json")
    reader.join(30.0)
    assert code == 0
    assert heard == [table]
    assert '"files": ["rows.csv"]' in out
    assert {path.name for path in folder.iterdir()} == {"run", "rows.csv"}


@pytest.mark.parametrize("kind", ["mat", pytest.param("mcap", marks=pytest.mark.slow)])
def test_a_format_that_is_not_written_in_one_go_passes_a_pipe_whole(beside, kind):
    folder, _ = beside
    export_run(read_run(folder / "run"), kind, folder / f"file.{kind}")
    _, err, _ = shell(folder, f"riderless export run --to {kind} -o /dev/stdout | cat > piped.{kind}")
    assert "rows written to /dev/stdout" in err
    file, piped = ((folder / f"{name}.{kind}").read_bytes() for name in ("file", "piped"))
    head = 128 if kind == "mat" else 0  # a MAT file begins with its date
    assert piped[head:] == file[head:]
