"""Reads an MCAP file as a stream, whole or cut anywhere, and one of its topics as an array.

The library's stream reader decodes message by message (10 s for 600 000 rows) and does not say where a cut
file stops being whole. Here the records of the rows' topic are found in long stretches, which are one numpy
array each; everything else goes through the library's own parsers.
"""

import struct
import zlib
from io import BytesIO

import numpy as np
from mcap.data_stream import ReadDataStream
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import Channel, Chunk, Message, Metadata, Schema
from mcap.stream_reader import get_chunk_data_stream
from numpy.typing import NDArray
from zstandard import ZstdDecompressor, ZstdError

from hil.logs import protobuf_schema
from hil.logs.mcap_writer import RECORD_HEAD, crc32_text, message_dtype

# what the parsers of the libraries raise on bytes that are not what they should be
DAMAGE = (McapError, ZstdError, struct.error, ValueError, KeyError, TypeError, OverflowError, MemoryError)
_RECORDS_READ = (Opcode.CHUNK, Opcode.MESSAGE, Opcode.METADATA, Opcode.SCHEMA, Opcode.CHANNEL)
_INDEX_OPCODE = bytes([Opcode.MESSAGE_INDEX])
# first and last time, bytes and CRC of the records, name of the compression, bytes compressed (record 0x06)
CHUNK_HEAD = struct.Struct("<QQQII4sQ")


class McapContents:
    """Records gathered from a file.

    Parameters
    ----------
    topic
        The one whose messages are rows of a `wire_schema`.
    dtype
        Of its rows, as long as the file has not said otherwise.
    without
        A topic whose chunks are passed over, unread and unchecked.
    """

    def __init__(self, topic: str, dtype: np.dtype, without: str = "") -> None:
        self.metadata: dict[str, dict[str, str]] = {}
        self.messages: list[tuple[Channel, bytes, bytes]] = []  # of other topics: channel, schema, data
        self.damaged = 0  # records that are broken inside although their length is right
        self._topic, self._without = topic, without
        self._passed: set[bytes] = set()  # channels, as their messages' indices have them
        self._schemas: dict[int, bytes] = {}
        self._channels: dict[int, Channel] = {}
        self._stretches: list[bytes] = []
        self._zstd = ZstdDecompressor()
        self._set_rows(None, dtype)

    def take(self, data: bytes, start: int) -> int:
        """Take the records of `data` from `start` on; return where the last whole one ends."""
        while start + RECORD_HEAD.size <= len(data):
            opcode, length = RECORD_HEAD.unpack_from(data, start)
            body = start + RECORD_HEAD.size
            end = body + length
            if opcode == 0 or end > len(data):  # no record has opcode 0: zeros that a power cut left
                break
            try:
                if opcode == Opcode.MESSAGE and data[body : body + 2] == self._rows_channel:
                    end = self._take_rows(data, start)
                elif opcode == Opcode.CHUNK and self._of_nobody(data, end):
                    pass
                elif opcode in _RECORDS_READ:  # a long run has tens of thousands of the others
                    self._take_one(opcode, data[body:end])
            except DAMAGE:
                self.damaged += 1
            start = end
            if opcode == Opcode.FOOTER:
                break
        return start

    def rows(self, copied: bool = True) -> NDArray:
        """Rows (n,) with the columns they were written with, copied or as a view of the file's bytes."""
        records = np.frombuffer(b"".join(self._stretches), self._record)
        if copied:
            return protobuf_schema.decode_rows(records["data"], self._dtype)
        return np.asarray(records["data"][list(self._dtype.names or ())])

    def _of_nobody(self, data: bytes, end: int) -> bool:
        """Does an index of messages passed over follow a chunk that ends there?"""
        index = end + RECORD_HEAD.size
        return data[end : end + 1] == _INDEX_OPCODE and data[index : index + 2] in self._passed

    def _set_rows(self, channel: int | None, dtype: np.dtype) -> None:
        self._rows_channel = b"" if channel is None else struct.pack("<H", channel)
        self._dtype = dtype
        self._record = message_dtype(protobuf_schema.wire_dtype(dtype))

    def _take_rows(self, data: bytes, start: int) -> int:
        """Take the unbroken stretch of the rows' messages from `start` on; return its end."""
        size = self._record.itemsize
        found = np.frombuffer(data, self._record, (len(data) - start) // size, start)
        alike = found["opcode"] == Opcode.MESSAGE
        alike &= found["length"] == size - RECORD_HEAD.size
        alike &= found["channel"] == int.from_bytes(self._rows_channel, "little")
        n = len(alike) if alike.all() else int(alike.argmin())
        if not n:
            raise ValueError("a message of another length than its schema says")
        end = start + n * size
        self._stretches.append(data[start:end])
        return end

    def _take_one(self, opcode: int, body: bytes) -> None:
        if opcode == Opcode.CHUNK and (inside := self._unpacked(body)) is not None:
            self.take(inside, 0)
            return
        stream = ReadDataStream(BytesIO(body))
        if opcode == Opcode.CHUNK:
            rest, size = get_chunk_data_stream(Chunk.read(stream), validate_crc=True)
            self.take(rest.read(size), 0)
        elif opcode == Opcode.MESSAGE:
            message = Message.read(stream, len(body))
            channel = self._channels[message.channel_id]
            self.messages.append((channel, self._schemas[channel.schema_id], message.data))
        elif opcode == Opcode.METADATA:
            metadata = Metadata.read(stream)
            self.metadata[metadata.name] = metadata.metadata
        elif opcode == Opcode.SCHEMA:
            schema = Schema.read(stream)
            self._schemas[schema.id] = schema.data
        elif opcode == Opcode.CHANNEL:
            self._take_channel(Channel.read(stream))

    def _unpacked(self, body: bytes) -> bytes | None:
        """Decode a chunk made by our writer, in a fifth of the time the library takes; None for any other chunk."""
        _, _, size, crc, length, name, packed = CHUNK_HEAD.unpack_from(body)
        if (length, name, packed) != (len(name), b"zstd", len(body) - CHUNK_HEAD.size):
            return None
        inside = self._zstd.decompress(body[CHUNK_HEAD.size :], max_output_size=size)
        if len(inside) != size or zlib.crc32(inside) != crc:
            raise ValueError("a damaged chunk")
        return inside

    def _take_channel(self, channel: Channel) -> None:
        schema = self._schemas[channel.schema_id]
        if channel.metadata["schema_crc32"] != crc32_text(schema):
            raise ValueError("a damaged schema")
        self._channels[channel.id] = channel
        if channel.topic == self._without:
            self._passed.add(struct.pack("<H", channel.id))
        if channel.topic == self._topic:
            self._set_rows(channel.id, protobuf_schema.row_dtype(schema))
