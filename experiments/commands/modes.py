"""`riderless modes`: mode shapes of lean and steer."""

from pathlib import Path
from typing import Annotated

import typer

from riderless.experiments.commands._options import BicycleArgument, Force, Trust, require_figure
from riderless.experiments.commands._shared_options import AsJson


def modes(
    bike: BicycleArgument,
    speed: Annotated[float, typer.Option(help="m/s, forward.")] = 5.0,
    plot: Annotated[Path | None, typer.Option(help="Draw the phasors to this file: .svg, .pdf or .png.")] = None,
    force: Force = False,
    trust: Trust = False,
    as_json: AsJson = False,
) -> None:
    """Mode shapes of the uncontrolled bicycle: amplitude ratio and phase of lean and steer."""
    import numpy as np

    from riderless.experiments.reports.text import eigenvalue_text
    from riderless.experiments.terminal.console import emit_json, print_table, print_written, require_speed
    from riderless.models import catalogue
    from riderless.models.linear.mode_shapes import ModeShape, mode_shapes, pendulum_zeros

    if plot is not None:
        from riderless.experiments.reports.theory import mode_shapes_figure, save_figure

        require_figure(plot, force, bike)
    bicycle = catalogue.load_bicycle(bike, trust)
    shapes, zeros = mode_shapes(bicycle, require_speed(speed)), pendulum_zeros(bicycle)
    if plot is not None:
        save_figure(mode_shapes_figure(bicycle.name, speed, shapes), plot)
    if as_json:
        rows = [
            {
                "name": shape.name,
                "eigenvalue": shape.eigenvalue,
                "lean": shape.lean,
                "steer": shape.steer,
                "steer_over_lean": shape.steer_over_lean,
                "lean_lead": shape.lean_lead,
            }
            for shape in shapes
        ]
        emit_json(
            {"bike": bicycle.name, "v": speed, "path": str(plot) if plot else None, "modes": rows, "steer_zeros": zeros}
        )
        return

    def phase(shape: ModeShape) -> str:
        if shape.oscillatory:
            return f"{np.degrees(shape.lean_lead):.1f}"
        return "same side" if shape.lean_lead == 0.0 else "opposite sides"

    print_table(
        f"{bicycle.name} at {speed:g} m/s: mode shapes",
        ["mode", "eigenvalue 1/s", "steer / lean", "lean ahead of steer deg"],
        [
            [shape.name, eigenvalue_text(shape.eigenvalue, 4), f"{shape.steer_over_lean:.4g}", phase(shape)]
            for shape in shapes
        ],
        f"zeros of the steer angle by the steer torque, at every speed: {zeros[0]:.4g} and {zeros[1]:.4g} 1/s",
    )
    if plot is not None:
        print_written("figure", plot)
