"""Option ``--trust`` of the commands that take a bicycle.

A rig or campaign file names its bicycle's file; there a line ``trust = "why"`` in that file does the same.
"""

from typing import Annotated, TypeAlias

import typer

Trust: TypeAlias = Annotated[
    bool, typer.Option("--trust", help="Take the bicycle as its file has it, however unusual; says what is.")
]
