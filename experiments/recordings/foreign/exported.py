"""Own runs as exported tables.

They are what `riderless export` wrote, with the run's header in the file or beside it.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from riderless.experiments.recordings.foreign.table import Table
from riderless.experiments.recordings.quality.checked import MIN_RECORDING_ROWS, Recorded
from riderless.experiments.recordings.runs import recorded_run
from riderless.hil.logs.export import EXPORT_KEY, HEADER_SUFFIX
from riderless.hil.logs.header import RunHeader
from riderless.hil.logs.json_values import numbers_again
from riderless.hil.logs.log import Marker, Run, Stop
from riderless.hil.loop.tick_record import TICK
from riderless.models.errors import InputError
from riderless.models.text_file import read_text_file, why_unreadable

KIND = "riderless-table"
_MOST_HEADER = 100_000_000  # bytes; a run of hours with its marks and torques played has some millions
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
    columns = [_numbers(table, name) for name in names]
    if len({len(column) for column in columns}) != 1 or len(columns[0]) < MIN_RECORDING_ROWS:
        raise InputError(
            f"wanted columns of the same length, at least {MIN_RECORDING_ROWS} rows, in {table.path}, found "
            f"{', '.join(sorted({str(len(column)) for column in columns}))}; export the run again"
        )
    ticks = np.empty(len(columns[0]), [(name, column.dtype) for name, column in zip(names, columns, strict=True)])
    for name, column in zip(names, columns, strict=True):
        ticks[name] = column
    try:
        markers = tuple(Marker(float(m["t"]), str(m["kind"]), str(m["text"])) for m in document["markers"])
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"wanted markers with t, kind and text in the header of {table.source}, found {error!r}; export the run "
            "again"
        ) from None
    header, stop = RunHeader.from_json(document["header"]), Stop.from_json(document["stop"])
    return Run(Path(table.path.stem), header, ticks, markers, {}, stop, True, "")


def _numbers(table: Table, name: str) -> np.ndarray:
    """Column of a tick's numbers; codes and counters, which a text has as floats, as whole numbers again."""
    values = np.asarray(table.raw(name))
    if values.dtype.kind not in "biuf":
        values = table.numbers(name)
    ours = TICK.names or ()
    if name in ours and TICK[name].kind in "iu" and values.dtype.kind == "f":
        whole = np.isfinite(values) & (values >= 0) & (values < 2.0**63)
        if not whole.all():
            raise InputError(
                f"wanted whole numbers in column {name} of {table.source}, found {values[~whole][0]}; export the run "
                "again"
            )
        return values.astype(np.uint64)
    return values


def _document(table: Table) -> dict[str, Any]:
    """Read what the export keeps beside the columns: header, markers, stop, units."""
    text = next((text for name, text in table.meta.items() if name.split(".")[-1] == EXPORT_KEY), "")
    beside = table.path.with_suffix(HEADER_SUFFIX)
    try:
        document = json.loads(text or read_text_file(beside, _MOST_HEADER))
        for key, kind in (("header", dict), ("columns", dict), ("stop", dict), ("markers", list)):
            if not isinstance(document.get(key) if isinstance(document, dict) else None, kind):
                raise ValueError(f"no {key}")
        return {**document, "header": numbers_again(document["header"])}
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(
            f"wanted the header of the run that {table.source} was exported from, found none in it and none at "
            f"{beside} ({why_unreadable(error)}); keep that file beside the table, or say with --mapping "
            "riderless-ticks what is known"
        ) from None
