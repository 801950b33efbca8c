"""`riderless export`: a run for other tools."""

from pathlib import Path
from typing import Annotated

import typer


def export(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    to: Annotated[str, typer.Option(help="Format: csv, parquet, mat or mcap.")] = "csv",
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File to write; beside the run by default.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Write the rows of a run as a table, one column per quantity, SI units.

    csv: three files, the rows, the markers, and units and header as JSON. parquet: one file with units and
    header in it. mat: MATLAB's version 5, structs ticks, units, meanings and markers. mcap: the log with its
    index, also of a run that was killed. `riderless analyze` reads all of them.
    """
    from experiments.terminal.console import emit_json, screen
    from hil.logs.export import export_run
    from hil.logs.log import read_run

    log = read_run(run)
    files = export_run(log, to, out)
    if as_json:
        names = [str(path) for path in files]
        emit_json({"path": names[0], "files": names, "rows": len(log.ticks), "complete": log.complete})
        return
    screen.print(f"{len(log.ticks)} rows written to {files[0]}", soft_wrap=True)
    for path in files[1:]:
        screen.print(f"beside it: {path}", soft_wrap=True)
