"""Conversion of values to JSON.

Arrays, dataclasses, complex numbers and paths.
"""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from riderless.hil.rig.recorded_values import short_value
from riderless.models.errors import InputError

_SPELLED = {"Infinity": np.inf, "-Infinity": -np.inf, "NaN": np.nan}  # what JSON has no number for


def json_value(value: Any) -> Any:
    """Convert one value JSON does not know, for the ``default`` of `json.dumps`: complex becomes [re, im].

    Raises
    ------
    TypeError
        JSON has no place for it.
    """
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, complex):
        return [value.real, value.imag]
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in fields(value)}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"a log header cannot hold a {type(value).__name__}: {value!r}")


def plain(value: Any) -> Any:
    """Convert a whole document to strict JSON: nan and inf become null, what JSON has no place for its text."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not isinstance(value, np.generic):
        return value if np.isfinite(value) else None
    if value is None or (isinstance(value, bool | int | str) and not isinstance(value, np.generic)):
        return value
    try:
        return plain(json_value(value))
    except TypeError:
        return str(value)


def strict_json(document: Any, indent: int | None = None) -> str:
    """Text of a document that every JSON reader takes: a number that is not finite is its word, as "Infinity"."""
    return json.dumps(_spelled(document), indent=indent, allow_nan=False)


def numbers_again(document: Any) -> Any:
    """Turn the words of `strict_json` back into the numbers they stand for; numbers of older files stay."""
    if isinstance(document, Mapping):
        return {key: numbers_again(item) for key, item in document.items()}
    if isinstance(document, list):
        return [numbers_again(item) for item in document]
    return _SPELLED.get(document, document) if isinstance(document, str) else document


def _spelled(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _spelled(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_spelled(item) for item in value]
    return json.dumps(value) if isinstance(value, float) and not np.isfinite(value) else value


def require_kinds(content: Mapping[str, Any], kinds: Mapping[str, tuple[type, str]]) -> None:
    """Refuse a header in which something under a key, or under a key of a key, is not of the kind that it always was.

    Raises
    ------
    InputError
    """
    for path, (kind, wanted) in kinds.items():
        outer, _, inner = path.partition(".")
        around = content[outer] if inner and outer in content else content
        key = inner or outer
        if key in around and not isinstance(found := around[key], kind):
            raise InputError(
                f"wanted a run header in which '{path}' is {wanted}, found {short_value(found)}: the log is "
                "damaged or another program made it; give the folder of another run"
            )
