"""ULog files of PX4 by pyulog."""

import io
from collections.abc import Collection
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np

from riderless.experiments.recordings.foreign.formats.apart import import_extra, read_apart
from riderless.experiments.recordings.foreign.formats.messages import TopicColumns
from riderless.experiments.recordings.foreign.table import Table, is_wanted, require_columns_few
from riderless.models.errors import InputError

ULOG_SIGNATURE = b"ULog\x01\x12\x35"


def fits(head: bytes, suffix: str) -> bool:
    """By the signature."""
    return head.startswith(ULOG_SIGNATURE)


def read(path: Path, wanted: Collection[str] = (), **_: object) -> Table:
    """Fields of all topics, those ``wanted`` or all, as columns ``topic field``; ``timestamp`` is in us.

    A second instance of a topic is ``topic_1``.

    Raises
    ------
    InputError
        pyulog is not installed, or the file is damaged or takes too much memory.
    """
    pyulog = import_extra("pyulog", path, "ulog")
    content: TopicColumns = read_apart(path, lambda: _content(pyulog, path, wanted))
    return content.table(path)


def _content(pyulog: Any, path: Path, wanted: Collection[str]) -> TopicColumns:
    wanted = [name.replace(" ", "/") for name in wanted]
    columns: dict[str, np.ndarray] = {}
    topics: dict[str, str] = {}
    unread: list[str] = []
    try:
        with redirect_stdout(io.StringIO()):
            log = pyulog.ULog(str(path))
    except MemoryError:
        raise
    except Exception as error:
        raise InputError(
            f"wanted a ULog file, found one that cannot be read: {path} ({str(error)[:200]}); copy it again"
        ) from error
    for data in log.data_list:
        topic = data.name if data.multi_id == 0 else f"{data.name}_{data.multi_id}"
        for field, values in data.data.items():
            name = f"{topic} {field}"
            if not is_wanted(name.replace(" ", "/"), wanted):
                unread.append(name)
                continue
            columns[name], topics[name] = values, topic
            require_columns_few(len(columns), path)
    damage = [f"{path.name} is damaged or was cut: what can be read is taken"] if log.file_corruption else []
    return TopicColumns(columns, topics, tuple(unread), tuple(damage))
