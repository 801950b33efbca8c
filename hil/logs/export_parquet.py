"""Export of a run to a Parquet file: units and meanings with each column, the header with the table."""

import json
from pathlib import Path

from hil.logs.export import EXPORT_KEY, Told, column_meaning, export_document, nobody_told, rows_told
from hil.logs.log import Run
from models.errors import InputError

_GROUP_ROWS = 65_536  # of a row group: thirty megabytes


def export_parquet(run: Run, path: Path, told: Told = nobody_told) -> tuple[Path]:
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
    dtype = run.ticks.dtype
    fields = [
        pyarrow.field(name, pyarrow.from_numpy_dtype(dtype[name]), metadata=column_meaning(name)._asdict())
        for name in dtype.names or ()
    ]
    schema = pyarrow.schema(fields, metadata={EXPORT_KEY: json.dumps(export_document(run))})
    with parquet.ParquetWriter(path, schema) as writer:
        for rows in rows_told(run, told, _GROUP_ROWS):
            columns = [pyarrow.array(rows[name].copy()) for name in dtype.names or ()]
            writer.write_table(pyarrow.table(columns, schema=schema))
    return (path,)
