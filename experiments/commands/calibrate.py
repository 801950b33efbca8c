"""`riderless calibrate`: calibration of a machine."""

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from riderless.experiments.commands._options import (
    ArmUnattended,
    names_in,
    refuse_ignored,
    require_attended,
    require_linux,
)
from riderless.experiments.commands._shared_options import AsJson, Emulated, Fifo, SerialPorts, Yes
from riderless.models.errors import InputError

if TYPE_CHECKING:
    from riderless.hil.rig.rig import Rig

_EMULATED_ROLLOUT = 5.0  # m


def calibrate(
    context: typer.Context,
    rig_file: Annotated[Path, typer.Argument(metavar="RIG", help="Rig file (TOML) to measure for, and to write.")],
    port: SerialPorts = None,
    emulated: Emulated = False,
    only: Annotated[str | None, typer.Option(help="Parts, with commas: gyro, mounting, steer, wheel, drive.")] = None,
    rollout_m: Annotated[float | None, typer.Option(help="m between the two marks of the roll-out.")] = None,
    torque: Annotated[
        float | None, typer.Option("--sweep-torque", help="N m, of the drive's sweep; by default, gentle.")
    ] = None,
    added_inertia: Annotated[
        float, typer.Option(help="kg m^2 about the steer axis beyond the bicycle's: rotor.")
    ] = 0.0,
    pull_test: Annotated[
        list[Path] | None, typer.Option(help="Table of a pull test (CSV): read it, measure nothing. Repeat.")
    ] = None,
    yes: Yes = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only measure, write nothing.")] = False,
    fifo: Fifo = 0,
    yes_arm_unattended: ArmUnattended = False,
    as_json: AsJson = False,
) -> None:
    """Measure what the rig file must know of sensors and drive; write it, and keep the old file.

    A person does what each step asks and presses Enter when ready. Any key ends a step in which the drive is
    on; Ctrl-C ends everything, with the drive off and the file as it was. Exit code 1 if a step failed.
    """
    require_linux("riderless calibrate")
    import math

    from riderless.experiments.commands._machines import paths_of, require_one_machine, rig_of
    from riderless.experiments.commands._pull_test import tell_pull_test
    from riderless.experiments.emulation.workstand import StandIn, start_by_hand
    from riderless.experiments.terminal.calibration import (
        CalibrationBench,
        calibration_document,
        show_changes,
        show_outcome,
    )
    from riderless.experiments.terminal.console import emit_json
    from riderless.hil.commissioning.calibration_results import Notes
    from riderless.hil.commissioning.calibration_steps import CALIBRATION_PARTS

    rig = rig_of(rig_file)
    rig.calibrated()
    if pull_test:
        return tell_pull_test(context, rig_file, rig, pull_test, partial(_write_if_wanted, rig_file, yes, as_json))
    parts = list(CALIBRATION_PARTS) if only is None else names_in("--only", only)
    unknown = sorted(set(parts) - set(CALIBRATION_PARTS))
    if unknown or not parts:
        raise InputError(f"--only knows {', '.join(CALIBRATION_PARTS)}, found {', '.join(unknown) or 'none of them'}")
    _refuse_ignored(context, parts)
    require_one_machine(emulated, port)
    if rollout_m is None and emulated:
        rollout_m = _EMULATED_ROLLOUT
    if "wheel" in parts and not (rollout_m is not None and 2.0 * math.pi * rig.bicycle.rR < rollout_m < 1000.0):
        turn = 2.0 * math.pi * rig.bicycle.rR
        rolled = "none" if rollout_m is None else f"{rollout_m:g} m"
        raise InputError(
            "the wheel needs --rollout-m, the distance between two marks on the floor, found "
            f"{rolled}: give more than one turn, {turn:.1f} m, or leave the wheel out with --only"
        )
    if not 0.0 <= added_inertia < 10.0:
        raise InputError(f"--added-inertia must be zero or more, found {added_inertia:g} kg m^2: give less than 10")
    if "drive" in parts:
        _require_sweep(rig, parts, added_inertia, torque)
    wired = [] if emulated else paths_of(rig, port or [])
    if "drive" in parts:  # no other part switches the drive on
        require_attended(wired, yes_arm_unattended)
    notes, distance = Notes(rig), rollout_m or math.inf
    with ExitStack() as stack:
        person = StandIn() if emulated else None
        paths = (
            stack.enter_context(start_by_hand(rig, person.posture, rollout=distance, fifo=fifo)).paths
            if person is not None
            else wired
        )
        bench = CalibrationBench(person, stack)
        stopped = bench.measure(notes, paths, parts, distance, torque, added_inertia, fifo)
    if not as_json and notes.changes:
        show_changes(notes)
    wanted = stopped is None and bool(notes.changes) and not dry_run and _wanted(rig_file, yes, as_json, emulated)
    kept = _write(rig_file, {at: change.new for at, change in notes.changes.items()}) if wanted else None
    if as_json:
        emit_json(calibration_document(rig_file, notes, bench, stopped, kept))
    else:
        show_outcome(rig_file, notes, stopped, kept)
    if stopped is not None or not all(finding.good for _, finding in bench.findings):
        raise typer.Exit(1)


def _require_sweep(rig: "Rig", parts: list[str], added_inertia: float, torque: float | None) -> None:
    """Refuse, before anything is opened, a sweep that the drive cannot play.

    Parameters
    ----------
    rig : Rig
    parts : list of str
        To be measured.
    added_inertia : float
        kg m^2
    torque : float or None
        Amplitude that was asked for [N m].

    Raises
    ------
    InputError
        The drive obeys a rate or an angle, or the torque is too much or too little.
    """
    from riderless.hil.commissioning.calibration_steps import sweep_torque
    from riderless.hil.commissioning.drive_calibration import front_inertia

    if rig.drive is None:
        sweep_torque(rig, front_inertia(rig.bicycle, added_inertia).value, torque)
        return
    rest = ",".join(part for part in parts if part != "drive")
    raise InputError(
        f"the drive's sweep plays a torque, and the drive of the rig '{rig.name}' obeys a steer {rig.drive_kind}: "
        + (f"measure the rest with --only {rest}" if rest else "it has no torque to calibrate")
    )


def _refuse_ignored(context: typer.Context, parts: list[str]) -> None:
    """Refuse options of parts that are not measured, and of writing where nothing is written."""
    if "wheel" not in parts:
        refuse_ignored(context, "rollout_m", because="--only leaves the wheel out; leave it out too, or add wheel")
    if "drive" not in parts:
        why = "--only leaves the drive out; leave it out too, or add drive"
        refuse_ignored(context, "torque", "added_inertia", because=why)
    if context.params["dry_run"]:
        refuse_ignored(context, "yes", because="--dry-run writes nothing; leave one of them out")


def _wanted(file: Path, yes: bool, as_json: bool, emulated: bool) -> bool:
    """Ask the person whether the file is to be written."""
    from riderless.experiments.terminal.operator import at_terminal
    from riderless.models.harmless_text import harmless

    if yes or as_json or not at_terminal():
        return yes
    what = "values of an EMULATED bicycle" if emulated else "values"
    return typer.confirm(f"write these {what} into {harmless(str(file))}?", default=not emulated, err=True)


def _write_if_wanted(file: Path, yes: bool, as_json: bool, values: dict[tuple[str, str], Any]) -> Path | None:
    """Write values into the rig file once a person agrees; returns where the old file is kept.

    Parameters
    ----------
    file : Path
    yes, as_json : bool
        As of the command.
    values : dict
        By table and key.
    """
    return _write(file, values) if _wanted(file, yes, as_json, emulated=False) else None


def _write(file: Path, values: dict[tuple[str, str], Any]) -> Path | None:
    from datetime import datetime

    from riderless.hil.rig.writer import write_rig

    return write_rig(file, values, datetime.now().strftime("%Y-%m-%d-%H%M%S"))
