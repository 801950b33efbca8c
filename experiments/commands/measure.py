"""`riderless measure`: bicycle from a lab's readings."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from riderless.experiments.commands._options import Force, Trust
from riderless.experiments.commands._shared_options import AsJson

if TYPE_CHECKING:
    from riderless.models.measured.measurement import MeasuredBicycle


def measure(
    readings: Annotated[
        Path | None, typer.Argument(help="Readings: a TOML file, or a Measured.txt of BicycleParameters.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the bicycle to this file (TOML).")] = None,
    template: Annotated[bool, typer.Option("--template", help="Write a blank readings file and stop.")] = False,
    sheet: Annotated[bool, typer.Option("--sheet", help="Print a blank sheet for paper and stop.")] = False,
    way: Annotated[
        list[str] | None, typer.Option("--way", help="For --template and --sheet: table or split-fork; once for each.")
    ] = None,
    peer: Annotated[
        Path | None, typer.Option("--import", help="Measured.txt of BicycleParameters, written as the readings file.")
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option("--without", help="Reading to leave out, such as TtB1; once for each.")
    ] = None,
    speeds: Annotated[str, typer.Option(help="m/s, where the weave is looked at: FROM:TO:STEP or a list.")] = "4,5,6",
    report: Annotated[Path | None, typer.Option("--report", help="Page (HTML) with parameters and doubts.")] = None,
    force: Force = False,
    trust: Trust = False,
    as_json: AsJson = False,
) -> None:
    """Make a bicycle of weights, hanging lines and swings, with deviations and correlations; doubt the readings.

    The readings file is never rewritten.
    """
    from riderless.experiments.terminal.console import emit_json, parse_speeds, print_line, print_written
    from riderless.hil.output_file import OutputFile, files_read
    from riderless.models.errors import InputError
    from riderless.models.measured.measurement import measure as measure_bicycle
    from riderless.models.measured.peer_file import readings_toml
    from riderless.models.measured.reading_files import read_readings
    from riderless.models.measured.template import sheet_text, template_toml

    ways = way or []
    if sheet:
        for line in sheet_text(ways).splitlines():
            print_line(line)
        return
    if template:
        text = template_toml(ways, readings.stem if readings else "Ours")
        if readings is None:
            for line in text.splitlines():
                print_line(line)
        else:
            OutputFile(readings, "the readings file", False).write(text)
            print_written("blank readings", readings)
        return
    if ways:
        raise InputError("--way chooses a template: give it with --template or --sheet")
    if peer is not None:
        lab_readings = read_readings(peer)
        if readings is not None:
            OutputFile(readings, "the readings file", False, files_read(peer)).write(readings_toml(lab_readings))
            if not as_json:
                print_written("readings", readings)
    elif readings is not None:
        lab_readings = read_readings(readings)
    else:
        raise InputError("wanted a file of readings: give one, or make a blank one with --template")
    inputs = files_read(readings, peer)
    places = [
        OutputFile(path, what, force, inputs)
        for path, what in ((out, "the bicycle"), (report, "the page"))
        if path is not None
    ]
    for place in places:
        place.require_free()
    measured = measure_bicycle(lab_readings, without or [], parse_speeds(speeds), trust)
    if out is not None:
        OutputFile(out, "the bicycle", force, inputs).write(measured.bicycle.to_toml())
    if report is not None:
        from riderless.experiments.reports.measured import measured_page

        OutputFile(report, "the page", force, inputs).write(measured_page(measured))
    if as_json:
        emit_json(_document(measured, out))
        return
    _show(measured)
    if out is not None:
        print_written("bicycle", out)
    if report is not None:
        print_written("page", report)


def _document(measured: "MeasuredBicycle", out: Path | None) -> dict[str, Any]:
    """Everything found, for JSON; SI."""
    return {
        "bicycle": measured.bicycle.as_dict(),
        "weighted": measured.weighted.as_dict() if measured.weighted else None,
        "weave": [band._asdict() | {"shares": [share._asdict() for share in band.shares]} for band in measured.weave],
        "checks": [
            {
                "set": check.each.words,
                "readings": check.each.symbols,
                "chi2": check.chi2,
                "freedom": check.each.freedom,
                "probability": check.probability,
                "residuals": check.residuals,
            }
            for check in measured.checks
        ],
        "doubts": [{"readings": doubt.symbols, "sentence": doubt.sentence} for doubt in measured.doubts],
        "left_out": measured.readings.left_out,
        "path": str(out) if out else None,
    }


def _show(measured: "MeasuredBicycle") -> None:
    """Print the weave first, then doubts, parameters, consistency and what the deviations come from."""
    from riderless.experiments.terminal.console import print_table, screen
    from riderless.models.measured.measurement import band_sentence, describe
    from riderless.models.parameter_table import PARAMETERS

    for band in measured.weave:
        screen.print(band_sentence(band), style="bold", soft_wrap=True)
    for doubt in measured.doubts:
        screen.print(f"DOUBT {doubt.sentence}", soft_wrap=True)
    for note in measured.readings.period_notes:
        screen.print(note, soft_wrap=True)
    if measured.readings.left_out:
        screen.print(f"left out: {', '.join(measured.readings.left_out)}", soft_wrap=True)
    screen.print()
    other = measured.weighted
    print_table(
        f"{measured.bicycle.name}: parameters, SI",
        ["", "value", "std", "weighted", "unit", "meaning"],
        [
            [
                name,
                f"{getattr(measured.bicycle, name):.6g}",
                f"{measured.bicycle.std.get(name, 0.0):.2g}",
                f"{getattr(other, name):.6g}" if other else "-",
                unit,
                meaning + (" (not measured)" if name in measured.bicycle.missing else ""),
            ]
            for name, (unit, meaning) in PARAMETERS.items()
        ],
        "value: all lines and swings of a part count alike; weighted: by what is stated of each.",
    )
    for check in measured.checks:
        screen.print(check.sentence, soft_wrap=True)
    screen.print()
    middle = measured.weave[len(measured.weave) // 2]
    shares = middle.shares[:10]
    if shares:
        print_table(
            f"share of each reading in the weave's variance at {middle.v:g} m/s",
            ["reading", "re %", "im %"],
            [[describe(share.name), f"{100.0 * share.re:.0f}", f"{100.0 * share.im:.0f}"] for share in shares],
            "Measure the first ones better: they make the deviation of the weave.",
        )
