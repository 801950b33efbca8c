"""A run in memory: what it tells of itself, its batches, how it is collected and saved, and what is read of a file."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from google.protobuf.descriptor_pb2 import FieldDescriptorProto

from riderless.hil.logs import log, protobuf_schema
from riderless.hil.logs.export import export_run
from riderless.hil.logs.header import RunHeader
from riderless.hil.logs.log import (
    RUN_FILE,
    Marker,
    Run,
    RunRecorder,
    RunWriter,
    Stop,
    StoredTapes,
    read_run,
    require_columns,
)
from riderless.hil.logs.records import WIRE_SCHEMA, WIRE_TOPIC
from riderless.hil.logs.stored_rows import StoredRows, in_stretches
from riderless.hil.loop.tick_record import TICK
from riderless.hil.memory import TooMuchMemory
from riderless.models.errors import InputError
from tests.hil.logs.written_logs import HEADER, assert_same_bits, timed_rows

BYTES = {0: b"abc", 6: b"de", 10: b"f"}


def tape(data):
    return np.frombuffer(data, np.uint8)


def collected(label="A ride / <fast>"):
    """A run of 9 ticks (0 to 2, then 4 to 10, but for 8 and 9), with raw bytes at 0, 6 and 10."""
    recorder = RunRecorder(RunHeader({"label": label}))
    recorder.write(timed_rows(3), tape(BYTES[0]))
    recorder.marker(100.01, "kick", "left")
    recorder.write(timed_rows(2, first=4), tape(b""))
    recorder.write(timed_rows(2, first=6), tape(BYTES[6]))
    recorder.write(timed_rows(1, first=10), tape(BYTES[10]))
    recorder.marker(100.05, "operator")
    return recorder.run("fault", "the end")


def test_a_collected_run_holds_copies_of_what_it_was_given():
    recorder, rows, data = RunRecorder(HEADER), timed_rows(3), tape(b"abc").copy()
    recorder.write(rows, data)
    rows["k"], data[:] = 7, 0
    run = recorder.run("success", "why")
    assert_same_bits(run.ticks, timed_rows(3))
    assert dict(run.tapes) == {0: b"abc"}
    assert (run.stop, run.complete, run.recovered) == (Stop("success", "why", "", 3, 0, 0), True, "")
    assert (run.folder, run.header) == (Path("run"), HEADER)
    with pytest.raises(ValueError, match="read-only"):
        run.ticks["k"] = 0
    assert len(RunRecorder(HEADER).run("abort", "").ticks) == 0


def test_raw_bytes_after_a_gap_are_exported_at_the_time_of_their_row(tmp_path):
    """The ticks are 5 ms apart from 100 s on; those of 3, 8 and 9 are lost."""
    from mcap.reader import make_reader

    export_run(collected(), "mcap", tmp_path / "run.mcap")
    with (tmp_path / "run.mcap").open("rb") as file:
        found = [(m.sequence, m.log_time) for _, _, m in make_reader(file).iter_messages(topics=[WIRE_TOPIC])]
    assert found == [(0, 100_000_000_000), (6, 100_030_000_000), (10, 100_050_000_000)]


def test_it_says_what_it_is_in_one_line_and_in_a_table():
    run = collected()
    assert run.folder == Path("a-ride-fast")
    assert run.duration == pytest.approx(10 * 0.005)
    assert repr(run) == "Run(A ride / <fast>: 8 ticks in 0.05 s, fault: the end)"
    assert repr(replace(collected(""), folder=Path("x/y"))).startswith("Run(y: 8 ticks")
    told = {
        "run": "A ride / &lt;fast&gt;",
        "ticks": "8 in 0.05 s",
        "ended": "fault: the end",
        "markers": "kick left at 100.01 s, operator  at 100.05 s",
    }
    cells = "".join(f"<tr><th>{key}</th><td>{value}</td></tr>" for key, value in told.items())
    assert run._repr_html_() == f"<table>{cells}</table>"
    assert replace(collected(""), folder=Path("x/y"))._repr_html_().startswith("<table><tr><th>run</th><td>y<")
    assert RunRecorder(HEADER).run("abort", "").duration == 0.0


def test_its_frame_is_a_copy_of_its_columns(monkeypatch):
    pytest.importorskip("pandas")
    run = collected()
    frame = run.to_frame()
    assert list(frame.columns) == list(TICK.names)
    assert frame["k"].tolist() == run.ticks["k"].tolist()
    assert not np.shares_memory(frame["k"].to_numpy(), run.ticks)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match="a data frame needs pandas, which is not installed"):
        run.to_frame()


@pytest.mark.parametrize("stretch", [2, 3, 99])
def test_batches_begin_where_bytes_do_and_after_each_gap(monkeypatch, stretch):
    monkeypatch.setattr(log, "in_stretches", lambda ticks: in_stretches(ticks, stretch))
    run = replace(collected(), tapes=dict(reversed(BYTES.items())))
    assert [(k, rows["k"].tolist(), data) for k, rows, data in run.batches()] == [
        (0, [0, 1, 2], b"abc"),
        (4, [4, 5], b""),
        (6, [6, 7], b"de"),
        (10, [10], b"f"),
    ]
    assert list(RunRecorder(HEADER).run("abort", "").batches()) == []


def test_bytes_are_fetched_no_sooner_than_their_rows(monkeypatch):
    monkeypatch.setattr(log, "in_stretches", lambda ticks: in_stretches(ticks, 2))
    fetched, wire = [], protobuf_schema.message_class(WIRE_SCHEMA)

    def messages():
        for k, data in BYTES.items():
            fetched.append(k)
            yield wire(k=k, tape=data).SerializeToString()

    assert next(replace(collected(), tapes=StoredTapes(messages(), {})).batches())[2] == b"abc"
    assert fetched == [0, 6], "one that waits, and none of the rest"


def test_a_run_is_saved_as_its_runner_would_have_written_it(tmp_path):
    run = collected()
    with RunWriter(tmp_path / "by hand", run.header, simulated=True) as writer:
        writer.write(timed_rows(3), tape(BYTES[0]))
        writer.marker(100.01, "kick", "left")
        writer.write(timed_rows(2, first=4))
        writer.write(timed_rows(2, first=6), tape(BYTES[6]))
        writer.write(timed_rows(1, first=10), tape(BYTES[10]))
        writer.marker(100.05, "operator")
        writer.close("fault", "the end")
    file = run.save(str(tmp_path / "saved"))
    assert file == tmp_path / "saved" / RUN_FILE
    assert file.read_bytes() == (tmp_path / "by hand" / RUN_FILE).read_bytes()
    late = replace(run, markers=(*run.markers, Marker(999.0, "after", "all rows")))
    assert read_run(late.save(tmp_path / "late")).markers == late.markers


def test_a_run_with_other_columns_is_not_saved(tmp_path):
    other = replace(collected(), ticks=np.zeros(2, [("k", "u8"), ("t_host", "f8")]), folder=Path("x/y"))
    with pytest.raises(InputError, match=r"found others: riderless unknown.* copy its file x/y/run.mcap"):
        other.save(tmp_path / "run")


# what is read of a file


@pytest.fixture
def file(tmp_path):
    with RunWriter(tmp_path / "run", HEADER) as writer:
        for first in (0, 30):
            writer.write(timed_rows(30, first), np.full(5, first, np.uint8))
            writer.marker(100.0 + first * 0.005, "kick")
    return tmp_path / "run" / RUN_FILE


def test_rows_stay_in_the_file_only_where_it_is_long_and_that_was_wanted(file, monkeypatch):
    def kept(**how):
        return isinstance(read_run(str(file), **how).ticks, StoredRows)

    size = file.stat().st_size
    for longest, stored in ((size, False), (size - 1, True)):
        monkeypatch.setattr(log, "LONG_LOG_BYTES", longest)
        assert kept(stored=True) == stored
        assert not kept()


def test_where_rows_alone_are_wanted_the_bytes_are_left_out(file, monkeypatch):
    assert len(read_run(file).tapes) == 2
    quick = read_run(file, everything=False)
    assert (len(quick.ticks), len(quick.tapes), len(quick.markers), quick.complete) == (60, 0, 2, True)
    assert not quick.ticks.flags.owndata
    monkeypatch.setattr(log, "LONG_LOG_BYTES", 0)
    quick = read_run(file, everything=False, stored=True)
    assert (len(quick.ticks), dict(quick.tapes), len(quick.markers)) == (60, {}, 2)


def test_bytes_of_a_long_run_are_found_by_their_first_tick(file, monkeypatch):
    monkeypatch.setattr(log, "LONG_LOG_BYTES", 0)
    tapes = read_run(file, stored=True).tapes
    assert isinstance(tapes, StoredTapes)
    assert (len(tapes), list(tapes), tapes[30]) == (2, [0, 30], bytes([30] * 5))
    with pytest.raises(KeyError):
        _ = tapes[1]
    others = StoredTapes([b"\xff\xff"], {7: b"x"})
    assert len(others) == 2
    assert dict(others.items()) == {7: b"x"}, "what cannot be read is passed over"


@pytest.mark.parametrize(("stored", "tries"), [(True, 2), (False, 1)])
def test_a_short_file_of_long_rows_leaves_them_there_where_that_was_wanted(file, monkeypatch, stored, tries):
    tried, contents = [], log._contents

    def scarce(path, everything, long):
        tried.append(long)
        if not long:
            raise TooMuchMemory("too much")
        return contents(path, everything, long)

    monkeypatch.setattr(log, "_contents", scarce)
    if stored:
        assert isinstance(read_run(file, stored=True).ticks, StoredRows)
    else:
        with pytest.raises(TooMuchMemory):
            read_run(file)
    assert tried == [False, True][:tries]


def test_damage_in_the_header_and_in_a_chunk_is_counted_together(file):
    broken = bytearray(file.read_bytes())
    broken[broken.index(b"200.0")] ^= 1  # 300.0: still JSON
    broken[broken.index(b"\x28\xb5\x2f\xfd") + 300] ^= 1
    file.write_bytes(broken)
    run = read_run(file)
    assert "damaged records: 2" in run.recovered
    assert not run.complete
    assert len(run.ticks) == 30


def test_a_marker_of_other_fields_is_damaged_and_the_rest_is_read(tmp_path, monkeypatch):
    text, number = FieldDescriptorProto.TYPE_STRING, FieldDescriptorProto.TYPE_DOUBLE
    fields = {
        "a text for a time": [("t", text), ("kind", text), ("text", text)],
        "no kind": [("t", number), ("text", text)],
    }
    for name, columns in fields.items():
        folder = tmp_path / name
        monkeypatch.setattr(
            "riderless.hil.logs.writer.MARKER_SCHEMA", protobuf_schema.message_schema("Marker", columns)
        )
        with RunWriter(folder, HEADER) as writer:
            writer.write(timed_rows(3))
            data = writer._marker(**{columns[0][0]: "now" if columns[0][1] == text else 1.0}).SerializeToString()
            writer._mcap.messages(writer._marks, np.arange(2), np.zeros(2), np.frombuffer(2 * data, f"V{len(data)}"))
            writer.markers = 2
        run = read_run(folder)
        assert (run.markers, len(run.ticks), run.complete) == ((), 3, False)
        assert "damaged records: 2" in run.recovered
        assert "counts 3 and 2" in run.recovered


def test_columns_must_be_there_and_hold_their_numbers(tmp_path):
    kinds = np.dtype([("k", "u8"), ("t_host", "f8"), ("mine", "f4"), ("count", "i4")])
    require_columns(kinds, ("k", "t_host", "mine"), "here")
    require_columns(np.dtype("f8"), (), "here")
    with pytest.raises(InputError, match="with the column phi, found none in here"):
        require_columns(kinds, ("k", "phi"), "here")
    with pytest.raises(InputError, match="with the columns k, phi, found none"):
        require_columns(np.dtype("f8"), ("k", "phi"), "here")
    with pytest.raises(InputError, match="wanted numbers in the column count of here, found int32"):
        require_columns(kinds, ("count",), "here")
    with pytest.raises(InputError, match="wanted whole numbers in the column k of here, found float64"):
        require_columns(np.dtype([("k", "f8")]), ("k",), "here")
    with pytest.raises(InputError, match="wanted numbers in the column t_host"):
        require_columns(np.dtype([("t_host", "i8")]), ("t_host",), "here")


@pytest.mark.parametrize("n", [2, 0])
def test_a_log_wants_its_two_first_columns_as_soon_as_it_has_rows(tmp_path, monkeypatch, n):
    rows = np.zeros(n, [("t_host", "f8"), ("phi_est", "f8")])
    with monkeypatch.context() as patch, RunWriter(tmp_path / "run", HEADER) as writer:
        patch.setattr("riderless.hil.logs.writer.TICK", rows.dtype)
        writer._ticks = writer._mcap.channel("/tick", "riderless.Tick", protobuf_schema.schema("Tick", rows.dtype))
        if n:
            writer.rows = n
            times = np.zeros(n, np.uint64)
            writer._mcap.messages(writer._ticks, times, times, protobuf_schema.encode_rows(rows))
    if n:
        with pytest.raises(InputError, match="with the column k, found none in"):
            read_run(tmp_path / "run")
    else:
        assert len(read_run(tmp_path / "run").ticks) == 0


def test_warming_up_writes_and_reads_what_a_run_does(monkeypatch):
    found = []
    monkeypatch.setattr(log, "read_run", lambda folder: found.append(read_run(folder)))
    log.warm_up_log()
    (run,) = found
    assert isinstance(run, Run)
    assert (len(run.ticks), len(run.markers), dict(run.tapes)) == (1, 1, {0: b"\0"})
