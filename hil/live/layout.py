"""Layout of a run's shared memory.

Standard library only, for the live server reads it. Two areas without a name in any folder (`memfd_create`), gone when
the last process that has them open ends; other processes of the same user find them under `/proc/PID/fd`.

`ROWS_AREA` the run alone can write (it is sealed where the kernel can do that): a description, three texts, the
counters of the ring, and the ring of rows of TICK that the loop itself fills. A row is whole while the counter of rows
made has not passed it by a whole ring, and the number `k` in it is the same before and after it was read.

`ORDERS_AREA` everybody of the same user may write: how often STOP was pressed, when somebody last said to be there, and
what was asked of an emulated machine.
"""

import json
import mmap
import os
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

LAYOUT_VERSION = 2
ROWS_AREA, ORDERS_AREA = "riderless-live-rows", "riderless-live-orders"
DESCRIPTION, RUN_TEXT, DIGEST_TEXT = (0, 8192), (8192, 1 << 20), (8192 + (1 << 20), 1 << 16)  # (offset, bytes)
CAMPAIGN_TEXT = (DIGEST_TEXT[0] + DIGEST_TEXT[1], 1 << 16)
COUNTERS_AT = CAMPAIGN_TEXT[0] + CAMPAIGN_TEXT[1]
COUNTER_PLACES = 64  # of 8 bytes
RING_AT = COUNTERS_AT + 4096
ORDERS_BYTES = 8192
STOP_PRESSES, HERE_AT, ASKED = range(3)  # places of 8 bytes in ORDERS_AREA
ASKED_AT, ASKED_BYTES, ASKED_SLOTS = 4096, 256, 16  # where the newest wishes lie
_TEXT_HEAD = struct.Struct("<qq")  # number of the text, odd while it is written; its length
_COUNTER = struct.Struct("<q")
_TRIES = 20  # of reading a text that is being written


class SharedAreas(NamedTuple):
    """Areas of a run: the process that runs it, and the paths by which others of the same user open them."""

    pid: int
    rows: str
    orders: str


def write_shared_text(memory: Any, place: tuple[int, int], text: str) -> None:
    """Write a text so that a reader sees all or nothing of it; one that is too long is left out."""
    offset, room = place
    data = text.encode()
    if len(data) > room - _TEXT_HEAD.size:
        return
    number = _TEXT_HEAD.unpack_from(memory, offset)[0]
    _TEXT_HEAD.pack_into(memory, offset, number + 1, len(data))
    memory[offset + _TEXT_HEAD.size : offset + _TEXT_HEAD.size + len(data)] = data
    _TEXT_HEAD.pack_into(memory, offset, number + 2, len(data))


def read_shared_text(memory: Any, place: tuple[int, int]) -> tuple[int, str]:
    """Read a text and its number, 0 and nothing where there is none yet, or it changes all the time."""
    offset, room = place
    for _ in range(_TRIES):
        number, length = _TEXT_HEAD.unpack_from(memory, offset)
        if number % 2 or not 0 < length <= room - _TEXT_HEAD.size:
            continue
        data = bytes(memory[offset + _TEXT_HEAD.size : offset + _TEXT_HEAD.size + length])
        if _TEXT_HEAD.unpack_from(memory, offset) == (number, length):
            return number, data.decode()
    return 0, ""


def text_number(memory: Any, place: tuple[int, int]) -> int:
    """Number of a text, which changes with it."""
    return int(_TEXT_HEAD.unpack_from(memory, place[0])[0])


def find_shared_areas() -> Iterator[SharedAreas]:
    """Find the areas of every run of this user, the newest process first."""
    processes = sorted((int(p.name) for p in Path("/proc").iterdir() if p.name.isdigit()), reverse=True)
    for pid in processes:
        areas = areas_of(pid)
        if areas is not None:
            yield areas


def areas_of(pid: int) -> SharedAreas | None:
    """Areas that a process made last; None where it has none, or belongs to somebody else.

    A process may have made several, one after another. Rows and orders belong together: a STOP that went to another
    pair would be heard by nobody.
    """
    made = [areas for path in _paths_of_rows(pid) if (areas := _described_areas(pid, path)) is not None]
    return max(made)[1] if made else None


def _paths_of_rows(pid: int) -> list[str]:
    """Paths by which a process's areas of rows are opened; none where it is gone, or belongs to somebody else."""
    paths = []
    with suppress(OSError):
        for link in os.scandir(f"/proc/{pid}/fd"):
            with suppress(OSError):  # closed meanwhile
                if os.readlink(link.path).startswith(f"/memfd:{ROWS_AREA}"):
                    paths.append(link.path)
    return paths


def _described_areas(pid: int, rows: str) -> tuple[int, SharedAreas] | None:
    """Number of an area of rows in its process, and the pair that it names; None for one that a process looks at."""
    try:
        description = read_description(rows)
        own = description["pid"] == pid
        return (
            (int(description["number"]), SharedAreas(pid, rows, f"/proc/{pid}/fd/{description['orders_fd']}"))
            if own
            else None
        )
    except (OSError, ValueError, KeyError):
        return None


def open_area(path: str, writable: bool = False) -> mmap.mmap:
    """Map an area of another process; raises OSError when that is gone."""
    fd = os.open(path, (os.O_RDWR if writable else os.O_RDONLY) | os.O_CLOEXEC)
    try:
        size = os.fstat(fd).st_size
        return mmap.mmap(fd, size, access=mmap.ACCESS_WRITE if writable else mmap.ACCESS_READ)
    finally:
        os.close(fd)


def read_description(path: str) -> dict[str, Any]:
    """Description of a rows area; raises OSError or ValueError.

    Process, its number there, its descriptor of the orders, columns (name to [offset, letter of `struct`]), bytes of a
    row, rows of the ring, places of the counters.
    """
    memory = open_area(path)
    try:
        described = json.loads(read_shared_text(memory, DESCRIPTION)[1])
    finally:
        memory.close()
    if not isinstance(described, dict) or described.get("version") != LAYOUT_VERSION:
        raise ValueError("the run was started by another version of riderless")
    return described


def read_counter(memory: Any, place: int) -> int:
    """Read one of the counters of a rows area."""
    return int(_COUNTER.unpack_from(memory, COUNTERS_AT + 8 * place)[0])


def read_order(memory: Any, place: int) -> int:
    """Read one of the places of an orders area."""
    return int(_COUNTER.unpack_from(memory, 8 * place)[0])


def write_order(memory: Any, place: int, value: int) -> None:
    """Write one of the places of an orders area."""
    _COUNTER.pack_into(memory, 8 * place, value)
