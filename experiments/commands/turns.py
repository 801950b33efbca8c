"""`riderless turns`: steady turns and their stability."""

from pathlib import Path
from typing import Annotated

import typer

from riderless.experiments.commands._options import BicycleArgument, Force, Trust, require_figure
from riderless.experiments.commands._shared_options import AsJson
from riderless.models.errors import InputError


def turns(
    bike: BicycleArgument,
    lean: Annotated[float | None, typer.Option(help="deg, to the right; with --steer.")] = None,
    steer: Annotated[float | None, typer.Option(help="deg, to the right; with --lean.")] = None,
    speed: Annotated[float | None, typer.Option(help="m/s; with --radius.")] = None,
    radius: Annotated[float | None, typer.Option(help="m, of the rear contact, to the right; with --speed.")] = None,
    hands_free: Annotated[bool, typer.Option("--hands-free", help="All families without steer torque.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw to this file: .svg, .pdf or .png.")] = None,
    force: Force = False,
    trust: Trust = False,
    as_json: AsJson = False,
) -> None:
    """Steady turns: from lean and steer, from speed and radius, or all that need no hands."""
    from math import radians

    from riderless.experiments.terminal.console import emit_json, print_written, require_speed
    from riderless.experiments.terminal.turns import show_families, show_turn, turn_document
    from riderless.models import catalogue

    ways = {
        "--lean and --steer": (lean is not None, steer is not None),
        "--speed and --radius": (speed is not None, radius is not None),
        "--hands-free": (hands_free,),
    }
    if sum(any(given) for given in ways.values()) != 1 or not any(all(given) for given in ways.values()):
        numbers = {"--lean": lean, "--steer": steer, "--speed": speed, "--radius": radius}
        given = [name for name, value in numbers.items() if value is not None] + ["--hands-free"] * hands_free
        raise InputError(
            f"a turn is asked for in one of three ways; found {' '.join(given) or 'none'}: give {', or '.join(ways)}"
        )
    if plot is not None:
        from riderless.experiments.reports.theory import families_figure, save_figure, turn_figure

        require_figure(plot, force, bike)
    bicycle = catalogue.load_bicycle(bike, trust)
    path = {"path": str(plot) if plot else None}
    if hands_free:
        from riderless.models.nonlinear.hands_free import hands_free_families as all_families

        families = all_families(bicycle)
        if plot is not None:
            save_figure(families_figure(bicycle.name, families), plot)
        if as_json:
            rows = [
                {"start": f.start, "end": f.end, "turns": [turn_document(turn) for turn in f.turns]} for f in families
            ]
            emit_json({"bike": bicycle.name, **path, "families": rows})
            return
        show_families(bicycle, families)
    else:
        from riderless.models.nonlinear.steady_turns import steady_turn_from_angles, steady_turn_from_speed_and_radius

        if lean is not None and steer is not None:
            turn = steady_turn_from_angles(bicycle, radians(lean), radians(steer))
        else:
            assert speed is not None  # the ways were checked above
            assert radius is not None
            turn = steady_turn_from_speed_and_radius(bicycle, require_speed(speed), radius)
        if plot is not None:
            save_figure(turn_figure(bicycle, turn), plot)
        if as_json:
            emit_json({"bike": bicycle.name, **path, "turn": turn_document(turn)})
            return
        show_turn(bicycle, turn)
    if plot is not None:
        print_written("figure", plot)
