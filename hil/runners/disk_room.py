"""Disk space check for a planned log.

It is made before anything is armed.
"""

import shutil
from collections.abc import Iterable
from pathlib import Path

from riderless.firmware_interface.devices.registry import device
from riderless.hil.loop.tick_record import PLACE_COLUMNS, SPEED_COLUMNS, TICK
from riderless.hil.memory import in_words
from riderless.hil.rig.rig import Rig
from riderless.models.errors import InputError

_AROUND_A_ROW = 150  # bytes, of tags, record and index; the test of this file weighs a log
_AROUND_A_LOG = 200_000  # bytes, of header, schemas, markers, stop record
_WAITING = 60.0  # s before control that are recorded too: a person prepares, the check passes


def log_bytes(rig: Rig, duration: float) -> int:
    """Most bytes that the log of a run of ``duration`` s under control takes: rows and raw bytes, not compressed."""
    raw = 0
    for port in rig.ports:
        driver = device(port.device)
        traffic = driver.traffic(port.role, driver.settled(port.settings))
        raw += 4 + traffic.up + traffic.down  # and two lengths
    idle = (*(() if rig.place else PLACE_COLUMNS), *(() if rig.speed_drive else SPEED_COLUMNS))
    unused = sum(TICK[column.name].itemsize for column in idle)  # packed to nothing
    row = TICK.itemsize - unused + _AROUND_A_ROW + raw
    return _AROUND_A_LOG + round(row * rig.rate * (duration + _WAITING))


def require_disk_room(folder: Path, plans: Iterable[tuple[Rig, float]]) -> None:
    """Refuse runs whose logs may not find room where they are to lie.

    Parameters
    ----------
    folder : Path
        Of the logs; it need not exist yet.
    plans : iterable of (Rig, float)
        Rig and s under control of each run.

    Raises
    ------
    InputError
        Room that is wanted and found, and what to do.
    """
    free, wanted = (
        shutil.disk_usage(existing_above(folder)).free,
        sum(log_bytes(rig, duration) for rig, duration in plans),
    )
    if wanted > free:
        raise InputError(
            f"the log may take {in_words(wanted)} in {folder}, found {in_words(free)} of room there: make room, plan "
            "less time, or name a folder on another disk"
        )


def existing_above(folder: Path) -> Path:
    """Nearest place that exists: the folder itself, or what it would be made in."""
    return next(place for place in (folder.absolute(), *folder.absolute().parents) if place.exists())
