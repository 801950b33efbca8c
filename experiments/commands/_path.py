"""Path option of `run` and `simulate`.

The path is read and checked, and the time to ride it computed.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from riderless.experiments.commands._options import is_given

if TYPE_CHECKING:
    from riderless.hil.controllers.controller import Controller
    from riderless.hil.guidance.route import Route
    from riderless.hil.rig.path_file import AskedPath
    from riderless.hil.rig.rig import Rig
    from riderless.models.parameters import Bicycle

PathOption = Annotated[
    Path | None,
    typer.Option("--path", help="Path that is ridden: a TOML file, or a CSV file of points x, y in m (docs/paths.md)."),
]


def controller_for(context: typer.Context, controller: str) -> str:
    """Choose the method of design that rides a path where nobody chose another."""
    return controller if context.params["path"] is None or is_given(context, "controller") else "lane"


def emulated_rig_on(bicycle: "Bicycle", controller: str, belt: float | None = None) -> "Rig":
    """Make the emulated rig that rides a path: a receiver with RTK, or a sensor across a belt so wide [m].

    Its drive obeys what a file of gains commands.
    """
    from riderless.experiments.commands._machines import emulated_rig_of
    from riderless.hil.rig.fitting import with_emulated_place, with_emulated_receiver
    from riderless.hil.rig.rig import Rig

    rig = Rig(bicycle, drive=emulated_rig_of(bicycle, controller).drive)
    return with_emulated_receiver(rig) if belt is None else with_emulated_place(rig, belt)


def asked_path(context: typer.Context) -> "AskedPath | None":
    """Read the file of --path; None if none was given. What it says of the speed gives way to a --speed that was typed.

    Raises
    ------
    InputError
        A file that cannot be read, or one without a speed where none was typed.
    """
    file = context.params["path"]
    if file is None:
        return None
    from dataclasses import replace

    from riderless.hil.rig.path_file import read_path_file, speed_of

    ridden = read_path_file(Path(file))
    if is_given(context, "speed"):
        return replace(ridden, speed=None)
    speed_of(ridden, Path(file))
    return ridden


def route_of(
    ridden: "AskedPath | None", rig: "Rig", schedule: "Controller", speed: float, linear: bool = False
) -> "Route":
    """Make the route of a path for a machine; without a path one without rows.

    Parameters
    ----------
    ridden : AskedPath or None
    rig : Rig
    schedule : Controller
    speed : float
        m/s
    linear : bool
        The bicycle is the emulated one, with linear equations of motion.

    Raises
    ------
    InputError
        As `riderless.hil.rig.path_file.plan_ride`.
    """
    from riderless.hil.guidance.route import Route

    if ridden is None:
        return Route()
    from riderless.hil.rig.path_file import plan_ride

    return plan_ride(ridden, rig, schedule, speed, linear)


def ride_duration(context: typer.Context, route: "Route", held: float = 0.0) -> float:
    """Choose how long a ride lasts [s]: as --duration says where somebody typed it, else to the path's end.

    Parameters
    ----------
    context : typer.Context
        Of a command with --duration.
    route : Route
    held : float
        Time [s] for which a person holds the bicycle under control, which --duration does not count.
    """
    if not route.rows or is_given(context, "duration"):
        return float(context.params["duration"])
    return route.ride_time - held
