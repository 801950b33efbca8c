"""Recordings in memory: a DataFrame read through a mapping."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from riderless.experiments.datatypes import Response
from riderless.experiments.recordings.foreign import mapped
from riderless.experiments.recordings.foreign.mapping import load_mapping, mapping_of
from riderless.experiments.recordings.foreign.table import Table
from riderless.experiments.recordings.quality.inspection import inspect_recording
from riderless.models import catalogue
from riderless.models.errors import InputError
from riderless.models.parameters import Bicycle

if TYPE_CHECKING:
    import pandas as pd


def read_frame(
    frame: "pd.DataFrame",
    mapping: str | Path | Mapping[str, Any],
    bicycle: str | Path | Bicycle = "",
    *,
    source: str = "data frame",
    trust: bool = False,
) -> Response:
    """Read a recording out of a DataFrame, as `analyze` takes it.

    Parameters
    ----------
    frame : pandas.DataFrame
        A row a sample; an index is no column: ``frame.reset_index()`` makes one of it.
    mapping : str, Path or dict
        Mapping file, a shipped one's name, or the tables of one: ``{"phi_dot": {"column": "gx", "unit": "deg/s"}}``.
    bicycle : str, Path or Bicycle
        Instead of the mapping's.
    source : str
        What reports call it.
    trust : bool
        Units and signs that physics contradicts become remarks.

    Raises
    ------
    InputError
        As of a file: columns that are missing, no times, units that cannot be.
    """
    if not hasattr(frame, "columns") or not hasattr(frame, "to_numpy"):
        raise InputError(f"wanted a DataFrame, found {type(frame).__name__}: files are read by read_recording")
    if isinstance(mapping, Mapping):
        wanted = mapping_of(dict(mapping), "the mapping", Path.cwd(), trust)
    else:
        wanted = load_mapping(mapping, trust)
    if wanted.kind:
        raise InputError(
            f"wanted a mapping of columns, found one of the kind {wanted.kind}: its files say what is what"
        )
    if bicycle:
        wanted = replace(wanted, bicycle=catalogue.bicycle_of(bicycle, trust))
    table = Table(Path(source), {str(name): _values(frame[name]) for name in frame.columns})
    return inspect_recording(mapped.recorded(table.with_rows(), wanted), refuse=not trust)


def _values(column: "pd.Series[Any]") -> np.ndarray:
    """Values (n,) of a column: numbers with nan where one is missing, or what else it holds."""
    if column.dtype.kind in "iufb":
        return np.asarray(column.to_numpy(dtype=float, na_value=np.nan))
    return np.asarray(column.to_numpy())
