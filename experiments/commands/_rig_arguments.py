"""Rig and port paths from the arguments of a command."""

from collections.abc import Sequence
from pathlib import Path

from hil.rig.rig import Rig
from models import catalogue
from models.errors import InputError


def rig_of(file: Path | None, bike: str = "Benchmark", trust: bool = False) -> Rig:
    """Read the rig of a file, or make the emulated one; ``trust`` is for ``bike``; raises InputError."""
    from hil.rig.file import read_rig  # the checks of files cost 0.1 s, which the emulated rig need not wait for

    if file and trust:
        raise InputError(f'--trust is for --bike: trust the bicycle of {file} by a line trust = "why" in its own file')
    return read_rig(file) if file else Rig(catalogue.load_bicycle(bike, trust))


def paths_of(rig: Rig, given: Sequence[str]) -> list[str]:
    """One path for each port: those given on the command line, or those of the rig file.

    Raises
    ------
    InputError
        When some are missing, or there are too many.
    """
    paths = list(given) or [port.path for port in rig.ports if port.path]
    if not paths:
        raise InputError(
            "no bicycle to talk to: give --port PATH, a rig file that names its ports, or --emulated for a virtual one"
        )
    if len(paths) != len(rig.ports):
        raise InputError(
            f"the rig '{rig.name}' has {len(rig.ports)} ports, found {len(paths)} "
            f"paths ({', '.join(paths)}): give --port once for each, in the order of the rig file"
        )
    return paths
