"""Output files that never lose existing data.

One rule holds for all files written for a person: nothing is overwritten by mistake or left half-written. An output
never takes the place of an input of the same command or of a log (MCAP), by whatever name they are reached. It takes
the place of another file only where that was asked for (``force``); an empty file counts as none. The new file is made
beside the old one and takes its place in one step, so that a full disk or Ctrl-C leaves the old one as it was. What is
no file, such as /dev/null or a pipe, is written to; - is the standard output.
"""

import errno
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from riderless.models.errors import InputError
from riderless.models.harmless_text import harmless
from riderless.models.text_file import read_text_file

LOG_MAGIC = b"\x89MCAP0\r\n"  # with which every log begins
LOG_SUFFIX = ".mcap"
OPEN_OUTPUTS = ("/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/self/fd/")  # redirected, they are files half written
DASH = "-"  # what the standard output is called where a file is wanted, as everywhere on a command line
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)  # of the system: the disk is full, or one's share of it
_NAMED_FILE = re.compile(r"""=\s*["']([^"'\n]+\.toml)["']""")


@dataclass(frozen=True)
class OutputFile:
    """File to be written.

    Attributes
    ----------
    path : Path
    what : str
        Thing that is written, with its article: "the figure".
    force : bool
        It may take the place of a file that is no input and no log.
    inputs : sequence of Path
        Files that the same command reads.
    """

    path: Path
    what: str
    force: bool = False
    inputs: Sequence[Path] = ()

    @property
    def is_stream(self) -> bool:
        """Is it a pipe, a device or an open output (/dev/stdout, or -)? Nothing lies beside such."""
        name = str(self.path)
        return name.startswith(OPEN_OUTPUTS) or name == DASH or (os.path.exists(name) and not os.path.isfile(name))

    def require_free(self) -> None:
        """Refuse a place that is taken or takes nothing, before the work that the file is about.

        Raises
        ------
        InputError
        """
        target = self._target()
        if any(_is_same(target, other) for other in self.inputs):
            raise self._refused("which the same command reads or writes already, --force or not: name another file")
        try:
            kind = os.stat(target).st_mode
        except FileNotFoundError:
            self._require_room_beside(target)
            return
        except OSError as error:
            raise self._failed(error) from None
        if stat.S_ISDIR(kind):
            raise self._refused("a folder: name a file in it")
        if stat.S_ISBLK(kind) or stat.S_ISSOCK(kind):
            raise self._refused("a device: name a file")
        if stat.S_ISREG(kind):
            self._require_replaceable(target)
            self._require_room_beside(target)

    @contextmanager
    def draft(self) -> Iterator[Path]:
        """Yield the name of a file to be made, which takes its place when all went well and is gone when not.

        Raises
        ------
        InputError
            The place is taken or takes nothing, or the disk is full.
        """
        self.require_free()
        target = self._target()
        direct = self.is_stream  # nothing is lost, nothing may be renamed
        draft = target if direct else target.with_name(f".riderless-{secrets.token_hex(4)}{target.suffix}")
        try:
            yield draft
            if not direct:
                _sync(draft)
                self.require_free()  # somebody else may have been quicker
                if target.exists():
                    shutil.copymode(target, draft)
                os.replace(draft, target)
        except BrokenPipeError:
            raise  # who reads has had enough
        except OSError as error:
            raise self._failed(error) from None
        finally:
            if not direct:
                draft.unlink(missing_ok=True)

    @contextmanager
    def failing(self) -> Iterator[None]:
        """Raise InputError, which names the file, where the system does not take what is written."""
        try:
            yield
        except OSError as error:
            raise self._failed(error) from None

    def write(self, content: str | bytes) -> None:
        """Write bytes, or a text as UTF-8, made harmless. Raises as `draft` does."""
        with self.draft() as path:
            path.write_bytes(harmless(content, keep="\r\n\t").encode() if isinstance(content, str) else content)

    def _target(self) -> Path:
        """File itself, where the path is a link; a pipe has no other name."""
        if str(self.path) == DASH:
            return Path(OPEN_OUTPUTS[0])
        return self.path if self.is_stream else Path(os.path.realpath(self.path))

    def _require_replaceable(self, target: Path) -> None:
        try:
            with target.open("rb") as file:
                begins = file.read(len(LOG_MAGIC))
        except OSError as error:
            raise self._failed(error) from None
        if begins == LOG_MAGIC or target.suffix == LOG_SUFFIX:
            raise self._refused("a log, and logs are never replaced, --force or not: name another file")
        if begins and not self.force:
            raise self._refused("for something else is there: name another file, or say --force to replace it")

    def _require_room_beside(self, target: Path) -> None:
        """Refuse a folder in which no file can be made."""
        if not os.access(target.parent, os.W_OK | os.X_OK):
            why = "its folder takes no new file" if target.parent.is_dir() else "No such file or directory"
            raise InputError(f"{self.what} cannot be written to {self.path} ({why}): name a writable file")

    def _refused(self, why: str) -> InputError:
        return InputError(f"{self.what} cannot be written to {self.path}, {why}")

    def _failed(self, error: OSError) -> InputError:
        why = error.strerror or str(error)
        remedy = "make room, or name a file on another disk" if error.errno in NO_ROOM else "name a writable file"
        return InputError(f"{self.what} cannot be written to {self.path} ({why}): {remedy}")


def files_read(*given: str | Path | None) -> list[Path]:
    """List files that a command was given, and those that its TOML files name beside themselves, as a bicycle."""
    paths = []
    for path in (Path(name) for name in given if name):
        paths.append(path)
        try:
            text = read_text_file(path) if path.suffix == ".toml" else ""
        except (OSError, UnicodeDecodeError):
            continue
        paths += [path.parent / name for name in _NAMED_FILE.findall(text)]
    return paths


def _is_same(target: Path, other: Path) -> bool:
    """Is it the same file, by name or by link?"""
    try:
        return target == Path(os.path.realpath(other)) or target.samefile(other)
    except OSError:
        return False


def _sync(path: Path) -> None:
    """Wait until the disk has the content, so that a power cut does not leave an empty file under the name."""
    with path.open("r+b") as file:  # for writing, or Windows does not sync it
        os.fsync(file.fileno())
