"""Step-by-step procedures on a machine.

Preflight checks and calibrations; no run is made. The loop ticks as in a run, supervisor included; each step says what
a person should do, how far the machine may be armed meanwhile, and looks at the rows until it has found something or
its time is over.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import NamedTuple

import numpy as np

from riderless.firmware_interface.devices.driver import Introduction
from riderless.hil.design.schedule import GainSchedule
from riderless.hil.loop.excitation import Excitation
from riderless.hil.loop.states import SENTENCES, Cause, Demand, State
from riderless.hil.rig.rig import Rig
from riderless.hil.rig.task import Task
from riderless.hil.runners import realtime
from riderless.hil.runners.assembly import new_loop
from riderless.hil.runners.operator import Operator, Outcome
from riderless.hil.runners.session import open_devices
from riderless.hil.runners.warmup import warm_up

STEER_BEYOND_STOPS = 1.0  # rad, steer of a person who turns the bars to the stop: farther than any stop
WHEEL_TURN_RATE = 6.0  # rad/s, of a person who turns the rear wheel
_MAX_BATCHES = 20_000  # batches of rows a step looks back on, minutes


class HandPosture(NamedTuple):
    """Posture in which a person holds the machine, as in `riderless.models.plant.workstand`; at rest by default."""

    lean: float = 0.0  # rad, to the right
    steer: float = 0.0  # rad, to the right; not a number: the bars are let go
    wheel_rate: float = 0.0  # rad/s, of the rear wheel, forward
    sideways: float = 0.0  # m, pushed to the right


@dataclass(frozen=True)
class StepResult:
    """Finding of a step: good or bad, and a sentence that says why."""

    good: bool
    sentence: str


@dataclass(frozen=True)
class Step:
    """One step of a procedure: what a person does, and how the rows are judged.

    Parameters
    ----------
    name : str
        Two or three words, for the table of verdicts.
    look : callable
        ``look(rows, over)``: rows (n,) of TICK since the step began; a `StepResult`, or None to go on
        looking, which it may not when ``over``.
    ask : str
        What the person should do; empty for nothing.
    longest : float
        s until its time is over.
    demand : Demand
        How far the machine may be armed.
    posture : HandPosture
        Posture in which a person holds the machine when asked.
    waits : bool
        It begins when the person says so.
    lets_go : bool
        The person lets the bars go once the drive makes torque.
    """

    name: str
    look: Callable[[np.ndarray, bool], StepResult | None]
    ask: str = ""
    _: KW_ONLY
    longest: float = 20.0
    demand: Demand = Demand.OFF
    posture: HandPosture = HandPosture()
    waits: bool = False
    lets_go: bool = False


Teller = Callable[[Step, StepResult | None], None]


class _Procedure(Operator):
    """Operator of a loop that goes through steps one after the other.

    Attributes
    ----------
    findings : list of (Step, StepResult)
    """

    def __init__(self, steps: Sequence[Step], tell: Teller, ready: Callable[[], bool] = lambda: True) -> None:
        super().__init__(math.inf)
        self.findings: list[tuple[Step, StepResult]] = []
        self.demand = Demand.OFF
        self._left, self._tell, self._ready = list(steps), tell, ready
        self._told: Step | None = None
        self._batches: list[np.ndarray] = []
        self._began: float | None = None

    def keep(self, rows: np.ndarray, tape: np.ndarray) -> None:
        """Take a batch of rows; called by the recorder's thread."""
        self._batches.append(rows.copy())
        if len(self._batches) > _MAX_BATCHES:
            del self._batches[: _MAX_BATCHES // 2]

    def watch(self, row: np.void) -> None:
        """Look at what has come in; go on to the next step when this one has found something."""
        t = float(row["t_host"])
        if not self._left or self.interrupted:
            self.demand = Demand.OFF
            self.over_since = self.over_since or t
            return
        step = self._left[0]
        if self._told is not step:
            self._told = step
            self._tell(step, None)
        if self._began is None:
            if step.waits and not self._ready():
                return
            self._began, self._batches = t, []
            self.demand = step.demand
            return
        if not self._batches:
            return
        rows = np.concatenate(self._batches)
        finding = step.look(rows, t - self._began > step.longest)
        if finding is not None:
            self.findings.append((step, finding))
            self._left.pop(0)
            self._began = None
            self.demand = Demand.OFF
            self._tell(step, finding)

    def outcome(self) -> Outcome:
        """Outcome of the procedure: success where every step was good."""
        if self.interrupted:
            return Outcome("abort", self.interrupted)
        bad = [step.name for step, finding in self.findings if not finding.good]
        if bad:
            return Outcome("fault", f"not in order: {', '.join(bad)}")
        return Outcome("success", "everything is in order")


def go_through(
    rig: Rig,
    paths: Sequence[str],
    schedule: GainSchedule,
    steps: Callable[[Rig, Sequence[Introduction]], Sequence[Step]],
    tell: Teller = lambda step, finding: None,
    *,
    excitation: Excitation = Excitation(),
    watch: Callable[[np.void], None] | None = None,
    fifo: int = 0,
    ready: Callable[[], bool] = lambda: True,
) -> _Procedure:
    """Open the machine, go through the steps, leave it switched off.

    The machine stands: the limits on speed, and on steer against yaw, which need a rolling front wheel, are lifted, and
    gains are no longer those of a speed.

    Parameters
    ----------
    rig : Rig
    paths : sequence of str
        Serial port of each of the rig's ports.
    schedule : GainSchedule
        Gains of the loop meanwhile.
    steps : callable
        Makes the steps from the rig as agreed with its devices, and what those said.
    tell : callable
        Told each step when its turn comes (with None) and when it has found something.
    excitation : Excitation
        Torque played in steps that demand RUN; by default none.
    watch : callable
        Shown the newest row now and then; by default nobody.
    fifo : int
        Real-time priority of the loop, 0 for none.
    ready : callable
        Asked now and then, while a step `waits`, whether the person is ready.

    Returns
    -------
    _Procedure
        With the findings of its steps.

    Raises
    ------
    DeviceError
        The loop itself failed.
    """
    rig = replace(rig, closed_by="computer")  # whose torques these are, whoever closes the loop of a ride
    warm_up(rig, schedule)
    with open_devices(rig, paths) as (fds, devices, agreed_rig, calibration):
        loop = new_loop(agreed_rig, schedule, calibration.as_record(), devices, Task(excitation))
        loop.limits["speed_min"] = -math.inf
        loop.limits["steer_error"] = loop.limits["gains_reach"] = math.inf
        procedure = _Procedure(steps(agreed_rig, devices), tell, ready)
        clock, rate = agreed_rig.clock, agreed_rig.rate
        recorder = realtime.run_loop(fds, loop, rate, procedure, procedure.keep, watch, clock, fifo)
    realtime.require_loop(recorder)
    return procedure


def check_armed(rows: np.ndarray, over: bool) -> StepResult | None:
    """Look, with demand ARM, whether the drive is on and its watchdog proven."""
    state, cause = State(int(rows["state"][-1])), Cause(int(rows["cause"][-1]))
    if state is State.ARMED:
        return StepResult(True, "the drive switches on, and off by itself when commands stop coming")
    given_up = state is State.DISARMED and bool(np.any(rows["state"] == State.CHECK))
    if state is State.FAULT or given_up or over:
        why = SENTENCES[cause] if cause else f"it is still in {state.name}"
        return StepResult(False, why)
    return None
