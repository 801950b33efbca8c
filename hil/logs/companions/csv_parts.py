"""Parts of a run beside its CSV.

A CSV of ticks cannot hold events at known times, and what else the log says.
"""

import dataclasses
from io import StringIO
from pathlib import Path

from riderless.hil.logs.export import HEADER_SUFFIX, MARKERS_SUFFIX, export_document, write_csv
from riderless.hil.logs.json_values import strict_json
from riderless.hil.logs.log import Run


def markers_place(path: Path) -> Path:
    """Place of the markers beside the ticks."""
    return path.with_suffix(MARKERS_SUFFIX)


def markers_table(run: Run, path: Path) -> str:
    """Write the markers as CSV; ``path`` is not in it."""
    table = StringIO(newline="")
    write_csv(table, ("t", "kind", "text"), map(dataclasses.astuple, run.markers))
    return table.getvalue()


def header_place(path: Path) -> Path:
    """Place of the rest beside the ticks."""
    return path.with_suffix(HEADER_SUFFIX)


def header_document(run: Run, path: Path) -> str:
    """Write `riderless.hil.logs.export.export_document` as JSON; ``path`` is not in it."""
    return strict_json(export_document(run), indent=1)
