"""Serial line between a controller and an emulated device that carries more than the device said."""

import multiprocessing
import os
import pty
import select
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager, suppress

LEADING, ECHO = "leading delimiters", "echo"  # 00 in front of every frame; our own bytes come back, as on RS-485
_BYTES = 0.0004  # s between what is too much and what is meant: a few bytes on the line
_PRIORITY = 25  # real-time, above loop and bicycle: a line waits for nobody


@contextmanager
def dirty_line(path: str, kind: str) -> Iterator[str]:
    """Path of a pseudo-terminal from which a line of this kind leads to the device at ``path``."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    line = context.Process(target=_carry, args=(path, kind, theirs), daemon=True)
    line.start()
    try:
        yield ours.recv()
    finally:
        line.kill()
        line.join()


def _carry(path: str, kind: str, told) -> None:
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_PRIORITY))
    device = os.open(path, os.O_RDWR | os.O_NOCTTY)
    ours, theirs = pty.openpty()
    for fd in (device, theirs):
        tty.setraw(fd)
    told.send(os.ttyname(theirs))
    while True:
        readable, _, _ = select.select([device, ours], [], [])
        if device in readable:
            for frame in os.read(device, 4096).split(b"\0"):
                if not frame:
                    continue
                if kind == LEADING:
                    os.write(ours, b"\0")
                    time.sleep(_BYTES)
                os.write(ours, frame + b"\0")
        if ours in readable:
            said = os.read(ours, 4096)
            os.write(device, said)
            if kind == ECHO:
                time.sleep(_BYTES)
                os.write(ours, said)
