"""`riderless analyze`: windows, fits and comparison of logs, ours or others'."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from experiments.analysis.analyze import Analysis
    from experiments.analysis.goodness_of_fit import GoodnessOfFit
    from experiments.datatypes import Response
    from experiments.frequency.response import FrequencyResponse
    from experiments.recordings.author_windows import Beside

MOST_REMARKS = 8  # of one recording, on the screen


def analyze(
    paths: Annotated[
        list[Path], typer.Argument(help="Run folders, folders of runs, or files: CSV, MAT, HDF5, Parquet, MCAP.")
    ],
    mapping: Annotated[
        str, typer.Option("--mapping", "-m", help="TOML file that says which column is what, or a shipped one's name.")
    ] = "",
    preset: Annotated[str, typer.Option(help="Kind of the files: delft-sbw, kooijman, riderless-table.")] = "",
    bicycle: Annotated[str, typer.Option(help="With a mapping: its bicycle, of the catalogue or a TOML file.")] = "",
    trust: Annotated[
        bool, typer.Option("--trust", help="Analyse also where physics contradicts a unit or a sign.")
    ] = False,
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
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write a report into this folder.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Find free responses in logs, fit their eigenvalues and compare them with theory.

    Runs of ours that played a torque are compared by their frequency responses.

    Files need a mapping that says which column is what (docs/foreign-logs.md), but for those recognised by
    their columns: the coasting runs of Kooijman 2008, the Delft steer-by-wire treadmill logs, runs exported
    by `riderless export`, and tables of eigenvalues (v_start, v_end, re, im) such as figure 7.

    A line such as 'veto 12.3 "hand touched"' in a file windows.txt beside a recording takes a window out;
    'move 12.3 to 12.6-15.1 "..."' and 'add 20.0-23.5 "..."' set others.
    """
    from experiments.analysis import coasting
    from experiments.analysis.compare import figure7_residuals
    from experiments.analysis.window_notes import attach_notes
    from experiments.frequency.goodness_of_fit import response_document as frequency_document
    from experiments.frequency.response import add_response
    from experiments.recordings import author_windows, published
    from experiments.recordings.runs import find, is_run, read_recording
    from experiments.reports.gather import report_on
    from experiments.terminal.console import emit_json, progress_screen, screen
    from experiments.terminal.frequency_tables import show as show_frequency
    from experiments.terminal.progress import analysed

    found = find(paths)
    tables = [path for path in found if published.is_table(path)]
    recordings = [path for path in found if path not in tables]
    measured = published.read_published(tables[0]) if tables else None
    responses: list[Response] = []
    played: list[FrequencyResponse] = []
    silent: list[str] = []
    for path in recordings:
        responses.append(read_recording(path, mapping, preset, bicycle, trust))
        if is_run(path):
            add_response(path, played, silent)
    responses = attach_notes(responses, recordings, windows)
    analysis = analysed(progress_screen, responses, _parse_window(window), estimator)
    by_hand = author_windows.beside(author_windows.read_author_windows(recordings), analysis.comparisons)
    page = None
    if out is not None:
        runs = [path for path in recordings if is_run(path)]
        title = f"Analysis of {', '.join(p.name for p in paths)}"
        page = report_on(out, title, analysis, runs, measured, by_hand, played, silent)
    if as_json:
        document = analysis.as_json()
        document["remarks"] = [{"source": r.source, "remark": said} for r in responses for said in r.remarks]
        if played or silent:
            document["frequency_responses"] = [frequency_document(one) for one in played]
            document["no_frequency_response"] = silent
        if by_hand:
            document["beside_hand_cut"] = author_windows.as_json(by_hand)
        if measured is not None:
            document["published"] = vars(figure7_residuals(measured))
        emit_json({**document, **({"report": str(page)} if page else {})})
        return
    show_remarks(responses)
    if recordings and (analysis.comparisons or not played):
        show(analysis)
    show_frequency(played, silent)
    if by_hand:
        show_beside(by_hand)
    if measured is not None:
        left = figure7_residuals(measured)
        screen.print(
            f"{tables[0].name}: {left.n} measured weave eigenvalues minus the frozen ones of Silver: "
            f"Re {left.re_mean:+.3f} 1/s (rms {left.re_rms:.3f}), Im {left.im_mean:+.3f} rad/s (rms {left.im_rms:.3f})"
        )
        for deceleration in coasting.DECELERATIONS:
            left = coasting.coasting_residuals(deceleration, measured=measured)
            screen.print(
                f"had every run slowed by {deceleration:g} m/s^2 after a push, like for like: "
                f"Re {left.re_mean:+.3f} (rms {left.re_rms:.3f}), Im {left.im_mean:+.3f} (rms {left.im_rms:.3f})"
            )
    if page:
        screen.print(f"report: {page}", soft_wrap=True)


def show_remarks(responses: "Sequence[Response]") -> None:
    """Print what was found wrong in the recordings, the first of each."""
    from experiments.terminal.console import screen

    for response in responses:
        for remark in response.remarks[:MOST_REMARKS]:
            screen.print(f"{response.source}: {remark}", soft_wrap=True)
        if len(response.remarks) > MOST_REMARKS:
            screen.print(f"{response.source}: {len(response.remarks) - MOST_REMARKS} more remarks, with --json")


def show_beside(rows: "Sequence[Beside]") -> None:
    """Print the automatic windows beside those cut by hand."""
    from experiments.terminal.console import eigenvalue, table

    table(
        "Beside the windows cut by hand: eigenvalues 1/s, means over the shared windows",
        ["recording", "v m/s", "by hand", "found", "extra", "by hand", "automatic", "frozen"],
        [
            [
                row.source,
                f"{row.v_mean:.2f}",
                str(row.by_hand),
                str(row.found),
                str(row.extra),
                eigenvalue(row.hand),
                eigenvalue(row.shared),
                eigenvalue(row.frozen),
            ]
            for row in rows
        ],
    )


def show(analysis: "Analysis") -> None:
    """Print what was measured beside what was predicted: per window when few, else per condition."""
    from experiments.analysis.window_notes import BY_PERSON
    from experiments.terminal.console import eigenvalue, number, screen, table

    summary = analysis.summary
    if not analysis.comparisons:
        screen.print("no window could be compared with the prediction; what was looked at:")
        for r in analysis.rejected:
            screen.print(f"{r.source} {r.t_start:.2f}-{r.t_end:.2f} s: {r.reason}")
        return
    if len(analysis.comparisons) <= 24:
        table(
            "Windows: eigenvalues 1/s",
            [
                "recording",
                "window s",
                "v m/s",
                "measured",
                "std re, im",
                "frozen",
                "like for like",
                "z re, im",
            ],
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
        ["condition", "v m/s", "measured", "95 % re, im", "frozen", "like for like", "scatter", "agree"],
        [
            [
                p.label,
                f"{p.v_mean:.2f}",
                eigenvalue(complex(p.re.mean, p.im.mean)),
                f"{number(p.re.half_width, 2)}, {number(p.im.half_width, 2)}",
                eigenvalue(p.frozen),
                eigenvalue(p.like),
                f"{number(p.residual_re.birge_ratio, 1)}, {number(p.residual_im.birge_ratio, 1)}",
                f"{p.agreeing}/{p.n}",
            ]
            for p in summary.pooled
        ],
        "frozen: eigenvalue of theory at the mean speed; like for like: the same fit on the model driven by the\n"
        "measured speed; agree: within three joint standard deviations; 95 %: half the mean's interval,\n"
        "an effect between windows included; scatter: measured minus like, over what windows say of their errors",
    )
    if analysis.rejected:
        screen.print(f"{len(analysis.rejected)} parts rejected, first: {analysis.rejected[0].reason}")
    said = [(r.source, r.t_start, r.t_end, r.reason) for r in analysis.rejected]
    said += [(w.source, w.t_start, w.t_end, w.rule) for w in (c.window for c in analysis.comparisons)]
    for source, start, end, text in said:
        if BY_PERSON in text:
            screen.print(f"{source} {start:.2f}-{end:.2f} s: {text}", soft_wrap=True)
    screen.print(
        f"{summary.agreeing} of {summary.n} windows agree with the prediction within three joint standard deviations"
    )
    for verdict in analysis.verdicts:
        screen.print(verdict.sentence)
        if not verdict.explained:
            show_causes(verdict)


def show_causes(verdict: "GoodnessOfFit") -> None:
    """Print what would explain a model that is rejected, each quantity moved alone."""
    from experiments.terminal.console import number, table

    table(
        f"What would explain it, {verdict.bicycle}: each alone, the best first",
        ["quantity", "unit", "nominal", "would be", "deviations", "explains", "chi-square left"],
        [
            [
                cause.name,
                cause.unit,
                f"{cause.nominal:.5g}",
                f"{cause.moved:.5g}",
                f"{cause.deviations:+.1f}" + ("" if cause.measured else " usual"),
                f"{cause.chi2_explained:.0f}",
                number(cause.chi2_left, 1),
            ]
            for cause in verdict.causes
        ],
        "deviations: of its own standard deviation, or of what is usual where nobody gave one; explains: of the\n"
        "chi-square of lean rate, steer and yaw rate themselves; left: of the eigenvalues, predicted again with it",
    )


def _parse_window(text: str | None) -> tuple[float, float] | None:
    from models.errors import InputError

    if text is None:
        return None
    try:
        start, end = (float(part) for part in text.split(":"))
    except ValueError:
        raise InputError(
            f"'{text}' is not a window: give its start and end in s as A:B, for example 9.9:12.5"
        ) from None
    return start, end
