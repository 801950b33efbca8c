"""Our own runs as tables: what `riderless export` wrote, with the run's header in the file or beside it."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from experiments.recordings.checked import Recorded
from experiments.recordings.foreign.table import MIN_RECORDING_ROWS, Table
from experiments.recordings.runs import recorded_run
from hil.logs.export import EXPORT_KEY, HEADER_SUFFIX
from hil.logs.header import RunHeader
from hil.logs.log import Marker, Run, Stop
from models.errors import InputError

KIND = "riderless-table"
COLUMNS = ("phi_dot_meas", "v_meas", "delta_meas", "psi_dot_meas", "phi_est", "T_cmd", "state", "valid", "t_host")


def recorded(table: Table) -> Recorded:
    """Rebuild the run that the table was exported from, and convert it.

    Raises
    ------
    InputError
        The run's header is neither in the file nor beside it.
    """
    return recorded_run(exported_run(table))


def exported_run(table: Table) -> Run:
    """Rebuild a run as its log would have given it, without its raw bytes. Raises as `recorded` does."""
    document = _document(table)
    names = [name for name in document["columns"] if table.has(name)]
    columns = [np.asarray(table.raw(name)) for name in names]
    if len({len(column) for column in columns}) != 1 or len(columns[0]) < MIN_RECORDING_ROWS:
        raise InputError(
            f"wanted columns of the same length, at least {MIN_RECORDING_ROWS} rows, in {table.path}, found "
            f"{', '.join(sorted({str(len(column)) for column in columns}))}; export the run again"
        )
    ticks = np.empty(len(columns[0]), [(name, column.dtype) for name, column in zip(names, columns, strict=True)])
    for name, column in zip(names, columns, strict=True):
        ticks[name] = column
    markers = tuple(Marker(float(m["t"]), str(m["kind"]), str(m["text"])) for m in document["markers"])
    stop = Stop(document["stop"]["reason"], document["stop"]["cause"])
    return Run(Path(table.path.stem), RunHeader.from_json(document["header"]), ticks, markers, {}, stop, True, "")


def _document(table: Table) -> dict[str, Any]:
    """Read what the export keeps beside the columns: header, markers, stop, units."""
    text = next((text for name, text in table.meta.items() if name.split(".")[-1] == EXPORT_KEY), "")
    beside = table.path.with_suffix(HEADER_SUFFIX)
    try:
        return json.loads(text or beside.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"wanted the header of the run that {table.source} was exported from, found none in it and none at "
            f"{beside} ({error}); keep that file beside the table, or say with --mapping riderless-ticks what is known"
        ) from None
