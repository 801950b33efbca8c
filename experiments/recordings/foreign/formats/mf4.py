"""ASAM measurement files (MF4, MDF) by asammdf."""

import logging
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from riderless.experiments.recordings.foreign.formats.apart import import_extra, read_apart
from riderless.experiments.recordings.foreign.formats.messages import TopicColumns
from riderless.experiments.recordings.foreign.table import Table, is_wanted, require_columns_few
from riderless.hil.memory import require_memory
from riderless.models.errors import InputError

TIME = "time"  # column [s] of each group, whatever its channel is called
_SIGNATURES = (b"MDF     ", b"UnFinMF ")
_HELD = 4  # as raw values, as physical ones, and on their way here
_ALGEBRAIC, _FIRST_TEXTS = 3, 7  # conversions of MF4: by a formula, and to texts, which may hold formulas
_FORMULA_3 = 10  # the same of MDF 3


def fits(head: bytes, suffix: str) -> bool:
    """By the signature."""
    return head.startswith(_SIGNATURES)


def read(path: Path, wanted: Collection[str] = (), **_: object) -> Table:
    """Channels, those ``wanted`` or all, as columns ``group channel``, and the ``time`` [s] of each group.

    A group without a name is ``group0`` and so on. Numbers that become texts stay numbers; what a formula converts is
    left out, for nothing that a file says is ever run.

    Raises
    ------
    InputError
        asammdf is not installed, or the file is damaged or takes too much memory.
    """
    asammdf = import_extra("asammdf", path, "mf4")
    content: TopicColumns = read_apart(path, lambda: _content(asammdf, path, wanted))
    return content.table(path)


def _content(asammdf: Any, path: Path, wanted: Collection[str]) -> TopicColumns:
    logging.getLogger("asammdf").setLevel(logging.CRITICAL)
    wanted = [name.replace(" ", "/") for name in wanted]
    columns: dict[str, np.ndarray] = {}
    topics: dict[str, str] = {}
    unread: list[str] = []
    remarks: list[str] = []
    bytes_held = 0
    try:
        with asammdf.MDF(path) as mdf:
            for number, group in enumerate(mdf.groups):
                topic = _group_name(group, number)
                topic = topic if topic not in topics.values() else f"{topic}_{number}"
                rows = int(group.channel_group.cycles_nr)
                for index, channel in enumerate(group.channels):
                    is_time = mdf.masters_db.get(number) == index
                    name = f"{topic} {TIME if is_time else channel.name}"
                    if name in columns or not is_wanted(name.replace(" ", "/"), wanted):
                        unread.append(name)
                        continue
                    conversion = getattr(channel.conversion, "conversion_type", 0)
                    if conversion == (_ALGEBRAIC if mdf.version >= "4" else _FORMULA_3):
                        remarks.append(f"{name} is left out: its formula is not computed; save it as numbers")
                        continue
                    bytes_held += _HELD * 8 * rows
                    require_memory(bytes_held, path)
                    texts = mdf.version >= "4" and conversion >= _FIRST_TEXTS
                    signal = mdf.get(group=number, index=index, raw=texts)
                    if signal.samples.ndim == 1 and signal.samples.dtype.kind in "biufSU":
                        columns[name], topics[name] = _values(signal.samples), topic
                        require_columns_few(len(columns), path)
    except (InputError, MemoryError):
        raise
    except Exception as error:
        first = (str(error).splitlines() or [""])[0][:200]
        raise InputError(
            f"wanted an MF4 file, found one that cannot be read: {path} ({first}); copy or save it again"
        ) from error
    return TopicColumns(columns, topics, tuple(unread), tuple(remarks))


def _group_name(group: Any, number: int) -> str:
    """Name of a group without a blank."""
    name = str(getattr(group.channel_group, "acq_name", "") or "").strip()
    return "_".join(name.split()) or f"group{number}"


def _values(samples: np.ndarray) -> np.ndarray:
    if samples.dtype.kind == "S":
        return np.char.decode(samples, "utf-8", "replace").astype(object)
    return samples.astype(object) if samples.dtype.kind == "U" else samples
