"""Rig and port paths from command arguments."""

import os
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from riderless.experiments.terminal.console import parse_speeds
from riderless.hil.loop.limits import Limits
from riderless.hil.rig.recorded_values import LONGEST_RUN
from riderless.hil.rig.rig import Rig
from riderless.models import catalogue
from riderless.models.errors import InputError
from riderless.models.text_file import read_text_file

if TYPE_CHECKING:
    from riderless.experiments.live.play import Toy
    from riderless.hil.controllers.controller import Controller
    from riderless.models.array_types import Array
    from riderless.models.parameters import Bicycle


USUAL_SPEEDS = "2:9:0.5"  # m/s, for which a method's gains are designed


def rig_of(file: Path | None, bike: str = "Benchmark", trust: bool = False) -> Rig:
    """Read the rig of a file, or make the emulated one; ``trust`` is for ``bike``; raises InputError."""
    from riderless.experiments.commands._options import require_allowed_drivers
    from riderless.hil.rig.file import (
        read_rig,  # the checks of files cost 0.1 s, which the emulated rig need not wait for
    )

    if file and trust:
        raise InputError(f'--trust is for a named bicycle: write trust = "why" into the file of the bicycle of {file}')
    require_allowed_drivers(file)
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


def emulated_rig_of(bicycle: "Bicycle", controller: str, of_controller: bool = False) -> Rig:
    """Make the emulated rig that a controller was made for; its bicycle is given, or that ``of_controller``."""
    from riderless.hil.controllers.registry import read_controller
    from riderless.hil.rig.fitting import emulated_rig

    rig = Rig(bicycle)
    if names_method(controller):
        return rig
    made = read_controller(controller, bicycle, rig.timing)
    return emulated_rig(made.bicycle if of_controller else bicycle, made)


def machine_for(rig: Path | None, bike: str | None, controller: str, trust: bool) -> Rig:
    """Read the rig of a file, or make the emulated one that a controller was made for, with the bicycle named."""
    if rig is not None:
        return rig_of(rig, trust=trust)
    return emulated_rig_of(catalogue.load_bicycle(bike or "Benchmark", trust), controller, bike is None)


def gains_of(controller: str, rig: Rig, at_speeds: Sequence[float] = ()) -> "Controller":
    """Design the gains of a method for a rig, or read a file of gains; whether they fit it, `require_fitting` asks.

    Parameters
    ----------
    controller : str
        Name of a method, or path of a file.
    rig : Rig
    at_speeds : sequence of float
        Speeds [m/s] at which it is to run; a method is designed for them too.

    Raises
    ------
    InputError
    """
    from riderless.hil.controllers.registry import read_controller

    if (designed := _designed(controller, rig, at_speeds)) is not None:
        return designed
    return read_controller(controller, rig.bicycle, rig.timing, rig.drive)


def _designed(controller: str, rig: Rig, at_speeds: Sequence[float]) -> "Controller | None":
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
        return design(rig.bicycle, controller, _grid_with(at_speeds, rig.limits), rig.timing, drive=rig.drive)
    if controller in COMPENSATORS:
        speeds = _grid_with(at_speeds, rig.limits)
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


def _grid_with(at_speeds: Sequence[float], limits: Limits) -> list[float]:
    """Speeds [m/s] to design gains for where only a method is named: the usual ones, and those told beyond them.

    Parameters
    ----------
    at_speeds : sequence of float
        Speeds at which it is to run; those that no rig with these limits runs at are left out.
    limits : Limits
    """
    usual = parse_speeds(USUAL_SPEEDS)
    slowest, fastest = limits.speed_min.value, limits.speed_max.value
    return sorted({*usual, *(v for v in at_speeds if slowest <= v <= fastest and not usual[0] <= v <= usual[-1])})


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


# Emulated machine for `riderless emulate`: in this process, or beside a page in one of its own.


class _HeldMachine(NamedTuple):
    """Machine that somebody holds until a program arms it.

    Parameters
    ----------
    path : str
        Pseudo-terminal.
    address : str
        Of the page; empty without one.
    serve : callable
        Serves until what it is given says true.
    """

    path: str
    address: str
    serve: Callable[[Callable[[], bool]], None]


@contextmanager
def held_machine(
    rig: "Rig", model: str, speed: float, times: "Array", seed: int, connect: Callable[[str], str] | None
) -> Iterator[_HeldMachine]:
    """Make the machine; it ends with the context.

    Parameters
    ----------
    rig : Rig
    model : str
        Equations of motion.
    speed : float
        Of the belt [m/s].
    times : (n,) array
        Kicks, after the release [s].
    seed : int
        Of kicks and noise.
    connect : callable or None
        Gives the command that connects a program to a path; None without a page.

    Raises
    ------
    InputError, DeviceError
    """
    import numpy as np

    from riderless.experiments.emulation.hand import hand_kick, kicks_in_turn
    from riderless.firmware_interface.twins.virtual_node import VirtualNode
    from riderless.hil.runners.emulation import Emulation, emulated_node, emulated_plant
    from riderless.models.plant.scenario import Scenario

    emulation, rng = Emulation(model), np.random.default_rng(seed)  # first, for it knows the models that there are
    kicks = kicks_in_turn(rig.bicycle, times, rng, model)
    scenario = Scenario(speed=((0.0, speed),), kicks=kicks, seed=int(rng.integers(2**31)))
    with ExitStack() as stack:
        if connect is None:
            node = VirtualNode(emulated_plant(rig, scenario, emulation), emulated_node(rig))
            stack.callback(node.close)
            node.warm_up()
            yield _HeldMachine(node.path, "", node.serve)
            return
        from riderless.experiments.emulation.plaything import Playmate, start_plaything
        from riderless.experiments.live.emulated import EmulatedPage
        from riderless.experiments.live.launch import LiveServerProcess, free_port

        playmate = Playmate(lambda side: hand_kick(rig.bicycle, 0.0, side, rng, model), speed)
        server = stack.enter_context(LiveServerProcess(port=free_port()))
        twin = stack.enter_context(start_plaything(rig, scenario, emulation, playmate))
        speeds = (min(speed, rig.limits.speed_min.value), max(speed, rig.limits.speed_max.value))
        page = EmulatedPage(server, rig, twin.path, playmate, speeds, connect(twin.path))
        yield _HeldMachine(twin.path, server.address, page.serve)


# Emulated machine for `riderless play`: refused where it would be a wired one, and made.


CONTROLLERS = ("lqr", "poles", "lean", "lqg", "off")
_SPEEDS = (2.0, 8.0)  # m/s, for which a method's gains are designed


def emulated_rig_of_name(name: str, trust: bool) -> "Rig":
    """Rig of a bicycle or of a rig file; raises InputError where a wired bicycle is named."""
    from riderless.hil.runners.emulation import rig_in_simulated_time
    from riderless.hil.runners.paced.run import require_unwired

    if name.startswith("/dev/"):
        raise InputError(
            f"play is for an emulated bicycle, found the port {name}: a wired one wants `riderless run --port {name}`"
        )
    rig = rig_for_plan(name, trust)
    require_unwired(rig)
    return rig_in_simulated_time(rig)


def require_playable(rig: "Rig", controller: str, speed: float) -> None:
    """Refuse a controller or a speed [m/s] that cannot be played with; raises InputError."""
    if controller not in CONTROLLERS:
        raise InputError(f"--controller must be one of {', '.join(CONTROLLERS)}, found {controller!r}")
    slowest, fastest = _play_speeds(rig)
    if not slowest <= speed <= fastest:
        raise InputError(f"--speed must be {slowest:g} to {fastest:g} m/s for this rig, found {speed:g} m/s")


def _play_speeds(rig: "Rig") -> tuple[float, float]:
    """Slowest and fastest speed of the belt [m/s] that rig and gains allow."""
    return max(rig.limits.speed_min.value, _SPEEDS[0]), min(rig.limits.speed_max.value, _SPEEDS[1])


def make_toy(rig: "Rig", speed: float, model: str, seed: int, out: Path) -> "Toy":
    """Make an emulated bicycle to play with.

    Parameters
    ----------
    rig : Rig
    speed : float
        Of the belt at first [m/s].
    model : str
        Equations of motion.
    seed : int
        Of kicks and noise.
    out : Path
        Folder for the logs.

    Raises
    ------
    InputError
        No model of that name.
    """
    import numpy as np

    from riderless.experiments.emulation.hand import hand_kick
    from riderless.experiments.emulation.plaything import Playmate
    from riderless.experiments.live.play import Toy
    from riderless.hil.runners.emulation import Emulation
    from riderless.models.plant.scenario import Scenario

    rng, speeds = np.random.default_rng(seed), _play_speeds(rig)
    playmate = Playmate(lambda side: hand_kick(rig.bicycle, 0.0, side, rng, model), speed)
    scenario = Scenario(speed=((0.0, speeds[0]), (1.0, speeds[1])), seed=seed)  # the playmate's belt is between them
    return Toy(
        rig=rig,
        scenario=scenario,
        emulation=Emulation(model),
        playmate=playmate,
        choose=lambda name, rig: gains_of(name, rig, at_speeds=speeds),
        controllers=CONTROLLERS,
        speeds=speeds,
        out=out,
    )


def open_browser(address: str) -> None:
    """Open the page where there is a screen; a browser in the terminal would be in the way."""
    if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        webbrowser.open(address)
