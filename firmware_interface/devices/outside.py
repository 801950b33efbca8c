"""Drivers from outside: a Python file that a rig names, or an installed package with an entry point.

A package offers a driver as an entry point of the group ``riderless.devices`` and its twin, a function
``make(config)``, as one of the group ``riderless.twins``, both under the name that a rig writes. A file has its twin
beside it: ``wheel_text.py`` and ``wheel_text_twin.py``.

Only what a rig, or a person, names is imported. The text of a file that was hashed is the text that runs.
"""

import hashlib
import json
import logging
import os
import sys
from collections.abc import Callable, Iterable
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from riderless.firmware_interface.devices.driver import Device
from riderless.firmware_interface.errors import DeviceError

_logger = logging.getLogger("riderless.firmware_interface")
DRIVER_SUFFIX = ".py"
DEVICE_GROUP, TWIN_GROUP = "riderless.devices", "riderless.twins"
_HANDED_ON = "RIDERLESS_DRIVERS"  # of the environment: files by name, for the processes that this one begins
_LARGEST_FILE = 1_000_000  # bytes


class DriverOrigin(NamedTuple):
    """Origin of a driver, as a log keeps it."""

    package: str  # or the name of a file
    version: str  # empty for a file
    sha256: str  # of the file, or of all Python files of the package


class _DriverFile(NamedTuple):
    path: Path
    text: str
    sha256: str


_files: dict[str, _DriverFile] = {}  # by name: those that were named in this process
_devices: dict[str, Device] = {}  # loaded, by name


def name_driver(path: str | Path) -> str:
    """Read the file of a driver that a rig or a person names; returns the name that it has in this process.

    Raises
    ------
    DeviceError
        It cannot be read, or another file of that name was named before.
    """
    path = Path(path)
    file = _read(path)
    known = _files.get(path.name)
    if known is not None and known.sha256 != file.sha256:
        raise DeviceError(
            f"wanted one driver called {path.name} in one process, found {known.path} and {path}, which are not the "
            "same: give one another name, or begin anew where you changed it"
        )
    if known is None:
        _files[path.name] = file
        handed_on = json.loads(os.environ.get(_HANDED_ON, "{}"))
        handed_on[path.name] = [str(path.absolute()), file.sha256]
        os.environ[_HANDED_ON] = json.dumps(handed_on)
    return path.name


def outside_device(name: str, known: Iterable[str]) -> Device:
    """Driver of a file that was named, or of the installed package that offers this name; loaded when first asked for.

    Parameters
    ----------
    name : str
    known : iterable of str
        Names of the devices of this package, for the sentence of the error.

    Raises
    ------
    DeviceError
        There is none, or what it offers is no driver.
    """
    if name not in _devices:
        if name.endswith(DRIVER_SUFFIX):
            found = getattr(_module(_named(name)), "DEVICE", None)
        else:
            found = _load(_entry_point(DEVICE_GROUP, name, known))
        if not isinstance(found, Device):
            raise DeviceError(
                f"wanted a driver DEVICE = Device(...) from {name}, found "
                f"{'none' if found is None else type(found).__name__}: see docs/howto/add-a-device.md"
            )
        _devices[name] = found
        _logger.info("loaded the driver %s of %s", name, " ".join(filter(None, driver_origin(name))))
    return _devices[name]


def outside_twin(name: str) -> Callable[..., Any]:
    """Function that makes the twin of a driver from outside, of a `twins.twin.TwinConfig`.

    Raises
    ------
    DeviceError
        It has none.
    """
    if name.endswith(DRIVER_SUFFIX):
        path = twin_file(_named(name).path)
        found = getattr(_module(_read(path)), "make", None)
        where = str(path)
    else:
        found = _load(_entry_point(TWIN_GROUP, name, ()))
        where = f"the entry point {name} of {TWIN_GROUP}"
    if not callable(found):
        raise DeviceError(f"wanted a function make(config) in {where}, found none: see docs/howto/add-a-device.md")
    make: Callable[..., Any] = found
    return make


def offered(group: str, name: str) -> Any:
    """Load what an installed package offers in a group of entry points; None where none does. Raises DeviceError."""
    return _load(_entry_point(group, name, ())) if metadata.entry_points(group=group, name=name) else None


def twin_file(driver: Path) -> Path:
    """Path of the file with the twin of a driver in a file."""
    return driver.with_name(f"{driver.stem}_twin{DRIVER_SUFFIX}")


def driver_origin(name: str) -> DriverOrigin:
    """Tell where a driver comes from; nothing of it is imported.

    Raises
    ------
    DeviceError
        There is none of that name here.
    """
    if name.endswith(DRIVER_SUFFIX):
        return DriverOrigin(name, "", _named(name).sha256)
    point = _entry_point(DEVICE_GROUP, name, ())
    spec = find_spec(point.module.split(".")[0])
    folders = list(spec.submodule_search_locations or ()) if spec else []
    files = [file for folder in folders for file in sorted(Path(folder).rglob("*.py"))]
    files = files or ([Path(spec.origin)] if spec and spec.origin else [])
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
    return DriverOrigin(point.dist.name if point.dist else "", point.dist.version if point.dist else "", digest)


def _read(path: Path) -> _DriverFile:
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise DeviceError(f"{path} is larger than any driver: name the Python file of one")
        data = path.read_bytes()
        return _DriverFile(path, data.decode("utf-8-sig"), hashlib.sha256(data).hexdigest())
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise DeviceError(f"{path} cannot be read ({why}): name the Python file of a driver") from None


def _named(name: str) -> _DriverFile:
    """File of that name which this process, or the one that began it, was told of."""
    if name not in _files:
        path, sha256 = json.loads(os.environ.get(_HANDED_ON, "{}")).get(name, ("", ""))
        if not path:
            raise DeviceError(
                f"the driver {name} was not named here, and no log brings it along: name its file with --driver "
                "FILE.py (in Python riderless.name_driver)"
            )
        file = _read(Path(path))
        if file.sha256 != sha256:
            raise DeviceError(f"{path} was changed since this program began: begin it anew")
        _files[name] = file
    return _files[name]


def _module(file: _DriverFile) -> ModuleType:
    """Run a file. Compiled code on disk knows a function by its file's path and its module's name: both stay."""
    name, path = file.path.stem, file.path.absolute()
    known = sys.modules.get(name)
    origin = getattr(known, "__file__", None) if known else getattr(_spec_of(name), "origin", None)
    if not name.isidentifier() or (
        (known or origin) and not (origin and os.path.realpath(origin) == str(path.resolve()))
    ):
        raise DeviceError(f"{file.path} is called as another module, or as none can be: give it another name")
    if known:
        return known
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module
    try:
        exec(compile(file.text, module.__file__, "exec"), module.__dict__)  # noqa: S102  of the file that a rig names
    except SyntaxError as error:
        del sys.modules[name]
        raise DeviceError(f"{file.path} is not Python (line {error.lineno}: {error.msg}): correct that line") from None
    except (Exception, SystemExit) as error:  # whatever a person wrote
        del sys.modules[name]
        raise DeviceError(f"{file.path} stops ({_one_line(error)}): correct it") from None
    return module


def _spec_of(name: str) -> Any:
    try:
        return find_spec(name)
    except (ImportError, ValueError):
        return None


def _entry_point(group: str, name: str, known: Iterable[str]) -> metadata.EntryPoint:
    points = metadata.entry_points(group=group, name=name)
    if not points:
        devices = f": the devices are {', '.join(known)}" if known else ""
        raise DeviceError(
            f"unknown device '{name}'{devices}; no installed package offers another of that name ({group})"
        )
    if len(points) > 1:
        owners = ", ".join(sorted(point.dist.name if point.dist else "?" for point in points))
        raise DeviceError(f"wanted one package that offers '{name}' ({group}), found {owners}: uninstall one")
    return next(iter(points))


def _load(point: metadata.EntryPoint) -> Any:
    try:
        return point.load()
    except Exception as error:  # whatever a package does
        raise DeviceError(f"{point.value} of an installed package stops ({_one_line(error)}): correct it") from None


def _one_line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:160]
