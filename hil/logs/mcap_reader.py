"""Reader of MCAP files in blocks.

A file may be whole or cut anywhere; one of its topics comes as an array. The library's stream reader decodes message by
message (10 s for 600 000 rows) and does not say where a cut file stops being whole. Here the records of the rows' topic
are found in long stretches, which are one numpy array each; everything else goes through the library's own parsers.
"""

import struct
from array import array
from collections.abc import Collection
from io import BytesIO
from pathlib import Path

import numpy as np
from google.protobuf.message import DecodeError
from mcap.data_stream import ReadDataStream
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import Channel, Chunk, Metadata, Schema
from numpy.typing import NDArray
from zstandard import ZstdDecompressor

from riderless.hil.logs import protobuf_schema
from riderless.hil.logs.mcap_writer import RECORD_HEAD, crc32_text, message_dtype
from riderless.hil.logs.stored_rows import (
    CHUNK_DAMAGE,
    CHUNK_HEAD,
    ZSTD_HEAD,
    StoredMessages,
    StoredRows,
    require_stated_size,
    stated_size,
    unpack_chunk,
    unpack_other_chunk,
)
from riderless.hil.memory import require_memory
from riderless.models.errors import InputError

# what the parsers of the libraries raise on bytes that are not what they should be
DAMAGE = (McapError, *CHUNK_DAMAGE, TypeError, OverflowError, MemoryError, DecodeError, LookupError, AttributeError)
# records that are read, and the fewest bytes that each can have
_RECORDS_READ = {Opcode.CHUNK: 40, Opcode.MESSAGE: 22, Opcode.METADATA: 8, Opcode.SCHEMA: 14, Opcode.CHANNEL: 16}
_MOST_SHORT = 1000  # records shorter than their kind can be; a log has none, and each costs as much as a whole one
_INDEX_OPCODE = bytes([Opcode.MESSAGE_INDEX])
_BLOCK_BYTES = 4 * 1024 * 1024  # read from a file at a time
MOST_STORED = 16 * 1024 * 1024  # bytes in a chunk that may be left in the file; ours have 64 kB
_MESSAGE_HEAD = 2 + 4 + 8 + 8  # bytes before a message's data: channel, sequence, two times
_MESSAGE_ROOM = 400  # bytes that a message of another topic takes beside its data
_JSON_ROOM = 30  # bytes of memory that a byte of JSON may become: a list in a list in a list
_HELD_TWICE = 2  # the rows as they were unpacked, and put together
_INDEX_SEEN = RECORD_HEAD.size + 2  # bytes behind a chunk that say whose messages it holds


class McapContents:
    """Records gathered from a file.

    Parameters
    ----------
    topic
        The one whose messages are encoded rows, see `protobuf_schema.wire_dtype`.
    dtype
        Of its rows, as long as the file has not said otherwise.
    without
        A topic whose chunks are passed over, unread and unchecked.
    located
        Topics whose chunks are passed over too, but noted, so that they can be read later.
    """

    def __init__(self, topic: str, dtype: np.dtype, without: str = "", located: Collection[str] = ()) -> None:
        self.metadata: dict[str, dict[str, str]] = {}
        self.messages: list[tuple[Channel, bytes, bytes]] = []  # of other topics: channel, schema, data
        self.damaged = 0  # records that are broken inside although their length is right
        self._topic, self._without = topic, without
        self._passed: set[bytes] = set()  # channels, as their messages' indices have them
        self._schemas: dict[int, bytes] = {}
        self._channels: dict[int, Channel] = {}
        self._places: dict[str, array[int]] = {topic: array("q") for topic in located}
        self._noted: dict[bytes, array[int]] = {}  # the same by the channels, as their messages' indices have them
        self._stretches: list[bytes] = []
        self._in_chunk = False
        self._base, self._ended = 0, False  # where in the file the bytes begin that are being taken
        self._short = 0  # records shorter than their kind can be
        self._taken = 0  # bytes of memory that what was taken needs
        self._path, self._size = Path(), 0  # of the file
        self._zstd = ZstdDecompressor()
        self._set_rows(None, dtype)

    def take_file(self, path: Path, start: int) -> bytes:
        """Take the records of a file from `start` on, block by block; return what follows the last whole one.

        Of a long rest only the beginning is returned.

        Raises
        ------
        OSError
            The file cannot be read.
        InputError
            It takes more memory than there may be.
        """
        self._path, self._size, rest = path, path.stat().st_size, b""
        with path.open("rb") as file:
            file.seek(start)
            while more := file.read(max(_BLOCK_BYTES, len(rest))):
                data, self._base = rest + more, start
                consumed = self.take(data, 0, _INDEX_SEEN if start + len(data) < self._size else 0)
                start, rest = start + consumed, data[consumed:]
                if self._ended:
                    return rest + file.read(_BLOCK_BYTES)
                if len(rest) >= RECORD_HEAD.size:
                    opcode, length = RECORD_HEAD.unpack_from(rest)
                    if opcode == 0 or start + RECORD_HEAD.size + length > self._size:
                        return rest  # cut: the file ends before the record does
                    require_memory(_HELD_TWICE * length, path)
        return rest

    def take(self, data: bytes, start: int, beyond: int = 0) -> int:
        """Take the records of `data` that lie ``beyond`` bytes or more before its end; return where the last one ends.

        Parameters
        ----------
        data, start
            Bytes, and where in them a record begins.
        beyond
            Bytes behind a record that must be there too.
        """
        while start + RECORD_HEAD.size <= len(data):
            opcode, length = RECORD_HEAD.unpack_from(data, start)
            body = start + RECORD_HEAD.size
            end = body + length
            if opcode == 0 or end + beyond > len(data):  # no record has opcode 0: zeros that a power cut left
                break
            if length < _RECORDS_READ.get(opcode, 1):
                self._short += 1
                if self._short > _MOST_SHORT:
                    raise InputError(
                        f"{self._path} is no log: more than {_MOST_SHORT} of its records are shorter than their kind "
                        "can be; copy it again from where it was recorded"
                    )
            try:
                if opcode == Opcode.MESSAGE and data[body : body + 2] == self._rows_channel:
                    end = self._take_rows(data, start)
                elif opcode == Opcode.CHUNK and not self._in_chunk and self._passes_over(data, body, end):
                    pass
                elif opcode in _RECORDS_READ:  # a long run has tens of thousands of the others
                    self._take_one(opcode, data[body:end])
            except InputError:
                raise
            except DAMAGE:
                self.damaged += 1
            start = end
            self._ended = opcode == Opcode.FOOTER
            if self._ended:
                break
        return start

    def rows(self, copied: bool = True) -> NDArray:
        """Rows (n,) with the columns they were written with, copied or as a view of the file's bytes."""
        records = np.frombuffer(b"".join(self._stretches), self._record)
        self._stretches.clear()
        if copied:
            return protobuf_schema.decode_rows(records["data"], self._dtype)
        return np.asarray(records["data"][list(self._dtype.names or ())])

    def stored_rows(self, path: Path) -> StoredRows:
        """Rows whose places were noted, and those that lay in no chunk of their own."""
        places = np.array(self._places[self._topic], np.int64).reshape(-1, 3)
        places[:, 2] //= self._record.itemsize
        return StoredRows(path, places, tuple(self._stretches), self._dtype, self._record, self._rows_channel)

    def stored_messages(self, path: Path, topic: str) -> StoredMessages:
        """Messages of another topic whose places were noted; the rest of them are in `messages`."""
        return StoredMessages(path, np.array(self._places[topic], np.int64).reshape(-1, 3))

    def _passes_over(self, data: bytes, body: int, end: int) -> bool:
        """Is a chunk left unread, by the index of messages that follows it? Note where the rows' chunks lie."""
        index = end + RECORD_HEAD.size
        if data[end : end + 1] != _INDEX_OPCODE:
            return False
        channel = data[index : index + 2]
        noted = self._noted.get(channel)
        if noted is None:
            return channel in self._passed
        *_, size, _, length, name, packed = CHUNK_HEAD.unpack_from(data, body)
        ours = (length, name, packed) == (len(name), b"zstd", end - body - CHUNK_HEAD.size)
        if not ours or size > MOST_STORED or (channel == self._rows_channel and size % self._record.itemsize):
            return False
        require_stated_size(data[body + CHUNK_HEAD.size : body + CHUNK_HEAD.size + ZSTD_HEAD], size)
        noted.extend((self._base + body, end - body, size))
        return True

    def _need(self, size: int) -> None:
        """Count memory that is needed; raises InputError where that is too much."""
        self._taken += size
        require_memory(self._taken, self._path)

    def _set_rows(self, channel: int | None, dtype: np.dtype) -> None:
        self._rows_channel = b"" if channel is None else struct.pack("<H", channel)
        self._dtype = dtype
        self._record = message_dtype(protobuf_schema.wire_dtype(dtype))

    def _take_rows(self, data: bytes, start: int) -> int:
        """Take the unbroken stretch of the rows' messages from `start` on; return its end."""
        size = self._record.itemsize
        rows = np.frombuffer(data, self._record, (len(data) - start) // size, start)
        alike = rows["opcode"] == Opcode.MESSAGE
        alike &= rows["length"] == size - RECORD_HEAD.size
        alike &= rows["channel"] == int.from_bytes(self._rows_channel, "little")
        n = len(alike) if alike.all() else int(alike.argmin())
        if not n:
            raise ValueError("a message of another length than its schema says")
        end = start + n * size
        if self._topic in self._places:
            self._places[self._topic].extend((-1, len(self._stretches), end - start))
        self._stretches.append(data[start:end])
        return end

    def _take_chunk(self, body: bytes) -> None:
        if self._in_chunk:
            raise ValueError("a chunk in a chunk")
        self._need(_HELD_TWICE * stated_size(body))
        inside = unpack_chunk(self._zstd, body)
        if inside is None:
            inside = unpack_other_chunk(Chunk.read(ReadDataStream(BytesIO(body))))
        self._in_chunk = True
        try:
            self.take(inside, 0)
        finally:
            self._in_chunk = self._ended = False

    def _take_one(self, opcode: int, body: bytes) -> None:
        if opcode == Opcode.CHUNK:
            self._take_chunk(body)
            return
        if opcode == Opcode.MESSAGE:
            self._take_message(body)
            return
        stream = ReadDataStream(BytesIO(body))
        if opcode == Opcode.METADATA:
            self._need(_JSON_ROOM * len(body))
            metadata = Metadata.read(stream)
            self.metadata[metadata.name] = metadata.metadata
        elif opcode == Opcode.SCHEMA:
            schema = Schema.read(stream)
            self._schemas[schema.id] = schema.data
        elif opcode == Opcode.CHANNEL:
            self._take_channel(Channel.read(stream))

    def _take_message(self, body: bytes) -> None:
        """Take one by hand, ten times as fast as by a stream: a file may have a million."""
        if len(body) < _MESSAGE_HEAD:
            raise ValueError("a message without a head")
        channel = self._channels[int.from_bytes(body[:2], "little")]
        self._need(_MESSAGE_ROOM)
        self.messages.append((channel, self._schemas[channel.schema_id], body[_MESSAGE_HEAD:]))

    def _take_channel(self, channel: Channel) -> None:
        schema = self._schemas[channel.schema_id]
        if channel.metadata["schema_crc32"] != crc32_text(schema):
            raise ValueError("a damaged schema")
        self._channels[channel.id] = channel
        number = struct.pack("<H", channel.id)
        if channel.topic == self._without:
            self._passed.add(number)
        if channel.topic in self._places:
            self._noted[number] = self._places[channel.topic]
        if channel.topic == self._topic:
            self._set_rows(channel.id, protobuf_schema.row_dtype(schema))
