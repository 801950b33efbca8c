"""`riderless faults`: break the machine in every way thought of, thousands of times, and see it end safe."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from experiments.studies.fault_injection.summary_table import FaultRow


def faults(
    context: typer.Context,
    count: Annotated[int, typer.Option(help="Number of cases.")] = 1000,
    seed: Annotated[int, typer.Option(help="Fixes every case.")] = 1,
    case: Annotated[int | None, typer.Option(help="Play this one case and tell it in detail.")] = None,
    jobs: Annotated[int | None, typer.Option(help="Processes; one a core by default.")] = None,
    doc: Annotated[Path | None, typer.Option(help="Markdown file between whose table marks the table is put.")] = None,
    real_time: Annotated[
        bool, typer.Option("--real-time", help="Real processes, signals and disks, over a pseudo-terminal; 3 minutes.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Inject faults into the loop in simulated time and check that each promise was kept.

    Every case draws bicycle, speed, controller, fault and moment from the seed and its number. Exit code 1 if any
    promise was broken; the command that plays that very case again is printed with it.
    """
    from experiments.studies.fault_injection import campaign
    from experiments.studies.fault_injection.docs_table import put_table, require_table_place
    from experiments.studies.fault_injection.summary_table import tally
    from experiments.terminal.console import emit_json
    from experiments.terminal.faults import counting_cases, show_faults

    _refuse_ignored(context)
    if doc is not None:
        require_table_place(doc, real_time)  # before the work, not after it
    if real_time:
        rows = _in_real_time(seed, case)
        count = sum(row.cases for row in rows)
    elif case is not None:
        _one(seed, case, as_json)
        return
    else:
        with counting_cases(count) as tell:
            rows = tally(campaign.run_cases(count, seed, jobs, tell), seed)
    violations = [violation for row in rows for violation in row.violations]
    if doc is not None:
        put_table(doc, rows, seed, real_time)
    if as_json:
        emit_json({"seed": seed, "cases": count, "rows": rows, "violations": violations})
    else:
        show_faults(rows, count, seed, violations)
    if violations:
        raise typer.Exit(1)


def _refuse_ignored(context: typer.Context) -> None:
    """Refuse options of many cases beside --case, and of simulated time beside --real-time."""
    from experiments.commands._ignored_options import refuse_ignored

    if context.params["case"] is not None:
        why = "--case plays one case; leave it out, or --case"
        refuse_ignored(context, "count", "jobs", "doc", because=why)
    if context.params["real_time"]:
        why = "--real-time has its own cases, one after another; leave it out, or --real-time"
        refuse_ignored(context, "count", "jobs", because=why)


def _in_real_time(seed: int, index: int | None) -> "list[FaultRow]":
    """Play the cases with real components, or one of them."""
    from tempfile import TemporaryDirectory

    from experiments.studies.fault_injection.realtime import campaign as realtime
    from experiments.terminal.console import progress_screen

    cases = realtime.realtime_cases(seed) if index is None else [realtime.realtime_case(seed, index)]
    with TemporaryDirectory() as folder, progress_screen.status(f"{len(cases)} cases in real time"):
        return realtime.run_realtime_cases(cases, Path(folder))


def _one(seed: int, index: int, as_json: bool) -> None:
    """Play one case again and tell it."""
    from experiments.studies.fault_injection.cases import draw_case
    from experiments.studies.fault_injection.judge import judge_case
    from experiments.studies.fault_injection.simulate import play_case
    from experiments.studies.fault_injection.timeline import TIMELINE_COLUMNS, describe_case, timeline
    from experiments.terminal.console import emit_json, print_table, screen
    from models.errors import InputError

    if index < 0 or seed < 0:
        what, found = ("the number of a case", index) if index < 0 else ("the seed", seed)
        raise InputError(f"{what} must be 0 or more, found {found}")
    case = draw_case(seed, index)
    played = play_case(case)
    verdict = judge_case(case, played)
    story = timeline(case, played)
    if as_json:
        emit_json(
            {"case": case, "verdict": verdict, "timeline": [dict(zip(TIMELINE_COLUMNS, c, strict=True)) for c in story]}
        )
    else:
        screen.print(*describe_case(case).splitlines(), sep="\n")
        if story:
            print_table("", list(TIMELINE_COLUMNS), story)
        screen.print(f"outcome: {verdict.outcome} {played.refused}".rstrip())
        for complaint in verdict.complaints:
            screen.print(f"VIOLATION: {complaint}")
    if verdict.complaints:
        raise typer.Exit(1)
