"""A line in trouble: seeded streams of good frames, damaged ones and noise, and what other packages read in them.

Written from docs/node-protocol.md with the packages `cobs` and `fastcrc`; nothing here may use the code under test.
"""

import random
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import fastcrc
from cobs import cobs

VERSION = 4
SIZES = {1: 40, 2: 17, 3: 70, 4: 73}  # type of message: bytes of payload
LONGEST = 253  # bytes of a frame without its delimiter

Mischief = Callable[[random.Random, bytes, bytes], bytes]  # of a frame and the one before


def framed(payload: bytes) -> bytes:
    """The frame of a payload, delimiter included."""
    return cobs.encode(payload + fastcrc.crc16.ibm_3740(payload).to_bytes(2, "little")) + b"\0"


def kind_of(payload: bytes) -> int:
    """Type of message, 0 if it is none of this protocol."""
    known = len(payload) >= 4 and payload[0] == VERSION and SIZES.get(payload[1]) == len(payload)
    return payload[1] if known else 0


# ---- what is sent


def _flipped(rng: random.Random, line: bytes, before: bytes) -> bytes:
    damaged = bytearray(line)
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        damaged[rng.randrange(len(line))] ^= 1 << rng.randrange(8)
    return bytes(damaged)


def _burst(rng: random.Random, line: bytes, before: bytes) -> bytes:
    noise, at = rng.randbytes(rng.randint(1, 12)), rng.randrange(len(line))
    return line[:at] + noise + line[at + len(noise) :]


def _truncated(rng: random.Random, line: bytes, before: bytes) -> bytes:
    return line[: rng.randrange(len(line))] + rng.choice((b"", b"\0"))


def _doubled(rng: random.Random, line: bytes, before: bytes) -> bytes:
    return rng.choice((line + line, line[:-1] + line))


def _spliced(rng: random.Random, line: bytes, before: bytes) -> bytes:
    return before[: rng.randrange(len(before))] + line[rng.randrange(len(line)) :]


def _inserted(rng: random.Random, line: bytes, before: bytes) -> bytes:
    at = rng.randrange(len(line))
    return line[:at] + rng.randbytes(rng.randint(1, 4)) + line[at:]


def _deleted(rng: random.Random, line: bytes, before: bytes) -> bytes:
    at = rng.randrange(len(line))
    return line[:at] + line[at + rng.randint(1, 4) :]


def _storm(rng: random.Random, line: bytes, before: bytes) -> bytes:
    return bytes(rng.randint(1, 300)) + line


def _over_long(rng: random.Random, line: bytes, before: bytes) -> bytes:
    """About as long as allowed, or far beyond; the CRC is right."""
    return framed(rng.randbytes(rng.choice((249, 250, 251, 252, 253, 254, 255, 256, 1000))))


def _foreign(rng: random.Random, line: bytes, before: bytes) -> bytes:
    """Wrong version, type or length (nothing at all, too); the CRC is right."""
    good = cobs.decode(line[:-1])[:-2]
    wrong = (
        rng.choice((b"\0", b"\1", b"\xff")) + good[1:],
        good[:1] + rng.choice((b"\0", b"\5", b"\xff")) + good[2:],
        good + rng.randbytes(rng.randint(1, 200)),
        good[: rng.randrange(len(good))],
    )
    return framed(rng.choice(wrong))


def _noise(rng: random.Random, line: bytes, before: bytes) -> bytes:
    return rng.randbytes(rng.randint(1, 600))


def _credible_noise(rng: random.Random, line: bytes, before: bytes) -> bytes:
    """Well stuffed, and a SAMPLE or COMMAND to look at: only the CRC can refuse it."""
    kind = rng.choice((1, 2))
    return cobs.encode(struct.pack("BB", VERSION, kind) + rng.randbytes(SIZES[kind])) + b"\0"


MISCHIEF: tuple[Mischief, ...] = (
    _flipped,
    _burst,
    _truncated,
    _doubled,
    _spliced,
    _inserted,
    _deleted,
    _storm,
    _over_long,
    _foreign,
    _noise,
    _credible_noise,
)


@dataclass
class Stream:
    """Bytes to send and what must come of them; begins with a delimiter."""

    data: bytearray = field(default_factory=lambda: bytearray(1))
    meant: set[bytes] = field(default_factory=set)  # payloads of good frames, before any damage
    due: list[int] = field(default_factory=list)  # ends of good frames behind a delimiter


def stream(rng: random.Random, size: int) -> Stream:
    """About ``size`` bytes; one piece in two is a good frame, every field arbitrary."""
    made, seq, line = Stream(), rng.randrange(65536), framed(b"before")
    while len(made.data) < size:
        seq = (seq + rng.choice((0, 1, 1, 1, 1, 1, 2, 9, 40_000))) % 65536
        kind = rng.choice((1, 1, 1, 2, 2, 3, 4))
        payload = struct.pack("<BBH", VERSION, kind, seq) + rng.randbytes(SIZES[kind] - 4)
        before, line = line, framed(payload)
        made.meant.add(payload)
        if rng.random() < 0.5:
            made.data += rng.choice(MISCHIEF)(rng, line, before)
        else:
            in_step = made.data[-1] == 0
            made.data += line
            if in_step:
                made.due.append(len(made.data))
    return made


# ---- what other packages read in it


@dataclass
class Counters:
    """Of one decoder, under the names of its fields."""

    frames_ok: int = 0
    frames_bad_crc: int = 0
    frames_bad_length: int = 0
    frames_bad_version: int = 0
    bytes_skipped: int = 0


class Oracle:
    """Reads frames with the packages; an unfinished one is kept for the next call."""

    def __init__(self) -> None:
        self.counters = Counters()
        self._rest = b""

    def read(self, data: bytes | bytearray) -> Iterator[tuple[int, bytes]]:
        """End (index behind the delimiter) and payload of each good frame."""
        counters, end = self.counters, -len(self._rest)
        *finished, self._rest = (self._rest + data).split(b"\0")
        for stuffed in finished:
            end += len(stuffed) + 1
            if not stuffed:
                continue
            payload = self._unframed(stuffed)
            if payload is None:
                counters.bytes_skipped += len(stuffed) + 1
                continue
            counters.frames_ok += 1
            counters.frames_bad_version += kind_of(payload) == 0
            yield end, payload

    def _unframed(self, stuffed: bytes) -> bytes | None:
        try:
            body = cobs.decode(stuffed) if len(stuffed) <= LONGEST else b""
        except cobs.DecodeError:
            body = b""
        if len(body) < 3:
            self.counters.frames_bad_length += 1
            return None
        if fastcrc.crc16.ibm_3740(body[:-2]).to_bytes(2, "little") != body[-2:]:
            self.counters.frames_bad_crc += 1
            return None
        return body[:-2]
