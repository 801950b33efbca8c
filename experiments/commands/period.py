"""`riderless period`: period of small swings."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from riderless.experiments.commands._shared_options import AsJson
from riderless.experiments.commands._whole_numbers import MOST_SEED

if TYPE_CHECKING:
    from riderless.models.measured.periods import Period


def period(
    logs: Annotated[
        list[Path] | None, typer.Argument(help="Recordings (CSV with t, gx, gy, gz): several are trials of one swing.")
    ] = None,
    torsion: Annotated[bool, typer.Option("--torsion", help="On a torsion rod: no correction for amplitude.")] = False,
    swings: Annotated[int, typer.Option("--swings", help="Stopwatch: swings counted.", min=0, max=10_000)] = 0,
    total: Annotated[str, typer.Option("--total", help="Stopwatch: their time [s]; several with commas.")] = "",
    hand: Annotated[float, typer.Option("--hand", help="Stopwatch: standard deviation [s] of one press.")] = 0.1,
    start: Annotated[float, typer.Option("--start-deg", help="Stopwatch: amplitude at first [deg].")] = 0.0,
    end: Annotated[float, typer.Option("--end-deg", help="Stopwatch: amplitude at last [deg].")] = 0.0,
    example: Annotated[bool, typer.Option("--example", help="Example: write a recording to LOG.")] = False,
    true_period: Annotated[float, typer.Option("--true-period", help="Of the example [s].", min=0.1, max=10.0)] = 1.6,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the example's noise.", min=0, max=MOST_SEED)] = 1,
    as_json: AsJson = False,
) -> None:
    """Measure the period of small undamped swings: corrected for amplitude and damping, with its deviation."""
    from riderless.experiments.terminal.console import emit_json, print_written, screen
    from riderless.models.errors import InputError
    from riderless.models.measured.periods import period as period_of
    from riderless.models.measured.periods import stopwatch_period

    kind = "torsion" if torsion else "compound"
    paths = logs or []
    if example:
        _write_example(paths, kind, true_period, seed)
        if as_json:
            emit_json({"path": str(paths[0]), "true_period": true_period})
        else:
            print_written("example of a swing", paths[0])
        return
    if swings or total:
        if paths:
            raise InputError("a stopwatch's --swings and --total stand alone: leave the recordings out")
        entry = {"swings": swings, "total_s": _numbers(total), "hand_std_s": hand, "start_deg": start}
        measured = stopwatch_period({**entry, "end_deg": end} if end else entry, kind)
    elif not paths:
        raise InputError("wanted a recording of a swing, or a stopwatch's --swings and --total, found neither")
    else:
        measured = period_of(paths if len(paths) > 1 else paths[0], kind)
    if as_json:
        emit_json(vars(measured))
        return
    screen.print(f"T = {measured.sentence()}", style="bold", soft_wrap=True)
    screen.print(_next_step(measured), soft_wrap=True)


def _next_step(measured: "Period") -> str:
    """Say what to do with a period."""
    line = f'in the readings file: Tc... = "{measured.T:.7g} +/- {measured.std:.2g}"'
    if measured.kind == "torsion":
        line = line.replace("Tc", "Tt")
    return line if len(measured.trials) > 1 else f"{line}; three trials show what one does not"


def _numbers(text: str) -> list[float]:
    from riderless.models.errors import InputError

    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--total wants seconds, several with commas between, found '{text}'") from None


def _write_example(paths: list[Path], kind: str, T: float, seed: int) -> None:
    """Write a recording that the package makes."""
    from riderless.hil.output_file import OutputFile
    from riderless.models.errors import InputError
    from riderless.models.measured.periods import example_swing

    if len(paths) != 1:
        raise InputError("--example wants one file to write, such as swing.csv")
    place = OutputFile(paths[0], "the example")
    place.require_free()
    columns = example_swing(T, 13.0 if kind == "compound" else 6.0, kind, seed=seed)
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(columns), *(",".join(f"{value:.5f}" for value in row) for row in rows)]
    place.write("\n".join(lines) + "\n")
