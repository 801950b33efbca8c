"""Option --preset of the commands that read logs of others: their kind, where it is to be given."""

from typing import Annotated

import typer

Preset = Annotated[
    str,  # written out, for the registry brings the readers, and the help answers at once; a test compares the two
    typer.Option(help="Kind of others' files: kooijman, delft-sbw, riderless-table, chalmers or peterson."),
]
