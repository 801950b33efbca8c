"""Export of a run as MAT or Parquet.

Column by column with units; MAT (version 5) is for MATLAB and Octave.
"""

from pathlib import Path
from typing import Any

import numpy as np

from riderless.hil.logs.export import EXPORT_KEY, Told, column_meanings, export_document, nobody_told, rows_told
from riderless.hil.logs.json_values import strict_json
from riderless.hil.logs.log import Run
from riderless.hil.logs.stored_rows import StoredRows
from riderless.models.errors import InputError

# MATLAB's version 5 counts the bytes of a variable in 31 bits; scipy refuses only above 32 bits, and writes until then
# what MATLAB cannot read
MAT_BYTES = 2**31
_GROUP_ROWS = 65_536  # of a row group: thirty megabytes


def export_mat(run: Run, path: Path, progress: Told = nobody_told) -> None:
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
    told_of = column_meanings(run)
    content: dict[str, Any] = {
        "ticks": {name: ticks[name].reshape(-1, 1) for name in names},
        "units": {name: told_of[name].unit for name in names},
        "meanings": {name: told_of[name].meaning for name in names},
        "markers": {
            "t": np.array([marker.t for marker in run.markers]).reshape(-1, 1),
            "kind": texts[:, :1],
            "text": texts[:, 1:],
        },
        EXPORT_KEY: strict_json(export_document(run)),
    }
    with path.open("wb") as file:  # savemat would add a suffix to a name of the user's choice
        savemat(file, content, do_compression=True)
    progress(len(ticks), len(ticks))


def export_parquet(run: Run, path: Path, progress: Told = nobody_told) -> None:
    """Write the ticks with their columns' units; what is no column stands as JSON in the metadata ``riderless``.

    Raises
    ------
    InputError
        pyarrow is not installed.
    OSError
        The file cannot be written.
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise InputError(
            "exporting to parquet needs the library pyarrow, which is not installed; install it: "
            "python -m pip install 'riderless[formats]'"
        ) from None
    dtype, told_of = run.ticks.dtype, column_meanings(run)
    fields = [
        pyarrow.field(name, pyarrow.from_numpy_dtype(dtype[name]), metadata=told_of[name]._asdict())
        for name in dtype.names or ()
    ]
    schema = pyarrow.schema(fields, metadata={EXPORT_KEY: strict_json(export_document(run))})
    # given a name, pyarrow would delete whatever lies there when writing fails
    with path.open("wb") as file, parquet.ParquetWriter(file, schema) as writer:
        for rows in rows_told(run, progress, _GROUP_ROWS):
            columns = [pyarrow.array(rows[name].copy()) for name in dtype.names or ()]
            writer.write_table(pyarrow.table(columns, schema=schema))
