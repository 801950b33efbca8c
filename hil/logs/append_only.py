"""File that grows by whole batches."""

import errno
import os
import sys
import time
from contextlib import suppress
from pathlib import Path

_DELETED_ON_NFS = ".nfs"  # how the names begin under which a network disk keeps what is deleted while it is open
_NOT_KNOWN = (errno.EINVAL, errno.ENOTSUP)  # what a file system says that keeps no folder when it is asked to
SYNC_EVERY = 1.0  # s; a power cut loses what was not synced, a killed process nothing that was flushed


class LogLostError(OSError):
    """Log that is not there any more as it was written: a sentence says what became of it."""


class AppendOnlyFile:
    """Append-only file: bytes gather in memory until `flush` hands all of them to the system.

    A file that others delete, cut or write to meanwhile is noticed at the next flush; from then on nothing is written
    to it. One that is moved, or whose folder is, goes on growing where it is.

    A flush that fails (disk full) leaves the file as it was before and keeps the bytes: the file stays
    readable to its end, and the next flush tries the same bytes again, so nothing is lost while the
    process lives.

    Raises
    ------
    OSError
        `path` exists already or cannot be made.
    """

    def __init__(self, path: Path) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0)  # Windows writes text
        self._path = path.absolute()
        self._fd = os.open(path, flags, 0o644)
        self._size = 0
        self._pending = bytearray()
        self._synced = time.monotonic()
        sync_folder(path.parent)

    def write(self, data: bytes | bytearray) -> int:
        self._pending += data
        return len(data)

    def tell(self) -> int:
        return self._size + len(self._pending)

    def flush(self) -> None:
        """Hand the batch to the operating system; about once a second also to the disk."""
        self.require_intact()
        batch = bytes(self._pending)
        written = 0
        try:
            while written < len(batch):
                written += os.write(self._fd, batch[written:])
        except OSError:
            os.ftruncate(self._fd, self._size)
            raise
        self._size += len(batch)
        self._pending.clear()
        if time.monotonic() - self._synced >= SYNC_EVERY:
            self.sync()

    def require_intact(self) -> None:
        """Refuse a file that was deleted, or that is longer or shorter than what was written; raises LogLostError."""
        about = os.fstat(self._fd)
        if about.st_nlink == 0 or self.place.name.startswith(_DELETED_ON_NFS):
            raise LogLostError(f"{self._path} was deleted while it was written; leave it alone and run again")
        if about.st_size != self._size:
            raise LogLostError(
                f"{self.place} was changed by another program: wanted the {self._size} bytes that were written, found "
                f"{about.st_size}; leave it alone and run again"
            )

    @property
    def place(self) -> Path:
        """Path at which it lies now: somebody may have moved it, or a folder above it."""
        with suppress(OSError):
            if os.path.samestat(os.stat(self._path), os.fstat(self._fd)):
                return self._path
        with suppress(OSError):  # Linux alone tells
            return Path(os.readlink(f"/proc/self/fd/{self._fd}"))
        return self._path

    @property
    def is_moved(self) -> bool:
        """Does it lie elsewhere than where it was made?"""
        return self.place != self._path

    def sync(self) -> None:
        """Wait until the disk has everything that was flushed."""
        os.fsync(self._fd)
        self._synced = time.monotonic()

    def close(self) -> None:
        os.close(self._fd)


def sync_folder(folder: Path) -> None:
    """Make the disk keep the name of a new file too, where it can be asked: some network disks know no such thing."""
    if sys.platform == "win32":  # where a folder cannot be opened
        return
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in _NOT_KNOWN:
            raise
    finally:
        os.close(fd)
