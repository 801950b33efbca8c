"""`riderless calibrate`: offsets, mounting, zeros, signs, wheel and drive of a machine, measured and written down."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    import numpy as np

    from hil.commissioning.calibration_results import Notes
    from hil.commissioning.steps import Step, StepResult

_EMULATED_ROLLOUT = 5.0  # m


class _Stopped(Exception):
    """Stop asked for by a person."""


def calibrate(
    rig_file: Annotated[Path, typer.Argument(metavar="RIG", help="Rig file (TOML) to measure for, and to write.")],
    port: Annotated[list[str] | None, typer.Option(help="Serial port; once for each port of the rig.")] = None,
    emulated: Annotated[bool, typer.Option("--emulated", help="Calibrate a virtual bicycle on a stand.")] = False,
    only: Annotated[str, typer.Option(help="Parts, with commas: gyro, mounting, steer, wheel, drive.")] = "",
    rollout_m: Annotated[float | None, typer.Option(help="m between the two marks of the roll-out.")] = None,
    torque: Annotated[float | None, typer.Option(help="N m, of the drive's sweep; by default, gentle.")] = None,
    added_inertia: Annotated[
        float, typer.Option(help="kg m^2 about the steer axis beyond the bicycle's: rotor.")
    ] = 0.0,
    yes: Annotated[bool, typer.Option("--yes", help="Write without asking.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Measure, write nothing.")] = False,
    fifo: Annotated[int, typer.Option(help="Real-time priority 1 to 90; 0 for none.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure what the rig file must know of sensors and drive; write it, and keep the old file.

    A person does what each step asks and presses Enter when ready. Any key ends a step in which the drive is
    on; Ctrl-C ends everything, with the drive off and the file as it was. Exit code 1 if a step failed.
    """
    import math
    from contextlib import ExitStack

    from experiments.commands._rig_arguments import paths_of
    from experiments.emulation.workstand import StandIn, start_by_hand
    from hil.commissioning.calibration_results import Notes
    from hil.commissioning.calibration_steps import PARTS, sweep_torque
    from hil.commissioning.drive_calibration import inertia_of
    from hil.rig.rig import Rig
    from models.errors import InputError

    rig = Rig.from_toml(rig_file)
    rig.calibrated()
    parts = [part.strip() for part in only.split(",") if part.strip()] or list(PARTS)
    unknown = sorted(set(parts) - set(PARTS))
    if unknown:
        raise InputError(f"--only knows {', '.join(PARTS)}, found {', '.join(unknown)}")
    if emulated and port:
        raise InputError("give either --port or --emulated, not both: one bicycle at a time")
    if rollout_m is None and emulated:
        rollout_m = _EMULATED_ROLLOUT
    if "wheel" in parts and not (rollout_m is not None and 2.0 * math.pi * rig.bicycle.rR < rollout_m < 1000.0):
        turn = 2.0 * math.pi * rig.bicycle.rR
        raise InputError(
            "the wheel needs --rollout-m, the distance between two marks on the floor, found "
            f"{rollout_m}: give more than one turn, {turn:.1f} m, or leave the wheel out with --only"
        )
    if not 0.0 <= added_inertia < 10.0:
        raise InputError(f"--added-inertia must be zero or more, found {added_inertia:g} kg m^2")
    if "drive" in parts:
        sweep_torque(rig, inertia_of(rig.bicycle, added_inertia).value, torque)  # refused before anything is opened
    notes, distance = Notes(rig), rollout_m or math.inf
    with ExitStack() as stack:
        person = StandIn() if emulated else None
        paths = (
            stack.enter_context(start_by_hand(rig, person.posture, rollout=distance, fifo=fifo)).paths
            if person is not None
            else paths_of(rig, port or [])
        )
        bench = _Bench(person, stack)
        stopped = bench.measure(notes, paths, parts, distance, torque, added_inertia, fifo)
    bad = [what for what, finding in bench.findings if not finding.good]
    if not as_json and notes.changes:
        _table(notes)
    wanted = stopped is None and bool(notes.changes) and not dry_run and _wanted(rig_file, yes, as_json, emulated)
    kept = _write(rig_file, notes) if wanted else None
    _report(rig_file, notes, bench, stopped, kept, as_json)
    if stopped is not None or bad:
        raise typer.Exit(1)


class _Bench:
    """Machine on its stand, with a person at the keys beside it, or a stand-in."""

    def __init__(self, person: Any, stack: Any) -> None:
        import sys

        from experiments.terminal.console import progress_screen
        from experiments.terminal.keys import keys

        self.findings: list[tuple[str, StepResult]] = []
        self._person, self._screen = person, progress_screen
        self._pressed = stack.enter_context(keys())
        self._status = stack.enter_context(progress_screen.status("…"))
        self._waits = person is None and sys.stdin.isatty()
        self._step: Step | None = None
        self._began = True

    def measure(
        self,
        notes: "Notes",
        paths: list[str],
        parts: list[str],
        rollout: float,
        torque: float | None,
        added: float,
        fifo: int,
    ) -> str | None:
        """Go through the phases until one fails; returns why it was stopped, None if nobody stopped it."""
        from hil.commissioning.calibration_steps import phases
        from hil.commissioning.steps import go_through

        try:
            for phase in phases(notes, parts, rollout, torque, added):

                def steps(rig: Any, devices: Any, steps: Any = phase.steps) -> Any:
                    notes.meet(devices)
                    return steps

                procedure = go_through(
                    phase.rig,
                    paths,
                    phase.schedule,
                    steps,
                    self._tell,
                    phase.excitation,
                    self._watch,
                    fifo,
                    self._ready,
                )
                if procedure.interrupted:
                    return procedure.interrupted
                concluded = phase.conclude()
                if concluded is not None:
                    self._show("drive", concluded)
                if not all(finding.good for _, finding in self.findings):
                    break
        except _Stopped:
            return "stopped by a key"
        return None

    def _tell(self, step: "Step", finding: "StepResult | None") -> None:
        if finding is not None:
            self._show(step.name, finding)
            return
        self._step, self._began = step, not (step.waits and self._waits)
        if self._person is not None:
            self._person.hear(step)
        if step.ask:
            self._screen.print(f"  … {step.ask}{'' if self._began else ', then press Enter'}", style="bold")

    def _show(self, what: str, finding: "StepResult") -> None:
        self.findings.append((what, finding))
        mark = "[green]ok [/]" if finding.good else "[red]BAD[/]"
        self._screen.print(f"{mark} {what:<12} {finding.sentence}", soft_wrap=True)

    def _ready(self) -> bool:
        self._began = self._began or "\n" in self._pressed()
        return self._began

    def _watch(self, row: "np.void") -> None:
        from math import degrees

        from hil.loop.states import Demand, State

        if self._person is not None:
            self._person.see(row)
        step = self._step
        if step is not None and self._began and step.demand >= Demand.ARM and self._pressed():
            raise _Stopped
        self._status.update(
            f"{State(int(row['state'])).name:<9} lean {degrees(row['phi_est']):+6.1f} deg  "
            f"steer {degrees(row['delta_meas']):+7.2f} deg  speed {row['v_meas']:+5.2f} m/s  "
            f"torque {row['T_cmd']:+5.2f} N m"
        )


def _wanted(file: Path, yes: bool, as_json: bool, emulated: bool) -> bool:
    """Ask the person whether the file is to be written."""
    import sys

    if yes or as_json or not sys.stdin.isatty():
        return yes
    what = "values of an EMULATED bicycle" if emulated else "values"
    return typer.confirm(f"write these {what} into {file}?", default=not emulated, err=True)


def _write(file: Path, notes: "Notes") -> Path | None:
    from datetime import datetime

    from hil.rig.writer import write

    values = {place: change.new for place, change in notes.changes.items()}
    return write(file, values, datetime.now().strftime("%Y-%m-%d-%H%M%S"))


def _table(notes: "Notes") -> None:
    from experiments.terminal.console import print_table

    rows = [
        [f"{change.table}.{change.key}", _text(change.old), _text(change.new), _text(change.error), change.unit]
        for change in notes.changes.values()
    ]
    print_table("new values", ["key", "old", "new", "±", "unit"], rows)


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(_text(item) for item in value)}]"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _report(file: Path, notes: "Notes", bench: _Bench, stopped: str | None, kept: Path | None, as_json: bool) -> None:
    """Report what was found, and whether it was written."""
    from experiments.terminal.console import emit_json, screen

    if as_json:
        findings = [{"step": what, "good": f.good, "finding": f.sentence} for what, f in bench.findings]
        measured = {
            name: {"value": estimate.value, "error": estimate.error, "unit": unit}
            for name, (estimate, unit) in notes.measured.items()
        }
        changes = list(notes.changes.values())
        emit_json(
            {
                "rig": str(file),
                "stopped": stopped,
                "findings": findings,
                "measured": measured,
                "changes": changes,
                "written": kept is not None,
                "kept": kept,
            }
        )
        return
    if stopped is not None:
        said = f"{stopped}: {file} is as it was"
    elif kept is not None:
        said = f"written to {file}; the old file is kept as {kept}"
    elif notes.changes:
        said = f"{file} is as it was"
    else:
        said = f"nothing differs from {file} by more than its error"
    screen.print(said, soft_wrap=True)
