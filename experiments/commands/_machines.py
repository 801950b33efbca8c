"""Rig and port paths from the arguments of a command."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from riderless.experiments.terminal.console import parse_speeds
from riderless.hil.loop.limits import Limits
from riderless.hil.rig.recorded_values import LONGEST_RUN
from riderless.hil.rig.rig import Rig
from riderless.models import catalogue
from riderless.models.errors import InputError
from riderless.models.text_file import read_text_file

if TYPE_CHECKING:
    from riderless.hil.controllers.controller import Controller
    from riderless.models.parameters import Bicycle

USUAL_SPEEDS = "2:9:0.5"  # m/s, for which a method's gains are designed


def rig_of(file: Path | None, bike: str = "Benchmark", trust: bool = False) -> Rig:
    """Read the rig of a file, or make the emulated one; ``trust`` is for ``bike``; raises InputError."""
    from riderless.hil.rig.file import (
        read_rig,  # the checks of files cost 0.1 s, which the emulated rig need not wait for
    )

    if file and trust:
        raise InputError(f'--trust is for a named bicycle: write trust = "why" into the file of the bicycle of {file}')
    return read_rig(file) if file else Rig(catalogue.load_bicycle(bike, trust))


def named_rig(name: str, trust: bool = False) -> Rig | None:
    """Read the rig, where the name given for a bicycle is that of a rig file; None elsewhere. Raises InputError."""
    path = Path(name)
    if name.endswith(catalogue.BICYCLE_SUFFIX) and path.is_file() and _is_rig(path):
        return rig_of(path, trust=trust)
    return None


def rig_for_plan(name: str, trust: bool = False) -> Rig:
    """Rig of a file, or the emulated one of a bicycle by name or file; raises InputError."""
    return named_rig(name, trust) or Rig(catalogue.load_bicycle(name, trust))


def _is_rig(path: Path) -> bool:
    """Is this TOML file a rig? One that cannot be read is none."""
    import tomllib

    from riderless.models.file_format import load_toml, noun_of

    try:
        return noun_of(load_toml(read_text_file(path))) == "rig"
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return False  # read as a bicycle, it is refused with the reason


def names_method(controller: str) -> bool:
    """Tell whether a controller is given as the name of a method that designs one of a torque drive."""
    if _names_file(controller):
        return False
    from riderless.hil.design.compensators.registry import COMPENSATORS
    from riderless.hil.design.methods import METHODS

    return controller in METHODS or controller in COMPENSATORS


def _names_file(controller: str) -> bool:
    """Tell a file, which has a suffix, from a method: a run with a file does not wait until designs are imported."""
    return bool(Path(controller).suffix)


def emulated_rig_of(bicycle: "Bicycle", controller: str) -> Rig:
    """Make the emulated rig of a bicycle, whose drive obeys what a file of gains commands; of a method a torque."""
    from riderless.hil.controllers.registry import read_controller
    from riderless.hil.rig.fitting import emulated_rig

    rig = Rig(bicycle)
    if names_method(controller):
        return rig
    return emulated_rig(bicycle, read_controller(controller, bicycle, rig.timing))


def gains_of(controller: str, rig: Rig, allow_mismatch: bool = False, told: Sequence[float] = ()) -> "Controller":
    """Design the gains of a method for a rig, or read a file of gains that fit it.

    Parameters
    ----------
    controller : str
        Name of a method, or path of a file.
    rig : Rig
    allow_mismatch : bool
        As of `require_fitting`.
    told : sequence of float
        Speeds [m/s] at which it is to run; a method is designed for them too.

    Raises
    ------
    InputError
    """
    from riderless.hil.controllers.registry import read_controller
    from riderless.hil.rig.fitting import require_fitting

    if (designed := _designed(controller, rig, told)) is not None:
        return designed
    schedule = read_controller(controller, rig.bicycle, rig.timing, rig.drive)
    require_fitting(rig, schedule, allow_mismatch)
    return schedule


def _designed(controller: str, rig: Rig, told: Sequence[float]) -> "Controller | None":
    """Design by the method of that name, if there is one; as `gains_of`."""
    if _names_file(controller):
        return None
    from riderless.hil.design.compensators.methods import design_compensator
    from riderless.hil.design.compensators.registry import COMPENSATORS
    from riderless.hil.design.methods import METHODS, design
    from riderless.hil.design.steered.methods import STEER_METHODS

    if controller == "match":
        raise InputError(
            f"match wants the bicycle that {rig.bicycle.name} is to move like: design gains with `riderless design "
            "BICYCLE --method match --set like=NAME -o gains.toml`, and give that file"
        )
    steered = STEER_METHODS[rig.drive.kind] if rig.drive else {}
    if controller in METHODS or controller in steered:
        return design(rig.bicycle, controller, _grid_with(told, rig.limits), rig.timing, drive=rig.drive)
    if controller in COMPENSATORS:
        speeds = _grid_with(told, rig.limits)
        return design_compensator(rig.bicycle, controller, speeds, rig.timing, drive=rig.drive)
    return None


def require_one_machine(emulated: bool, ports: Sequence[str] | None) -> None:
    """Refuse a virtual bicycle beside one behind given ports; raises InputError."""
    if emulated and ports:
        raise InputError("give either --port or --emulated, not both: one bicycle at a time")


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
    rig.require_path_for_each_port(paths)
    return paths


def _grid_with(told: Sequence[float], limits: Limits) -> list[float]:
    """Speeds [m/s] to design gains for where only a method is named: the usual ones, and those told beyond them.

    Parameters
    ----------
    told : sequence of float
        Speeds at which it is to run; those that no rig with these limits runs at are left out.
    limits : Limits
    """
    usual = parse_speeds(USUAL_SPEEDS)
    slowest, fastest = limits.speed_min.value, limits.speed_max.value
    return sorted({*usual, *(v for v in told if slowest <= v <= fastest and not usual[0] <= v <= usual[-1])})


def require_duration(duration: float, held: float = 0.0) -> None:
    """Refuse a duration [s] that nobody can mean, or that ends while a bicycle is still ``held`` [s].

    Raises
    ------
    InputError
    """
    if not 0.0 < duration < LONGEST_RUN:
        raise InputError(f"--duration must be above 0 and below {LONGEST_RUN:g} s, found {duration:g} s")
    if duration <= held:
        raise InputError(
            f"--duration {duration:g} s ends before the emulated bicycle is let go, {held:g} s after the drive is on: "
            "give a longer one"
        )
