"""`riderless certify`: proof of stability at a changing speed."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from riderless.experiments.commands._options import (
    Force,
    JudgedBicycle,
    JudgedController,
    JudgedRig,
    Trust,
    refuse_ignored,
)
from riderless.experiments.commands._shared_options import AllowMismatch, AsJson
from riderless.hil.output_file import OutputFile, files_read

if TYPE_CHECKING:
    from riderless.experiments.emulation.certify import Certification, CounterExample
    from riderless.hil.design.certificate.certificate import Certificate


def certify(
    context: typer.Context,
    controller: JudgedController,
    rig: JudgedRig = None,
    bike: JudgedBicycle = None,
    speeds: Annotated[
        str | None, typer.Option(help="m/s, lowest and highest, as 2,8; by default those of the controller.")
    ] = None,
    acceleration: Annotated[float, typer.Option(help="Largest change of the speed [m/s2].")] = 1.0,
    std: Annotated[float, typer.Option(help="Standard deviations of bicycle and machine, up to which it holds.")] = 2.0,
    directions: Annotated[
        int, typer.Option(min=0, max=4, help="Directions of the deviations that are proved; the rest is drawn.")
    ] = 2,
    deviations: Annotated[
        str, typer.Option(help="own, or usual: those of measured bicycles where the bicycle has none.")
    ] = "own",
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the certificate to this file (.npz).")] = None,
    allow_mismatch: AllowMismatch = False,
    force: Force = False,
    trust: Trust = False,
    as_json: AsJson = False,
) -> None:
    """Prove that the sampled loop stays stable while the speed changes, or show where it does not.

    It takes about half a minute. The linear loop near upright is proved, as it is flown: with delay, drive lag and
    observer. Exit code 1: no certificate was found.
    """
    from dataclasses import replace

    from riderless.experiments.commands._machines import gains_of, machine_for
    from riderless.experiments.dynamics import usual_std
    from riderless.experiments.emulation.certify import certify as search
    from riderless.experiments.terminal.console import parse_speeds, progress_screen
    from riderless.models.errors import InputError

    if deviations not in ("own", "usual"):
        raise InputError(f"wanted --deviations own or usual, found '{deviations}': give one of the two")
    if rig is not None:
        refuse_ignored(context, "bike", because=f"the rig file {rig} has its own; leave it out")
    file = None if out is None else OutputFile(out, "the certificate", force, files_read(controller, rig))
    if file is not None:
        file.require_free()
    looked = parse_speeds(speeds) if speeds else []
    machine = machine_for(rig, bike, controller, trust)
    made = gains_of(controller, machine, looked)
    if deviations == "usual":
        bicycle = replace(machine.bicycle, std={**usual_std(), **machine.bicycle.std})
        machine = replace(machine, bicycle=bicycle)
    with progress_screen.status("reading") as status:
        result = search(
            made,
            machine,
            (min(looked), max(looked)) if looked else None,
            acceleration=acceleration,
            std=std,
            directions=directions,
            allow_mismatch=allow_mismatch,
            tell=status.update,
        )
    if file is not None and result.certificate is not None:
        file.write(result.certificate.as_bytes())
    _tell(result, out if result.certificate is not None else None, as_json)
    if result.certificate is None:
        raise typer.Exit(1)


def _tell(result: "Certification", out: Path | None, as_json: bool) -> None:
    """Print what was found, as JSON or as sentences."""
    from riderless.experiments.terminal.console import emit_json, print_written, screen

    made, instead = result.certificate, result.instead
    if as_json:
        emit_json(
            {
                "certified": made is not None,
                "reason": result.reason or None,
                "certificate": None if made is None else {**made.head, "speeds": made.speeds, "decay": made.decay},
                "instead": None if instead is None else {**instead.head, "speeds": instead.speeds},
                "counter_example": None if result.counter_example is None else vars(result.counter_example),
                "drawn": result.drawn,
                "drawn_shrunk": result.shrunk,
                "drawn_stable": result.stable,
                "file": out,
            }
        )
        return
    if made is None:
        screen.print(f"no certificate: {result.reason}", soft_wrap=True)
        if result.counter_example is not None:
            screen.print(_in_words(result.counter_example), soft_wrap=True)
        if instead is not None:
            screen.print(f"what does hold: {_claim(instead)}", soft_wrap=True)
        elif result.counter_example is None:
            screen.print(
                "stable at each kept speed; at a changing one neither proved nor disproved: try a smaller range of "
                "--speeds, or a smaller --acceleration",
                soft_wrap=True,
            )
        return
    screen.print(_claim(made), soft_wrap=True)
    screen.print(f"a motion decays by at least {made.decay:.2g} 1/s; slowest at {made.slowest:.3g} m/s")
    if result.drawn:
        screen.print(
            f"a sample, no proof: of {result.drawn} machines drawn with all {made.head['deviations']} deviations "
            f"{result.stable} are stable at each kept speed, {result.shrunk} by the same Lyapunov function",
            soft_wrap=True,
        )
    screen.print("proved for the linear loop near upright: not for torque limits, noise, gusts or falls", style="dim")
    if out is not None:
        print_written("certificate", out)


def _claim(certificate: "Certificate") -> str:
    """Claim of a certificate, in a sentence."""
    from riderless.experiments.dynamics import plain_name

    head, (low, high) = certificate.head, certificate.speeds
    names = ", ".join(plain_name(name) for name in head["directions"])
    machines = f"deviations up to {head['std']:g} standard deviations ({names} and what goes with them)"
    return (
        f"{head['bicycle']} under {head['controller']} is stable from {low:g} to {high:g} m/s while its speed changes "
        f"by at most {head['acceleration']:g} m/s2" + (f", with {machines}" if names else ", without deviations")
    )


def _in_words(found: "CounterExample") -> str:
    """Motion that grows, in a sentence."""
    from riderless.experiments.dynamics import plain_name

    values = ", ".join(f"{plain_name(name)} {value:+.2g}" for name, value in found.machine.items())
    machine = f" with {values} standard deviations" if values else ""
    falls = "" if found.falls_after == float("inf") else f"; a lean of 1 deg is 30 deg after {found.falls_after:.1f} s"
    if found.growth == found.growth:
        mend = "choose --speeds that leave it out, or design for it" if not values else "measure these, or lower --std"
        return f"at {found.v:.3g} m/s{machine} a motion grows by {found.growth:.2g} 1/s{falls}: {mend}"
    return f"a speed that goes up and down, from {found.v:.3g} m/s on, lets a motion grow{falls}: lower --acceleration"
