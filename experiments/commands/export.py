"""`riderless export`: a run for other tools."""

from pathlib import Path
from typing import Annotated

import typer


def export(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    to: Annotated[str, typer.Option(help="Format: csv.")] = "csv",
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File to write; beside the run by default.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Write the rows of a run as a table, one column per quantity, SI units."""
    from experiments.console import emit_json, screen
    from hil.export import export_csv
    from hil.log import read_run
    from models.errors import InputError

    if to != "csv":
        raise InputError(f"runs are exported to csv, not to '{to}': use --to csv")
    log = read_run(run)
    path = out or run / "ticks.csv"
    export_csv(log, path)
    if as_json:
        emit_json({"path": str(path), "rows": len(log.ticks), "complete": log.complete})
        return
    screen.print(f"{len(log.ticks)} rows written to {path}")
