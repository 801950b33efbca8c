"""`riderless convert`: bicycle files of other programs."""

from pathlib import Path
from typing import Annotated

import typer

from riderless.experiments.commands._options import Force, Trust, complete_bicycle
from riderless.experiments.commands._shared_options import AsJson
from riderless.hil.output_file import OutputFile, files_read


def convert(
    bike: Annotated[
        str,
        typer.Argument(
            autocompletion=complete_bicycle, help="Name in the catalogue, or a file: .toml, .txt, .yml or .json."
        ),
    ],
    to: Annotated[str, typer.Option(help="Format: toml, bicycleparameters or symbrim.")] = "toml",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write to this file; on the screen by default.")
    ] = None,
    force: Force = False,
    trust: Trust = False,
    as_json: AsJson = False,
) -> None:
    """Read a bicycle of another program and write it for another program.

    A .txt or .yml file is a parameter file of BicycleParameters (NAMEBenchmark.txt), a .json file holds constants of
    SymBRiM by the names of its symbols.
    """
    from riderless.experiments.terminal.console import emit_json, print_line
    from riderless.models.exchange.files import bicycle_text, read_bicycle

    place = OutputFile(out, "the bicycle", force, files_read(bike)) if out else None
    if place:
        place.require_free()
    bicycle = read_bicycle(bike, trust)
    text = bicycle_text(bicycle, to)
    if place:
        place.write(text)
    if as_json:
        emit_json({"bike": bicycle.name, "to": to, "path": str(out) if out else None, "text": text})
    elif out:
        print_line(f"{bicycle.name} written to {out}")
    else:
        for line in text.splitlines():
            print_line(line)
