"""`riderless package`: runs as a data package."""

from pathlib import Path
from typing import Annotated

import typer

from riderless.experiments.commands._options import DEFAULT, Force, MaxMemory
from riderless.experiments.commands._shared_options import AsJson
from riderless.hil.memory import use_memory


def package(
    source: Annotated[Path, typer.Argument(help="Folder of a campaign, of runs, or one run.")],
    licence: Annotated[str, typer.Option(help="Licence of your data, such as CC-BY-4.0 or CC0-1.0.")] = "",
    title: Annotated[str, typer.Option(help="Title of the package; by default the name of the folder.")] = "",
    author: Annotated[list[str] | None, typer.Option(help='"Name" or "Name <address>"; once for each.')] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Write into this folder; made if it is not there.")] = Path(
        "package"
    ),
    force: Force = False,
    max_memory: MaxMemory = DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Write runs as a data package: tables (CSV), and datapackage.json with units, sensors, hashes and the licence.

    The format is the Data Package of frictionlessdata.io, version 1, which repositories read and which
    `frictionless validate` checks. A campaign's eigenvalues go along as two more tables.
    """
    from riderless.experiments.campaigns.data_package import PackageTerms, write_data_package
    from riderless.experiments.terminal.console import emit_json, print_line, progress_screen
    from riderless.hil.logs.folders import own_name

    use_memory(max_memory)
    terms = PackageTerms(licence, title or own_name(source), tuple(author or ()))
    written = write_data_package(
        source, out, terms, force, lambda run: progress_screen.print(f"{run} ...", soft_wrap=True, markup=False)
    )
    if as_json:
        emit_json({"package": str(written[-1]), "files": [str(path) for path in written]})
        return
    print_line(f"{len(written)} files written, described in {written[-1]}")
