"""`riderless tune`: from a log to new gains."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from riderless.experiments.commands._options import DEFAULT, Force, MaxMemory, names_in
from riderless.experiments.commands._shared_options import AsJson, FreeQuantities, Prior
from riderless.hil.memory import use_memory
from riderless.hil.output_file import OutputFile

if TYPE_CHECKING:
    from riderless.experiments.emulation.tune import Tuning


def tune(
    paths: Annotated[list[Path], typer.Argument(help="Run folders, or folders of runs, of one machine.")],
    free: FreeQuantities = "drive_gain",
    method: Annotated[
        str, typer.Option(help="Method of design: lqr, poles, ...; by default that of the runs, with its options.")
    ] = "",
    speeds: Annotated[str, typer.Option(help="m/s, as FROM:TO:STEP or a list; by default those of the runs.")] = "",
    prior: Prior = "own",
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the gains to this TOML file.")] = None,
    bicycle_out: Annotated[Path | None, typer.Option(help="Write the bicycle that was found (.toml).")] = None,
    force: Force = False,
    max_memory: MaxMemory = DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Identify a machine in its runs, design gains for it, and judge old and new gains on what was found.

    Exit code 1: the new gains are not stable on the machine that was found, or a simulated ride falls. They are written
    all the same.
    """
    from riderless.experiments.emulation.tune import tune as tune_gains
    from riderless.experiments.terminal.console import emit_json, parse_speeds, print_written, progress_screen

    use_memory(max_memory)
    files = {
        what: OutputFile(path, what, force)
        for what, path in (("the gains", out), ("the bicycle", bicycle_out))
        if path is not None
    }
    for file in files.values():
        file.require_free()
    with progress_screen.status("reading") as status:
        tuning = tune_gains(
            paths,
            names_in("--free", free),
            method=method,
            speeds=parse_speeds(speeds) if speeds else (),
            prior=prior,
            tell=status.update,
        )
    for what, text in (("the gains", tuning.gains.to_toml()), ("the bicycle", tuning.bicycle.to_toml())):
        if what in files:
            files[what].write(text)
    if as_json:
        emit_json(
            {
                **tuning.identified.as_json(),
                "method": tuning.gains.method,
                "speeds": [
                    {"v": row.v, "growth": row.growth, "margins": [vars(margins) for margins in row.margins]}
                    for row in tuning.speeds
                ],
                "drawn": tuning.drawn,
                "drawn_stable": tuning.stable,
                "rehearsals": [vars(ride) for ride in tuning.rehearsals],
                "gains": out,
                "bicycle": bicycle_out,
            }
        )
    else:
        _tell(tuning)
        for what, path in (("gains", out), ("bicycle", bicycle_out)):
            if path is not None:
                print_written(what, path)
    if not tuning.safe:
        raise typer.Exit(1)


def _tell(tuning: "Tuning") -> None:
    """Print what was found, old and new gains on it, and the rehearsals."""
    from math import degrees

    from riderless.experiments.terminal.console import print_blocks, print_table, screen

    print_blocks(tuning.identified.blocks())
    print_table(
        f"Margins of the old and the new gains ({tuning.gains.method}) on the machine that was found",
        ["v m/s", "old: gain", "phase deg", "delay ms", "new: gain", "phase deg", "delay ms"],
        [[f"{row.v:g}", *row.margins[0].as_text(), *row.margins[1].as_text()] for row in tuning.speeds],
        "Of the whole sampled loop, broken where the command enters the drive.",
    )
    for row in tuning.speeds:
        if row.growth[1] >= 0.0:
            screen.print(f"at {row.v:g} m/s it falls under the new gains, by {row.growth[1]:+.3g} 1/s", soft_wrap=True)
    screen.print(
        f"of {tuning.drawn} machines drawn with what remains uncertain, {tuning.stable} are stable at each speed",
        soft_wrap=True,
    )
    for ride in tuning.rehearsals:
        end = f"stays upright, leans up to {degrees(ride.lean):.1f} deg" if ride.upright else "falls or is stopped"
        screen.print(f"in simulation, kicked twice at {ride.v:g} m/s, it {end}", soft_wrap=True)
    found = tuning.identified.found
    if "drive_gain" in found.names:
        screen.print(
            f"write gain = {found.changes['drive_gain']:.3g} into [drive] of the rig file: predictions need it",
            soft_wrap=True,
        )
