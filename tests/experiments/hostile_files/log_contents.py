"""Rows that no machine made, and records that lie about themselves; every checksum is right."""

import struct
import zlib
from dataclasses import replace

import numpy as np
import zstandard
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorSet
from mcap.data_stream import RecordBuilder
from mcap.records import Attachment, Channel, Chunk, Metadata, Schema
from mcap.writer import MCAP0_MAGIC

from riderless.hil.logs import protobuf_schema
from riderless.hil.logs.mcap_writer import RECORD_HEAD, crc32_text
from riderless.hil.logs.records import MARKER_TOPIC, TICK_TOPIC, WIRE_TOPIC, seal
from tests.experiments.hostile_files.log_parts import LogParts, text

FIRST, CHUNK, MESSAGE, FOOTER = len(MCAP0_MAGIC), 6, 5, 2
NAN, INFINITY = float("nan"), float("inf")
BOMB = 300_000_000  # bytes that a megabyte of the file stands for


def hostile_rows(good: LogParts) -> dict[str, bytes]:
    """Logs with rows of their own, by what is wrong with them."""
    n = len(good.rows)
    floats = {name: NAN for name in good.rows.dtype.names if good.rows.dtype[name].kind == "f"}
    t, t_host, k = good.rows["t"], good.rows["t_host"], good.rows["k"]
    running = np.where(good.rows["state"] == 3)[0]
    back = np.concatenate([t[: n // 2], t[: n - n // 2]])
    parts = {
        "rows: none": good.some(slice(0, 0)),
        "rows: one": good.some(slice(0, 1)),
        "rows: two": good.some(slice(0, 2)),
        "rows: ten of those running": good.some(running[:10]),
        "rows: none valid": good.with_rows(valid=0),
        "rows: validity of 77": good.with_rows(valid=77),
        "rows: all nan": good.with_rows(**floats),
        "rows: all infinite": good.with_rows(**dict.fromkeys(floats, INFINITY)),
        "rows: all 1e308": good.with_rows(**dict.fromkeys(floats, 1e308)),
        "rows: readings nan but for the times": good.with_rows(**(floats | {"t": t, "t_host": t_host})),
        "rows: readings 1e300 but for the times": good.with_rows(
            **(dict.fromkeys(floats, 1e300) | {"t": t, "t_host": t_host})
        ),
        "rows: speed nan": good.with_rows(v_meas=NAN, v_est=NAN),
        "rows: speed infinite": good.with_rows(v_meas=INFINITY, v_est=INFINITY),
        "rows: lean rate nan": good.with_rows(phi_dot_meas=NAN),
        "rows: lean nan": good.with_rows(phi_est=NAN),
        "rows: steer age nan": good.with_rows(steer_age=NAN),
        "rows: steer age of years": good.with_rows(steer_age=1e9),
        "rows: torque nan": good.with_rows(T_cmd=NAN),
        "rows: states unknown": good.with_rows(state=99),
        "rows: states unknown now and then": good.with_rows(state=np.where(np.arange(n) % 7, good.rows["state"], 77)),
        "rows: states of 32 bits": good.with_rows(state=2**32 - 1),
        "rows: symptoms unknown": good.with_rows(symptoms=2**32 - 1),
        "rows: verdicts unknown": good.with_rows(verdict=2**32 - 1),
        "rows: causes unknown": good.with_rows(cause=2**32 - 1),
        "rows: demands unknown": good.with_rows(demand=2**32 - 1),
        "rows: times nan": good.with_rows(t=NAN),
        "rows: times all zero": good.with_rows(t=0.0),
        "rows: times infinite": good.with_rows(t=INFINITY),
        "rows: times backwards": good.with_rows(t=t[::-1]),
        "rows: times begin again in the middle": good.with_rows(t=back),
        "rows: times of a thousand years": good.with_rows(t=t * 1e10),
        "rows: times jump by 1e12 s": good.with_rows(t=np.where(np.arange(n) < n // 2, t, t + 1e12)),
        "rows: times jump by 1e300 s": good.with_rows(t=np.where(np.arange(n) < n // 2, t, t + 1e300)),
        "rows: times of 2^63": good.with_rows(t=t + 2.0**63),
        "rows: times negative": good.with_rows(t=t - 1e6),
        "rows: times a thousand times too dense": good.with_rows(t=t * 1e-3),
        "rows: times within one sample": good.with_rows(t=t * 1e-9),
        "rows: times long ago now and then": good.with_rows(t=np.where(np.arange(n) % 2, -1e231, t)),
        "rows: times end before they began": good.with_rows(t=np.where(np.arange(n) < n // 2, t, t * 1e-9)),
        "rows: host's times nan": good.with_rows(t_host=NAN),
        "rows: host's times backwards": good.with_rows(t_host=t_host[::-1]),
        "rows: host's times of 1e300": good.with_rows(t_host=1e300),
        "rows: numbers begin at 2^63": good.with_rows(k=k + np.uint64(2**63)),
        "rows: numbers all alike": good.with_rows(k=5),
        "rows: numbers backwards": good.with_rows(k=k[::-1]),
        "rows: numbers jump by 2^62": good.with_rows(k=np.where(np.arange(n) < n // 2, k, k + np.uint64(2**62))),
        "rows: sequence jumps": good.with_rows(seq=(np.arange(n) * 2_654_435_761) % 2**32),
        "rows: bytes on the tape lie": good.with_rows(n_wire=2**32 - 1),
        "rows: counters of 32 bits": good.with_rows(samples_lost=2**32 - 1, ticks_late=2**32 - 1),
        "columns: no k": good.without("k"),
        "columns: no t": good.without("t"),
        "columns: no t_host": good.without("t_host"),
        "columns: no state": good.without("state"),
        "columns: no valid": good.without("valid"),
        "columns: no lean rate": good.without("phi_dot_meas"),
        "columns: no torque": good.without("T_cmd"),
        "columns: no counters": good.without("samples_lost", "ticks_late"),
        "columns: no verdict": good.without("verdict"),
        "columns: no steer age": good.without("steer_age"),
        "columns: states are floats": good.retyped(state="f8"),
        "columns: lean rate is an integer": good.retyped(phi_dot_meas="u4"),
        "columns: times are signed integers": good.retyped(t="i4"),
        "columns: k is a float": good.retyped(k="f8"),
        "markers: at nan": replace(good, markers=((NAN, "kick", "x"), (INFINITY, "kick", "y"), (1e300, "kick", "z"))),
        "markers: controls": replace(
            good, markers=((2.0, "kick\x1b[2J", "[/red]\x00\x07\n"), (3.0, "=cmd|' /C calc'!A0", "@x"))
        ),
        "markers: very many": replace(good, markers=tuple((0.001 * i, "kick", "") for i in range(5000))),
        "tape: none": replace(good, tapes={}),
        "tape: lies about its lengths": replace(good, tapes=dict.fromkeys(good.tapes, b"\xff" * 50)),
        "tape: of ticks beyond": replace(good, tapes={2**63 + first: tape for first, tape in good.tapes.items()}),
        "tape: cut": replace(good, tapes={first: tape[:-7] for first, tape in good.tapes.items()}),
    }
    return {name: made.log() for name, made in parts.items()}


def records(log: bytes) -> list[tuple[int, int, int]]:
    """Opcode, beginning and end of each record of a log."""
    found, at = [], FIRST
    while at + RECORD_HEAD.size <= len(log) - FIRST:
        opcode, length = RECORD_HEAD.unpack_from(log, at)
        found.append((opcode, at, at + RECORD_HEAD.size + length))
        at = found[-1][2]
    return found


def packed(*made: object) -> bytes:
    """Records of the mcap library as bytes."""
    builder = RecordBuilder()
    for record in made:
        record.write(builder)
    return builder.end()


def chunk(inside: bytes, compression: str = "zstd", size: int | None = None) -> bytes:
    """A chunk with a right checksum, which may lie about its size."""
    if compression == "lz4":
        import lz4.frame

        body = lz4.frame.compress(inside)
    else:
        body = zstandard.compress(inside) if compression == "zstd" else inside
    return packed(Chunk(compression, body, 2, 1, zlib.crc32(inside), len(inside) if size is None else size))


def zeros_bomb(size: int) -> bytes:
    """So many zeros, compressed; made piece by piece."""
    packer, out = zstandard.ZstdCompressor(level=1).compressobj(size=size), []
    for _ in range(size // 10**6):
        out.append(packer.compress(bytes(10**6)))
    return b"".join([*out, packer.flush()])


def bomb_record(size: int, stated: int | None = None, compression: str = "zstd") -> bytes:
    """A chunk of zeros that unpacks to ``size`` bytes."""
    if compression == "lz4":
        import lz4.frame

        body = lz4.frame.compress(bytes(size))
    else:
        body = zeros_bomb(size)
    return packed(Chunk(compression, body, 2, 1, 0, size if stated is None else stated))


def head(good: LogParts, *, header: str | None = None) -> bytes:
    """Magic and header of a log: what any other record may follow."""
    return MCAP0_MAGIC + packed(Metadata("header", seal(text(good.header) if header is None else header)))


def channel(number: int, topic: str, schema: bytes, schema_id: int | None = None) -> bytes:
    """A schema and its channel."""
    own = number if schema_id is None else schema_id
    sealed = {"schema_crc32": crc32_text(schema)}
    return packed(Schema(number, schema, "protobuf", "riderless.Tick"), Channel(number, topic, "protobuf", sealed, own))


def descriptor(*fields: tuple[str, int]) -> bytes:
    """A schema with fields of any protobuf type."""
    return protobuf_schema.message_schema("Tick", list(fields))


def hostile_records(good: LogParts) -> dict[str, bytes]:
    """Logs whose records lie, by how."""
    log = good.log()
    parts = records(log)
    first = next(at for opcode, at, _ in parts if opcode == CHUNK)
    foot = next(at for opcode, at, _ in parts if opcode == 15)  # DataEnd
    before, after = log[:first], log[first:]
    ticks = protobuf_schema.schema("Tick", good.rows.dtype)
    row = protobuf_schema.encode_rows(good.rows[:1]).tobytes()
    double, nested = FieldDescriptorProto.TYPE_DOUBLE, FieldDescriptorProto.TYPE_MESSAGE

    def message(data: bytes, number: int = 1) -> bytes:
        return RECORD_HEAD.pack(MESSAGE, 22 + len(data)) + struct.pack("<HIQQ", number, 1, 1, 1) + data

    twice = FileDescriptorSet.FromString(ticks)
    twice.file.append(twice.file[0])
    start = head(good)
    return {
        "record: a length of 2^63": before + RECORD_HEAD.pack(CHUNK, 2**63) + after,
        "record: a length of 2^64 - 1": before + RECORD_HEAD.pack(MESSAGE, 2**64 - 1) + after,
        "record: an unknown opcode": before + RECORD_HEAD.pack(200, 5) + b"hello" + after,
        "record: an empty chunk": before + RECORD_HEAD.pack(CHUNK, 0) + after,
        "record: an empty metadata": before + RECORD_HEAD.pack(12, 0) + after,
        "record: an empty message": before + RECORD_HEAD.pack(MESSAGE, 0) + after,
        "record: 2 million empty messages": before + RECORD_HEAD.pack(MESSAGE, 0) * 2_000_000 + after,
        "record: a message of no channel": before + message(row, 9) + after,
        "record: a row too short": before + message(row[:-9]) + after,
        "record: a row too long": before + message(row + bytes(9)) + after,
        "record: an attachment above the folder": before
        + packed(Attachment(1, 1, "../../../../tmp/x", "text/plain", b"x"))
        + after,
        "record: metadata with control characters": before + packed(Metadata("\x1b[2J", {"\x00": "[/red]"})) + after,
        "record: a second header": before + packed(Metadata("header", seal('{"schema": 99}'))) + after,
        "record: a second header that is none": before + packed(Metadata("header", {})) + after,
        "record: a header with a wrong checksum": MCAP0_MAGIC
        + packed(Metadata("header", {"json": text(good.header), "crc32": "00000000"}))
        + log[parts[1][2] :],
        "chunk: states no size": before + chunk(message(row), size=0) + after,
        "chunk: states half its size": before + chunk(message(row), size=30) + after,
        "chunk: states 2^62": before + chunk(message(row), size=2**62) + after,
        "chunk: states 2^62 with lz4": before + chunk(message(row), "lz4", size=2**62) + after,
        "chunk: of no known compression": before + packed(Chunk("rar", b"x" * 40, 2, 1, 0, 40)) + after,
        "chunk: in a chunk": before + chunk(chunk(chunk(message(row)))) + after,
        "chunk: in a thousand chunks": before + _nested_chunks(1000) + after,
        "chunk: with a footer inside": before + chunk(log[parts[-1][1] : parts[-1][2]]) + after,
        "chunk: with a header inside": before + chunk(packed(Metadata("header", seal("{}")))) + after,
        "chunk: a bomb of zeros": before + bomb_record(BOMB) + after,
        "chunk: a bomb of zeros that states little": before + bomb_record(BOMB, 100) + after,
        "chunk: a bomb of lz4": before + bomb_record(BOMB, compression="lz4") + after,
        "chunk: a bomb of other messages": before + chunk(message(b"", 3) * 1_000_000) + after,
        "schema: none": start + _only_channel() + log[first:],
        "schema: empty": start + channel(1, TICK_TOPIC, b"") + log[first:],
        "schema: of another's": start + channel(1, TICK_TOPIC, b"\xff\xfe no protobuf") + log[first:],
        "schema: of no columns": start + channel(1, TICK_TOPIC, descriptor()) + log[first:],
        "schema: of a text": start
        + channel(1, TICK_TOPIC, descriptor(("k", FieldDescriptorProto.TYPE_STRING)))
        + log[first:],
        "schema: of a message": start + channel(1, TICK_TOPIC, descriptor(("k", nested))) + log[first:],
        "schema: of one name twice": start
        + channel(1, TICK_TOPIC, descriptor(("k", double), ("k", double)))
        + log[first:],
        "schema: of one column": start
        + channel(1, TICK_TOPIC, descriptor(("k", double)))
        + message(b"\x09" + bytes(8)),
        "schema: of two files": start + channel(1, TICK_TOPIC, twice.SerializeToString()) + log[first:],
        "schema: of 100 000 columns": start
        + channel(1, TICK_TOPIC, descriptor(*((f"c{i}", double) for i in range(100_000))))
        + log[first:],
        "schema: of markers is that of rows": start + channel(1, MARKER_TOPIC, ticks) + message(row) + log[foot:],
        "schema: of tapes is that of rows": start + channel(1, WIRE_TOPIC, ticks) + message(row) + log[foot:],
        "channel: twice": before + channel(1, TICK_TOPIC, ticks) + after,
        "channel: twice, with other columns": before + channel(1, TICK_TOPIC, descriptor(("k", double))) + after,
        "channel: rows on two": before + channel(7, TICK_TOPIC, ticks) + message(row, 7) + after,
        "channel: of another topic": start + channel(1, "/nothing", ticks) + log[first:],
        "channel: of a schema that is not there": start + channel(1, TICK_TOPIC, ticks, 99) + log[first:],
        "index: points outside": log[:foot] + _outside(log[foot:]),
        "index: of another chunk's messages": before + _lying_index(after),
        "end: only the magic": MCAP0_MAGIC,
        "end: only the header": start,
        "end: after the footer more": log + log[FIRST:],
        "end: two logs in one": log + log,
    }


def cut_logs(good: LogParts) -> dict[str, bytes]:
    """Logs that end at the end of one record, or within the next."""
    log = good.log()
    ends = [end for _, _, end in records(log)]
    chosen = [*ends[:12], *ends[12 : -8 : max(1, len(ends) // 6)], *ends[-8:]]
    whole = {f"cut: at byte {end}": log[:end] for end in chosen}
    return whole | {f"cut: 5 bytes behind byte {end}": log[: end + 5] for end in chosen[:8]}


def _only_channel() -> bytes:
    return packed(Channel(1, TICK_TOPIC, "protobuf", {"schema_crc32": "00000000"}, 1))


def _nested_chunks(depth: int) -> bytes:
    made = b""
    for _ in range(depth):
        made = chunk(made)
    return made


def _outside(summary: bytes) -> bytes:
    """Chunk indices and footer that point far behind the file."""
    out = bytearray(summary)
    at = 0
    while at + RECORD_HEAD.size <= len(out) - FIRST:
        opcode, length = RECORD_HEAD.unpack_from(out, at)
        if opcode in (8, FOOTER):
            out[at + RECORD_HEAD.size : at + RECORD_HEAD.size + 8] = struct.pack("<Q", 2**60)
        at += RECORD_HEAD.size + length
    return bytes(out)


def _lying_index(rest: bytes) -> bytes:
    """The message index behind the first chunk says that it holds the messages of another channel."""
    _, length = RECORD_HEAD.unpack_from(rest, 0)
    at = RECORD_HEAD.size + length + RECORD_HEAD.size
    return rest[:at] + struct.pack("<H", 2) + rest[at + 2 :]
