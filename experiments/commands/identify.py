"""`riderless identify`: parameters of bicycle and machine from all windows of a campaign together."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from experiments.analysis.identification import Identification

PRIORS = ("own", "usual", "none")


def identify(
    paths: Annotated[list[Path], typer.Argument(help="Run folders, folders of runs, or files of others.")],
    free: Annotated[
        str, typer.Option(help="Quantities to identify, with commas: parameters of the bicycle, drive_gain, ...")
    ] = "",
    prior: Annotated[
        str,
        typer.Option(help="What is known before: own (measured deviations), usual (for those without), or none."),
    ] = "own",
    mapping: Annotated[str, typer.Option(help="Mapping file of other people's files.")] = "",
    bicycle: Annotated[str, typer.Option(help="Bicycle of files that name none.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Find the values with which theory's motion comes closest to lean rate, steer and yaw rate of all windows.

    By output error: no derivative of a measurement is taken. Says which quantities these data cannot tell apart.
    Without --free it lists what can be identified. One bicycle at a time.
    """
    from experiments.analysis.identification import identify as search
    from experiments.analysis.output_error import Segment
    from experiments.analysis.windows import find_windows
    from experiments.dynamics import UNCERTAIN_QUANTITIES
    from experiments.recordings.runs import find, read_recording
    from experiments.terminal.console import emit_json, screen
    from models.errors import InputError
    from models.linear.perturbed import ENTRIES
    from models.parameters import PARAMETERS

    names = [name.strip() for name in free.split(",") if name.strip()]
    if not names:
        raise InputError(
            f"wanted quantities to identify, as --free drive_gain,steer_damping: "
            f"there are {', '.join(UNCERTAIN_QUANTITIES)}; "
            f"the parameters {', '.join(PARAMETERS)}; and the entries {', '.join(ENTRIES)}"
        )
    if prior not in PRIORS:
        raise InputError(f"wanted a prior among {', '.join(PRIORS)}, found '{prior}'")
    pieces = []
    for path in find(paths):
        response = read_recording(path, mapping, "", bicycle)
        pieces += [Segment.of(response, window) for window in find_windows(response)[0]]
    if not pieces:
        raise InputError("no window was found in these recordings: `riderless analyze` says why")
    theory = pieces[0].theory
    known = theory.uncertain if prior != "none" else {}
    if prior == "usual":
        known = {name: theory.usual(name) for name in names}
    found = search(pieces, names, known)
    if as_json:
        emit_json(as_document(found))
    else:
        show(found, theory.bicycle.name)
        if not found.ok:
            screen.print(found.status)


def as_document(found: "Identification") -> dict:
    """What was identified, for JSON; SI."""
    return {
        "windows": found.windows,
        "ok": found.ok,
        "status": found.status,
        "quantities": {
            name: {"nominal": nominal, "value": value, "std": std, "prior": prior}
            for name, nominal, value, std, prior in zip(
                found.names, found.nominal, found.values, found.std, found.prior, strict=True
            )
        },
        "correlation": found.correlation,
        "confounded": found.confounded(),
        "cost": found.cost,
        "cost_before": found.cost_before,
        "std_from_scatter_between_windows": found.cluster_robust,
    }


def show(found: "Identification", bicycle: str) -> None:
    """Print values with their deviations, and what cannot be told apart."""
    from experiments.dynamics import unit_of
    from experiments.terminal.console import number, screen, table

    table(
        f"Identified from {found.windows} windows, {bicycle}",
        ["quantity", "unit", "nominal", "found", "std", "moved, in std"],
        [
            [
                name,
                unit_of(name),
                f"{nominal:.5g}",
                f"{value:.5g}",
                f"{std:.2g}",
                number((value - nominal) / std if std > 0 else float("nan"), 1),
            ]
            for name, nominal, value, std in zip(found.names, found.nominal, found.values, found.std, strict=True)
        ],
        "std: from the scatter between windows"
        if found.cluster_robust
        else "std: from the coloured residual of each window; of more windows the scatter between them would count",
    )
    for one, other, correlation in found.confounded():
        screen.print(f"these data hardly tell {one} from {other}: correlation {correlation:+.3f}")
    screen.print(f"weighed sum of squares: {found.cost_before:.0f} as theory has it, {found.cost:.0f} so")
