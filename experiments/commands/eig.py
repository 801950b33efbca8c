"""`riderless eig`: matrices, critical speeds, eigenvalues."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from riderless.experiments.commands._options import BicycleArgument, Force, Trust, require_figure
from riderless.experiments.commands._shared_options import AsJson

if TYPE_CHECKING:
    from riderless.models.linear.modes import CriticalSpeeds, Modes
    from riderless.models.parameters import Bicycle

CURVE_POINTS = 801  # speeds of a curve that looks smooth


def eig(
    bike: BicycleArgument,
    speeds: Annotated[str, typer.Option(help="m/s, as FROM:TO:STEP or a list.")] = "0:10:1",
    plot: Annotated[Path | None, typer.Option(help="Draw them to this file: .svg, .pdf or .png.")] = None,
    force: Force = False,
    trust: Trust = False,
    as_json: AsJson = False,
) -> None:
    """Eigenvalues of the uncontrolled bicycle over speed, named by mode."""
    import numpy as np

    from riderless.experiments.terminal.console import emit_json, parse_speeds, print_written
    from riderless.models import catalogue
    from riderless.models.linear.modes import critical_speeds, named_modes

    if plot is not None:
        require_figure(plot, force, bike)
    bicycle = catalogue.load_bicycle(bike, trust)
    modes = named_modes(bicycle, parse_speeds(speeds))
    critical = critical_speeds(bicycle)
    if plot is not None:
        from riderless.experiments.reports.theory import plot_eigenvalues

        plot_eigenvalues(bicycle, np.linspace(modes.v.min(), modes.v.max(), CURVE_POINTS), path=plot)
    if as_json:
        emit_json(_document(bicycle, modes, critical, plot))
        return
    _show(bicycle, modes, critical)
    if plot is not None:
        print_written("figure", plot)


def _document(bicycle: "Bicycle", modes: "Modes", critical: "CriticalSpeeds", plot: Path | None) -> dict[str, Any]:
    """Matrices, critical speeds and named eigenvalues, for JSON; SI."""
    from riderless.models.linear.whipple import canonical_matrices

    columns = (values.tolist() for values in (modes.v, modes.weave, modes.capsize, modes.caster))
    return {
        "bike": bicycle.name,
        **canonical_matrices(bicycle)._asdict(),
        "critical_speeds": {key: getattr(critical, key) for key in ("weave", "capsize", "double_root", "weave_all")},
        "path": str(plot) if plot else None,
        "rows": [
            {
                "v": v,
                "eigenvalues": [*weave, capsize, caster],
                "weave": weave[0] if weave[0].imag else None,
                "capsize": capsize,
                "caster": caster,
            }
            for v, weave, capsize, caster in zip(*columns, strict=True)
        ],
    }


def _show(bicycle: "Bicycle", modes: "Modes", critical: "CriticalSpeeds") -> None:
    """Print the eigenvalues over speed, and the critical speeds."""
    from riderless.experiments.reports.text import eigenvalue_text, number_text
    from riderless.experiments.terminal.console import print_table

    print_table(
        f"{bicycle.name}: eigenvalues 1/s",
        ["v m/s", "weave", "capsize", "caster"],
        [
            [
                f"{v:g}",
                ", ".join(eigenvalue_text(value, 4) for value in (weave[:1] if weave[0].imag else weave)),
                eigenvalue_text(capsize, 4),
                eigenvalue_text(caster, 4),
            ]
            for v, weave, capsize, caster in zip(modes.v, modes.weave, modes.capsize, modes.caster, strict=True)
        ],
        f"weave speed {number_text(critical.weave, 4)} m/s, capsize speed {number_text(critical.capsize, 4)} m/s, "
        f"double root at {number_text(critical.double_root, 4)} m/s",
    )
