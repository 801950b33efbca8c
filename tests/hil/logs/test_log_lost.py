"""A log that others delete, cut, write to or move while it is written: noticed with the next batch, and said."""

import os
import shutil

import pytest

from riderless.hil.logs.append_only import LogLostError
from riderless.hil.logs.log import RUN_FILE, RunWriter, read_run
from tests.hil.logs.written_logs import HEADER, timed_rows


@pytest.fixture
def writer(tmp_path):
    made = RunWriter(tmp_path / "run", HEADER)
    made.write(timed_rows(10))
    return made


def cut(file, size=0):
    os.truncate(file, size)


def lengthen(file):
    with file.open("ab") as log:
        log.write(b"a line from a shell\n")


def replace(file):
    """As an editor saves."""
    file.with_name("draft").write_bytes(file.read_bytes())
    file.with_name("draft").replace(file)


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        (lambda file: file.unlink(), "was deleted while it was written"),
        (lambda file: shutil.rmtree(file.parent), "was deleted while it was written"),
        (replace, "was deleted while it was written"),
        (lambda file: file.rename(file.with_name(".nfs000123")), "was deleted while it was written"),
        (cut, "was changed by another program: wanted the [0-9]+ bytes that were written, found 0"),
        (lambda file: cut(file, 1000), "was changed by another program: wanted the [0-9]+ bytes .*, found 1000"),
        (lengthen, "was changed by another program"),
    ],
    ids=["unlink", "rmtree", "replace", "deleted on a network disk", "empty", "cut", "lengthen"],
)
def test_harm_is_noticed_with_the_next_batch_and_stays_noticed(writer, tmp_path, harm, told):
    file = tmp_path / "run" / RUN_FILE
    harm(file)
    left = file.read_bytes() if file.exists() else None
    with pytest.raises(LogLostError, match=f"{file.parent}/.*{told}.*run again"):
        writer.write(timed_rows(10, first=10))
    with pytest.raises(LogLostError, match=told):
        writer.marker(100.2, "kick")
    with pytest.raises(LogLostError, match=told):
        writer.close("success")
    assert (file.read_bytes() if file.exists() else None) == left, "what is left is left alone"


def test_harm_after_the_last_batch_is_noticed_too(writer, tmp_path):
    (tmp_path / "run" / RUN_FILE).unlink()
    with pytest.raises(LogLostError, match="was deleted"):
        writer.close("success")


@pytest.mark.parametrize("whole_campaign", [False, True])
def test_a_moved_log_goes_on_where_it_is_and_says_where(tmp_path, whole_campaign):
    (tmp_path / "runs").mkdir()
    made, there = tmp_path / "runs" / "run", tmp_path / "elsewhere"
    writer = RunWriter(made, HEADER)
    writer.write(timed_rows(10))
    (made.parent if whole_campaign else made).rename(there)
    writer.write(timed_rows(10, first=10))
    writer.close("success")
    assert writer.moved
    assert writer.folder == (there / "run" if whole_campaign else there)
    run = read_run(writer.folder)
    assert run.complete
    assert len(run.ticks) == 20


def test_a_log_that_stays_is_not_moved(writer, tmp_path, monkeypatch):
    writer.close("success")
    assert (writer.moved, writer.folder) == (False, tmp_path / "run")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to(tmp_path, target_is_directory=True)
    with RunWriter("link/other", HEADER) as other:
        other.write(timed_rows(3))
    assert (other.moved, str(other.folder)) == (False, "link/other")
