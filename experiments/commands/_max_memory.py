"""Option ``--max-memory`` of the commands that read recordings."""

from typing import Annotated, TypeAlias

import typer

MaxMemory: TypeAlias = Annotated[
    str, typer.Option("--max-memory", help="Most memory that the program may take, such as 2GB; 500 MB by default.")
]
DEFAULT = "500MB"
