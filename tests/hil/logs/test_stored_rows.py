"""A long log leaves its rows in the file; what is read of it is what a short one gives, cut and damaged too."""

import numpy as np
import pytest

from riderless.hil.logs import log
from riderless.hil.logs.log import RUN_FILE, RunWriter, read_run
from riderless.hil.logs.stored_rows import StoredRows, in_stretches
from riderless.hil.loop.tick_record import TICK
from riderless.models.errors import InputError
from tests.hil.logs.written_logs import HEADER, assert_same_bits, timed_rows

BATCH = 30


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Bytes of a finished log with rows, raw bytes and markers."""
    rows, folder = timed_rows(1000, first=1), tmp_path_factory.mktemp("log") / "run"
    with RunWriter(folder, HEADER) as writer:
        for start in range(0, len(rows), BATCH):
            writer.write(rows[start : start + BATCH], np.full(7, start % 251, np.uint8))
            writer.marker(100.0 + start * 0.005, "kick", "")
    return (folder / RUN_FILE).read_bytes()


def both(folder, data, monkeypatch):
    """The run read as a whole, and the same with its rows left in the file."""
    (folder / RUN_FILE).write_bytes(data)
    whole = read_run(folder)
    monkeypatch.setattr(log, "LONG_LOG_BYTES", 0)
    return whole, read_run(folder, stored=True)


def test_columns_rows_slices_and_stretches_are_those_of_the_whole(tmp_path, data, monkeypatch):
    whole, stored = both(tmp_path, data, monkeypatch)
    assert isinstance(stored.ticks, StoredRows)
    assert len(stored.ticks) == len(whole.ticks) == 1000
    assert stored.ticks.dtype == TICK
    assert_same_bits(stored.ticks[:], whole.ticks)
    assert_same_bits(stored.ticks[37:641], whole.ticks[37:641])
    assert stored.ticks[-1].tobytes() == whole.ticks[-1].tobytes()
    assert stored.ticks[44].tobytes() == whole.ticks[44].tobytes()
    assert stored.ticks["phi_est"].tobytes() == whole.ticks["phi_est"].tobytes()
    parts = list(stored.ticks.stretches(("k", "t"), 64))
    assert [len(part) for part in parts] == [64] * 15 + [40]
    assert parts[0].dtype.names == ("k", "t")
    assert np.concatenate([part["t"] for part in parts]).tobytes() == whole.ticks["t"].tobytes()
    assert (stored.markers, stored.stop, stored.complete, stored.recovered) == (
        whole.markers,
        whole.stop,
        True,
        "",
    )


def test_raw_bytes_and_their_batches_are_those_of_the_whole(tmp_path, data, monkeypatch):
    whole, stored = both(tmp_path, data, monkeypatch)
    assert dict(stored.tapes.items()) == dict(whole.tapes)
    assert len(stored.tapes) == len(whole.tapes) == 34
    first = list(whole.batches())
    assert [k for k, _, _ in first] == list(range(1, 1001, BATCH))
    assert all(tape for _, _, tape in first)
    monkeypatch.setattr(log, "in_stretches", lambda ticks: in_stretches(ticks, 17))  # across the batches
    for again in (list(whole.batches()), list(stored.batches())):
        assert [(k, len(rows), tape) for k, rows, tape in again] == [(k, len(rows), tape) for k, rows, tape in first]
        for (_, found, _), (_, wanted, _) in zip(again, first, strict=True):
            assert_same_bits(found, wanted)


def test_cut_anywhere_it_reads_as_the_whole_does(tmp_path, data, monkeypatch):
    for cut in [*range(0, 3000, 211), *range(3000, len(data), 5003), *range(len(data) - 40, len(data), 7)]:
        with monkeypatch.context() as patch:
            try:
                whole, stored = both(tmp_path, data[:cut], patch)
            except InputError:
                with pytest.raises(InputError):
                    read_run(tmp_path, stored=True)
                continue
        assert_same_bits(stored.ticks[:], whole.ticks)
        assert (stored.markers, stored.stop, stored.complete, stored.recovered) == (
            whole.markers,
            whole.stop,
            whole.complete,
            whole.recovered,
        )


def test_a_damaged_chunk_costs_its_own_rows_and_is_counted(tmp_path, data, monkeypatch):
    broken = bytearray(data)
    broken[data.index(b"\x28\xb5\x2f\xfd") + 300] ^= 1  # zstd's magic number: inside the first chunk
    whole, stored = both(tmp_path, bytes(broken), monkeypatch)
    assert_same_bits(stored.ticks[:], whole.ticks)
    assert stored.ticks.lost == 1000 - len(whole.ticks) == BATCH
