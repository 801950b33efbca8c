"""A machine gone through step by step, without a run: preflight checks and calibrations.

The loop of a run beats as always, supervisor included; each step says what a person should do, how far the
machine may be armed meanwhile, and looks at the rows until it has found something or its time is over.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from firmware_interface.devices.driver import Introduction
from hil.design.schedule import GainSchedule
from hil.loop.excitation import Excitation
from hil.loop.states import SENTENCES, Cause, Demand, State
from hil.rig.rig import Rig
from hil.runners import realtime
from hil.runners.assembly import new_loop
from hil.runners.operator import Operator, Outcome
from hil.runners.session import introduced
from hil.runners.warmup import warm_up

_MEMORY = 20_000  # batches of rows a step looks back on, minutes
_REST = (0.0, 0.0, 0.0)  # upright, straight, standing: a posture as in `models.plant.workstand`


@dataclass(frozen=True)
class StepResult:
    """What a step has found."""

    good: bool
    sentence: str


@dataclass(frozen=True)
class Step:
    """One thing to look at.

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
    posture : (3,) floats
        What a person does when asked: lean [rad], steer [rad] (not a number: let go), wheel rate [rad/s].
    waits : bool
        It begins when the person says so.
    lets_go : bool
        The person lets the bars go once the drive makes torque.
    """

    name: str
    look: Callable[[np.ndarray, bool], StepResult | None]
    ask: str = ""
    longest: float = 20.0
    demand: Demand = Demand.OFF
    posture: tuple[float, float, float] = _REST
    waits: bool = False
    lets_go: bool = False


Teller = Callable[[Step, StepResult | None], None]


class Procedure(Operator):
    """Goes through steps; the operator of a loop.

    Attributes
    ----------
    findings : list of (Step, Finding)
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
        if len(self._batches) > _MEMORY:
            del self._batches[: _MEMORY // 2]

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
        """Whether everything was found to be good."""
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
    excitation: Excitation = Excitation(),
    watch: Callable[[np.void], None] | None = None,
    fifo: int = 0,
    ready: Callable[[], bool] = lambda: True,
) -> Procedure:
    """Open the machine, go through the steps, leave it switched off.

    The machine stands: the limits on speed, and on steer against yaw, which need a rolling front wheel, are lifted.

    Parameters
    ----------
    steps : callable
        Makes the steps from the rig as agreed with its devices, and what those said.
    tell : callable
        Told each step when its turn comes (with None) and when it has found something.
    ready : callable
        Asked now and then, while a step `waits`, whether the person is ready.
    """
    warm_up(rig, schedule)
    with introduced(rig, paths) as (fds, devices, agreed_rig, calibration):
        loop = new_loop(agreed_rig, schedule, calibration.as_record(), devices, excitation)
        loop.limits["speed_min"] = -math.inf
        loop.limits["steer_error"] = math.inf
        procedure = Procedure(steps(agreed_rig, devices), tell, ready)
        realtime.run(fds, loop, agreed_rig.rate, procedure, procedure.keep, watch, agreed_rig.clock, fifo)
    return procedure


def armed(rows: np.ndarray, over: bool) -> StepResult | None:
    """A `look` with demand ARM: is the drive on and its watchdog proven?"""
    state, cause = State(int(rows["state"][-1])), Cause(int(rows["cause"][-1]))
    if state is State.ARMED:
        return StepResult(True, "the drive switches on, and off by itself when commands stop coming")
    if state is State.FAULT or over:
        why = SENTENCES[cause] if cause else f"it is still in {state.name}"
        return StepResult(False, why)
    return None
