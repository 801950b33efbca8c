"""`riderless migrate`: old files in the new format."""

from pathlib import Path
from typing import Annotated

import typer

from riderless.experiments.commands._shared_options import AsJson


def migrate(
    files: Annotated[
        list[Path], typer.Argument(help="Gains, controller, rig, campaign, mapping, path or readings files (TOML).")
    ],
    as_json: AsJson = False,
) -> None:
    """Rewrite old files in the newest format; comments stay, and the old text is kept beside each as NAME.old."""
    from riderless.experiments.campaigns.migration import migrate as migrate_file
    from riderless.experiments.terminal.console import emit_json, screen

    done = [migrate_file(path) for path in files]
    if as_json:
        emit_json([{**vars(file), "path": str(file.path), "kept": file.kept and str(file.kept)} for file in done])
        return
    for file in done:
        changed = "; ".join(file.changes)
        outcome = f"{changed}; the old text is in {file.kept}" if changed else "is as this version writes it"
        screen.print(f"{file.path} ({file.noun}): {outcome}", soft_wrap=True)
