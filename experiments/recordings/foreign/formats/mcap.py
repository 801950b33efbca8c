"""MCAP files of other programs.

Messages in JSON, in protobuf, or of ROS (CDR, and that of ROS 1).
"""

import json
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from mcap.exceptions import McapError
from mcap.records import Channel, DataEnd, Message, Schema
from mcap.stream_reader import StreamReader

from riderless.experiments.recordings.foreign.formats import rosbag
from riderless.experiments.recordings.foreign.formats.apart import read_apart
from riderless.experiments.recordings.foreign.formats.messages import TopicColumns, Topics
from riderless.experiments.recordings.foreign.table import Table
from riderless.hil.memory import memory_for_reading
from riderless.models.errors import InputError

MAGIC = b"\x89MCAP0\r\n"
ENCODINGS = "JSON, protobuf and ROS (cdr, ros1)"
Decode = Callable[[bytes], Any]


def fits(head: bytes, suffix: str) -> bool:
    """By the signature."""
    return head.startswith(MAGIC)


def read(path: Path, wanted: Collection[str] = (), **_: object) -> Table:
    """Numbers, times and texts of all messages, those ``wanted`` or all, as columns ``topic field``.

    Raises
    ------
    InputError
        The file is damaged from the beginning, takes too much memory, or needs a library that is not installed.
    """
    content: TopicColumns = read_apart(path, lambda: _content(path, wanted))
    return content.table(path)


def _content(path: Path, wanted: Collection[str]) -> TopicColumns:
    topics = Topics(path, wanted)
    schemas: dict[int, Schema] = {}
    channels: dict[int, tuple[str, Decode | None]] = {}
    left_out: dict[str, str] = {}  # topics, and the encoding of their messages
    remarks: list[str] = []
    damaged: dict[str, int] = {}
    with path.open("rb") as file:
        try:
            for record in StreamReader(file, record_size_limit=memory_for_reading()).records:
                if isinstance(record, Schema):
                    schemas[record.id] = record
                elif isinstance(record, Channel):
                    decode = None
                    if topics.needs(record.topic):
                        decode = _decoder(path, record, schemas.get(record.schema_id))
                        if decode is None:
                            left_out[record.topic] = record.message_encoding
                    channels[record.id] = record.topic, decode
                elif isinstance(record, Message) and record.channel_id in channels:
                    topic, decode = channels[record.channel_id]
                    if decode is not None:
                        try:
                            topics.add(topic, record.log_time, decode(record.data))
                        except (InputError, MemoryError):
                            raise
                        except Exception:
                            damaged[topic] = damaged.get(topic, 0) + 1
                elif isinstance(record, DataEnd):
                    break
        except (InputError, MemoryError):
            raise
        except Exception as error:  # of a library that goes by what the file says
            why = "it ends early" if isinstance(error, McapError) else f"{type(error).__name__}: {error}"[:100]
            remarks.append(f"{path.name} is damaged ({why}): read up to there")
    columns = topics.result()
    remarks += [f"{n} messages on {topic} are damaged and left out" for topic, n in damaged.items()]
    if left_out and not columns.columns:
        topic, encoding = next(iter(left_out.items()))
        raise InputError(
            f"wanted messages in {ENCODINGS} in {path}, found {encoding[:40]!r} on {topic}; make a CSV file of it"
        )
    remarks += [f"{topic} is left out: its messages are in {encoding[:40]!r}" for topic, encoding in left_out.items()]
    return columns._replace(remarks=tuple(remarks))


def _decoder(path: Path, channel: Channel, schema: Schema | None) -> Decode | None:
    """Decoder of the messages of a channel; None where their encoding is not known."""
    if channel.message_encoding == "json":
        return json.loads
    if schema is None:
        return None
    if channel.message_encoding == "protobuf":
        pool = DescriptorPool()
        for file in FileDescriptorSet.FromString(schema.data).file:
            pool.Add(file)
        return GetMessageClass(pool.FindMessageTypeByName(schema.name)).FromString
    if channel.message_encoding in ("cdr", "ros1"):
        return rosbag.decoder(path, schema.name, schema.data.decode("utf-8", "replace"), schema.encoding)
    return None
