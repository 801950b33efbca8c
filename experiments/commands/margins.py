"""`riderless margins`: closed loop over speed."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from riderless.experiments.commands._options import (
    Force,
    JudgedBicycle,
    JudgedController,
    JudgedRig,
    Trust,
    refuse_ignored,
    require_figure,
)
from riderless.experiments.commands._shared_options import AllowMismatch, AsJson

if TYPE_CHECKING:
    from riderless.experiments.analysis.identification.loop_margins import LoopMargins
    from riderless.hil.rig.rig import Rig

LEAST_TOLD = 1e-3  # of a command, from which on a law's distance from its linearisation is told


def margins(
    context: typer.Context,
    controller: JudgedController,
    rig: JudgedRig = None,
    bike: JudgedBicycle = None,
    speeds: Annotated[
        str | None, typer.Option(help="m/s, as FROM:TO:STEP or a list; by default those of the controller.")
    ] = None,
    allow_mismatch: AllowMismatch = False,
    plot: Annotated[
        Path | None, typer.Option(help="Draw eigenvalues, margins, Bode and Nyquist diagrams: .svg, .pdf or .png.")
    ] = None,
    force: Force = False,
    trust: Trust = False,
    as_json: AsJson = False,
) -> None:
    """Judge a controller of any kind: eigenvalues, margins, sensitivity, and whether the weave can be measured.

    The loop is the whole sampled one with its observer, broken where the command enters the drive.
    """
    from riderless.experiments.commands._machines import gains_of, machine_for
    from riderless.experiments.emulation.margins import margins as judge
    from riderless.experiments.terminal.console import parse_speeds, progress_screen

    if plot is not None:
        require_figure(plot, force, controller, rig)
    if rig is not None:
        refuse_ignored(context, "bike", because=f"the rig file {rig} has its own; leave it out")
    looked = None if speeds is None else parse_speeds(speeds)
    machine = machine_for(rig, bike, controller, trust)
    made = gains_of(controller, machine, looked or ())
    with progress_screen.status("kicking the loop in simulation"):
        loop_margins = judge(made, machine, looked, allow_mismatch=allow_mismatch)
    if plot is not None:
        from riderless.experiments.reports.loop import plot_margins

        plot_margins(loop_margins, path=plot)
    _tell(loop_margins, machine, plot, as_json)


def _tell(loop_margins: "LoopMargins", rig: "Rig", plot: Path | None, as_json: bool) -> None:
    """Print what was found, as JSON or as tables."""
    from riderless.experiments.reports.loop import FASTEST_SHOWN
    from riderless.experiments.reports.text import eigenvalue_text, number_text
    from riderless.experiments.terminal.console import emit_json, print_table, print_written, screen
    from riderless.hil.design.margins import MARGIN_HEADS
    from riderless.hil.rig.stable import FASTEST_GROWTH

    made = loop_margins.loop.schedule
    if as_json:
        rows: list[dict[str, Any]] = [
            {
                "v": row.v,
                "closed_loop": row.eigenvalues,
                "gain_margin": row.margins.gain,
                "phase_margin": row.margins.phase,
                "delay_margin": row.margins.delay,
                "sensitivity_peak": row.sensitivity.value,
                "sensitivity_peak_omega": row.sensitivity.omega,
                "weave_measurable": row.weave.measurable,
                "weave_cycles": row.weave.cycles,
                "nonlinearity": row.nonlinearity,
            }
            for row in loop_margins
        ]
        head = {"bike": loop_margins.loop.bicycle.name, "rig": rig.name, "method": made.method, "rate": rig.rate}
        emit_json({**head, "inputs": made.inputs, "states": made.states, "figure": plot, "rows": rows})
        return
    print_table(
        f"{loop_margins.title}: margins, broken where the command enters the drive",
        ["v m/s", "weave measurable", *MARGIN_HEADS, "peak sensitivity"],
        [
            [f"{row.v:g}", str(row.weave), *row.margins.as_text(), number_text(row.sensitivity.value, 2)]
            for row in loop_margins
        ],
        "Cycles of the weave: within a window after a kick by hand, the next one 3.2 s later; a fit wants one.",
    )
    print_table(
        f"{loop_margins.title}: whole sampled loop, observer and controller included",
        ["v m/s", "eigenvalues 1/s"],
        [
            [
                f"{row.v:g}",
                "  ".join(eigenvalue_text(s) for s in row.eigenvalues if s.imag >= 0 and s.real > -FASTEST_SHOWN),
            ]
            for row in loop_margins
        ],
        f"Not shown: eigenvalues faster than {FASTEST_SHOWN:g} 1/s.",
    )
    bent = max(loop_margins, key=lambda row: row.nonlinearity if row.nonlinearity == row.nonlinearity else -1.0)
    if bent.nonlinearity > LEAST_TOLD:
        screen.print(
            f"after a kick by hand the law leaves its linearisation by up to {100.0 * bent.nonlinearity:.2g} % of its "
            f"largest command, at {bent.v:g} m/s"
        )
    for row in loop_margins:
        growth = row.eigenvalues.real.max()
        if growth > FASTEST_GROWTH:
            screen.print(f"at {row.v:g} m/s it falls, by {growth:+.3g} 1/s: `riderless run` refuses this controller")
    if plot is not None:
        print_written("figure", plot)
