"""Plan of an experiment.

It tells which sensors, speeds, controllers, kicks and minutes give which precision. Every combination is one
measurement, a run of some kicks at one speed. Its Fisher information is that of the windows that theory foretells
(`paper_windows.py`); from these the best plan of a given time is chosen (`choice.py`), and an equally spaced grid of
the same time stands beside it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from riderless.experiments.analysis.identification.identify import MODEL_ERROR
from riderless.experiments.experiment_design.choice import (
    Measurement,
    TimeCosts,
    best_plan,
    covariance_of,
    large_motion_score,
    time_taken,
    window_information,
)
from riderless.experiments.experiment_design.goal import Goal, read_goal
from riderless.experiments.experiment_design.knowledge import KnownSoFar
from riderless.experiments.experiment_design.paper_windows import (
    OPEN_LOOP_STEP,
    PaperKick,
    Sensors,
    kick_amplitude,
    paper_theory,
    paper_window,
)
from riderless.hil.controllers.controller import Controller
from riderless.hil.rig.rig import Rig
from riderless.hil.rig.stable import FASTEST_GROWTH
from riderless.models.array_types import Array
from riderless.models.errors import InputError

# Quantities that a plan cannot tell apart, and what would part them: another measurement, or knowing one better.


HARDLY_APART = 0.9  # of a correlation, from where on two quantities are hardly told apart
PARTED = 0.8  # times the deviation at most that a step must leave of the one asked for, to be named
MOST_NAMED = 3  # pairs
MORE_OF_IT = 3.0  # times what the plan has of a measurement's time, when that is tried


@dataclass(frozen=True)
class _Confounded:
    """Two quantities that are hardly told apart, and what would part them best.

    Attributes
    ----------
    target, other : str
        What is asked for, and the quantity that looks like it.
    correlation : float
    by : str
        Measurement that parts them best; empty where none helps.
    correlation_then : float
        With it.
    known_better : float
        Share to which the deviation of what is asked for shrinks where ``other`` is known from elsewhere.
    """

    target: str
    other: str
    correlation: float
    by: str
    correlation_then: float
    known_better: float

    def __str__(self) -> str:
        words = f"{self.target} is hardly told from {self.other} (correlation {self.correlation:+.2f})"
        if self.by:
            words += f"; more of '{self.by}' would part them best (then {self.correlation_then:+.2f})"
        if self.known_better <= PARTED:
            words += f"; {self.other} known from elsewhere leaves {self.known_better:.0%} of its deviation"
        return words if self.by or self.known_better <= PARTED else f"{words}; nothing tried here parts them"


def confounded_quantities(
    goal: Goal, information: Array, measurements: Sequence[Measurement]
) -> tuple[_Confounded, ...]:
    """Find the pairs that are hardly told apart, one of each asked for, the worst first.

    Parameters
    ----------
    goal : Goal
    information : (p, p)
        Information of the plan, what was known before included.
    measurements : sequence of Measurement
        All that there are to choose from.
    """
    units = np.eye(len(goal.free))
    pairs = []
    for i, label in enumerate(goal.labels):
        row = goal.rows[i]
        for j, other in enumerate(goal.free):
            if other == label or not np.delete(row, j).any():
                continue
            correlation = _correlation(information, row, units[j])
            if abs(correlation) > HARDLY_APART:
                pairs.append((correlation, i, j))
    pairs.sort(key=lambda pair: -abs(pair[0]))
    seen: set[frozenset[str]] = set()
    confounded: list[_Confounded] = []
    for correlation, i, j in pairs:
        pair = frozenset((goal.labels[i], goal.free[j]))
        if pair not in seen and len(confounded) < MOST_NAMED:
            seen.add(pair)
            confounded.append(_with_remedy(goal, information, measurements, correlation, i, j))
    return tuple(confounded)


def _with_remedy(
    goal: Goal, information: Array, measurements: Sequence[Measurement], correlation: float, i: int, j: int
) -> _Confounded:
    """Say what parts combination i from quantity j.

    Parameters
    ----------
    goal, information, measurements
        As `confounded_quantities` takes them.
    correlation : float
    i, j : int
    """
    row, unit = goal.rows[i], np.eye(len(goal.free))[j]
    size = float(np.trace(information - goal.known))
    after = {}
    for measurement in measurements:
        weight = MORE_OF_IT * size / max(float(np.trace(measurement.information)), np.finfo(float).tiny)
        after[measurement.name] = _correlation(information + weight * measurement.information, row, unit)
    best = min(after, key=lambda name: abs(after[name]))
    helps = abs(after[best]) < HARDLY_APART
    before = covariance_of(information, row[None])[0, 0]
    fixed = covariance_of(information + 1e12 * np.outer(unit, unit), row[None])[0, 0]
    return _Confounded(
        target=goal.labels[i],
        other=goal.free[j],
        correlation=correlation,
        by=best if helps else "",
        correlation_then=after[best],
        known_better=float(np.sqrt(max(fixed, 0.0) / before)),
    )


def _correlation(information: Array, row: Array, other: Array) -> float:
    """Correlation of two combinations (p,) of quantities."""
    C = covariance_of(information, np.array([row, other]))
    return float(C[0, 1] / np.sqrt(C[0, 0] * C[1, 1]))


NOBODY_KICKS = "nobody kicks an uncontrolled bicycle but a hand: take --kick-by hand or both"
MOST_LEAN = 0.044  # rad, by theory, that a kick by the drive may make: as in experiments that run themselves


@dataclass(frozen=True, eq=False)
class Lab:
    """Machine and kicks that a plan chooses from.

    Attributes
    ----------
    rig : Rig
    controllers : dict
        By name; None is the uncontrolled bicycle, which only a hand can kick.
    speeds : sequence of float
        m/s.
    kicks : sequence of PaperKick
    kicks_per_run : int
    spacing : float
        s, from one kick to the next.
    costs : TimeCosts
    """

    rig: Rig
    controllers: Mapping[str, Controller | None]
    speeds: Sequence[float]
    kicks: Sequence[PaperKick] = (PaperKick(),)
    kicks_per_run: int = 3
    spacing: float = 4.0
    costs: TimeCosts = TimeCosts()


@dataclass(frozen=True, eq=False)
class SensorPlan:
    """Best plan with some sensors, and what it promises.

    Attributes
    ----------
    sensors : Sensors
    measurements : tuple of Measurement
        All there are to choose from.
    chosen : tuple of Measurement
        Sorted by speed, each as often as it is made.
    taken : float
        s.
    stds, grid_stds : (q,)
        SI, of the plan and of an equally spaced grid of the same time.
    time_wanted : float
        s, about, until all that is asked for is reached; infinite where it never is, nan where nothing is asked.
    stds_at_last : (q,)
        SI, however long all is measured.
    confounded : tuple of _Confounded
    """

    sensors: Sensors
    measurements: tuple[Measurement, ...]
    chosen: tuple[Measurement, ...]
    taken: float
    stds: Array
    grid_stds: Array
    time_wanted: float
    stds_at_last: Array
    confounded: tuple[_Confounded, ...]


@dataclass(frozen=True, eq=False)
class ExperimentPlan:
    """Plans for each kind of sensors, of one goal and time [s]; ``left_out`` says what cannot be measured, and why."""

    goal: Goal
    time: float
    plans: tuple[SensorPlan, ...]
    left_out: tuple[str, ...]


def plan_experiment(
    lab: Lab,
    quantities: Sequence[str],
    time: float,
    sensors: Sequence[Sensors] = (Sensors(),),
    against: Mapping[str, float] | None = None,
    tell: Callable[[str], None] = lambda what: None,
) -> ExperimentPlan:
    """Plan an experiment that takes ``time`` [s].

    Parameters
    ----------
    lab : Lab
    quantities : sequence of str
        As `goal.read_goal` takes them.
    time : float
        s.
    sensors : sequence of Sensors
        Each is planned for.
    against : mapping of str to float, optional
        The other model of a verdict, SI.
    tell : callable
        Told what is worked on.

    Raises
    ------
    InputError
        What is asked for is not understood, or nothing can be measured, or not in that time.
    """
    first = next(iter(lab.controllers.values()))
    goal = read_goal(paper_theory(lab.rig, first, sensors[0]), quantities, against)
    plans, left_out = [], dict[str, None]()
    for sensor in sensors:
        measurements, refused = _paper_measurements(lab, goal, sensor, tell)
        left_out |= dict.fromkeys(refused)
        if not measurements:
            raise InputError(f"nothing can be measured so: {'; '.join(left_out)}")
        plans.append(_plan_with(lab, goal, time, sensor, measurements))
    return ExperimentPlan(goal, time, tuple(plans), tuple(left_out))


def _paper_measurements(
    lab: Lab, goal: Goal, sensors: Sensors, tell: Callable[[str], None] = lambda what: None
) -> tuple[list[Measurement], list[str]]:
    """List the measurements that a lab can make, and why the others cannot be made.

    Parameters
    ----------
    lab : Lab
    goal : Goal
        Whose quantities are free.
    sensors : Sensors
    tell : callable
    """
    measurements, refused = [], []
    if None in lab.controllers.values() and all(kick.by == "drive" for kick in lab.kicks):
        refused.append(NOBODY_KICKS)
    for name, controller in lab.controllers.items():
        theory = paper_theory(lab.rig, controller, sensors)
        stds = sensors.of_channels(1) if controller is None else {}
        for v in lab.speeds:
            for kick in lab.kicks:
                if controller is None and kick.by == "drive":
                    continue
                label = f"{name}, {v:g} m/s, kick by {kick}"
                tell(label)
                growth = theory.dynamics().growth(v)
                if growth > FASTEST_GROWTH:
                    refused.append(f"{name} at {v:g} m/s: the bicycle falls (an eigenvalue of {growth:+.2g} 1/s)")
                    continue
                try:
                    amplitude = 0.0
                    if controller and kick.by == "drive":
                        amplitude = kick_amplitude(lab.rig, controller, v, kick, MOST_LEAN)
                    window = paper_window(theory, v, lab.spacing, kick, amplitude, sensors)
                    noise = _averaged(stds, window.dt)
                    information = lab.kicks_per_run * window_information(window, goal.free, stds=noise)
                    bent = lab.kicks_per_run * large_motion_score(window, goal.free, noise)
                except InputError as error:
                    refused.append(f"{label}: {error}")
                    continue
                measurements.append(Measurement(label, information, lab.kicks_per_run * lab.spacing, v, bent))
    return measurements, list(dict.fromkeys(refused))


def _plan_with(lab: Lab, goal: Goal, time: float, sensors: Sensors, measurements: Sequence[Measurement]) -> SensorPlan:
    """Choose the best plan among measurements, and say how well it and a grid do.

    Parameters
    ----------
    lab : Lab
    goal : Goal
    time : float
        s.
    sensors : Sensors
    measurements : sequence of Measurement
    """
    chosen = best_plan(measurements, goal.known, goal.criterion, lab.costs, time)
    if not chosen:
        least = min(time_taken([measurement], lab.costs) for measurement in measurements)
        raise InputError(f"one run takes {least:.0f} s, and there are {time:.0f} s: allow more minutes, or fewer kicks")
    known, grid = known_after(goal, chosen), _equal_grid(measurements, lab.costs, time)
    taken = time_taken(chosen, lab.costs)
    times = max(known.times_until_reached(goal), 1.0 / len(chosen)) if goal.asks else float("nan")
    return SensorPlan(
        sensors=sensors,
        measurements=tuple(measurements),
        chosen=tuple(chosen),
        taken=taken,
        stds=known.stds,
        grid_stds=known_after(goal, grid).stds,
        time_wanted=times * taken,
        stds_at_last=known.at_last(measurements).stds,
        confounded=confounded_quantities(goal, known.by_noise, measurements),
    )


def known_after(goal: Goal, plan: Sequence[Measurement]) -> KnownSoFar:
    """Knowledge after the measurements of a plan, which finds no values."""
    information = sum((measurement.information for measurement in plan), goal.known)
    bent = sum((measurement.bent for measurement in plan if measurement.bent is not None), np.zeros(len(goal.free)))
    error = np.asarray(MODEL_ERROR * np.linalg.solve(information, bent), float)
    return KnownSoFar(goal, np.full(len(goal.free), np.nan), information, len(plan), error)


def _equal_grid(measurements: Sequence[Measurement], costs: TimeCosts, time: float) -> list[Measurement]:
    """Plan a grid: all measurements in turn, each as often as there is time for, what is left spread evenly."""
    order = sorted(measurements, key=lambda measurement: measurement.v)
    n = 1
    while time_taken(spread_evenly(order, n + 1), costs) <= time:
        n += 1
    return spread_evenly(order, n)


def spread_evenly(order: Sequence[Measurement], n: int) -> list[Measurement]:
    """Take n measurements of those in order, as evenly as can be."""
    return [order[int((i + 0.5) * len(order) / n)] for i in range(n)]


def _averaged(stds: Mapping[str, float], dt: float) -> dict[str, float]:
    """Noise of the rows of a window, each the mean of some rows of a recording without a controller."""
    return {name: std / np.sqrt(max(dt / OPEN_LOOP_STEP, 1.0)) for name, std in stds.items()}
