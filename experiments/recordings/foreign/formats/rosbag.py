"""ROS bags by rosbags.

Folders of rosbag2 (stored as MCAP or SQLite), single .db3 files, bags of ROS 1.
"""

import re
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from riderless.experiments.recordings.foreign.formats.apart import import_extra, read_apart
from riderless.experiments.recordings.foreign.formats.messages import TopicColumns, Topics
from riderless.experiments.recordings.foreign.table import Table
from riderless.models.errors import InputError

METADATA = "metadata.yaml"  # of a folder of rosbag2
_BEGINS = (b"rosbag2_bagfile_information", b"#ROSBAG V2.0", b"SQLite format 3\0")
_TYPE_NAME = re.compile(r"[A-Za-z]\w*(/\w+)*/[A-Za-z]\w*", re.ASCII)
_IDL_PART = "=" * 80 + "\n"


def fits(head: bytes, suffix: str) -> bool:
    """By how its file, or that of the folder's metadata, begins."""
    return head.startswith(_BEGINS)


def read(path: Path, wanted: Collection[str] = (), **_: object) -> Table:
    """Numbers, times and texts of all messages, those ``wanted`` or all, as columns ``topic field``.

    Raises
    ------
    InputError
        rosbags is not installed, or the bag is damaged or takes too much memory.
    """
    import_extra("rosbags", path, "ros")
    content: TopicColumns = read_apart(path, lambda: _content(path, wanted))
    return content.table(path)


def _content(path: Path, wanted: Collection[str]) -> TopicColumns:
    from rosbags.rosbag1 import Reader as Reader1
    from rosbags.rosbag2 import Reader as Reader2

    topics = Topics(path, wanted)
    decoders: dict[int, Callable[[bytes], Any]] = {}
    damaged: dict[str, int] = {}
    try:
        with (Reader1 if path.suffix == ".bag" else Reader2)(path) as bag:
            chosen = [connection for connection in bag.connections if topics.needs(connection.topic)]
            for connection in chosen:
                kind = "ros1msg" if path.suffix == ".bag" else f"ros2{connection.msgdef.format.name.lower()}"
                decoders[connection.id] = decoder(path, connection.msgtype, str(connection.msgdef.data), kind)
            for connection, log_time, data in bag.messages(chosen) if chosen else ():
                try:
                    topics.add(connection.topic, log_time, decoders[connection.id](data))
                except (InputError, MemoryError):
                    raise
                except Exception:
                    damaged[connection.topic] = damaged.get(connection.topic, 0) + 1
    except (InputError, MemoryError):
        raise
    except Exception as error:
        first = (str(error).splitlines() or [""])[0][:200]
        raise InputError(
            f"wanted a bag of ROS, found one that cannot be read: {path} ({first}); copy it again, or mend it with "
            "`ros2 bag reindex`"
        ) from error
    return topics.result(f"{n} messages on {topic} are damaged and left out" for topic, n in damaged.items())


def decoder(path: Path, name: str, definition: str, kind: str) -> Callable[[bytes], Any]:
    """Decoder of one type of messages; where the file does not define it, it is taken as ROS has it.

    Parameters
    ----------
    path : Path
    name, definition : str
        Of the type.
    kind : str
        Language of the definition as MCAP names it; ``ros1msg`` also says how the messages are encoded.
    """
    import_extra("rosbags", path, "ros")
    from rosbags.typesys import Stores, get_types_from_idl, get_types_from_msg, get_typestore
    from rosbags.typesys.msg import normalize_msgtype

    _require_name(name, path)
    name = normalize_msgtype(name)
    if not definition:
        store = get_typestore(Stores.LATEST)
    else:
        store = get_typestore(Stores.EMPTY)
        types: dict[str, Any] = {}
        if kind == "ros2idl":
            for part in filter(str.strip, definition.split(_IDL_PART)):
                types |= get_types_from_idl(part.split("\n", 1)[1] if part.startswith("IDL: ") else part)
        else:
            types = dict(get_types_from_msg(definition, name))
        for type_name in _names(types):
            _require_name(type_name, path)
        store.register(types)
    read = store.deserialize_ros1 if kind == "ros1msg" else store.deserialize_cdr
    return lambda data: read(data, name)


def _names(types: dict[str, Any]) -> Iterator[str]:
    """Names of types, and of their fields as if they were types: rosbags makes code of them."""
    for name, (constants, fields) in types.items():
        yield name
        yield from (f"a/{field}" for field, *_ in (*constants, *fields))
        for _, (_, inner) in fields:
            while not isinstance(inner, str):  # an array of something
                inner = inner[0] if isinstance(inner[0], str) else inner[0][1]
            yield f"a/{inner}"


def _require_name(name: str, path: Path) -> None:
    """Refuse what is no name, for nothing that a file says is ever run."""
    if not _TYPE_NAME.fullmatch(name):
        raise InputError(
            f"wanted messages of a type such as sensor_msgs/msg/Imu, found {name[:60]!r} in {path}; the file is damaged"
        )
