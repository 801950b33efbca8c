"""File that grows by whole batches."""

import os
import time
from pathlib import Path

SYNC_EVERY = 1.0  # s; a power cut loses what was not synced, a killed process nothing that was flushed


class AppendOnlyFile:
    """Append-only file: bytes gather in memory until `flush` hands all of them to the system.

    A flush that fails (disk full) leaves the file as it was before and keeps the bytes: the file stays
    readable to its end, and the next flush tries the same bytes again, so nothing is lost while the
    process lives.

    Raises
    ------
    OSError
        `path` exists already or cannot be made.
    """

    def __init__(self, path: Path) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
        self._fd = os.open(path, flags, 0o644)
        self._size = 0
        self._pending = bytearray()
        self._synced = time.monotonic()
        _sync_folder(path.parent)

    def write(self, data: bytes | bytearray) -> int:
        self._pending += data
        return len(data)

    def tell(self) -> int:
        return self._size + len(self._pending)

    def flush(self) -> None:
        """Hand the batch to the operating system; about once a second also to the disk."""
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

    def sync(self) -> None:
        """Wait until the disk has everything that was flushed."""
        os.fsync(self._fd)
        self._synced = time.monotonic()

    def close(self) -> None:
        os.close(self._fd)


def _sync_folder(folder: Path) -> None:
    """Make the disk keep the name of a new file too."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
