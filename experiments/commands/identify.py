"""`riderless identify`: parameters from a campaign's windows."""

from pathlib import Path
from typing import Annotated

import typer

from riderless.experiments.commands._options import (
    DEFAULT,
    BicycleOfLogs,
    Force,
    LawFileOption,
    MappingOption,
    MaxMemory,
    know_law,
    names_in,
    refuse_ignored,
    require_figure,
    require_law_of,
)
from riderless.experiments.commands._shared_options import AsJson, FreeQuantities, Prior, TrustLogs
from riderless.experiments.commands._whole_numbers import MOST_JOBS
from riderless.hil.memory import use_memory


def identify(
    context: typer.Context,
    paths: Annotated[list[Path], typer.Argument(help="Run folders, folders of runs, or files of others.")],
    free: FreeQuantities = "",
    prior: Prior = "own",
    mapping: MappingOption = "",
    bicycle: BicycleOfLogs = "",
    controller: LawFileOption = None,
    profile: Annotated[
        bool, typer.Option("--profile", help="With 95 % intervals by profile likelihood, the others fitted anew.")
    ] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw the profiles to this file: .svg, .pdf or .png.")] = None,
    jobs: Annotated[int, typer.Option(max=MOST_JOBS, help="Processes for the profiles, a quantity each.")] = 1,
    force: Force = False,
    trust: TrustLogs = False,
    eigenvalues: Annotated[
        bool,
        typer.Option(
            "--eigenvalues", help="The files are tables of measured eigenvalues (speed, re, im): find the law's gain."
        ),
    ] = False,
    v0: Annotated[
        float | None, typer.Option(help="With --eigenvalues: speed of the law T = kappa (v0 - v) phi_dot, m/s.")
    ] = None,
    max_memory: MaxMemory = DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Find the values with which theory's motion comes closest to lean rate, steer and yaw rate of all windows.

    By output error: no derivative of a measurement is taken. Says which quantities these data cannot tell apart.
    Parts with a known torque beside the controller's count as well. With --profile each quantity gets the interval that
    the others leave it, which may be open.
    Without --free it lists what can be identified. One bicycle at a time.

    With --eigenvalues, --bicycle and --v0 it finds instead the gain kappa of the law T = kappa (v0 - v) phi_dot with
    which theory explains measured eigenvalues, with an interval that counts how well the bicycle is known.
    """
    from riderless.experiments.reports.identification_figures import profiles_figure
    from riderless.experiments.reports.identify import identify_parameters
    from riderless.experiments.reports.theory import save_figure
    from riderless.experiments.terminal.console import emit_json, print_blocks, print_written, progress_screen
    from riderless.experiments.terminal.progress import analysing

    use_memory(max_memory)
    _refuse_ignored(context)
    if eigenvalues:
        _print_gains(paths, v0, bicycle, trust, as_json)
        return
    if plot is not None:
        require_figure(plot, force, *paths, mapping, bicycle)
    know_law(controller)
    require_law_of(controller, paths)
    with analysing(progress_screen) as tell:
        identified = identify_parameters(
            paths,
            names_in("--free", free),
            prior=prior,
            mapping=mapping,
            bicycle=bicycle,
            trust=trust,
            profile=profile,
            jobs=jobs,
            on_progress=tell,
        )
    if plot is not None:
        save_figure(profiles_figure(identified.profiles), plot)
    if as_json:
        emit_json(identified.as_json())
    else:
        print_blocks(identified.blocks())
        if plot is not None:
            print_written("figure", plot)


def _refuse_ignored(context: typer.Context) -> None:
    """Refuse options that a table of eigenvalues, or a fit without profiles, has no use for."""
    if not context.params["eigenvalues"]:
        refuse_ignored(context, "v0", because="it is for tables of eigenvalues; add --eigenvalues or leave it out")
        if not context.params["profile"]:
            refuse_ignored(context, "plot", "force", "jobs", because="they are for the profiles; add --profile")
        return
    names = ("free", "prior", "mapping", "controller", "profile", "plot", "force", "jobs")
    why = "of a table of eigenvalues the gain is found, with the bicycle's own deviations; leave them out"
    refuse_ignored(context, *names, because=why)


def _print_gains(paths: list[Path], v0: float | None, bicycle: str, trust: bool, as_json: bool) -> None:
    """Print the gain of each table of eigenvalues.

    Parameters
    ----------
    paths, v0, bicycle, trust, as_json
        As `identify` takes them.
    """
    from riderless.experiments.reports.identification_figures import gain_of_table
    from riderless.experiments.terminal.console import emit_json, print_blocks

    results = [gain_of_table(path, bicycle, v0, trust) for path in paths]
    if as_json:
        emit_json({"tables": [result.as_json() for result in results]})
        return
    for result in results:
        print_blocks(result.blocks())
