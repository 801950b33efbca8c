"""`riderless eig`: canonical matrices, critical speeds, eigenvalues over speed."""

from pathlib import Path
from typing import Annotated

import typer

CURVE_POINTS = 801  # speeds of a curve that looks smooth


def eig(
    bike: Annotated[str, typer.Argument(help="Name in the catalogue, or a TOML file.")],
    speeds: Annotated[str, typer.Option(help="m/s, as FROM:TO:STEP or a list.")] = "0:10:1",
    plot: Annotated[Path | None, typer.Option(help="Draw them to this file: .svg, .pdf or .png.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON in full precision.")] = False,
) -> None:
    """Eigenvalues of the uncontrolled bicycle over speed, named by mode."""
    import numpy as np

    from experiments.reports.text import eigenvalue_text, number_text
    from experiments.reports.theory import plot_eigenvalues
    from experiments.terminal.console import emit_json, parse_speeds, print_table, screen
    from models import catalogue
    from models.linear.modes import critical_speeds, follow
    from models.linear.whipple import canonical

    bicycle = catalogue.load_bicycle(bike)
    modes = follow(bicycle, parse_speeds(speeds))
    critical = critical_speeds(bicycle)
    if plot is not None:
        plot_eigenvalues(bicycle, np.linspace(modes.v.min(), modes.v.max(), CURVE_POINTS), path=plot)
    if as_json:
        rows = [
            {
                "v": v,
                "eigenvalues": [*weave, capsize, caster],
                "weave": weave[0] if weave[0].imag else None,
                "capsize": capsize,
                "caster": caster,
            }
            for v, weave, capsize, caster in zip(
                modes.v.tolist(),
                modes.weave.tolist(),
                modes.capsize.tolist(),
                modes.caster.tolist(),
                strict=True,
            )
        ]
        named = {key: getattr(critical, key) for key in ("weave", "capsize", "double_root", "weave_all")}
        emit_json(
            {
                "bike": bicycle.name,
                **canonical(bicycle)._asdict(),
                "critical_speeds": named,
                "path": str(plot) if plot else None,
                "rows": rows,
            }
        )
        return
    print_table(
        f"{bicycle.name}: eigenvalues 1/s",
        ["v m/s", "weave", "capsize", "caster"],
        [
            [
                f"{v:g}",
                eigenvalue_text(weave[0], 4)
                if weave[0].imag
                else f"{eigenvalue_text(weave[0], 4)}, {eigenvalue_text(weave[1], 4)}",
                eigenvalue_text(capsize, 4),
                eigenvalue_text(caster, 4),
            ]
            for v, weave, capsize, caster in zip(modes.v, modes.weave, modes.capsize, modes.caster, strict=True)
        ],
        f"weave speed {number_text(critical.weave, 4)} m/s, capsize speed {number_text(critical.capsize, 4)} m/s, "
        f"double root at {number_text(critical.double_root, 4)} m/s",
    )
    if plot is not None:
        screen.print(f"figure written to {plot}")
