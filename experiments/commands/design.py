"""`riderless design`: gains over speed."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from riderless.experiments.commands._options import (
    BicycleOrRig,
    Force,
    Trust,
    complete_method,
    refuse_ignored,
    require_figure,
)
from riderless.experiments.commands._shared_options import AsJson, DriveKind
from riderless.hil.output_file import OutputFile, files_read
from riderless.models.errors import InputError

if TYPE_CHECKING:
    from riderless.experiments.analysis.identification.identifiability import WeaveMeasurability
    from riderless.hil.design.schedule import GainSchedule
    from riderless.models.linear.prescribed_steer import InnerLoop
    from riderless.models.parameters import Bicycle

NAMED_OPTIONS = ("like", "what", "inner")  # whose values are names, which need no quotes


def design(
    context: typer.Context,
    bike: BicycleOrRig,
    method: Annotated[
        str,
        typer.Option(
            autocompletion=complete_method,
            help="Method of design: lqr, poles, lean, match, off, lane, lqg or yaw_rate; with a rate or angle drive "
            "lqr, cascade, lane, lqg or yaw_rate.",
        ),
    ] = "lqr",
    purpose: Annotated[
        Literal["balancing", "measuring"],
        typer.Option(
            "--for", help="measuring: gentle gains (lqr, poles, lane, lqg, cascade), under which the weave lasts."
        ),
    ] = "balancing",
    speeds: Annotated[str, typer.Option(help="m/s, as FROM:TO:STEP or a list.")] = "2:8:0.5",
    rate: Annotated[float, typer.Option(help="Rate of the loop, Hz.")] = 200.0,
    drive_lag: Annotated[float, typer.Option(help="Time constant of the steer drive, s.")] = 0.005,
    delay: Annotated[float, typer.Option(help="Samples from a measurement to its torque, 0 to 1; our node has 1.")] = 1,
    drive: DriveKind = "torque",
    bandwidth: Annotated[float, typer.Option(help="Of a rate or angle drive's inner loop, rad/s.")] = 50.0,
    damping: Annotated[
        float | None, typer.Option(help="Of that loop, 1 without overshoot; without it a rate has a first-order lag.")
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option("--set", help="An option of the method, NAME=VALUE; see `docs/design.md`. May be repeated."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the gains to this TOML file.")] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw gains, eigenvalues and margins to this file: .svg, .pdf or .png.")
    ] = None,
    force: Force = False,
    trust: Trust = False,
    as_json: AsJson = False,
) -> None:
    """Design steer-torque gains over speed for the sampled, delayed loop; refuse what would not be stable.

    The table says at each speed whether the weave can be measured after kicks by hand, 3.2 s apart: how many cycles
    a window holds, by the rules of `riderless analyze`.
    """
    from riderless.experiments.analysis.identification.identifiability import emulated_loop
    from riderless.experiments.commands._design_other import (
        design_with_states,
        inner_loop_of,
        show_steered,
        whole_loop_growth,
    )
    from riderless.experiments.commands._machines import named_rig
    from riderless.experiments.emulation.margins import weave_after_kicks
    from riderless.experiments.terminal.console import emit_json, parse_speeds, print_written, progress_screen
    from riderless.hil.controllers.timing import LoopTiming
    from riderless.hil.design.compensators.registry import COMPENSATORS
    from riderless.hil.design.methods import design as design_gains
    from riderless.models.catalogue import load_bicycle

    rig = named_rig(bike, trust)
    if rig is not None:
        why = f"the rig file {bike} has its own; leave it out, or name a bicycle"
        refuse_ignored(context, "rate", "delay", "drive_lag", "drive", "bandwidth", "damping", because=why)
    inner_loop = rig.drive if rig else inner_loop_of(context, drive, bandwidth, damping)
    if inner_loop is not None:
        refuse_ignored(context, "plot", because="the figure draws gains of a torque; leave it out")
    if plot is not None:
        from riderless.experiments.reports.loop import plot_design

        require_figure(plot, force, bike, out)
    gains = OutputFile(out, "the gains", force, files_read(bike)) if out is not None else None
    if gains is not None:
        gains.require_free()
    bicycle = rig.bicycle if rig else load_bicycle(bike, trust)
    options = _options(bicycle, method, purpose, option or [], inner_loop)
    loop = rig.timing if rig else LoopTiming(rate=rate, delay=delay, drive_lag=drive_lag)
    if method in COMPENSATORS:
        design_with_states(bicycle, method, parse_speeds(speeds), loop, options, gains, as_json, plot, inner_loop)
        return
    schedule = design_gains(bicycle, method, parse_speeds(speeds), loop, drive=inner_loop, **options)
    if inner_loop is not None:
        show_steered(schedule, gains, as_json)
        return
    if gains is not None:
        gains.write(schedule.to_toml())
    if plot is not None:
        plot_design(schedule, path=plot)
    whole = emulated_loop(schedule)
    with progress_screen.status("kicking the loop in simulation"):
        weave = weave_after_kicks(whole, schedule.v.tolist())
    growth = whole_loop_growth(schedule, whole)
    if as_json:
        emit_json(_document(schedule, weave, growth, purpose, out, plot))
        return
    _show(schedule, weave, growth, purpose)
    for what, file in (("gains", out), ("figure", plot)):
        if file is not None:
            print_written(what, file)


def _options(
    bicycle: "Bicycle", method: str, purpose: str, given: list[str], drive: "InnerLoop | None"
) -> dict[str, Any]:
    """Options of the method: the gentle ones where the weave is to be measured, and those given on top of them."""
    from riderless.experiments.campaigns.protocols.plan_inputs import gentle_options
    from riderless.experiments.commands._machines import names_method

    named = [_option(text) for text in given]
    options = dict(named)
    twice = next((name for name in options if sum(name == option for option, _ in named) > 1), None)
    if twice is not None:
        raise InputError(f"--set {twice} is given twice: leave one of them out")
    if purpose == "balancing":
        return options
    gentle = gentle_options(bicycle, method, drive)
    if names_method(method) and not gentle:
        raise InputError(
            f"--for measuring would be ignored: {method} has no gentle gains; take --method lqr or --method poles"
        )
    return gentle | options


def _rows(schedule: "GainSchedule", weave: "Sequence[WeaveMeasurability]") -> Iterator[tuple[Any, ...]]:
    """Speed, gains, closed-loop eigenvalues, margins, measurability and note of each row of a schedule."""
    yield from zip(schedule.v, schedule.K, schedule.closed_loop, schedule.margins, weave, schedule.notes, strict=True)


def _document(
    schedule: "GainSchedule",
    weave: "Sequence[WeaveMeasurability]",
    growth: "Sequence[float]",
    purpose: str,
    out: Path | None,
    plot: Path | None,
) -> dict[str, Any]:
    """Gains and what they promise, for JSON; SI."""
    import numpy as np

    return {
        "bike": schedule.bicycle.name,
        "method": schedule.method,
        "for": purpose,
        "options": schedule.options,
        "rate": schedule.rate,
        "states": schedule.gain_states,
        "path": str(out) if out else None,
        "figure": str(plot) if plot else None,
        "rows": [
            {
                "v": v,
                "K": K,
                "closed_loop": eigenvalues[np.isfinite(eigenvalues.real)],
                "gain_margin": margins.gain,
                "phase_margin": margins.phase,
                "delay_margin": margins.delay,
                "whole_loop_growth": grows,
                "weave_measurable": lasting.measurable,
                "weave_cycles": lasting.cycles,
                "note": note,
            }
            for (v, K, eigenvalues, margins, lasting, note), grows in zip(_rows(schedule, weave), growth, strict=True)
        ],
    }


def _show(
    schedule: "GainSchedule", weave: "Sequence[WeaveMeasurability]", growth: "Sequence[float]", purpose: str
) -> None:
    """Print gains, then closed loop and margins over speed, and the notes; growth [1/s] is of the whole loop."""
    from riderless.experiments.commands._design_other import describe_fall
    from riderless.experiments.reports.loop import FASTEST_SHOWN
    from riderless.experiments.reports.text import eigenvalue_text
    from riderless.experiments.terminal.console import print_table, screen
    from riderless.hil.design.margins import MARGIN_HEADS

    gentle = ", gentle for measuring" if purpose == "measuring" else ""
    name = f"{schedule.bicycle.name}, {schedule.method}{gentle}"
    print_table(
        f"{name}: gains K of T_delta = -K z",
        ["v m/s", *schedule.gain_states],
        [[f"{v:g}", *(f"{k:.3g}" for k in K)] for v, K in zip(schedule.v, schedule.K, strict=True)],
    )
    print_table(
        f"{name}: closed loop",
        ["v m/s", "weave measurable", *MARGIN_HEADS, "eigenvalues 1/s"],
        [
            [
                f"{v:g}",
                str(lasting),
                *margins.as_text(),
                "  ".join(eigenvalue_text(s) for s in eigenvalues if s.imag >= 0 and s.real > -FASTEST_SHOWN),
            ]
            for v, _, eigenvalues, margins, lasting, _ in _rows(schedule, weave)
        ],
        f"Not shown: eigenvalues faster than {FASTEST_SHOWN:g} 1/s, of drive and delay. Cycles of the weave: within\n"
        "a window after a kick by hand, the next one 3.2 s later; a fit wants one.",
    )
    for v, *_, note in _rows(schedule, weave):
        if note:
            screen.print(f"at {v:g} m/s: {note}")
    if fall := describe_fall(schedule, growth):
        screen.print(fall)
    gone = [i for i, mode in enumerate(weave) if not mode.measurable]
    if gone:
        where = _listed(gone, schedule.v.tolist())
        screen.print(f"the weave cannot be measured at {where} m/s{_remedy(schedule.method, purpose)}")


def _listed(which: list[int], speeds: "Sequence[float]") -> str:
    """List some of the speeds, neighbours as a range: 2 to 4.5, 7."""
    from riderless.experiments.reports.text import consecutive

    ends = [(speeds[group[0]], speeds[group[-1]]) for group in consecutive(which)]
    return ", ".join(f"{first:g}" if first == last else f"{first:g} to {last:g}" for first, last in ends)


def _remedy(method: str, purpose: str) -> str:
    """Say which gains leave more of the weave, where there are any."""
    if method in ("lqr", "poles", "lane") and purpose == "balancing":
        return f": --method {method} --for measuring damps it less"
    return ": --method poles --for measuring lets it last" if method != "poles" else ""


def _option(text: str) -> tuple[str, Any]:
    """NAME=VALUE, the value read as TOML reads it: a number, a list of numbers, or the name of a bicycle or method."""
    import tomllib

    from riderless.models.file_format import load_toml

    name, _, value = text.partition("=")
    try:
        return name.strip(), load_toml(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        if name.strip() in NAMED_OPTIONS and value.strip():
            return name.strip(), value.strip()
        raise InputError(f"'{text}' is not an option: write NAME=VALUE, for example k=2 or poles=[-3, -12]") from None
