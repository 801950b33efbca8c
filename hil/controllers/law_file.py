"""Python file with a user's compiled law.

It is read, run to define the law, and known by its hash. Only a file that a person named in this process is ever run
(`name_law`). The text that was hashed is the text that runs. A log tells a hash; it finds the law here if the person
named that very file, and else says which is wanted.
"""

import hashlib
import linecache
import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from riderless.models.errors import InputError
from riderless.models.text_file import read_bytes_file, why_unreadable

_logger = logging.getLogger("riderless.hil")
LAW_SUFFIX = ".py"
LAW_GROUP = "riderless.controllers"  # of entry points: modules with a law
_OLD_NAMES = (
    "models",
    "firmware_interface",
    "hil",
    "experiments",
)  # of the rooms, before they were riderless.models ...
_LONGEST_TOLD = 160  # characters of what the compiler said
_named: dict[str, "LawFile"] = {}  # by hash: those that a person named in this process


class LawFile(NamedTuple):
    """Text of a person's file."""

    path: str
    text: str
    sha256: str

    @property
    def name(self) -> str:
        """Name without folders, as a log keeps it."""
        return Path(self.path).name


def name_law(path: str | Path) -> LawFile:
    """Read a file or a packaged law that a person named, and let the runs that were made with it find it here.

    Raises
    ------
    InputError
        It cannot be read.
    """
    path = packaged_law(str(path)) or path
    try:
        data = read_bytes_file(path)
        text = data.decode("utf-8-sig")
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read ({why_unreadable(error)}): give a Python file with a law") from None
    law_file = LawFile(str(path), text, hashlib.sha256(data).hexdigest())
    _named[law_file.sha256] = law_file
    return law_file


def packaged_law(name: str) -> str | None:
    """Path of the module that an installed package offers as a law of that name; None where none does.

    Only packages above the module are imported; the law is read as any other file.
    """
    if Path(name).suffix:
        return None
    points = metadata.entry_points(group=LAW_GROUP, name=name)
    if not points:
        return None
    if len(points) > 1:
        raise InputError(f"wanted one package that offers the law {name}, found {len(points)}: uninstall the others")
    try:
        spec = find_spec(next(iter(points)).module)
    except Exception as error:  # whatever the packages above it do
        raise InputError(f"the law {name} of an installed package stops ({_one_line(error)}): correct it") from None
    return spec.origin if spec else None


def named_laws() -> tuple[LawFile, ...]:
    """Files that a person named in this process."""
    return tuple(_named.values())


def know_named(laws: Iterable[LawFile]) -> None:
    """Let this process find what a person named in the one that started it."""
    _named.update((law.sha256, law) for law in laws)


def named_law(name: str, sha256: str) -> LawFile:
    """Find the file of that hash among those that a person named.

    Parameters
    ----------
    name : str
        For the sentence of the error.
    sha256 : str

    Raises
    ------
    InputError
        None of them is it.
    """
    if sha256 in _named:
        return _named[sha256]
    others = ", ".join(f"{file.name} of {file.sha256[:12]}" for file in _named.values())
    where = f"found {others}, which is another file or was changed since" if others else "which no log brings along"
    raise InputError(
        f"wanted the law {name} that the run was made with (sha256 {sha256[:12]}), {where}: name it with "
        "--controller FILE.py (in Python riderless.name_law)"
    )


@lru_cache(maxsize=32)
def law_module(file: LawFile, watched: bool = False) -> ModuleType:
    """Run a person's file, which defines its law.

    Parameters
    ----------
    file : LawFile
    watched : bool
        For trials: what it defines is compiled anew, with a check of every index.

    Raises
    ------
    InputError
        It is not Python, stops, or defines no law.
    """
    from numba.extending import is_jitted

    where = f"<{file.name} {file.sha256}{' watched' if watched else ''}>"  # never that of a file that may change
    linecache.cache[where] = len(file.text), None, file.text.splitlines(keepends=True), where  # the compiler reads it
    module = ModuleType(f"law_{file.sha256[:12]}")
    module.__file__ = file.path
    try:
        exec(compile(file.text, where, "exec"), module.__dict__)  # noqa: S102  of the file that a person named as the law
    except SyntaxError as error:
        raise InputError(f"{file.path} is not Python (line {error.lineno}: {error.msg}): correct that line") from None
    except (Exception, SystemExit) as error:  # whatever a person wrote
        if isinstance(error, ModuleNotFoundError) and str(error.name).split(".")[0] in _OLD_NAMES:
            raise InputError(
                f"{file.path} imports {error.name}, which is called riderless.{error.name} now: write that name"
            ) from None
        what = f"{type(error).__name__}: {_one_line(error)}"
        raise InputError(f"{file.path} stops before its law is defined ({what}): correct it") from None
    step: Any = getattr(module, "step", None)
    if not is_jitted(step):
        raise InputError(
            f"{file.path} wants a function step(settings, state, signals, reference, out) under numba's @njit, found "
            f"{'none' if step is None else 'one without it'}: see docs/controllers.md"
        )
    if not isinstance(getattr(module, "LAW", None), Mapping):
        raise InputError(f"{file.path} wants a table LAW = {{...}} that describes the law: see docs/controllers.md")
    _logger.info("loaded the law %s, sha256 %s", file.path, file.sha256)
    return module


@lru_cache(maxsize=32)
def law_code(file: LawFile, watched: bool = False) -> Any:
    """Compile the law of a person's file for the tick; numba's CFunc, kept as long as this process lives.

    Raises
    ------
    InputError
        It does not compile without the interpreter.
    """
    from riderless.hil.loop.law import guarded_entry

    try:
        with _checked_indices(watched):
            return guarded_entry(law_module(file, watched).step)
    except InputError:
        raise
    except Exception as error:  # the compiler's own, or what it stumbles over, such as a signal that is none
        raise InputError(f"{file.path} does not compile ({_complaint(error)}): correct its step") from None


@contextmanager
def _checked_indices(watched: bool) -> Iterator[None]:
    """Let numba check every index of what it compiles meanwhile, the functions that a law calls included."""
    config: Any = import_module("numba").config  # its settings are made as it is loaded
    before = config.BOUNDSCHECK
    config.BOUNDSCHECK = 1 if watched else before
    try:
        yield
    finally:
        config.BOUNDSCHECK = before


def _complaint(error: Exception) -> str:
    """Say in one line what the compiler says: what is wrong, and the line of the file."""
    if isinstance(error, KeyError):
        return f"no signal, reference or name {error}"
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    text = re.sub(r"Record\(.*?\)(?:\[[^\]]*\])?(?=[\s,.)]|$)", "the record", text)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [
        line for line in lines if not line.startswith(("Failed in", "During", "- Resolution", "There are", ">>>"))
    ]
    places = re.findall(r'File "<[^"]*", line (\d+)', text)
    reason = (causes or lines or [type(error).__name__])[0]
    reason = reason if len(reason) <= _LONGEST_TOLD else f"{reason[:_LONGEST_TOLD]} ..."
    return f"line {places[-1]}: {reason}" if places else reason


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:_LONGEST_TOLD]
