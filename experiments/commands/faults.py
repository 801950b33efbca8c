"""`riderless faults`: fault injection, thousands of cases."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from riderless.experiments.commands._options import Force, refuse_ignored, require_linux
from riderless.experiments.commands._shared_options import AsJson, DriveKind, Jobs
from riderless.experiments.commands._whole_numbers import MOST_CASES, MOST_SEED
from riderless.models.errors import InputError

if TYPE_CHECKING:
    from riderless.experiments.fault_injection.cases import CaseOptions, FaultCase
    from riderless.experiments.fault_injection.summary_table import FaultRow


def faults(
    context: typer.Context,
    count: Annotated[int, typer.Option(max=MOST_CASES, help="Number of cases.")] = 1000,
    seed: Annotated[int, typer.Option(max=MOST_SEED, help="Seed of every case.")] = 1,
    case: Annotated[
        str | None, typer.Option(help="Play this one case and tell it in detail: its number, or the code of a search.")
    ] = None,
    length: Annotated[
        float | None,
        typer.Option(
            "--duration",
            help="s under control, up to 60; by default 1.9, 14 of place and speed, 30 of slow and healthy ones.",
        ),
    ] = None,
    together: Annotated[int, typer.Option(min=1, max=3, help="Faults that strike together: 1, 2 or 3.")] = 1,
    threats: Annotated[
        str,
        typer.Option(
            help="Where the faults come from: sudden, slow, small, coupled, attack, all, place, speed; none, disturbed."
        ),
    ] = "sudden",
    drive: DriveKind = "torque",
    bicycles: Annotated[
        str | None, typer.Option(help="Bicycles of the catalogue, as Silver,Pista, instead of the campaign's own.")
    ] = None,
    search: Annotated[
        int | None,
        typer.Option(max=MOST_CASES, help="Search for the unsafe with that many cases, as 20000, instead of drawing."),
    ] = None,
    jobs: Jobs = None,
    doc: Annotated[Path | None, typer.Option(help="Markdown file that the table is written to.")] = None,
    force: Force = False,
    real_time: Annotated[
        bool, typer.Option("--real-time", help="Real processes, signals and disks, over a pseudo-terminal; 3 minutes.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Inject faults into the loop in simulated time and check that each promise was kept.

    Every case draws bicycle, speed, controller, faults and their moments from the seed and its number. Exit code 1 if
    any promise was broken; the command that plays that very case again is printed with it.
    """
    from riderless.experiments.fault_injection import campaign
    from riderless.experiments.fault_injection.summary_table import campaign_markdown, tally
    from riderless.experiments.terminal.console import emit_json
    from riderless.experiments.terminal.faults import counting_cases, show_faults
    from riderless.hil.output_file import OutputFile

    _refuse_ignored(context)
    options = _options(length, together, threats, bicycles, drive)
    document = None if doc is None else OutputFile(doc, "the table", force)
    if document is not None:
        document.require_free()  # before the work, not after it
    if real_time:
        rows = _in_real_time(seed, None if case is None else _number(case))
        count = sum(row.cases for row in rows)
    elif case is not None:
        return _tell(_case(case, seed, options), as_json)
    elif search is not None:
        return _search(search, seed, options, jobs, as_json)
    else:
        with counting_cases(count) as tell:
            rows = tally(campaign.run_cases(count, seed, jobs, tell, options), seed, options)
    violations = [violation for row in rows for violation in row.violations]
    if document is not None:
        document.write(campaign_markdown(rows, seed, real_time, options))
    if as_json:
        emit_json({"seed": seed, "cases": count, "rows": rows, "violations": violations})
    else:
        show_faults(rows, count, seed, violations)
    if violations:
        raise typer.Exit(1)


def _refuse_ignored(context: typer.Context) -> None:
    """Refuse options of many cases beside --case and --search, and of simulated time beside --real-time."""
    if context.params["case"] is not None:
        why = "--case plays one case; leave it out, or --case"
        refuse_ignored(context, "count", "jobs", "doc", "search", because=why)
    if context.params["search"] is not None:
        why = "--search makes its own cases and no table; leave it out, or --search"
        refuse_ignored(context, "count", "doc", because=why)
    if context.params["real_time"]:
        why = "--real-time has its own cases, one after another; leave it out, or --real-time"
        refuse_ignored(
            context, "count", "jobs", "length", "together", "threats", "drive", "bicycles", "search", because=why
        )


def _options(length: float | None, together: int, threats: str, bicycles: str | None, drive: str) -> "CaseOptions":
    """Read the options of the cases."""
    from riderless.experiments.fault_injection.cases import CaseOptions
    from riderless.experiments.fault_injection.threats.fault_list import ThreatPool

    if threats not in list(ThreatPool):
        raise InputError(f"--threats must be one of {', '.join(ThreatPool)}, found {threats!r}; choose one")
    names = () if bicycles is None else tuple(name.strip() for name in bicycles.split(","))
    if "" in names:
        raise InputError(f"--bicycles wants names of the catalogue, as Silver,Pista, found {bicycles!r}; correct it")
    return CaseOptions(length, together, ThreatPool(threats), names, drive)


def _number(case: str) -> int:
    """Read the number of a case."""
    try:
        return int(case)
    except ValueError:
        raise InputError(
            f"--case wants the number of a case, or a code that begins with g as a search printed it, found {case!r}"
        ) from None


def _case(case: str, seed: int, options: "CaseOptions") -> "FaultCase":
    """Make the case that was asked for, by its number or by the code of a search."""
    from riderless.experiments.fault_injection.cases import draw_case
    from riderless.experiments.fault_injection.search.genes import CODE_PREFIX, case_of_genes, genes_of_code

    if case.startswith(CODE_PREFIX):
        return case_of_genes(genes_of_code(case, options), options)
    index = _number(case)
    if index < 0 or seed < 0:
        what, number = ("the number of a case", index) if index < 0 else ("the seed", seed)
        raise InputError(f"{what} must be 0 or more, found {number}")
    return draw_case(seed, index, options)


def _in_real_time(seed: int, index: int | None) -> "list[FaultRow]":
    """Play the cases with real components, or one of them."""
    require_linux("riderless faults --real-time", "leave --real-time out")
    from tempfile import TemporaryDirectory

    from riderless.experiments.fault_injection.realtime import campaign as realtime
    from riderless.experiments.terminal.console import progress_screen

    cases = realtime.realtime_cases(seed) if index is None else [realtime.realtime_case(seed, index)]
    with TemporaryDirectory() as folder, progress_screen.status(f"{len(cases)} cases in real time"):
        return realtime.run_realtime_cases(cases, Path(folder))


def _search(count: int, seed: int, options: "CaseOptions", jobs: int | None, as_json: bool) -> None:
    """Search for the unsafe and show the worst that was found."""
    from riderless.experiments.fault_injection.search.evaluation import evaluating
    from riderless.experiments.fault_injection.search.evolution import search_unsafe
    from riderless.experiments.terminal.console import emit_json
    from riderless.experiments.terminal.faults import following_search, show_search

    with evaluating(jobs) as evaluate, following_search(count) as tell:
        report = search_unsafe(count, seed, options, evaluate, tell)
    if as_json:
        emit_json({"seed": seed, "search": report})
    else:
        show_search(report, seed)
    if report.unsafe:
        raise typer.Exit(1)


def _tell(case: "FaultCase", as_json: bool) -> None:
    """Play one case again and tell it."""
    from riderless.experiments.fault_injection.judge import judge_case
    from riderless.experiments.fault_injection.simulate import play_case
    from riderless.experiments.fault_injection.timeline import TIMELINE_COLUMNS, describe_case, timeline
    from riderless.experiments.terminal.console import emit_json, print_table, screen

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
        screen.print(f"danger: {verdict.danger.level:.2f}: {verdict.danger}")
        if verdict.declared:
            screen.print(f"excepted: {verdict.declared}")
        for complaint in verdict.complaints:
            screen.print(f"VIOLATION: {complaint}")
    if verdict.complaints:
        raise typer.Exit(1)
