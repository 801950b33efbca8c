"""Rig and port paths from the arguments of a command."""

from collections.abc import Sequence
from pathlib import Path

from experiments.terminal.console import parse_speeds
from hil.loop.limits import Limits
from hil.rig.rig import Rig
from models import catalogue
from models.errors import InputError

LONGEST = 86400.0  # s, a day


def rig_of(file: Path | None, bike: str = "Benchmark") -> Rig:
    """Read the rig of a file, or make the emulated one; raises InputError."""
    from hil.rig.file import read_rig  # the checks of files cost 0.1 s, which the emulated rig need not wait for

    return read_rig(file) if file else Rig(catalogue.load_bicycle(bike))


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


def grid_with(told: Sequence[float], limits: Limits) -> list[float]:
    """Speeds [m/s] to design gains for where only a method is named: the usual ones, and those told beyond them.

    Parameters
    ----------
    told : sequence of float
        Speeds at which it is to run; those that no rig with these limits runs at are left out.
    limits : Limits
    """
    usual = parse_speeds("2:9:0.5")
    slowest, fastest = limits.speed_min.value, limits.speed_max.value
    return sorted({*usual, *(v for v in told if slowest <= v <= fastest and not usual[0] <= v <= usual[-1])})


def require_duration(duration: float, held: float = 0.0) -> None:
    """Refuse a duration [s] that nobody can mean, or that ends while a bicycle is still ``held`` [s].

    Raises
    ------
    InputError
    """
    if not 0.0 < duration < LONGEST:
        raise InputError(f"--duration must be above 0 and below {LONGEST:g} s, found {duration:g} s")
    if duration <= held:
        raise InputError(
            f"--duration {duration:g} s ends before the emulated bicycle is let go, {held:g} s after the drive is on: "
            "give a longer one"
        )
