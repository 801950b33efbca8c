"""`riderless analyze`: windows, fits and comparison of logs."""

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
    Preset,
    know_law,
    require_law_used,
)
from riderless.experiments.commands._shared_options import AsJson, TrustLogs
from riderless.hil.memory import use_memory
from riderless.models.errors import InputError


def analyze(
    paths: Annotated[
        list[Path],
        typer.Argument(
            help="Run folders, folders of runs, or others' files: CSV, MAT, HDF5, Parquet, MCAP, bags of ROS, ULog, "
            "MF4; also FILE=MAPPING.toml."
        ),
    ],
    mapping: MappingOption = "",
    preset: Preset = "",
    bicycle: BicycleOfLogs = "",
    trust: TrustLogs = False,
    windows: Annotated[
        Path | None, typer.Option(help="Your vetoes and moves of windows; by default windows.txt beside them.")
    ] = None,
    window: Annotated[
        str | None, typer.Option(help="Fit this window, FROM:TO in s, instead of the automatic ones.")
    ] = None,
    estimator: Annotated[
        str | None,
        typer.Option(
            help="single_mode, several_modes, real_mode, log_decrement, era or four_state; default: by theory."
        ),
    ] = None,
    controller: LawFileOption = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write a report into this folder.")] = None,
    force: Force = False,
    max_memory: MaxMemory = DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Find free responses in logs, fit their eigenvalues and compare them with theory.

    Runs of ours that played a torque are compared by their frequency responses.

    Files need a mapping that says which column is what (docs/foreign-logs.md), but for those recognised by
    their columns: the coasting runs of Kooijman 2008, the Delft steer-by-wire treadmill logs, runs exported
    by `riderless export`, and tables of eigenvalues (v_start, v_end, re, im) such as figure 7.

    A line such as 'veto 12.3 "hand touched"' in a file windows.txt beside a recording takes a window out;
    'move 12.3 to 12.6-15.1 "..."' and 'add 20.0-23.5 "..."' set others.
    """
    from riderless.experiments.recordings.runs import run_of
    from riderless.experiments.reports.analyze import analyze as analyze_sources
    from riderless.experiments.terminal.console import emit_json, print_blocks, progress_screen, screen
    from riderless.experiments.terminal.progress import analysing

    use_memory(max_memory)
    know_law(controller)

    part = _parse_window(window)
    if out is not None:
        from riderless.experiments.reports.files import require_report_place

        require_report_place(out, force)
    with analysing(progress_screen) as tell:
        result = analyze_sources(
            paths,
            mapping=mapping,
            preset=preset,
            bicycle=bicycle,
            trust=trust,
            notes=windows,
            window=part,
            estimator=estimator,
            on_progress=tell,
        )
        require_law_used(controller, (run_of(r).header if isinstance(r, Path) else r.header for r in result.runs))
        result.analysis.judge(lambda what: tell(1, 1, what))
    page = result.write_report(out, force=force) if out is not None else None
    if as_json:
        emit_json({**result.as_json(), **({"report": str(page)} if page else {})})
        return
    print_blocks(result.blocks())
    if page:
        screen.print(f"report: {page}", soft_wrap=True)


def _parse_window(text: str | None) -> tuple[float, float] | None:
    """Read FROM:TO as two times [s]."""
    if text is None:
        return None
    try:
        start, end = (float(part) for part in text.split(":"))
    except ValueError:
        raise InputError(
            f"'{text}' is not a window: give its start and end in s as A:B, for example 9.9:12.5"
        ) from None
    return start, end
