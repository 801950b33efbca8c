"""Writer of MCAP files from arrays of messages.

The records are those of the mcap library; only the order in which they are put is ours. The library's own
writer takes messages one by one (20 us each); here a batch of equally long messages becomes a chunk in a few
numpy operations, and every batch is on its way to the disk when the call returns.
"""

import struct
import zlib

import numpy as np
import zstandard
from mcap.data_stream import RecordBuilder
from mcap.opcode import Opcode
from mcap.records import (
    Channel,
    Chunk,
    ChunkIndex,
    DataEnd,
    Footer,
    Header,
    McapRecord,
    Metadata,
    MetadataIndex,
    Schema,
    Statistics,
    SummaryOffset,
)
from mcap.writer import LIBRARY_IDENTIFIER, MCAP0_MAGIC
from numpy.typing import NDArray

from riderless.hil.logs.append_only import AppendOnlyFile

CHUNK_BYTES = 64 * 1024  # uncompressed: the most that one damaged spot can take away
ZSTD_LEVEL = 1  # noisy doubles gain 1 % from level 3 and take twice as long

# how a message stands in the file before its data (MCAP specification, record 0x05)
RECORD_HEAD = struct.Struct("<BQ")
MESSAGE_HEAD = [
    ("opcode", "u1"),
    ("length", "<u8"),
    ("channel", "<u2"),
    ("sequence", "<u4"),
    ("log_time", "<u8"),
    ("publish_time", "<u8"),
]
_INDEX_HEAD = struct.Struct("<BQHI")  # opcode, length, channel, bytes of the entries
_INDEX_ENTRY = np.dtype([("log_time", "<u8"), ("offset", "<u8")])


def message_dtype(data: np.dtype) -> np.dtype:
    """Lay out a whole message record whose data has the packed dtype `data`."""
    return np.dtype([*MESSAGE_HEAD, ("data", data)])


def crc32_text(data: bytes) -> str:
    """CRC-32 as eight hexadecimal digits."""
    return f"{zlib.crc32(data):08x}"


class McapWriter:
    """Writer of MCAP records to `file`; each method flushes what it wrote. Raises OSError as `file.flush` does."""

    def __init__(self, file: AppendOnlyFile, profile: str) -> None:
        self._file = file
        self._schemas: list[Schema] = []
        self._channels: list[Channel] = []
        self._metadata: list[MetadataIndex] = []
        self._chunks = bytearray()  # their index as it will be written: 87 bytes a chunk, not a kilobyte
        self._chunk_count, self._first, self._last = 0, 2**64 - 1, 0  # ns
        self._counts: dict[int, int] = {}  # messages per channel
        file.write(MCAP0_MAGIC)
        self._put(Header(profile, LIBRARY_IDENTIFIER))
        file.flush()

    def metadata(self, name: str, values: dict[str, str]) -> None:
        offset = self._file.tell()
        length = self._put(Metadata(name, values))
        self._metadata.append(MetadataIndex(offset, length, name))
        self._file.flush()

    def channel(self, topic: str, schema_name: str, schema: bytes) -> int:
        """Announce a channel of protobuf messages; returns its id."""
        number = len(self._channels) + 1
        self._schemas.append(Schema(number, schema, "protobuf", schema_name))
        sealed = {"schema_crc32": crc32_text(schema)}  # MCAP itself has a CRC for chunks only
        self._channels.append(Channel(number, topic, "protobuf", sealed, number))
        self._counts[number] = 0
        self._put(self._schemas[-1])
        self._put(self._channels[-1])
        self._file.flush()
        return number

    def messages(self, channel: int, sequences: NDArray, log_times: NDArray, data: NDArray) -> None:
        """Append messages (n,), in chunks of their own.

        Parameters
        ----------
        channel
            As `channel` gave it.
        sequences, log_times
            (n,), the latter in ns.
        data
            (n,) of a packed dtype: the bytes of one message each.
        """
        records = np.empty(data.shape, message_dtype(data.dtype))
        records["opcode"] = Opcode.MESSAGE
        records["length"] = records.itemsize - RECORD_HEAD.size
        records["channel"] = channel
        records["sequence"] = sequences
        records["log_time"] = records["publish_time"] = log_times
        records["data"] = data
        rows = max(1, CHUNK_BYTES // records.itemsize)
        for start in range(0, len(records), rows):
            self._chunk(channel, records[start : start + rows])
        self._file.flush()

    def message(self, channel: int, sequence: int, log_time: int, data: bytes) -> None:
        """Append one message.

        Parameters
        ----------
        channel
            As `channel` gave it.
        sequence, log_time
            The latter in ns.
        data
            Bytes of the message.
        """
        times, messages = np.array([log_time], np.uint64), np.frombuffer(data, f"V{len(data)}")
        self.messages(channel, np.array([sequence]), times, messages)

    def finish(self) -> None:
        """Put the index that lets readers jump; the file is whole then."""
        self._put(DataEnd(0))
        start = self._file.tell()
        groups: list[tuple[Opcode, bytes | bytearray]] = [
            (Opcode.SCHEMA, _packed(*self._schemas)),
            (Opcode.CHANNEL, _packed(*self._channels)),
            (Opcode.STATISTICS, _packed(self._statistics())),
            (Opcode.CHUNK_INDEX, self._chunks),
            (Opcode.METADATA_INDEX, _packed(*self._metadata)),
        ]
        offsets = []
        for opcode, group in groups:
            group_start = self._file.tell()
            self._file.write(group)
            offsets.append(SummaryOffset(opcode, group_start, len(group)))
        offsets_start = self._file.tell()
        for offset in offsets:
            if offset.group_length:
                self._put(offset)
        self._put(Footer(start, offsets_start, 0))
        self._file.write(MCAP0_MAGIC)
        self._file.flush()

    def _chunk(self, channel: int, records: NDArray) -> None:
        data = records.tobytes()
        first, last = int(records["log_time"].min()), int(records["log_time"].max())
        packed = zstandard.compress(data, ZSTD_LEVEL)
        offset = self._file.tell()
        length = self._put(Chunk("zstd", packed, last, first, zlib.crc32(data), len(data)))
        entries = np.empty(len(records), _INDEX_ENTRY)
        entries["log_time"] = records["log_time"]
        entries["offset"] = np.arange(len(records)) * records.itemsize
        head = _INDEX_HEAD.pack(Opcode.MESSAGE_INDEX, 2 + 4 + entries.nbytes, channel, entries.nbytes)
        index_offset = self._file.tell()
        self._file.write(head + entries.tobytes())
        self._counts[channel] += len(records)
        self._chunk_count += 1
        self._first, self._last = min(self._first, first), max(self._last, last)
        self._chunks += _packed(
            ChunkIndex(
                chunk_length=length,
                chunk_start_offset=offset,
                compression="zstd",
                compressed_size=len(packed),
                message_end_time=last,
                message_index_length=len(head) + entries.nbytes,
                message_index_offsets={channel: index_offset},
                message_start_time=first,
                uncompressed_size=len(data),
            )
        )

    def _statistics(self) -> Statistics:
        return Statistics(
            attachment_count=0,
            channel_count=len(self._channels),
            channel_message_counts=self._counts,
            chunk_count=self._chunk_count,
            message_count=sum(self._counts.values()),
            message_end_time=self._last,
            message_start_time=self._first if self._chunk_count else 0,
            metadata_count=len(self._metadata),
            schema_count=len(self._schemas),
        )

    def _put(self, record: McapRecord) -> int:
        return self._file.write(_packed(record))


def _packed(*records: McapRecord) -> bytes:
    builder = RecordBuilder()
    for record in records:
        record.write(builder)
    return builder.end()
