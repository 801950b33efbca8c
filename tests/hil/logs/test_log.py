"""The log: what goes in comes out bit by bit, whatever happens to the writer, the disk or the file."""

import csv
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from mcap.reader import make_reader
from mcap.stream_reader import StreamReader
from mcap_protobuf.decoder import DecoderFactory

from riderless.hil.logs import protobuf_schema
from riderless.hil.logs.export import export_run
from riderless.hil.logs.folders import run_folder
from riderless.hil.logs.header import header_of
from riderless.hil.logs.log import RUN_FILE, STOP_KILLED, Marker, RunWriter, read_run, warm_up_log
from riderless.hil.loop.tick_record import TICK
from riderless.models.errors import InputError
from tests.hil.logs.written_logs import HEADER, assert_same_bits, random_rows, timed_rows, write_run

# what is written is read


@pytest.mark.parametrize("batch", [1, 50, 1000])
def test_rows_come_back_bit_by_bit(tmp_path, batch):
    rows = random_rows(1000)
    write_run(tmp_path / "run", rows, batch)
    run = read_run(tmp_path / "run")
    assert_same_bits(run.ticks, rows)
    assert run.complete
    assert run.recovered == ""


def test_markers_and_the_stop_record_come_back(tmp_path):
    with RunWriter(tmp_path / "run", HEADER) as writer:
        writer.write(timed_rows(10))
        writer.marker(100.02, "kick", "links, ±5 N s")
        writer.write(timed_rows(10, first=10))
        writer.marker(100.07, "operator")
        writer.close("fault", "steer beyond its limit", dropped=3)
    run = read_run(tmp_path / "run")
    assert run.markers == (Marker(100.02, "kick", "links, ±5 N s"), Marker(100.07, "operator", ""))
    assert (run.stop.reason, run.stop.cause) == ("fault", "steer beyond its limit")
    assert (run.stop.rows, run.stop.markers, run.stop.dropped) == (20, 2, 3)
    assert run.ticks["k"].tolist() == list(range(20))


def test_a_run_reads_from_its_file_too(tmp_path):
    write_run(tmp_path / "run", timed_rows(5))
    assert len(read_run(tmp_path / "run" / RUN_FILE).ticks) == 5


def test_what_was_read_cannot_be_changed(tmp_path):
    write_run(tmp_path / "run", timed_rows(5))
    run = read_run(tmp_path / "run")
    with pytest.raises(ValueError, match="read-only"):
        run.ticks["k"] = 0


def test_the_header_holds_what_a_rig_is_made_of(tmp_path):
    @dataclass(frozen=True)
    class Gains:
        K: np.ndarray

    class Pair(NamedTuple):
        low: float
        high: float

    header = {
        "gains": Gains(np.array([[1.0, 0.1], [1 / 3, -2.0]])),
        "poles": [complex(-1, 2)],
        "limits": Pair(-7.0, np.float64(7.0)),
        "seed": np.int64(3),
        "rig": Path("rig.toml"),
        "margin": float("inf"),
    }
    with RunWriter(tmp_path / "run", header_of(header)):
        pass
    assert read_run(tmp_path / "run").header.to_json() == {
        "schema": 1,
        "gains": {"K": [[1.0, 0.1], [1 / 3, -2.0]]},
        "poles": [[-1.0, 2.0]],
        "limits": [-7.0, 7.0],
        "seed": 3,
        "rig": "rig.toml",
        "margin": float("inf"),
    }


def test_a_header_that_cannot_be_kept_is_refused_before_a_folder_is_made(tmp_path):
    with pytest.raises(TypeError, match="cannot hold a function"):
        RunWriter(tmp_path / "run", header_of({"controller": test_a_run_reads_from_its_file_too}))
    assert not (tmp_path / "run").exists()


def test_a_run_being_written_can_be_read(tmp_path):
    with RunWriter(tmp_path / "run", HEADER) as writer:
        assert len(read_run(writer.folder).ticks) == 0
        writer.write(timed_rows(20))
        run = read_run(writer.folder)
    assert len(run.ticks) == 20
    assert run.stop.reason == STOP_KILLED
    assert not run.complete
    assert "no stop record" in run.recovered


def test_warm_up_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    warm_up_log()
    assert list(tmp_path.iterdir()) == []


# the standard tools


def test_the_indexed_reader_opens_a_finished_run_and_decodes_every_value(tmp_path):
    rows = timed_rows(300)
    write_run(tmp_path / "run", rows)
    with (tmp_path / "run" / RUN_FILE).open("rb") as file:
        reader = make_reader(file, validate_crcs=True, decoder_factories=[DecoderFactory()])
        summary = reader.get_summary()
        assert summary.statistics.message_count == 301
        assert summary.statistics.channel_message_counts == {1: 300, 2: 1, 3: 0}
        assert len(summary.chunk_indexes) == summary.statistics.chunk_count == 7
        assert {record.name for record in reader.iter_metadata()} == {"header", "stop"}
        decoded = list(reader.iter_decoded_messages(topics=["/tick"]))
    assert len(decoded) == 300
    for row, (schema, _, message, tick) in zip(rows, decoded, strict=True):
        assert schema.name == "riderless.Tick"
        assert message.log_time == round(row["t_host"] * 1e9)
        assert message.sequence == row["k"]
        for name in TICK.names:
            np.testing.assert_array_equal(getattr(tick, name), row[name], err_msg=name)


def test_the_indexed_reader_jumps_to_a_time_and_finds_the_marker(tmp_path):
    write_run(tmp_path / "run", timed_rows(300))
    with (tmp_path / "run" / RUN_FILE).open("rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        slice_ = reader.iter_messages(topics=["/tick"], start_time=int(100.5e9), end_time=int(100.75e9))
        assert [message.sequence for _, _, message in slice_] == list(range(100, 150))
        ((_, _, message, marker),) = reader.iter_decoded_messages(topics=["/marker"])
    assert message.log_time == 100_250_000_000
    assert (marker.t, marker.kind, marker.text) == (100.25, "kick", "lateral, 5 N s")


def test_the_stream_reader_opens_an_unfinished_run(tmp_path):
    with RunWriter(tmp_path / "run", HEADER) as writer:
        writer.write(timed_rows(20))
        with (writer.folder / RUN_FILE).open("rb") as file:
            kinds = [type(record).__name__ for record in islice(StreamReader(file).records, 28)]
    assert kinds == ["Header", "Metadata", *["Schema", "Channel"] * 3, *["Message"] * 20]


def test_every_message_is_equally_long_and_tags_are_those_of_the_protobuf_encoding():
    dtype = np.dtype([(f"c{i}", "f8" if i % 2 else "u4") for i in range(1, 18)])
    wire = protobuf_schema.encode_rows(np.zeros(2, dtype))
    # 9 doubles (field 1, 3, .. 17) and 8 fixed32; fields from 16 on have two-byte tags
    assert wire.itemsize == 9 * 8 + 8 * 4 + 15 + 2 * 2
    message = wire[0].tobytes()
    assert message[0] == 0x09  # field 1, I64: 1 << 3 | 1
    assert message[9] == 0x15  # field 2, I32: 2 << 3 | 5
    assert message[-16:-14] == b"\x85\x01"  # field 16, I32: varint of 16 << 3 | 5 = 133
    assert message[-10:-8] == b"\x89\x01"  # field 17, I64: varint of 137


@pytest.mark.parametrize("kind", ["f8", "f4", "u8", "u4", "i8", "i4"])
def test_every_fixed_width_type_survives_the_schema_and_the_standard_decoder(kind):
    dtype = np.dtype([("a", kind), ("b", "f8")], align=True)
    schema = protobuf_schema.schema("Row", dtype)
    assert protobuf_schema.row_dtype(schema) == dtype
    limits = np.finfo(kind) if kind[0] == "f" else np.iinfo(kind)
    rows = np.array([(limits.max, 1.5), (limits.min, -0.0)], dtype)
    decode = protobuf_schema.message_class(schema).FromString
    for row, message in zip(rows, protobuf_schema.encode_rows(rows), strict=True):
        assert decode(message.tobytes()).a == row["a"]
    assert_same_bits(protobuf_schema.decode_rows(protobuf_schema.encode_rows(rows), dtype), rows)


@pytest.mark.parametrize("dtype", [[("flag", "?")], [("name", "U4")], [("x", "f8", (3,))], "f8"])
def test_columns_without_a_fixed_width_protobuf_type_are_refused(dtype):
    with pytest.raises(TypeError):
        protobuf_schema.schema("Row", np.dtype(dtype))


def test_the_embedded_schema_names_the_columns_in_order():
    (file,) = FileDescriptorSet.FromString(protobuf_schema.schema("Tick", TICK)).file
    assert [field.name for field in file.message_type[0].field] == list(TICK.names)


def test_a_log_with_other_columns_is_read_with_its_own(tmp_path, monkeypatch):
    older = np.dtype([("k", "u8"), ("t_host", "f8"), ("phi_est", "f4")], align=True)
    rows = np.array([(1, 0.1, 0.5), (2, 0.2, 0.25)], older)
    with monkeypatch.context() as patch:
        patch.setattr("riderless.hil.logs.writer.TICK", older)
        write_run(tmp_path / "run", rows)
    assert_same_bits(read_run(tmp_path / "run").ticks, rows)


# the ways out


def lose_the_port(folder, before=lambda writer: None):
    with RunWriter(folder, HEADER) as writer:
        before(writer)
        raise RuntimeError("the port went away")


def test_an_exception_closes_the_run_as_an_abort_with_its_text(tmp_path):
    with pytest.raises(RuntimeError, match="the port went away"):
        lose_the_port(tmp_path / "run", lambda writer: writer.write(timed_rows(7)))
    run = read_run(tmp_path / "run")
    assert (run.stop.reason, run.stop.cause) == ("abort", "RuntimeError: the port went away")
    assert len(run.ticks) == 7
    assert run.complete


def test_a_disk_error_on_the_way_out_does_not_hide_the_first_error(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    with pytest.raises(RuntimeError, match="the port went away") as caught:
        lose_the_port(tmp_path / "run", lambda writer: monkeypatch.setattr("os.write", full))
    assert any("No space left" in note for note in caught.value.__notes__)


def test_leaving_without_a_word_is_a_success_and_close_counts_once(tmp_path):
    with RunWriter(tmp_path / "a", HEADER):
        pass
    assert read_run(tmp_path / "a").stop.reason == "success"
    with RunWriter(tmp_path / "b", HEADER) as writer:
        writer.close("fault", "first")
        writer.close("success", "second")
    assert read_run(tmp_path / "b").stop.cause == "first"


def test_a_closed_run_takes_no_more(tmp_path):
    writer = RunWriter(tmp_path / "run", HEADER)
    writer.close("success")
    with pytest.raises(RuntimeError, match="is closed"):
        writer.write(timed_rows(1))
    with pytest.raises(RuntimeError, match="is closed"):
        writer.marker(1.0, "kick")


def test_misuse_is_refused(tmp_path):
    with RunWriter(tmp_path / "run", HEADER) as writer:
        with pytest.raises(TypeError, match="rows of TICK"):
            writer.write(np.zeros(3))
        with pytest.raises(ValueError, match="success, abort, fault"):
            writer.close("finished")
        writer.write(timed_rows(0))
    assert read_run(tmp_path / "run").complete


# bad input


def test_a_disk_that_is_full_at_the_start_is_told_in_a_sentence(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.write", full)
    with pytest.raises(InputError, match=r"cannot start a log .*No space left"):
        RunWriter(tmp_path / "run", HEADER)


def test_a_folder_in_use_is_refused_and_left_alone(tmp_path):
    write_run(tmp_path / "run", timed_rows(3))
    before = (tmp_path / "run" / RUN_FILE).read_bytes()
    with pytest.raises(InputError, match="found files in"):
        RunWriter(tmp_path / "run", HEADER)
    assert (tmp_path / "run" / RUN_FILE).read_bytes() == before


def test_a_file_in_the_way_of_the_folder_is_refused(tmp_path):
    (tmp_path / "run").write_text("")
    with pytest.raises(InputError, match="cannot make the run folder"):
        RunWriter(tmp_path / "run", HEADER)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "found no run.mcap"),
        (b"", "found an empty file"),
        (b"t,phi_dot\n0,1\n", "found something else"),
        (b"\x89MCAP", "without one"),
    ],
)
def test_what_is_not_a_run_is_refused_in_a_sentence(tmp_path, content, sentence):
    if content is not None:
        (tmp_path / RUN_FILE).write_bytes(content)
    with pytest.raises(InputError, match=sentence):
        read_run(tmp_path)


def test_a_missing_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"found no run\.mcap at .*no such file"):
        read_run(tmp_path / "nowhere")


# names and exports


def test_folder_names_say_when_and_what_and_never_collide(tmp_path):
    first = run_folder(tmp_path, "benchmark", "lqr", 5.0)
    assert first.name[8] == "-"
    assert first.name[15:] == "-benchmark-lqr-5.0"
    assert run_folder(tmp_path, "my bike/x").name[15:] == "-my_bike_x"
    for _ in range(2):
        run_folder(tmp_path, "again").mkdir()
    assert len(list(tmp_path.iterdir())) == 2


def test_csv_reads_back_to_the_same_numbers(tmp_path):
    rows = random_rows(40)
    write_run(tmp_path / "run", rows)
    ticks, markers, *_ = export_run(read_run(tmp_path / "run"), "csv", tmp_path / "run.csv")
    with ticks.open(newline="") as file:
        names, *lines = csv.reader(file)
    assert names == list(TICK.names)
    assert len(lines) == 40
    for name, column in zip(names, zip(*lines, strict=True), strict=True):
        kind = int if TICK[name].kind == "u" else float
        np.testing.assert_array_equal(np.array([kind(text) for text in column], TICK[name]), rows[name])
    assert markers.name == "run.markers.csv"
    assert markers.read_text().splitlines() == ["t,kind,text", '100.25,kick,"lateral, 5 N s"']


def test_csv_into_a_missing_folder_is_refused(tmp_path):
    write_run(tmp_path / "run", timed_rows(1))
    with pytest.raises(InputError, match="cannot be written"):
        export_run(read_run(tmp_path / "run"), "csv", tmp_path / "nowhere" / "run.csv")
