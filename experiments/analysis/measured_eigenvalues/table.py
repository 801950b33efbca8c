"""Tables of measured eigenvalues: a speed, a real and an imaginary part in each row, under any names that say so."""

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from riderless.experiments.recordings.foreign.formats.registry import read_table
from riderless.models.array_types import Array
from riderless.models.errors import InputError

HEADINGS = {"speed": r"^(v|speed)\b", "real part": r"\bre(al)?\b", "imaginary part": r"\bim(ag(inary)?)?\b"}
KMH = r"km/?h|kph"


class EigenvalueTable(NamedTuple):
    """Measured eigenvalues; (n,) each."""

    v: Array  # m/s
    re: Array  # 1/s
    im: Array  # rad/s


def read_eigenvalues(path: str | Path) -> EigenvalueTable:
    """Read a table of measured eigenvalues; speeds in m/s, or in km/h where the heading says so.

    Raises
    ------
    InputError
        A column is missing, there twice, or holds something that is no number.
    """
    table, found = read_table(path), []
    for wanted, pattern in HEADINGS.items():
        names = [name for name in table.columns if re.search(pattern, name.replace("_", " "), re.IGNORECASE)]
        if len(names) != 1:
            raise InputError(
                f"wanted one column of the {wanted} in {path} (such as speed, re, im), found "
                f"{', '.join(names) or 'none'} among {', '.join(table.columns)[:80]}; correct its first line"
            )
        values = table.numbers(names[0])
        if len(values) == 0 or not np.isfinite(values).all():
            raise InputError(f"wanted a number in every row of column {names[0]} of {path}; delete those without")
        found.append(values / 3.6 if wanted == "speed" and re.search(KMH, names[0], re.IGNORECASE) else values)
    return EigenvalueTable(*found)
