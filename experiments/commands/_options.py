"""Option ``--yes-arm-unattended`` of the commands that arm a real machine: the one place where they ask for a person.

A terminal is where a person sits who holds the machine upright, sees what it waits for, and stops it by a key. Without
one a script, a job or a closed window would switch the drive on.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

ArmUnattended: TypeAlias = Annotated[
    bool,
    typer.Option("--yes-arm-unattended", help="Arm a real machine although nobody is at a terminal; the log says so."),
]


def require_attended(ports: Sequence[str], agreed: bool) -> dict[str, bool]:
    """Refuse to arm a real machine while nobody is at a terminal, unless that was agreed to.

    Parameters
    ----------
    ports : sequence of str
        Paths of a real machine's ports; none of a virtual one's. One that is no device is refused when it is opened.
    agreed : bool
        The option was given.

    Returns
    -------
    dict
        What the log's header is to say of it: nothing, or that nobody is there.

    Raises
    ------
    InputError
    """
    from riderless.experiments.terminal.console import progress_screen
    from riderless.experiments.terminal.keys import at_terminal
    from riderless.models.errors import InputError

    if at_terminal() or not any(Path(port).is_char_device() for port in ports):
        return {}
    if not agreed:
        raise InputError(
            "wanted a person at a terminal before a real machine is armed, found none on standard input: run it in a "
            "terminal, or say --yes-arm-unattended"
        )
    progress_screen.print("arming unattended: nobody is at a terminal (--yes-arm-unattended)", soft_wrap=True)
    return {"unattended": True}
