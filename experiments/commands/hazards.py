"""`riderless hazards`: hazards, guards and residual risk."""

from pathlib import Path
from typing import Annotated

import typer

from riderless.experiments.commands._options import Force
from riderless.experiments.commands._shared_options import AsJson
from riderless.hil.output_file import OutputFile, files_read
from riderless.models.errors import InputError

_INDENT = 5  # characters


def hazards(
    rig_file: Annotated[
        Path | None,
        typer.Argument(help="Rig file (TOML), whose limits stand in the words; the emulated rig by default."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write to this PDF file, for a safety officer to sign.")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """List the hazards of a riderless bicycle with causes, guards, proofs and what is left, or write them as a PDF.

    On the screen each cause stands with its guard; the PDF has the proofs, the checks by hand before a session, and
    places to sign.
    """
    from riderless.experiments.commands._machines import rig_of
    from riderless.experiments.reports.hazards import hazards_of
    from riderless.experiments.reports.hazards_pdf import write_hazards_sheet
    from riderless.experiments.terminal.console import emit_json, print_indented, screen
    from riderless.hil.logs.provenance import provenance

    sheet = None if out is None else OutputFile(out, "the sheet of hazards", force, files_read(rig_file))
    if sheet is not None:
        sheet.require_free()
        if sheet.path.suffix.lower() != ".pdf":
            raise InputError(f"the sheet of hazards is a .pdf file, found {out}: give it a name that ends so")
    rig = rig_of(rig_file)
    rows = hazards_of(rig)
    if sheet is not None:
        with sheet.draft() as draft:
            write_hazards_sheet(draft, rows, rig, provenance()["utc"][:10])
    if as_json:
        emit_json({"rig": rig.name, "path": str(out) if out else None, "hazards": rows})
        return
    if out is not None:
        screen.print(f"hazards of {rig.name} written to {out}", soft_wrap=True)
        return
    for hazard in rows:
        print_indented(f"{hazard.number} {hazard.name}", 0, style="bold")
        print_indented(f"harm: {hazard.harm} ({hazard.severity})", _INDENT)
        for row in hazard.rows:
            print_indented(f"{row.number}  {row.cause}", 0)
            print_indented(f"guard: {row.guard}", _INDENT)
            print_indented(f"left:  {row.left}", _INDENT)
        screen.print()
