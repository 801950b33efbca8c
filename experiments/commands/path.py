"""`riderless path`: demands of a path beside limits."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from riderless.experiments.commands._options import Trust, complete_bicycle
from riderless.experiments.commands._shared_options import AsJson

if TYPE_CHECKING:
    from riderless.hil.guidance.route import Route
    from riderless.hil.rig.rig import Rig


def path(
    file: Annotated[Path, typer.Argument(help="Path file (TOML), or a CSV file of points x, y in m.")],
    bike: Annotated[
        str,
        typer.Argument(autocompletion=complete_bicycle, help="Rig file, bicycle in the catalogue, or bicycle's file."),
    ] = "Benchmark",
    speed: Annotated[float | None, typer.Option(help="m/s; by default that of the file.")] = None,
    trust: Trust = False,
    as_json: AsJson = False,
) -> None:
    """Check a path: lean, steer and torque that it asks for at its speed, beside the limits of the machine.

    Of a rig its limits, belt and sensor of place count; of a bicycle those of the emulated machine.
    """
    from riderless.experiments.commands._machines import rig_for_plan
    from riderless.experiments.terminal.console import emit_json, print_table
    from riderless.hil.rig.path_file import plan_ride, read_path_file, speed_of

    ridden, rig = read_path_file(file), rig_for_plan(bike, trust)
    v = speed_of(ridden, file) if speed is None else speed
    route = plan_ride(ridden, rig, None, v)
    length = ridden.path.length * ridden.rounds
    rows = _asked_rows(route, rig)
    if as_json:
        named = {name: {"asked": most, "limit": limit, "unit": unit} for name, most, limit, unit in rows}
        emit_json({"path": route.name, "speed": v, "length": length, "duration": route.ride_time, **named})
        return
    print_table(
        f"{route.name}, {length:.1f} m, {route.ride_time:.1f} s at {v:g} m/s, {rig.bicycle.name}",
        ["asked of", "most", "limit"],
        [[name, *(_in_words(x, unit) for x in (most, limit))] for name, most, limit, unit in rows],
        "It may be ridden: each is within 80 % of its limit, lean 8 deg below it; the rest is for gusts and errors.",
    )


def _asked_rows(route: "Route", rig: "Rig") -> list[tuple[str, float, float, str]]:
    """Name, largest size, limit and unit of what a route asks for."""
    import numpy as np

    from riderless.models.linear.path import farthest_contact

    table = route.table()
    most = np.abs(table).max(axis=0)
    limits: Any = rig.limits
    extremes = (("lean", most[5], "rad"), ("steer", most[6], "rad"), ("torque", most[9], "N m"))
    rows = [(name, float(size), float(getattr(limits, name).value), unit) for name, size, unit in extremes]
    if rig.place is not None and rig.place.belt_width is not None:
        rows.append(
            ("sideways", float(farthest_contact(rig.bicycle, table[:, 2], table[:, 3]).max()), rig.place.edge, "m")
        )
    return rows


def _in_words(value: float, unit: str) -> str:
    """Size in words, angles in degrees."""
    import numpy as np

    return f"{np.degrees(value):.1f} deg" if unit == "rad" else f"{value:.2f} {unit}"
