"""`riderless campaign`: the main job, from bicycles to a report."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from experiments.campaigns.file import Campaign
    from experiments.campaigns.folder import FinishedRun
    from experiments.campaigns.protocols.condition import Condition
    from experiments.campaigns.rehearsal import DryRun
    from experiments.campaigns.run import Attempt
    from experiments.terminal.progress import Board


def campaign(
    file: Annotated[
        Path | None,
        typer.Argument(
            help="Campaign file, or a rig file whose devices are emulated; the emulated treadmill campaign by default."
        ),
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the campaign's folder is made, or lies.")] = Path(
        "runs"
    ),
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a campaign that was stopped.")] = False,
    dry: Annotated[
        bool, typer.Option("--dry-run", help="Rehearse every condition against the limits, no more.")
    ] = False,
    emulated: Annotated[bool, typer.Option("--emulated", help="Emulate the devices of a wired rig.")] = False,
    lockstep: Annotated[bool, typer.Option("--lockstep", help="Simulated time, no serial line: much faster.")] = False,
    port: Annotated[list[str] | None, typer.Option(help="Serial port; once for each port of the rig.")] = None,
    seed: Annotated[int | None, typer.Option(help="Fixes kicks and sensor noise; 1, or as the campaign file says.")] = (
        None
    ),
    model: Annotated[
        str | None, typer.Option(help="Equations of motion: linear or nonlinear; linear, or as the campaign file says.")
    ] = None,
    fifo: Annotated[int, typer.Option(help="Real-time priority 1 to 90 of loop and bicycle; 0 for none.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Make the runs of a campaign file, and judge bicycles by their eigenvalues.

    Without a file: Benchmark and Silver bicycle, emulated, uncontrolled inside their stable range, and under LQR and
    pole placement below, inside and above it; 14 runs of three kicks, about three minutes in real time.

    Every condition of a file is rehearsed in simulated time first, and refused if it comes near a limit. Ctrl-C stops
    the campaign; the same command goes on where it stopped. On a real bicycle a person is asked before each run.
    """
    from experiments.campaigns import folder as state
    from experiments.campaigns.file import is_campaign
    from experiments.campaigns.session import finish
    from experiments.commands._rig_arguments import paths_of
    from experiments.terminal.campaign import show_finished, show_rehearsals
    from experiments.terminal.console import emit_json, progress_screen
    from experiments.terminal.progress import analysed
    from models.errors import InputError

    of_file = file is not None and is_campaign(file)
    seed = seed if of_file or seed is not None else 1
    whole, stem = _planned(file, of_file, seed, model, lockstep)
    wired = of_file and whole.machine is not None and not (emulated or whole.lockstep)
    if port and not wired:
        raise InputError("--port wants a campaign file with a wired rig, in real time and not --emulated: leave it out")
    if dry:
        made = _rehearsed(whole, whole.conditions)
        show_rehearsals(made, as_json)
        raise typer.Exit(1 if any(one.refusal for one in made) else 0)
    paths = paths_of(whole.machine, port or []) if wired and whole.machine else []
    folder = state.choose(out, stem, whole, resume, always_new=not of_file)
    runs = state.made(folder) if folder.exists() else []
    rehearsed = _rehearsed(whole, state.missing(whole, runs)) if of_file else []
    if any(one.refusal for one in rehearsed):
        raise InputError("; ".join(one.refusal for one in rehearsed if one.refusal))
    folder.mkdir(parents=True, exist_ok=True)
    about = {"rehearsals": [one.as_json() for one in rehearsed]}
    with state.alone(folder):
        if _interrupted(whole, folder, runs, about, paths, fifo):
            progress_screen.print(
                f"stopped with {len(state.missing(whole, runs))} of {len(whole.conditions)} runs to make; to go on: "
                + _again(file, folder, None if of_file else (seed, model), emulated, lockstep, port or [], fifo),
                soft_wrap=True,
            )
            raise typer.Exit(130)
        found = finish(folder, whole, runs, lambda responses: analysed(progress_screen, responses))
    if as_json:
        emit_json({"folder": str(folder), "runs": [state.as_json(run) for run in runs], **about, **found.as_json()})
    else:
        show_finished(found, folder)
    if state.missing(whole, runs):
        raise typer.Exit(1)


def _planned(
    file: Path | None, of_file: bool, seed: int | None, model: str | None, lockstep: bool
) -> "tuple[Campaign, str]":
    """Read the campaign file, or lay out the usual campaign; with the name that its folder begins with."""
    from dataclasses import replace

    from experiments.campaigns.file import read_campaign
    from experiments.campaigns.session import usual
    from models.errors import InputError

    if file is None or not of_file:
        seed = 1 if seed is None else seed
        return usual(file, seed, model or "linear", lockstep), f"campaign-seed{seed}"
    if seed is not None or model is not None:
        raise InputError(f"a campaign file has its own seed and model: write them into {file}, not behind the command")
    whole = read_campaign(file)
    return replace(whole, lockstep=whole.lockstep or lockstep), file.stem


def _interrupted(
    whole: "Campaign",
    folder: Path,
    runs: "list[FinishedRun]",
    about: dict[str, Any],
    paths: list[str],
    fifo: int,
) -> bool:
    """Make the runs that are missing, and add them to ``runs``; was the campaign stopped before its end?"""
    from experiments.campaigns import folder as state
    from experiments.terminal.console import progress_screen
    from experiments.terminal.progress import board_of

    state.write(folder, whole, runs, **about)
    left = state.missing(whole, runs)
    if runs:
        there = len(whole.conditions) - len(left)
        progress_screen.print(f"going on in {folder}: {there} of {len(whole.conditions)} runs are there")
    interrupted = False
    try:
        with board_of(progress_screen, whole.conditions, runs, person=bool(paths)) as board:
            for attempt in _runner(whole, left, folder, board, paths, fifo):
                board.made(attempt)
                runs.append(state.FinishedRun(attempt.condition.name, attempt.folder, attempt.outcome))
                state.write(folder, whole, runs, **about)
                interrupted = attempt.outcome.cause.startswith("stopped by SIG")
    except KeyboardInterrupt:
        interrupted = True
    return interrupted


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


def _runner(
    whole: "Campaign", left: "Sequence[Condition]", folder: Path, board: "Board", paths: list[str], fifo: int
) -> "Iterable[Attempt]":
    """In simulated time, in real time against twins, or on the bicycle behind ``paths``."""
    from experiments.campaigns.operator_prompts import asking
    from experiments.campaigns.run import in_lockstep, in_real_time, on_a_bicycle
    from experiments.terminal.console import progress_screen
    from experiments.terminal.keys import keys
    from experiments.terminal.operator import heed

    if whole.lockstep:
        return in_lockstep(left, folder, board.watch)
    if not paths:
        return in_real_time(left, folder, board.watch, fifo)
    ask = asking(lambda text: progress_screen.print(text, soft_wrap=True), input, board)
    return on_a_bicycle(left, folder, board.watch, paths, ask, keys, heed, fifo)


def _rehearsed(whole: "Campaign", of: "Sequence[Condition]") -> "list[DryRun]":
    """All rehearsals, with a line that tells how far they are."""
    from experiments.campaigns.session import rehearsals
    from experiments.terminal.console import progress_screen

    made = []
    with progress_screen.status("rehearsing every condition in simulated time") as line:
        for one in rehearsals(whole, of):
            made.append(one)
            line.update(f"rehearsed {one.condition.label}: {one.said()}")
    return made
