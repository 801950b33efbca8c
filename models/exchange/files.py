"""Bicycle files of several formats.

Read by their suffix, written by the name of the format.
"""

import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from riderless.models.bicycle_file import fields_of, shortened, trusted_for
from riderless.models.catalogue import load_bicycle
from riderless.models.errors import InputError, did_you_mean
from riderless.models.exchange.symbrim import read_symbrim_text, symbrim_text
from riderless.models.harmless_text import harmless
from riderless.models.parameter_table import DISPENSABLE, PARAMETERS
from riderless.models.parameters import Bicycle, require_bicycle
from riderless.models.text_file import read_text_file, why_unreadable

# Parameter files of BicycleParameters (``NAMEBenchmark.txt``).

_PLAIN = r"[+-]?(?:\d+\.?\d*|\.\d+)"
_NUMBER = rf"{_PLAIN}(?:[eE][+-]?\d{{1,3}})?"
_VALUE = re.compile(
    rf"\s*(?:({_NUMBER})(?:\s*\+/-\s*({_NUMBER}))?|\(({_PLAIN})\s*\+/-\s*({_PLAIN})\)([eE][+-]?\d{{1,3}}))\s*"
)
_SAME_AS = {"IRzz": "IRxx", "IFzz": "IFxx"}  # of a symmetric wheel
_ZERO = ("yB", "yH")  # both frames are symmetric
_ROUNDED = 1e-6  # m; a centre of mass so near the plane of symmetry is in it
_OF_A_RIDE = ("v",)  # what sets for a simulation hold beside the bicycle
_MEASURED = {"lP", "dF", "dR", "dP", "lF", "hbb", "dw", "forkLength", "TcB1", "ToB1", "aB1", "nF", "nR"}  # of raw files
_SAME = 1e-6  # share by which two that should be one may differ
FILE_ENDING = "Benchmark"  # of a file's name, before its suffix


def bicycle_parameters_text(bicycle: Bicycle) -> str:
    """Write the parameters as such a file, in full precision, with standard deviations where they are known."""
    lines = [f"# {harmless(' '.join(bicycle.name.split()))}, written by riderless; SI units"]
    for name in PARAMETERS:
        value, std = getattr(bicycle, name), bicycle.std.get(name, 0.0)
        lines.append(f"{name} = {value!r}+/-{std!r}")
    lines += [
        f"{name} = {getattr(bicycle, same)!r}+/-{bicycle.std.get(same, 0.0)!r}" for name, same in _SAME_AS.items()
    ]
    return "\n".join(lines) + "\n"


def read_bicycle_parameters_text(text: str, name: str, origin: str = "the file", trust: bool = False) -> Bicycle:
    """Read such a file; a parameter that the linear model does not need may be missing.

    Parameters
    ----------
    text : str
    name : str
        Of the bicycle, which the file does not hold.
    origin : str
        Name of the file, for messages.
    trust : bool
        Take what no bicycle has been seen with.

    Raises
    ------
    InputError
        A line is something else, a parameter is absent or not known, no bicycle has these, or none is known to.
    """
    try:
        values, std = _values(text)
        fields = fields_of(
            {
                "name": name,
                "source": f"parameter file {origin}",
                "parameters": values,
                "missing": [key for key in DISPENSABLE if key not in values],
                "std": {key: value for key, value in std.items() if value > 0.0},
            }
        )
        bicycle = Bicycle(**fields)
        reason = trusted_for(fields, trust)
    except InputError as error:
        raise InputError(f"{origin}: {error}") from None
    return Bicycle(**{**bicycle.as_dict(), "trust": reason})


def _values(text: str) -> tuple[dict[str, float], dict[str, float]]:
    """Values and standard deviations by parameter."""
    values: dict[str, float] = {}
    std: dict[str, float] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        content = line.split("#")[0].strip()
        if not content:
            continue
        name, equals, given = (part.strip() for part in content.partition("=" if "=" in content else ":"))
        pairs = list(_numbers(given)) if equals else []
        if not pairs:
            raise InputError(f"line {number} wants NAME = VALUE or NAME = VALUE +/- STD, found {shortened(content)}")
        if name in _OF_A_RIDE:
            continue
        if name in _MEASURED:
            raise InputError(
                f"line {number} has {name}, so these are raw measurements, not a bicycle: BicycleParameters computes "
                "NAMEBenchmark.txt from them; give that one"
            )
        if name not in PARAMETERS and name not in _SAME_AS and name not in _ZERO:
            meant = did_you_mean(name, PARAMETERS, "leave it out")
            raise InputError(f"line {number} has the parameter {shortened(name)}, which no bicycle has; {meant}")
        if name in values:
            raise InputError(f"line {number} gives {name} a second time: keep one")
        values[name] = sum(value for value, _ in pairs) / len(pairs)
        std[name] = math.hypot(*(error for _, error in pairs)) / len(pairs)
    for name, same in _SAME_AS.items():
        if name in values and abs(values[name] - values.get(same, values[name])) > _SAME * abs(values[name]):
            raise InputError(
                f"{name} = {values[name]:g} kg m^2 must be {same} = {values[same]:g}: a wheel is symmetric"
            )
    for name in _ZERO:
        if abs(values.get(name, 0.0)) > _ROUNDED:
            raise InputError(f"{name} = {values[name]:g} m must be 0: a bicycle is symmetric")
    extra = (*_SAME_AS, *_ZERO)
    return ({k: v for k, v in values.items() if k not in extra}, {k: v for k, v in std.items() if k not in extra})


def _numbers(given: str) -> Iterator[tuple[float, float]]:
    """Values with their standard deviations; none where one of them is no number."""
    matches = [_VALUE.fullmatch(part) for part in given.split(",")]
    if not all(matches):
        return
    for match in matches:
        assert match is not None
        value, error, scaled, scaled_error, power = match.groups()
        if scaled is not None:
            value, error = scaled + power, scaled_error + power
        yield float(value), abs(float(error or 0.0))


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
