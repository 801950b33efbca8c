"""Constants of SymBRiM's Whipple bicycle.

In Moore's convention, by the names of its symbols, in both directions.

SymBRiM names a symbol after the part it belongs to, as ``rear_frame_d1``; the names of the parts are those of its
tutorial and may be given. ``expression.subs(symbrim_constants(bicycle))`` puts the numbers into an expression of SymPy.
"""

import json
from collections.abc import Mapping
from typing import NamedTuple

from riderless.models.errors import InputError
from riderless.models.moore import MOORE_CONSTANTS, bicycle_from_moore, moore_constants
from riderless.models.parameters import Bicycle

SYMBRIM_FORMAT = "riderless symbrim constants 1"


class SymbrimParts(NamedTuple):
    """Names of a SymBRiM bicycle's parts."""

    rear_frame: str = "rear_frame"
    front_frame: str = "front_frame"
    rear_wheel: str = "rear_wheel"
    front_wheel: str = "front_wheel"


def symbrim_constants(bicycle: Bicycle, parts: SymbrimParts = SymbrimParts()) -> dict[str, float]:
    """Constants of a bicycle by the names of SymBRiM's symbols; SI.

    The model is its ``WhippleBicycle`` of Moore's convention with rigid frames and knife-edge wheels.
    """
    symbols, constants = _symbols(parts), moore_constants(bicycle)
    return {symbols[name]: value for name, value in constants.items()}


def bicycle_from_symbrim(
    constants: Mapping[object, float], name: str, parts: SymbrimParts = SymbrimParts(), source: str = ""
) -> Bicycle:
    """Bicycle of SymBRiM's constants, by its symbols or their names; what else is there is left out.

    Parameters
    ----------
    constants : mapping of symbol or str to float
    name : str
        Of the bicycle.
    parts : SymbrimParts
        Names that the model's parts have.
    source : str
        Of the numbers.

    Raises
    ------
    InputError
        A constant is absent or no number, or no bicycle has them.
    """
    by_name = {str(symbol): value for symbol, value in constants.items()}
    symbols = _symbols(parts)
    absent = [symbol for symbol in symbols.values() if symbol not in by_name]
    if absent:
        more = f" and {len(absent) - 3} more" if len(absent) > 3 else ""
        raise InputError(
            f"a bicycle of SymBRiM has {len(symbols)} constants, found none named {', '.join(absent[:3])}{more}: give "
            "all of them, and the names of its parts where they are others"
        )
    return bicycle_from_moore({ours: by_name[theirs] for ours, theirs in symbols.items()}, name, source)


def symbrim_text(bicycle: Bicycle) -> str:
    """Write the constants as JSON that `read_symbrim_text` reads."""
    document = {
        "format": SYMBRIM_FORMAT,
        "name": bicycle.name,
        "source": bicycle.source,
        "units": "m, kg, kg m^2, m/s^2",
        "constants": symbrim_constants(bicycle),
    }
    return json.dumps(document, indent=1) + "\n"


def read_symbrim_text(text: str, origin: str = "the file") -> Bicycle:
    """Read constants from JSON: what `symbrim_text` wrote, or one object of numbers by the names of symbols.

    Raises
    ------
    InputError
        It is something else, or no bicycle has these constants.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError(
            f"{origin} is no JSON: give one object of constants by the names of SymBRiM's symbols"
        ) from None
    constants = document.get("constants", document) if isinstance(document, dict) else None
    if not isinstance(constants, dict):
        raise InputError(
            f"{origin} wants one object of constants by the names of SymBRiM's symbols, found another value"
        )
    named = document if "constants" in document else {}
    try:
        return bicycle_from_symbrim(
            constants, str(named.get("name", "from SymBRiM")), source=str(named.get("source", ""))
        )
    except InputError as error:
        raise InputError(f"{origin}: {error}") from None


def _symbols(parts: SymbrimParts) -> dict[str, str]:
    """Names of SymBRiM's symbols by those of Moore's constants."""
    frames = {"c": parts.rear_frame, "e": parts.front_frame}
    wheels = {"d": parts.rear_wheel, "f": parts.front_wheel}
    axes = {"11": "ixx", "22": "iyy", "33": "izz", "31": "izx"}
    values = {
        "g": "g",
        "rr": f"{parts.rear_wheel}_r",
        "rf": f"{parts.front_wheel}_r",
        **{name: f"{parts.rear_frame}_{name}" for name in ("d1", "l1", "l2")},
        **{name: f"{parts.front_frame}_{name}" for name in ("d2", "d3", "l3", "l4")},
        **{f"m{body}": f"{part}_body_mass" for body, part in frames.items()},
        **{f"m{body}": f"{part}_mass" for body, part in wheels.items()},
        **{f"i{b}{n}": f"{part}_{axis}" for b, part in frames.items() for n, axis in axes.items()},
        **{f"i{b}{n}": f"{part}_{axes[n]}" for b, part in wheels.items() for n in ("11", "22")},
    }
    return {name: values[name] for name in MOORE_CONSTANTS}
