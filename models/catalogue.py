"""Catalogue of published and measured bicycles.

Each is one TOML file in `models/bicycles`. To add one, put its file there; its name in the catalogue is the file's
name.
"""

import logging
from functools import cache
from importlib.resources import files
from pathlib import Path

from riderless.models.errors import InputError, did_you_mean
from riderless.models.parameters import Bicycle

BICYCLE_SUFFIX = ".toml"
_logger = logging.getLogger("riderless.models")


@cache
def bicycle_names() -> tuple[str, ...]:
    """Names of all bicycles of the catalogue, in alphabetical order."""
    file_names = (entry.name for entry in files("riderless.models.bicycles").iterdir())
    return tuple(sorted(name.removesuffix(BICYCLE_SUFFIX) for name in file_names if name.endswith(BICYCLE_SUFFIX)))


def bicycle_of(given: str | Path | Bicycle, trust: bool = False) -> Bicycle:
    """Take a bicycle as it is, or load it by its name or file; raises as `load_bicycle`."""
    return given if isinstance(given, Bicycle) else load_bicycle(given, trust)


def load_bicycle(name_or_path: str | Path, trust: bool = False) -> Bicycle:
    """Load a bicycle of the catalogue, or of a file when the argument ends in ``.toml``.

    ``trust`` reads a file also where no bicycle is like it, with a warning that says what is unusual.

    Raises
    ------
    InputError
        For an unknown name (with the nearest known ones), a file that does not hold a bicycle, or one that holds an
        implausible one, with the likely mistake.
    """
    if str(name_or_path).endswith(BICYCLE_SUFFIX):
        bicycle = Bicycle.from_toml(Path(name_or_path), trust)
        _logger.info("read the bicycle %r from %s", bicycle.name, name_or_path)
        return bicycle
    name = str(name_or_path)
    if name not in bicycle_names():
        raise InputError(_unknown(name))
    return _read(name)


@cache
def _read(name: str) -> Bicycle:
    return Bicycle.from_toml(
        files("riderless.models.bicycles").joinpath(name + BICYCLE_SUFFIX).read_text(encoding="utf-8")
    )


def _unknown(name: str) -> str:
    hint = did_you_mean(name, bicycle_names(), f"choose one of {', '.join(bicycle_names())}", n=3)
    return (
        f"there is no bicycle {name!r} in the catalogue; {hint} (a path ending in {BICYCLE_SUFFIX} is read as a file)"
    )
