"""Design of a controller with states of its own, as `riderless design` shows it."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from riderless.hil.controllers.timing import LoopTiming
    from riderless.hil.output_file import OutputFile
    from riderless.models.linear.prescribed_steer import InnerLoop
    from riderless.models.parameters import Bicycle


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
    from riderless.experiments.analysis.identification.identifiability import emulated_loop
    from riderless.experiments.reports.loop import FASTEST_SHOWN, plot_compensator
    from riderless.experiments.reports.text import eigenvalue_text
    from riderless.experiments.terminal.console import emit_json, print_table, print_written, screen
    from riderless.hil.design.compensators.methods import design_compensator
    from riderless.hil.design.margins import MARGIN_HEADS
    from riderless.hil.design.whole_margins import whole_margins
    from riderless.hil.rig.stable import FASTEST_GROWTH

    made = design_compensator(bicycle, method, speeds, timing, drive=drive, **options)
    if out is not None:
        out.write(made.to_toml())
    loop = emulated_loop(made)
    found = {float(v): loop.eigenvalues(float(v)) for v in made.v}
    margins = {v: whole_margins(loop, v) for v in found}
    if plot is not None:
        plot_compensator(made, loop, path=plot)
    if as_json:
        rows = [
            {
                "v": v,
                "closed_loop": eigenvalues,
                "gain_margin": margins[v].gain,
                "phase_margin": margins[v].phase,
                "delay_margin": margins[v].delay,
            }
            for v, eigenvalues in found.items()
        ]
        told = {"bike": bicycle.name, "method": made.method, "options": made.options, "rate": made.rate}
        told |= {"drive": drive.as_table()} if drive else {}
        emit_json(
            {**told, "inputs": made.inputs, "states": made.states, "path": _path(out), "figure": plot, "rows": rows}
        )
        return
    print_table(
        f"{bicycle.name}, {made.method}: whole sampled loop, observer and controller included",
        ["v m/s", "eigenvalues 1/s"],
        [
            [f"{v:g}", "  ".join(eigenvalue_text(s) for s in each if s.imag >= 0 and s.real > -FASTEST_SHOWN)]
            for v, each in found.items()
        ],
        f"Inputs: {', '.join(made.inputs)}.\n{len(made.states)} states of its own: {', '.join(made.states[:3])} ...\n"
        f"Not shown: eigenvalues faster than {FASTEST_SHOWN:g} 1/s.",
    )
    print_table(
        f"Margins of that loop, broken where the {drive.kind if drive else 'torque'} command enters the drive",
        ["v m/s", *MARGIN_HEADS],
        [[f"{v:g}", *each.as_text()] for v, each in margins.items()],
    )
    for v, each in found.items():
        if each[0].real > FASTEST_GROWTH:
            screen.print(f"at {v:g} m/s it falls, by {each[0].real:+.3g} 1/s: `riderless run` refuses this controller")
    for what, file in (("controller", _path(out)), ("figure", plot)):
        if file is not None:
            print_written(what, file)


def _path(out: "OutputFile | None") -> Path | None:
    return None if out is None else out.path
