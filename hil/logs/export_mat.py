"""Export of a run to a MAT file (version 5) for MATLAB and Octave: structs of columns, units and markers."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from hil.logs.export import EXPORT_KEY, Told, column_meaning, export_document, nobody_told
from hil.logs.log import Run
from hil.logs.stored_rows import StoredRows
from models.errors import InputError

# MATLAB's version 5 counts the bytes of a variable in 31 bits; scipy refuses only above 32 bits, and writes until then
# what MATLAB cannot read
MAT_BYTES = 2**31


def export_mat(run: Run, path: Path, told: Told = nobody_told) -> tuple[Path]:
    """Write ``ticks`` (fields are columns, n x 1), ``units`` and ``meanings`` (texts by column), ``markers``.

    The header is the text ``riderless`` (JSON; ``jsondecode`` reads it).

    Raises
    ------
    InputError
        The ticks are more than the format can hold.
    OSError
        The file cannot be written.
    """
    from scipy.io import savemat

    names = run.ticks.dtype.names or ()
    size = len(run.ticks) * sum(run.ticks.dtype[name].itemsize for name in names)
    if size >= MAT_BYTES:
        raise InputError(
            f"a MAT file (version 5) holds {MAT_BYTES / 1e9:.1f} GB in one variable, found {size / 1e9:.1f} GB in "
            f"{len(run.ticks)} rows: export them as parquet (--to parquet) or csv, which have no such limit"
        )
    ticks = run.ticks[:] if isinstance(run.ticks, StoredRows) else run.ticks
    texts = np.empty((len(run.markers), 2), object)  # cells
    for row, marker in zip(texts, run.markers, strict=True):
        row[:] = marker.kind, marker.text
    content: dict[str, Any] = {
        "ticks": {name: ticks[name].reshape(-1, 1) for name in names},
        "units": {name: column_meaning(name).unit for name in names},
        "meanings": {name: column_meaning(name).meaning for name in names},
        "markers": {
            "t": np.array([marker.t for marker in run.markers]).reshape(-1, 1),
            "kind": texts[:, :1],
            "text": texts[:, 1:],
        },
        EXPORT_KEY: json.dumps(export_document(run)),
    }
    with path.open("wb") as file:  # savemat would add a suffix to a name of the user's choice
        savemat(file, content, do_compression=True)
    told(len(ticks), len(ticks))
    return (path,)
