"""Export of a run to a MAT file (version 5) for MATLAB and Octave: structs of columns, units and markers."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from hil.logs.export import EXPORT_KEY, column_meaning, export_document
from hil.logs.log import Run


def export_mat(run: Run, path: Path) -> tuple[Path]:
    """Write ``ticks`` (fields are columns, n x 1), ``units`` and ``meanings`` (texts by column), ``markers``.

    The header is the text ``riderless`` (JSON; ``jsondecode`` reads it).

    Raises
    ------
    OSError
        The file cannot be written.
    """
    from scipy.io import savemat

    names = run.ticks.dtype.names or ()
    texts = np.empty((len(run.markers), 2), object)  # cells
    for row, marker in zip(texts, run.markers, strict=True):
        row[:] = marker.kind, marker.text
    content: dict[str, Any] = {
        "ticks": {name: run.ticks[name].reshape(-1, 1) for name in names},
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
    return (path,)
