"""`riderless design --drive`: a rate or angle drive."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from riderless.experiments.commands._options import refuse_ignored
from riderless.hil.output_file import OutputFile
from riderless.models.errors import InputError

if TYPE_CHECKING:
    from riderless.hil.controllers.timing import LoopTiming
    from riderless.hil.design.closed_loop import SampledLoop
    from riderless.hil.design.schedule import GainSchedule
    from riderless.models.linear.prescribed_steer import InnerLoop
    from riderless.models.parameters import Bicycle


ANGLE_DAMPING = 1.0  # of an angle drive where none is given: no overshoot


def inner_loop_of(context: typer.Context, kind: str, bandwidth: float, damping: float | None) -> "InnerLoop | None":
    """Read the drive's inner loop from the options of `riderless design`; None for a torque.

    Parameters
    ----------
    context : typer.Context
        Of the command.
    kind : str
        torque, rate or angle.
    bandwidth : float
        rad/s.
    damping : float or None

    Raises
    ------
    InputError
        Options that do not go together, or no such drive.
    """
    from riderless.models.linear.prescribed_steer import InnerLoop

    if kind == "torque":
        refuse_ignored(context, "bandwidth", "damping", because="a torque drive has --drive-lag; take --drive rate")
        return None
    refuse_ignored(context, "drive_lag", because=f"a drive of kind {kind} has --bandwidth and --damping; leave it out")
    if kind not in ("rate", "angle"):
        raise InputError(f"--drive is torque, rate or angle, found {kind!r}")
    return InnerLoop(
        kind="rate" if kind == "rate" else "angle",
        bandwidth=bandwidth,
        damping=ANGLE_DAMPING if kind == "angle" and damping is None else damping,
    )


def show_steered(schedule: "GainSchedule", out: "OutputFile | None", as_json: bool) -> None:
    """Write gains that command a steer rate or angle, and print them with what they promise and ask of the drive."""
    from riderless.experiments.analysis.identification.identifiability import emulated_loop
    from riderless.experiments.reports.text import eigenvalue_text, number_text
    from riderless.experiments.terminal.console import emit_json, print_table, print_written, screen
    from riderless.hil.design.margins import MARGIN_HEADS
    from riderless.hil.design.steered.peaks import HAND_KICK

    if out is not None:
        out.write(schedule.to_toml())
    rows, loop = list(_rows(schedule)), schedule.drive
    growth = whole_loop_growth(schedule, emulated_loop(schedule))
    assert loop is not None
    if as_json:
        rows = [
            row | {"peaks": row["peaks"]._asdict(), "whole_loop_growth": grows}
            for row, grows in zip(rows, growth, strict=True)
        ]
        head = {"bike": schedule.bicycle.name, "method": schedule.method, "options": schedule.options}
        drive = {"kind": loop.kind, "bandwidth": loop.bandwidth, "damping": loop.damping}
        path = str(out.path) if out else None
        emit_json(
            {**head, "drive": drive, "rate": schedule.rate, "states": schedule.gain_states, "path": path, "rows": rows}
        )
        return
    name = f"{schedule.bicycle.name}, {schedule.method}, steer {loop.kind} in {loop.unit}"
    print_table(
        f"{name}: gains K of {schedule.command} = -K z",
        ["v m/s", *schedule.gain_states],
        [[f"{row['v']:g}", *(f"{k:.3g}" for k in row["K"])] for row in rows],
    )
    print_table(
        f"{name}: closed loop, with a lag of {1e3 * loop.lag:.3g} ms",
        ["v m/s", "slowest 1/s", "off by %", *MARGIN_HEADS, "kick rad/s, N m"],
        [
            [
                f"{row['v']:g}",
                eigenvalue_text(row["slowest"]),
                number_text(100.0 * abs(row["slowest_stiff"] / row["slowest"] - 1.0), 1),
                *row["margins"].as_text(),
                f"{number_text(row['peaks'].delta_dot, 1)}, {number_text(row['peaks'].T, 1)}",
            ]
            for row in rows
        ],
        "Off by: the same eigenvalue under a drive that makes torque from its error.\n"
        f"Kick: greatest steer rate and torque that a lean rate of {HAND_KICK:g} rad/s asks\n"
        "of the drive; where it has less, its steer does not follow.",
    )
    if fall := describe_fall(schedule, growth):
        screen.print(fall)
    if out is not None:
        print_written("gains", out.path)


def _rows(schedule: "GainSchedule") -> "list[dict[str, Any]]":
    """Speed, gains, slowest eigenvalues (prescribed, and with the drive's torque), margins and peaks at each speed."""
    from riderless.hil.design.sampled_plant import continuous
    from riderless.hil.design.steered.peaks import kick_peaks
    from riderless.hil.design.steered.sampled_steer import sampled_steer

    assert schedule.drive is not None
    rows = []
    for v, K, eigenvalues, margins in zip(schedule.v, schedule.K, schedule.closed_loop, schedule.margins, strict=True):
        stiff = sampled_steer(
            schedule.bicycle, float(v), schedule.loop, schedule.drive, stiff=True, in_lane=schedule.keeps_lane
        )
        made = {"v": v, "K": K, "slowest": eigenvalues[0], "margins": margins}
        made["slowest_stiff"] = continuous(stiff.closed_loop(K), schedule.loop.dt)[0]
        rows.append(made | {"peaks": kick_peaks(schedule, float(v))})
    return rows


# Design of a controller with states of its own, as `riderless design` shows it.


def design_with_states(
    bicycle: "Bicycle",
    method: str,
    speeds: "Sequence[float]",
    timing: "LoopTiming",
    options: dict[str, Any],
    out: "OutputFile | None",
    as_json: bool,
    plot: Path | None = None,
    drive: "InnerLoop | None" = None,
) -> None:
    """Design, write, draw and show.

    Parameters
    ----------
    bicycle : Bicycle
    method : str
        Name in `COMPENSATORS`.
    speeds : sequence of float
        [m/s].
    timing : LoopTiming
    options : dict
        Of the method.
    out : OutputFile or None
        Where its matrices go.
    as_json : bool
    plot : Path or None
        Where its figure goes.
    drive : InnerLoop or None
        Of a drive that obeys a steer rate or angle; None: a torque.

    Raises
    ------
    InputError
    """
    from riderless.experiments.emulation.margins import margins as judge
    from riderless.experiments.reports.loop import FASTEST_SHOWN, plot_margins
    from riderless.experiments.reports.text import eigenvalue_text
    from riderless.experiments.terminal.console import emit_json, print_table, print_written, screen
    from riderless.hil.design.compensators.methods import design_compensator
    from riderless.hil.design.margins import MARGIN_HEADS
    from riderless.hil.rig.stable import FASTEST_GROWTH

    made = design_compensator(bicycle, method, speeds, timing, drive=drive, **options)
    if out is not None:
        out.write(made.to_toml())
    judged = judge(made)
    eigenvalues_at = {row.v: row.eigenvalues for row in judged}
    margins = {row.v: row.margins for row in judged}
    if plot is not None:
        plot_margins(judged, path=plot)
    if as_json:
        rows = [
            {
                "v": v,
                "closed_loop": eigenvalues,
                "gain_margin": margins[v].gain,
                "phase_margin": margins[v].phase,
                "delay_margin": margins[v].delay,
            }
            for v, eigenvalues in eigenvalues_at.items()
        ]
        head = {"bike": bicycle.name, "method": made.method, "options": made.options, "rate": made.rate}
        head |= {"drive": drive.as_table()} if drive else {}
        emit_json(
            {**head, "inputs": made.inputs, "states": made.states, "path": _path(out), "figure": plot, "rows": rows}
        )
        return
    print_table(
        f"{bicycle.name}, {made.method}: whole sampled loop, observer and controller included",
        ["v m/s", "eigenvalues 1/s"],
        [
            [f"{v:g}", "  ".join(eigenvalue_text(s) for s in each if s.imag >= 0 and s.real > -FASTEST_SHOWN)]
            for v, each in eigenvalues_at.items()
        ],
        f"Inputs: {', '.join(made.inputs)}.\n{len(made.states)} states of its own: {', '.join(made.states[:3])} ...\n"
        f"Not shown: eigenvalues faster than {FASTEST_SHOWN:g} 1/s.",
    )
    print_table(
        f"Margins of that loop, broken where the {drive.kind if drive else 'torque'} command enters the drive",
        ["v m/s", *MARGIN_HEADS],
        [[f"{v:g}", *each.as_text()] for v, each in margins.items()],
    )
    for v, each in eigenvalues_at.items():
        if each[0].real > FASTEST_GROWTH:
            screen.print(f"at {v:g} m/s it falls, by {each[0].real:+.3g} 1/s: `riderless run` refuses this controller")
    for what, file in (("controller", _path(out)), ("figure", plot)):
        if file is not None:
            print_written(what, file)


def _path(out: "OutputFile | None") -> Path | None:
    return None if out is None else out.path


# Whole loop of a design: what becomes of its gains with the observer, which the design itself leaves out.


def whole_loop_growth(schedule: "GainSchedule", loop: "SampledLoop") -> list[float]:
    """Find the largest real part [1/s] of its whole loop at each speed, minus infinity where there is no command."""
    return [float(loop.eigenvalues(v)[0].real) if schedule.K.any() else -float("inf") for v in schedule.v.tolist()]


def describe_fall(schedule: "GainSchedule", growth: Sequence[float]) -> str:
    """Say where the whole loop falls fastest; nothing where it falls nowhere."""
    from riderless.hil.rig.stable import FASTEST_GROWTH

    worst, v = max(zip(growth, schedule.v.tolist(), strict=True))
    if worst <= FASTEST_GROWTH:
        return ""
    return (
        f"with the observer of the loop it falls: at {v:g} m/s an eigenvalue of {worst:+.3g} 1/s; "
        "`riderless run` refuses these gains at that speed"
    )
