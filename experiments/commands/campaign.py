"""`riderless campaign`: from bicycles to a report."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from riderless.experiments.commands._options import (
    AllowedLaws,
    ArmUnattended,
    LivePage,
    WithoutStopProof,
    feed_of,
    refuse_ignored,
    require_allowed_drivers,
    require_allowed_laws,
    require_attended,
    require_linux,
)
from riderless.experiments.commands._shared_options import AsJson, Emulated, Fifo, SerialPorts
from riderless.experiments.commands._too_busy import TOO_BUSY
from riderless.experiments.commands._whole_numbers import MOST_SEED
from riderless.experiments.commands.warmup import compile_once
from riderless.models.errors import InputError

if TYPE_CHECKING:
    from riderless.hil.rig.rig import Rig


def campaign(
    context: typer.Context,
    file: Annotated[
        Path | None,
        typer.Argument(
            help="Campaign file; or a rig file, whose emulated devices carry the bicycles of the campaign made without "
            "a file."
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Write the campaign's folder into this one, or find it there.")
    ] = Path("runs"),
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a campaign that was stopped.")] = False,
    new: Annotated[bool, typer.Option("--new", help="Begin anew, beside one that was stopped.")] = False,
    dry: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Only rehearse every condition against the limits, and say which errors would be seen."
        ),
    ] = False,
    foresee: Annotated[
        bool, typer.Option("--foresee", help="Say before the runs which errors they would show; the report has it too.")
    ] = False,
    emulated: Emulated = False,
    lockstep: Annotated[bool, typer.Option("--lockstep", help="Simulated time, no serial line: much faster.")] = False,
    port: SerialPorts = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, max=MOST_SEED, help="Seed of kicks and sensor noise; 1, or as the campaign file says."),
    ] = (None),
    model: Annotated[
        str | None, typer.Option(help="Equations of motion: linear or nonlinear; linear, or as the campaign file says.")
    ] = None,
    fifo: Fifo = 0,
    controller: AllowedLaws = None,
    live: LivePage = False,
    yes_arm_unattended: ArmUnattended = False,
    without_stop_proof: WithoutStopProof = False,
    as_json: AsJson = False,
) -> None:
    """Make the runs of a campaign file, and judge bicycles by their eigenvalues.

    Without a file: Benchmark and Silver bicycle, emulated, on a belt with edges. Below, inside and above their stable
    range only the lane is held back after a push; inside it the torque goes off. 14 runs, four minutes in real time.

    Every condition of a file is rehearsed in simulated time first, and refused if it comes near a limit. Ctrl-C stops
    the campaign; the same command goes on where it stopped, and --new begins another. On a real bicycle a person is
    asked before each run.
    """
    from riderless.experiments.campaigns.file import rig_file_of
    from riderless.experiments.campaigns.session import foresee_campaign, open_campaign, rehearse_campaign, run_campaign
    from riderless.experiments.terminal.campaign_display import (
        TerminalDisplay,
        UnattendedDisplay,
        show_course,
        show_finished,
        show_rehearsals,
    )
    from riderless.experiments.terminal.console import emit_json, progress_screen
    from riderless.experiments.terminal.operator import heed

    require_allowed_laws(file, controller or ())
    require_allowed_drivers(rig_file_of(file) if file else None)
    whole, display = open_campaign(file, lockstep, seed, model), TerminalDisplay(heed)
    if not whole.lockstep:
        require_linux("a campaign in real time", "give --lockstep for simulated time")
    wired = whole.machine is not None and not (whole.usual or emulated or whole.lockstep)
    if whole.lockstep:
        why = "simulated time has no priority, and is over before anybody looks; leave it out, or run in real time"
        refuse_ignored(context, "fifo", "live", because=why)
    if port and not wired:
        raise InputError("--port wants a campaign file with a wired rig, in real time and not --emulated: leave it out")
    if whole.usual and file:
        progress_screen.print(
            f"the emulated devices of {file} carry Benchmark and Silver, not the bicycle it names; "
            "for that one, name the rig file in a campaign file (riderless init writes one)",
            soft_wrap=True,
        )
    if dry:
        refuse_ignored(context, "resume", because="--dry-run rehearses every condition; leave one of them out")
        refuse_ignored(context, "foresee", because="--dry-run says it anyway; leave one of them out")
        compile_once()
        made = rehearse_campaign(whole, display=display)
        show_rehearsals(made, () if whole.learning else foresee_campaign(whole, made, display), as_json)
        raise typer.Exit(1 if any(rehearsal.refusal for rehearsal in made) else 0)
    if foresee and (whole.usual or whole.learning is not None):
        raise InputError("--foresee wants a campaign file whose conditions are planned: leave it out, or give one")
    paths, unattended = _ports_of(whole.machine if wired else None, port or [], yes_arm_unattended)
    if unattended:
        display = UnattendedDisplay(heed)
    display.without_stop_proof = without_stop_proof
    display.feed = None if whole.lockstep else feed_of(live)
    compile_once()
    how: dict[str, Any] = {"resume": resume, "new": new, "foresight": foresee, "ports": paths, "fifo": fifo}
    result = run_campaign(whole, out, whole.lockstep, display=display, **how)
    if result.findings is None:
        chances = (1 if seed is None else seed, model) if whole.usual else None
        to_make = "" if result.course else f" with {len(result.missing)} of {len(whole.conditions)} runs to make"
        progress_screen.print(
            f"stopped{to_make}; to go on: "
            + _again(file, result.folder, chances, emulated, lockstep, port or [], fifo)
            + " --without-stop-proof" * without_stop_proof,
            soft_wrap=True,
        )
        raise typer.Exit(130)
    if as_json:
        emit_json(result.as_json())
    elif result.course:
        show_course(result.course, result.findings)
    else:
        show_finished(result.findings, result.folder)
    if not result.complete:
        raise typer.Exit(TOO_BUSY if result.spoilt else 1)


def _ports_of(machine: "Rig | None", given: list[str], unattended: bool) -> tuple[list[str], bool]:
    """Paths of a real machine's ports, and whether it is armed unattended; one that cannot be opened is refused.

    That is before a folder is made, and before anybody is asked to hold a bicycle that is not there.
    """
    from riderless.experiments.commands._machines import paths_of
    from riderless.hil.runners.session import open_ports

    if machine is None:
        return [], False
    paths = paths_of(machine, given)
    agreed = bool(require_attended(paths, unattended))
    with open_ports(machine, paths):
        return paths, agreed


def _again(
    file: Path | None,
    folder: Path,
    chances: tuple[int | None, str | None] | None,
    emulated: bool,
    lockstep: bool,
    port: list[str],
    fifo: int,
) -> str:
    """Command that goes on with a campaign: with other options it would be another one, and refused."""
    import shlex

    seed, model = chances or (None, None)
    words = ["riderless", "campaign", *([str(file)] if file else []), "--out", str(folder), "--resume"]
    words += ["--seed", str(seed)] if seed is not None else []
    words += ["--model", model] if model is not None else []
    words += ["--emulated"] * emulated + ["--lockstep"] * lockstep
    words += [word for path in port for word in ("--port", path)] + (["--fifo", str(fifo)] if fifo else [])
    return shlex.join(words)
