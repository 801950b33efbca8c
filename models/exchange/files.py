"""Bicycle files of several formats.

Read by their suffix, written by the name of the format.
"""

from collections.abc import Callable
from pathlib import Path

from riderless.models.catalogue import load_bicycle
from riderless.models.errors import InputError
from riderless.models.exchange.bicycle_parameters import (
    FILE_ENDING,
    bicycle_parameters_text,
    read_bicycle_parameters_text,
)
from riderless.models.exchange.symbrim import read_symbrim_text, symbrim_text
from riderless.models.parameters import Bicycle, require_bicycle
from riderless.models.text_file import read_text_file, why_unreadable

LARGEST_FILE = 1_000_000  # bytes; a bicycle takes two thousand
BICYCLE_FORMATS: dict[str, Callable[[Bicycle], str]] = {
    "toml": Bicycle.to_toml,
    "bicycleparameters": bicycle_parameters_text,
    "symbrim": symbrim_text,
}


def bicycle_text(bicycle: Bicycle, to: str) -> str:
    """Write a bicycle in one of `BICYCLE_FORMATS`.

    Raises
    ------
    InputError
        There is no such format.
    """
    if to not in BICYCLE_FORMATS:
        raise InputError(f"bicycles are written as {', '.join(BICYCLE_FORMATS)}, not as '{to}': choose one with --to")
    require_bicycle(bicycle)
    return BICYCLE_FORMATS[to](bicycle)


def read_bicycle(name_or_path: str | Path, trust: bool = False) -> Bicycle:
    """Read a bicycle of the catalogue, or of a file by its suffix.

    ``.toml`` is ours, ``.txt`` a parameter file of BicycleParameters, ``.yml`` the same in YAML, ``.json`` constants of
    SymBRiM (`symbrim_text`, or one object of numbers by the names of its symbols).

    Parameters
    ----------
    name_or_path : str or Path
    trust : bool
        Take what no bicycle has been seen with.

    Raises
    ------
    InputError
        There is no such bicycle, or it cannot be read.
    """
    path = Path(name_or_path)
    suffix = path.suffix.lower()
    if suffix not in (".txt", ".json", ".yml", ".yaml"):
        return load_bicycle(name_or_path, trust)
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise InputError(f"{path} has more than {LARGEST_FILE} bytes: it is not the file of a bicycle")
        text = read_text_file(path, LARGEST_FILE)
    except FileNotFoundError:
        raise InputError(f"there is no file {path}; give the path of a bicycle") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path} cannot be read as text: {why_unreadable(error)}; give the path of a bicycle"
        ) from None
    if suffix == ".json":
        return read_symbrim_text(text, str(path))
    return read_bicycle_parameters_text(text, path.stem.removesuffix(FILE_ENDING) or path.stem, str(path), trust)
