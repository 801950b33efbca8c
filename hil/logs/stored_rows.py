"""Rows of a long log, read in stretches.

Only the columns asked for are read, and never the whole. An hour at 1 kHz has 1.6 GB of rows. The places of their
chunks are known (`riderless.hil.logs.mcap_reader`); a stretch is decoded when somebody wants it, and forgotten.
"""

import struct
import zlib
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import lz4.frame
import numpy as np
from mcap.data_stream import ReadDataStream
from mcap.opcode import Opcode
from mcap.records import Chunk, Message
from numpy.typing import NDArray
from zstandard import ZstdDecompressor, ZstdError, frame_content_size

# first and last time, bytes and CRC of the records, name of the compression, bytes compressed (record 0x06)
CHUNK_HEAD = struct.Struct("<QQQII4sQ")
CHUNK_DAMAGE = (ZstdError, struct.error, ValueError, RuntimeError)  # of a chunk that is not what it should be
ZSTD_HEAD = 18  # bytes at most at the beginning of compressed data that say how long it is
LZ4_MOST = 256  # bytes that a byte of lz4 can stand for, and more
STRETCH_ROWS = 640_000  # ten minutes at 1 kHz and what comes before and after them; an analysis holds 200 B of each
FEW_ROWS = 16_384  # of all columns, seven megabytes: a stretch of what only passes through
_DECODED_ROWS = 1_024  # at a time: half a megabyte stays near the processor while its columns are taken out


def unpack_chunk(zstd: ZstdDecompressor, body: bytes) -> bytes | None:
    """Decode a chunk made by our writer, in a fifth of the time the library takes; None for any other chunk.

    Raises
    ------
    ValueError, ZstdError
        It is damaged.
    """
    _, _, size, crc, length, name, packed = CHUNK_HEAD.unpack_from(body)
    if (length, name, packed) != (len(name), b"zstd", len(body) - CHUNK_HEAD.size):
        return None
    data = memoryview(body)[CHUNK_HEAD.size :]
    require_stated_size(data, size)
    inside = zstd.decompress(data, max_output_size=size)
    if len(inside) != size or zlib.crc32(inside) != crc:
        raise ValueError("a damaged chunk")
    return inside


def unpack_other_chunk(chunk: Chunk) -> bytes:
    """Decode a chunk of another writer, never beyond the size it states. Raises as `unpack_chunk`."""
    size = chunk.uncompressed_size
    if chunk.compression == "zstd":
        require_stated_size(chunk.data, size)
        inside = ZstdDecompressor().decompress(chunk.data, max_output_size=size)
    elif chunk.compression == "lz4":
        inside = lz4.frame.LZ4FrameDecompressor().decompress(chunk.data, max_length=size + 1)
    elif not chunk.compression:
        inside = chunk.data
    else:
        raise ValueError("a chunk of an unknown compression")
    if len(inside) != size or (chunk.uncompressed_crc and zlib.crc32(inside) != chunk.uncompressed_crc):
        raise ValueError("a damaged chunk")
    return inside


def stated_size(body: bytes) -> int:
    """Bytes that a chunk says it unpacks to, where it can: a damaged size costs its chunk, not the log.

    Raises
    ------
    ValueError, ZstdError, struct.error
        It cannot unpack to that.
    """
    size, length = CHUNK_HEAD.unpack_from(body)[2], CHUNK_HEAD.unpack_from(body)[4]
    if length == len(b"zstd") and body[CHUNK_HEAD.size - 12 :].startswith(b"zstd"):
        require_stated_size(body[CHUNK_HEAD.size : CHUNK_HEAD.size + ZSTD_HEAD], size)
    elif size > LZ4_MOST * len(body):
        raise ValueError("a chunk that states more than it can hold")
    return int(size)


def require_stated_size(data: bytes | memoryview, size: int) -> None:
    """Refuse compressed data whose own header states another size: the library believes that one.

    Raises
    ------
    ValueError, ZstdError
    """
    if frame_content_size(data) not in (size, -1):  # -1: it states none, and the library keeps to ours
        raise ValueError("a chunk that states two sizes")


class StoredRows:
    """Rows (n,) of a log, read from its file when they are asked for.

    ``rows["t"]`` is a whole column, ``rows[-1]`` a row, ``rows[a:b]`` and `stretches` are rows as an array. Rows of a
    chunk that turns out to be damaged are left out.

    Attributes
    ----------
    damaged : set of int
        Chunks found damaged so far, by their number.

    Parameters
    ----------
    path
        The log.
    places : (m, 3) array
        Place and length of each chunk's body and how many rows it has; -1 and a number in ``loose`` for others.
    loose
        Messages that lay in no chunk of their own.
    dtype
        Of the rows.
    record
        Of the messages around them.
    channel
        Two bytes that each message of a row has.
    """

    def __init__(
        self,
        path: Path,
        places: NDArray[np.int64],
        loose: Sequence[bytes],
        dtype: np.dtype,
        record: np.dtype,
        channel: bytes,
    ) -> None:
        self.dtype, self.damaged = dtype, set[int]()
        self._path, self._places, self._loose = path, places, loose
        self._record, self._channel = record, channel
        self._ends = np.cumsum(places[:, 2])

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def __getitem__(self, wanted: Any) -> Any:
        """Column by its name, row by its number, or rows of a slice."""
        if isinstance(wanted, str):
            return np.concatenate([part[wanted] for part in self.stretches((wanted,))] or [np.zeros(0)])
        if isinstance(wanted, slice):
            first, last, step = wanted.indices(len(self))
            return self._rows(first, max(first, last), self.dtype)[::step]
        first = wanted + len(self) if wanted < 0 else wanted
        return self._rows(first, first + 1, self.dtype)[0]

    def stretches(self, columns: Sequence[str] = (), rows: int = STRETCH_ROWS) -> Iterator[NDArray]:
        """Rows in their order, at most so many at a time, with the ``columns`` asked for (all, if empty)."""
        names = [name for name in self.dtype.names or () if not columns or name in columns]
        chosen = np.dtype([(name, self.dtype[name]) for name in names], align=True) if columns else self.dtype
        for start in range(0, len(self), rows):
            yield self._rows(start, min(start + rows, len(self)), chosen)

    @property
    def lost(self) -> int:
        """Rows of the chunks found damaged so far."""
        return int(self._places[list(self.damaged), 2].sum()) if self.damaged else 0

    def _rows(self, first: int, last: int, dtype: np.dtype) -> NDArray:
        """Rows first to last, as far as they are whole."""
        out, n = np.zeros(last - first, dtype), 0
        for records in self._records(first, last):
            data = records["data"]
            for name in dtype.names or ():
                out[name][n : n + len(data)] = data[name]
            n += len(data)
        out = out[:n]
        out.setflags(write=False)
        return out

    def _records(self, first: int, last: int) -> Iterator[NDArray]:
        """Messages of the rows first to last, some thousands at a time."""
        begin, end = np.searchsorted(self._ends, [first, last - 1], "right") if last > first else (0, -1)
        zstd, held, waiting = ZstdDecompressor(), [], 0
        with self._path.open("rb", buffering=1 << 20) as file:
            for i in range(int(begin), int(end) + 1):
                place, length, n = self._places[i].tolist()
                before = int(self._ends[i]) - n
                size = self._record.itemsize
                if place < 0:
                    inside = self._loose[length]
                else:
                    file.seek(place)
                    try:
                        inside = unpack_chunk(zstd, file.read(length)) or b""
                    except CHUNK_DAMAGE:
                        self.damaged.add(i)
                        continue
                held.append(inside[max(0, first - before) * size : (last - before) * size])
                waiting += n
                if waiting >= _DECODED_ROWS:
                    yield self._checked(np.frombuffer(b"".join(held), self._record))
                    held, waiting = [], 0
        if held:
            yield self._checked(np.frombuffer(b"".join(held), self._record))

    def _checked(self, records: NDArray) -> NDArray:
        """Those that are messages of a row."""
        alike = records["opcode"] == Opcode.MESSAGE
        alike &= records["channel"] == int.from_bytes(self._channel, "little")
        return records if alike.all() else records[alike]


class StoredMessages:
    """Messages of a long log, one in each chunk, read from its file one after the other; damaged ones are left out.

    Parameters
    ----------
    path
        The log.
    places : (m, 3) array
        Place and length of each chunk's body, and bytes in it.
    """

    def __init__(self, path: Path, places: NDArray[np.int64]) -> None:
        self._path, self._places = path, places

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[bytes]:
        zstd, head = ZstdDecompressor(), struct.calcsize("<BQ")
        with self._path.open("rb") as file:
            for place, length, _ in self._places.tolist():
                file.seek(place)
                try:
                    inside = unpack_chunk(zstd, file.read(length)) or b""
                    _, size = struct.unpack_from("<BQ", inside)
                    yield Message.read(ReadDataStream(BytesIO(inside[head : head + size])), size).data
                except CHUNK_DAMAGE:
                    continue


def in_stretches(rows: NDArray | StoredRows, most: int = FEW_ROWS) -> Iterator[NDArray]:
    """Rows of a run in their order, at most so many at a time, wherever they lie."""
    if isinstance(rows, StoredRows):
        yield from rows.stretches(rows=most)
    else:
        for start in range(0, len(rows), most):
            yield rows[start : start + most]


def whole_columns(rows: NDArray | StoredRows, columns: Sequence[str]) -> NDArray:
    """All rows of a run with the columns asked for, wherever they lie; with all columns where they are in memory."""
    if not isinstance(rows, StoredRows):
        return rows
    parts = list(rows.stretches(columns))
    return np.concatenate(parts) if parts else rows[:0]
