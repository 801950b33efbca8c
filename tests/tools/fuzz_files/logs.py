"""Logs (MCAP) taken apart, changed and put together with right checksums, which would else stop most changes.

Written from the MCAP specification alone, not with the package's writer or the library's parsers.
"""

import json
import struct
import zlib
from dataclasses import dataclass, field
from random import Random
from typing import Any

import zstandard

from tests.tools.fuzz_files.mutate import NUMBERS, mutated_bytes, mutated_text, mutated_tree

MAGIC = b"\x89MCAP0\r\n"
SCHEMA, CHANNEL, MESSAGE, CHUNK, METADATA = 0x03, 0x04, 0x05, 0x06, 0x0C
BOMB = 200_000_000  # bytes of zeros in a chunk of some kilobytes
_bomb: list[bytes] = []  # packed once


@dataclass
class LogParts:
    """Records of a log, in their order: opcode and body; chunks as the list of records in them."""

    records: list[tuple[int, Any]] = field(default_factory=list)


def take_apart(data: bytes, most: int = 70) -> LogParts:
    """Split a log; of each chunk only the ``most`` first messages are kept, of each channel two chunks: a small log."""
    parts, at = LogParts(), len(MAGIC)
    seen: dict[int, int] = {}
    for opcode, body in _split(data[at : -len(MAGIC)]):
        if opcode == CHUNK:
            _, _, _, _, length = struct.unpack_from("<QQQII", body)
            packed = body[32 + length + 8 :]
            inside = list(_split(zstandard.ZstdDecompressor().decompress(packed, max_output_size=10**7)))
            channel = struct.unpack_from("<H", inside[0][1])[0]
            seen[channel] = seen.get(channel, 0) + 1
            if seen[channel] <= 2:
                parts.records.append((CHUNK, inside[:most]))
        elif opcode in (0x01, SCHEMA, CHANNEL, METADATA, 0x0F) and not (opcode == 0x0F and seen.get(-1)):
            if opcode in (SCHEMA, CHANNEL) and (opcode, body) in parts.records:
                continue  # the summary says them again
            parts.records.append((opcode, body))
    return parts


def put_together(parts: LogParts, rng: Random | None = None, broken: float = 0.0) -> bytes:
    """Write records with right lengths and checksums; the share ``broken`` of chunks has a hostile head instead."""
    made = [MAGIC]
    for opcode, body in parts.records:
        whole = body
        if opcode == CHUNK and isinstance(body, list):
            inside = b"".join(_record(code, content) for code, content in body)
            whole = _chunk(inside, rng if rng is not None and rng.random() < broken else None)
        made.append(_record(opcode, whole))
    return b"".join([*made, MAGIC])


def mutated_log(rng: Random, parts: LogParts) -> bytes:
    """Change header, stop record, schemas, channels, rows, raw bytes or the order of records; checksums are right."""
    records = list(parts.records)
    for _ in range(1 if rng.random() < 0.6 else rng.randint(2, 4)):
        i = rng.choices(range(len(records)), [8 if code in (METADATA, SCHEMA, CHANNEL) else 3 for code, _ in records])[
            0
        ]
        opcode, body = records[i]
        match rng.random():
            case x if x < 0.05:
                del records[i]
            case x if x < 0.10:
                records.insert(rng.randrange(len(records) + 1), (opcode, body))
            case x if x < 0.15:
                records.append(records.pop(i))
            case x if x < 0.18:
                records[i] = (rng.choice((*range(16), 0x80, 0xFF)), body if isinstance(body, bytes) else b"")
            case _:
                records[i] = (opcode, mutated_record(rng, opcode, body))
        if not records:
            break
    data = put_together(LogParts(records), rng, 0.1)
    return mutated_bytes(rng, data) if rng.random() < 0.1 else data


def mutated_record(rng: Random, opcode: int, body: Any) -> Any:
    """Change the body of a record as its kind asks for; it may be one that was changed before."""
    if opcode == METADATA:
        return _mutated_metadata(rng, body)
    if opcode == SCHEMA:
        return mutated_bytes(rng, body)
    if opcode == CHANNEL:
        return mutated_bytes(rng, body)
    if opcode == CHUNK and isinstance(body, list) and body:
        inside, i = list(body), rng.randrange(len(body))
        match rng.randrange(4):
            case 0:
                for j in range(len(inside)) if rng.random() < 0.3 else [i]:
                    inside[j] = (MESSAGE, _mutated_message(rng, inside[j][1]))
            case 1:
                inside[i] = (MESSAGE, mutated_bytes(rng, inside[i][1]))
            case 2:
                inside = inside[:i] + rng.choice(([], inside[i:] * 2, list(reversed(inside[i:]))))
            case 3:  # the same value in one column of every row
                at, value = rng.randrange(max(1, len(inside[0][1]))), _eight(rng)
                inside = [(code, content[:at] + value + content[at + 8 :]) for code, content in inside]
        return inside
    return mutated_bytes(rng, body) if isinstance(body, bytes) else body


def _mutated_message(rng: Random, body: bytes) -> bytes:
    """Change values of a message, eight bytes at a time, and leave its length."""
    made = bytearray(body)
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(max(1, len(made) - 8))
        made[at : at + 8] = _eight(rng)
    return bytes(made[: len(body)])


def _eight(rng: Random) -> bytes:
    """Eight bytes: a double that breaks sums, or an integer that does."""
    if rng.random() < 0.6:
        return struct.pack(
            "<d", rng.choice((float("nan"), float("inf"), -float("inf"), 1e300, -1e300, 5e-324, 0.0, -1.0))
        )
    return struct.pack("<Q", rng.choice(NUMBERS) % 2**64)


def _mutated_metadata(rng: Random, body: bytes) -> bytes:
    """Change the JSON of header or stop record as a tree or as text, sealed again; seldom the record itself."""
    if rng.random() < 0.05:
        return mutated_bytes(rng, body)
    try:
        name, text = _name_and_json(body)
    except struct.error:  # an earlier mutation made it no metadata
        return mutated_bytes(rng, body)
    document = _document(text)
    if document is not None and rng.random() < 0.85:
        text = json.dumps(mutated_tree(rng, document))
    elif rng.random() < 0.1:
        text = rng.choice(('{"a":' * 100_000, "[" * 100_000, "9" * 5000, '{"schema":' + "9" * 5000 + "}", "null", ""))
    else:
        text = mutated_text(rng, text)
    data = text.encode("utf-8", "replace")
    crc = f"{zlib.crc32(data):08x}".encode()
    packed = b"".join(struct.pack("<I", len(part)) + part for part in (b"json", data, b"crc32", crc))
    return struct.pack("<I", len(name)) + name + struct.pack("<I", len(packed)) + packed


def _name_and_json(body: bytes) -> tuple[bytes, str]:
    (n,) = struct.unpack_from("<I", body)
    pairs, at = {}, 8 + n
    while at < len(body):
        key, at = _text(body, at)
        pairs[key], at = _text(body, at)
    return body[4 : 4 + n], pairs.get("json", "{}")


def _document(text: str) -> Any:
    """Read JSON, unless an earlier mutation made it none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def resealed(body: bytes, schema: bytes) -> bytes:
    """Channel whose ``schema_crc32`` is that of a schema's data."""
    at = body.index(b"schema_crc32") + len(b"schema_crc32") + 4
    return body[:at] + f"{zlib.crc32(schema):08x}".encode() + body[at + 8 :]


def schema_data(body: bytes) -> tuple[int, bytes]:
    """Number and data of a schema record."""
    number, at = struct.unpack_from("<H", body)[0], 2
    _, at = _text(body, at)
    _, at = _text(body, at)
    return number, body[at + 4 :]


def mutated_schema(rng: Random, parts: LogParts) -> bytes:
    """Change the data of a schema, and the checksum that its channel keeps of it."""
    records = list(parts.records)
    i = rng.choice([i for i, (code, _) in enumerate(records) if code == SCHEMA])
    number, data = schema_data(records[i][1])
    made = mutated_bytes(rng, data)
    head = records[i][1][: -len(data) - 4]
    records[i] = (SCHEMA, head + struct.pack("<I", len(made)) + made)
    for j, (code, body) in enumerate(records):
        if code == CHANNEL and struct.unpack_from("<HH", body)[1] == number and b"schema_crc32" in body:
            records[j] = (CHANNEL, resealed(body, made))
    return put_together(LogParts(records))


def _chunk(inside: bytes, rng: Random | None) -> bytes:
    """Body of a chunk; with ``rng``, one whose head lies or whose content is another than it says."""
    packed, size, crc, name = zstandard.compress(inside, 1), len(inside), zlib.crc32(inside), b"zstd"
    if rng is not None:
        match rng.randrange(6):
            case 0:
                size = rng.choice(NUMBERS) % 2**64
            case 1:
                name = rng.choice((b"", b"lz4", b"gzip", b"\xff\xfe", b"x" * 300))
            case 2:
                crc = rng.choice((0, 1))
            case 3:
                packed = mutated_bytes(rng, packed)
            case 4:
                packed, name = inside, b""
            case 5 if rng.random() < 0.1:
                if not _bomb:
                    _bomb.append(zstandard.compress(bytes(BOMB), 1))
                packed, size = _bomb[0], rng.choice((BOMB, 100, 2**40))
    return struct.pack("<QQQII", 0, 2**62, size, crc, len(name)) + name + struct.pack("<Q", len(packed)) + packed


def _split(data: bytes) -> Any:
    at = 0
    while at + 9 <= len(data):
        opcode, length = struct.unpack_from("<BQ", data, at)
        yield opcode, data[at + 9 : at + 9 + length]
        at += 9 + length


def _record(opcode: int, body: bytes) -> bytes:
    return struct.pack("<BQ", opcode, len(body)) + body


def _text(data: bytes, at: int) -> tuple[str, int]:
    (n,) = struct.unpack_from("<I", data, at)
    return data[at + 4 : at + 4 + n].decode("utf-8", "replace"), at + 4 + n
