"""Calibration in the terminal.

The machine on its stand, a person at the keys, and the results.
"""

from contextlib import ExitStack
from functools import partial
from math import degrees
from pathlib import Path
from typing import Any

import numpy as np

from riderless.experiments.emulation.workstand import StandIn
from riderless.experiments.terminal.console import print_table, print_verdict, progress_screen, screen
from riderless.experiments.terminal.operator import at_terminal, command_text, keys
from riderless.hil.commissioning.calibration_results import Notes
from riderless.hil.commissioning.calibration_steps import calibration_phases
from riderless.hil.commissioning.steps import Step, StepResult, go_through
from riderless.hil.loop.states import Demand, State
from riderless.hil.rig.rig import Rig


class _StoppedByPersonError(Exception):
    """Stop asked for by a person."""


class CalibrationBench:
    """Machine on its stand, with a person at the keys beside it, or a stand-in."""

    def __init__(self, person: StandIn | None, stack: ExitStack) -> None:
        self.findings: list[tuple[str, StepResult]] = []
        self._person, self._screen = person, progress_screen
        self._pressed = stack.enter_context(keys())
        self._status = stack.enter_context(progress_screen.status("…"))
        self._waits = person is None and at_terminal()
        self._step: Step | None = None
        self._began = True

    def measure(
        self,
        notes: Notes,
        paths: list[str],
        parts: list[str],
        rollout: float,
        torque: float | None,
        added: float,
        fifo: int,
    ) -> str | None:
        """Go through the phases until one fails; returns why it was stopped, None if nobody stopped it.

        Parameters
        ----------
        notes : Notes
            Filled with what is measured.
        paths : list of str
            One for each port of the rig.
        parts : list of str
            Of the machine, to be calibrated.
        rollout : float
            m between the two marks on the floor.
        torque : float or None
            N m, of the drive's sweep; None for a gentle one.
        added : float
            kg m^2 about the steer axis beyond the bicycle's.
        fifo : int
            Real-time priority of the loop, 0 for none.
        """
        try:
            for phase in calibration_phases(notes, parts, rollout, torque, added):

                def steps(rig: Any, devices: Any, steps: Any = phase.steps) -> Any:
                    notes.meet(devices)
                    return steps

                procedure = go_through(
                    phase.rig,
                    paths,
                    phase.schedule,
                    steps,
                    self._tell,
                    excitation=phase.excitation,
                    watch=partial(self._watch, phase.rig),
                    fifo=fifo,
                    ready=self._ready,
                )
                if procedure.interrupted:
                    return procedure.interrupted
                concluded = phase.conclude()
                if concluded is not None:
                    self._show("drive", concluded)
                if not all(finding.good for _, finding in self.findings):
                    break
        except _StoppedByPersonError:
            return "stopped by a key"
        return None

    def _tell(self, step: Step, finding: StepResult | None) -> None:
        if finding is not None:
            self._show(step.name, finding)
            return
        self._step, self._began = step, not (step.waits and self._waits)
        if self._person is not None:
            self._person.hear(step)
        if step.ask:
            self._screen.print(f"  … {step.ask}{'' if self._began else ', then press Enter'}", style="bold")

    def _show(self, what: str, finding: StepResult) -> None:
        self.findings.append((what, finding))
        print_verdict(self._screen, finding.good, what, finding.sentence, room=12)

    def _ready(self) -> bool:
        self._began = self._began or "\n" in self._pressed()
        return self._began

    def _watch(self, rig: Rig, row: np.void) -> None:
        if self._person is not None:
            self._person.see(row)
        step = self._step
        if step is not None and self._began and step.demand >= Demand.ARM and self._pressed():
            raise _StoppedByPersonError
        self._status.update(
            f"{State(int(row['state'])).name:<9} lean {degrees(row['phi_est']):+6.1f} deg "
            f"steer {degrees(row['delta_meas']):+7.2f} deg speed {row['v_meas']:+5.2f} m/s "
            + command_text(row["T_cmd"], rig)
        )  # on 80 columns the spinner has two


def show_changes(notes: Notes) -> None:
    """Print the new values beside the old ones."""
    rows = [
        [f"{change.table}.{change.key}", _text(change.old), _text(change.new), _text(change.error), change.unit]
        for change in notes.changes.values()
    ]
    print_table("new values", ["key", "old", "new", "±", "unit"], rows)


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(_text(item) for item in value)}]"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def calibration_document(
    file: Path, notes: Notes, bench: CalibrationBench, stopped: str | None, kept: Path | None
) -> dict[str, Any]:
    """Describe what was found, for JSON.

    Parameters
    ----------
    file : Path
        Rig file.
    notes : Notes
        Values measured and changed.
    bench : CalibrationBench
        Findings of the steps.
    stopped : str or None
        Why a person stopped it.
    kept : Path or None
        Old rig file, where a new one was written.
    """
    findings = [{"step": what, "good": f.good, "finding": f.sentence} for what, f in bench.findings]
    measured = {
        name: {"value": estimate.value, "error": estimate.error, "unit": unit}
        for name, (estimate, unit) in notes.measured.items()
    }
    changes = list(notes.changes.values())
    return {
        "rig": str(file),
        "stopped": stopped,
        "findings": findings,
        "measured": measured,
        "changes": changes,
        "written": kept is not None,
        "kept": kept,
    }


def show_outcome(file: Path, notes: Notes, stopped: str | None, kept: Path | None) -> None:
    """Print what became of the rig file.

    Parameters
    ----------
    file : Path
        Rig file.
    notes : Notes
        Values measured and changed.
    stopped : str or None
        Why a person stopped it.
    kept : Path or None
        Old rig file, where a new one was written.
    """
    if stopped is not None:
        sentence = f"{stopped}: {file} is as it was"
    elif kept is not None:
        sentence = f"written to {file}; the old file is kept as {kept}"
    elif notes.changes:
        sentence = f"{file} is as it was"
    else:
        sentence = f"nothing differs from {file} by more than its error"
    screen.print(sentence, soft_wrap=True)
