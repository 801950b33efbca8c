"""Export of a run to a Parquet file: units and meanings with each column, the header with the table."""

import json
from pathlib import Path

from hil.logs.export import EXPORT_KEY, column_meaning, export_document
from hil.logs.log import Run
from models.errors import InputError


def export_parquet(run: Run, path: Path) -> tuple[Path]:
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
    arrays = {name: pyarrow.array(run.ticks[name].copy()) for name in run.ticks.dtype.names or ()}
    fields = [
        pyarrow.field(name, array.type, metadata=column_meaning(name)._asdict()) for name, array in arrays.items()
    ]
    schema = pyarrow.schema(fields, metadata={EXPORT_KEY: json.dumps(export_document(run))})
    with path.open("wb") as file:  # given a name, pyarrow would delete whatever lies there when writing fails
        parquet.write_table(pyarrow.table(list(arrays.values()), schema=schema), file)
    return (path,)
