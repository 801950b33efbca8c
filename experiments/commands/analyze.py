"""`riderless analyze`: windows, fits and comparison of logs, ours or others'."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from experiments.analysis import Analysis


def analyze(
    paths: Annotated[list[Path], typer.Argument(help="Run folders, folders of runs, or CSV files of a known kind.")],
    window: Annotated[
        str | None, typer.Option(help="Fit this window, A:B in s, instead of the automatic ones.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write a report into this folder.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Find free responses in logs, fit their eigenvalues and compare them with theory.

    Known CSV files: the coasting runs of Kooijman 2008 and the Delft steer-by-wire treadmill logs,
    recognised by their headers.
    """
    from experiments.console import emit_json, progress_screen, screen
    from experiments.progress import analysed
    from experiments.recordings import find, read
    from experiments.reporting import report_on_runs
    from hil.log import FILE

    found = find(paths)
    analysis = analysed(progress_screen, [read(path) for path in found], _parse_window(window))
    page = None
    if out is not None:
        runs = [path for path in found if (path / FILE).exists()]
        page = report_on_runs(out, f"Analysis of {', '.join(p.name for p in paths)}", analysis, runs)
    if as_json:
        emit_json({**analysis.as_json(), **({"report": str(page)} if page else {})})
        return
    show(analysis)
    if page:
        screen.print(f"report: {page}", soft_wrap=True)


def show(analysis: "Analysis") -> None:
    """Print what was measured beside what was predicted: per window when few, else per condition."""
    from experiments.console import eigenvalue, number, screen, table

    summary = analysis.summary
    if len(analysis.comparisons) <= 24:
        table(
            "Windows: eigenvalues 1/s",
            ["source", "window s", "v m/s", "measured", "± std", "predicted", "like for like", "z re, im"],
            [
                [
                    c.label or c.window.source,
                    f"{c.window.t_start:.2f}-{c.window.t_end:.2f}",
                    f"{c.window.v_start:.2f}-{c.window.v_end:.2f}",
                    eigenvalue(complex(c.fit.re, c.fit.im)),
                    f"{c.fit.re_std:.2f}, {c.fit.im_std:.2f}",
                    eigenvalue(c.prediction.frozen),
                    eigenvalue(c.prediction.like),
                    f"{number(c.z_re, 1)}, {number(c.z_im, 1)}",
                ]
                for c in analysis.comparisons
            ],
        )
    table(
        "Conditions: eigenvalues 1/s, mean over windows",
        ["condition", "n", "v m/s", "measured", "± sd", "predicted", "like for like", "agree"],
        [
            [
                p.label,
                str(p.n),
                f"{p.v_mean:.2f}",
                eigenvalue(complex(p.re.mean, p.im.mean)),
                f"{number(p.re.scatter, 2)}, {number(p.im.scatter, 2)}",
                eigenvalue(p.frozen),
                eigenvalue(p.like),
                f"{p.agreeing}/{p.n}",
            ]
            for p in summary.pooled
        ],
        "agree: both parts within three joint standard deviations of the like-for-like prediction",
    )
    if analysis.rejected:
        screen.print(f"{len(analysis.rejected)} parts rejected, first: {analysis.rejected[0].reason}")
    screen.print(
        f"{summary.agreeing} of {summary.n} windows agree with the prediction within three joint standard deviations"
    )


def _parse_window(text: str | None) -> tuple[float, float] | None:
    from models.errors import InputError

    if text is None:
        return None
    try:
        start, end = (float(part) for part in text.split(":"))
    except ValueError:
        raise InputError(f"'{text}' is not a window: give its start and end in s as A:B, for example 9.9:12.5") from None
    return start, end
