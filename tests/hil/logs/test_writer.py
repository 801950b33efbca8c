"""The writer of a run: raw bytes beside their rows, its dates, and what it leaves open or unsynced."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from mcap.reader import make_reader
from mcap_protobuf.decoder import DecoderFactory

from riderless.hil.logs.append_only import LogLostError, sync_folder
from riderless.hil.logs.log import RUN_FILE, RunWriter, Stop, read_run
from riderless.models.errors import InputError
from tests.hil.logs.written_logs import HEADER, timed_rows


def opened():
    return len(os.listdir("/proc/self/fd"))


@pytest.fixture
def synced(monkeypatch):
    """Sizes of the files that were waited for, in order; folders aside."""
    sizes, wait = [], os.fsync

    def fsync(fd):
        wait(fd)
        if not os.path.isdir(f"/proc/self/fd/{fd}"):
            sizes.append(os.fstat(fd).st_size)

    monkeypatch.setattr("os.fsync", fsync)
    return sizes


def test_raw_bytes_stand_beside_the_first_of_their_rows(tmp_path):
    tapes = np.arange(5, dtype=np.uint8), np.arange(9, dtype=np.uint8)
    with RunWriter(tmp_path / "run", HEADER) as writer:
        writer.write(timed_rows(3), tapes[0])
        writer.write(timed_rows(4, first=3), tapes[1])
        writer.write(timed_rows(2, first=7))
        writer.write(timed_rows(0), tapes[0])  # of no row
    assert dict(read_run(tmp_path / "run").tapes) == {0: tapes[0].tobytes(), 3: tapes[1].tobytes()}
    with (tmp_path / "run" / RUN_FILE).open("rb") as file:
        wires = list(make_reader(file, decoder_factories=[DecoderFactory()]).iter_decoded_messages(topics=["/wire"]))
    assert [(m.sequence, m.log_time, wire.k) for _, _, m, wire in wires] == [
        (0, 100_000_000_000, 0),
        (3, 100_015_000_000, 3),
    ]


def test_a_run_says_when_it_ended_but_for_one_in_simulated_time(tmp_path):
    before = datetime.now(UTC)
    for simulated in (False, True):
        with RunWriter(tmp_path / str(simulated), HEADER, simulated=simulated):
            pass
    ended = datetime.fromisoformat(read_run(tmp_path / "False").stop.utc)
    assert before - timedelta(milliseconds=1) <= ended <= datetime.now(UTC)
    assert read_run(tmp_path / "True").stop.utc == ""


def test_the_disk_has_the_header_before_the_first_row_and_all_of_it_at_the_end(tmp_path, synced):
    file = tmp_path / "new" / "folder" / RUN_FILE
    with RunWriter(file.parent, HEADER) as writer:
        assert synced == [file.stat().st_size]
        writer.write(timed_rows(3))
    assert synced[-1] == file.stat().st_size > synced[0]


def test_nothing_is_left_open_however_it_ends(tmp_path, monkeypatch):
    before = opened()
    writer = RunWriter(tmp_path / "run", HEADER)
    assert opened() == before + 1
    writer.close("success")
    assert opened() == before

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.write", full)
    with pytest.raises(InputError, match="No space left"):
        RunWriter(tmp_path / "full", HEADER)
    assert opened() == before


def test_a_log_deleted_while_it_is_closed_is_told(tmp_path, monkeypatch):
    writer, wait = RunWriter(tmp_path / "run", HEADER), os.fsync

    def fsync(fd):
        wait(fd)
        (tmp_path / "run" / RUN_FILE).unlink()

    monkeypatch.setattr("os.fsync", fsync)
    with pytest.raises(LogLostError, match="was deleted"):
        writer.close("success")


def test_a_run_that_ended_before_keeps_its_end(tmp_path):
    stop = Stop("fault", "the port was lost", "2026-01-02T03:04:05.678+00:00", 0, 0, 4)
    writer = RunWriter(tmp_path / "run", HEADER)
    writer.finish(stop)
    assert read_run(tmp_path / "run").stop == stop
    with pytest.raises(RuntimeError, match="is closed"):
        writer.finish(stop)
    RunWriter(tmp_path / "killed", HEADER).finish(Stop())
    killed = read_run(tmp_path / "killed")
    assert (killed.stop, killed.complete) == (Stop(), False)


def test_a_file_system_that_keeps_no_folder_when_asked_takes_a_log_all_the_same(tmp_path):
    """Some network disks refuse as /proc does; a run on one could not even begin."""
    folder = os.open("/proc", os.O_RDONLY)
    with pytest.raises(OSError, match="Invalid argument"):
        os.fsync(folder)
    os.close(folder)
    sync_folder(Path("/proc"))
    sync_folder(tmp_path)
    with pytest.raises(FileNotFoundError):
        sync_folder(tmp_path / "none")
