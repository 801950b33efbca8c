"""Files of readings, TOML or ``Measured.txt``.

``Measured.txt`` is that of BicycleParameters.
"""

import tomllib
from pathlib import Path

from riderless.models.errors import InputError
from riderless.models.file_format import load_toml, require_format
from riderless.models.measured.peer_file import read_measured_text
from riderless.models.measured.readings import LabReadings, readings_of
from riderless.models.text_file import read_text_file, why_unreadable


def read_readings(path: str | Path) -> LabReadings:
    """Read the readings of a bicycle from a TOML file, or from a Measured.txt of BicycleParameters.

    Raises
    ------
    InputError
        It cannot be read, is something else, or a reading is none that a bicycle can have, with the likely mistake.
    """
    path = Path(path)
    try:
        text = read_text_file(path)
    except FileNotFoundError:
        raise InputError(f"there is no file {path}: make one with `riderless measure {path} --template`") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {why_unreadable(error)}; give a TOML file of readings") from None
    if path.suffix.lower() == ".txt":
        return read_measured_text(text, path.stem.removesuffix("Measured") or path.stem, str(path))
    try:
        document = load_toml(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not valid TOML: {error}; put that line right") from None
    try:
        require_format(document, "readings", path)
        return readings_of(document, path.parent)
    except InputError as error:
        where = str(path)
        raise InputError(str(error) if str(error).startswith(where) else f"{where}: {error}") from None
