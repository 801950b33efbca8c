"""Goal of an experiment.

Quantities of a machine, eigenvalues of its bicycle, or which of two models is true.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from riderless.experiments.analysis.identification.four_state import FREE_COEFFICIENTS
from riderless.experiments.analysis.power.power import noncentrality
from riderless.experiments.analysis.verdict.goodness_of_fit import SIGNIFICANCE
from riderless.experiments.dynamics import Theory, unit_of
from riderless.experiments.experiment_design.choice import (
    Criterion,
    LogDeterminant,
    LogSeparation,
    covariance_of,
    known_before,
)
from riderless.experiments.theories import open_loop
from riderless.experiments.theory.uncertainty_bands import eigenvalue_derivatives
from riderless.models.array_types import Array
from riderless.models.errors import InputError
from riderless.models.linear.modes import named_modes
from riderless.models.parameters import Bicycle

VERDICT = "verdict"
AT_SPEED = "@"
OF_TORQUE = ("drive_gain", "more_delay")  # the bicycle's own motion must not be told by a torque that is not so
HOW = "drive_gain +- 0.01, weave@5 +- 0.05 (the bicycle's own weave at 5 m/s), or verdict"
_PLUS_MINUS = re.compile(r"\s*(?P<what>[^\s+]+)\s*(?:\+-|\+/-|±)\s*(?P<std>\S+)\s*")


@dataclass(frozen=True, eq=False)
class Goal:
    """Combinations asked for, and the quantities that are free, in scales.

    Attributes
    ----------
    free : tuple of str
        p quantities that are identified together, nuisance included.
    labels, units : tuple of str
        Of the q combinations asked for.
    rows : (q, p)
        Change of each, SI, by one scale of each quantity.
    wanted : (q,)
        Standard deviation to be reached, SI; infinite where none is asked for.
    known : (p, p)
        Information before, in scales.
    scales : (p,)
        SI.
    difference : (q,) or None
        By how much two models differ in them, where these are to be told apart; of several the first two.
    """

    free: tuple[str, ...]
    labels: tuple[str, ...]
    units: tuple[str, ...]
    rows: Array
    wanted: Array
    known: Array
    scales: Array
    difference: Array | None = None

    @property
    def criterion(self) -> Criterion:
        """Criterion by which measurements are chosen."""
        if self.difference is not None:
            return LogSeparation(self.rows, self.difference)
        return LogDeterminant(self.rows)

    def stds(self, information: Array) -> Array:
        """Standard deviation (q,) of each combination, SI, with the information (p, p) gathered."""
        return np.sqrt(np.diag(covariance_of(information, self.rows)))

    def shortfall(self, information: Array) -> float:
        """Times by which the worst deviation is too large; at most 1 where all is reached, 0 where nothing is asked.

        Of two models: the root of the noncentrality that is wanted over that there is.
        """
        if self.difference is not None:
            there = LogSeparation(self.rows, self.difference).noncentrality(information)
            return float(np.sqrt(noncentrality(len(self.labels), SIGNIFICANCE) / max(there, np.finfo(float).tiny)))
        return float(np.max(self.stds(information) / self.wanted, initial=0.0))

    @property
    def asks(self) -> bool:
        """Is anything to be reached?"""
        return self.difference is not None or bool(np.isfinite(self.wanted).any())


def read_goal(
    theory: Theory, texts: Sequence[str], against: Mapping[str, float] | Sequence[Mapping[str, float]] | None = None
) -> Goal:
    """Read what is asked: "drive_gain", "drive_gain +- 0.01", "weave@5 +- 0.05", "verdict".

    Parameters
    ----------
    theory : Theory
        Of any condition: its bicycle's deviations say what is known before.
    texts : sequence of str
    against : mapping of str to float, or several, optional
        Values of quantities in the other model, or in each, of a verdict; SI.

    Raises
    ------
    InputError
        A text or a name that is not understood, or a verdict without another model.
    """
    targets = [_target(text) for text in texts]
    if not targets:
        raise InputError(f"wanted what is to be learnt, found nothing: {HOW}")
    names = [what for what, _ in targets]
    if len(set(names)) < len(names):
        twice = next(what for what in names if names.count(what) > 1)
        raise InputError(f"'{twice}' is asked for twice: leave one of them out")
    if any(what == VERDICT for what, _ in targets):
        others = [against] if isinstance(against, Mapping) else against or []
        return _verdict_goal(theory, [what for what, _ in targets], [dict(model) for model in others])
    if against:
        raise InputError("the other model would be ignored: it is for a verdict; ask for verdict, or leave it out")
    named = [what for what, _ in targets if AT_SPEED not in what]
    modes = [what for what, _ in targets if AT_SPEED in what]
    for name in named:
        theory.nominal(name)  # refuses a name that nobody knows
    of_torque = OF_TORQUE if modes and theory.dynamics().command is not None else ()
    free = _free(theory, [*named, *(FREE_COEFFICIENTS if modes else ()), *of_torque])
    scales = theory.scales(free)
    rows, labels, units, wanted = [], [], [], []
    for what, std in targets:
        parts = _eigenvalue_rows(theory.bicycle, what, free) if AT_SPEED in what else [np.array(free) == what]
        shown = [(f"{what} re", "1/s"), (f"{what} im", "rad/s")] if AT_SPEED in what else [(what, unit_of(what))]
        for part, (label, unit) in zip(parts, shown, strict=True):
            rows.append(np.asarray(part, float) * scales)
            labels.append(label)
            units.append(unit)
            wanted.append(std)
    return Goal(
        free=free,
        labels=tuple(labels),
        units=tuple(units),
        rows=np.array(rows),
        wanted=np.array(wanted),
        known=known_before(theory, free),
        scales=scales,
    )


def asked_values(goal: Goal, bicycle: Bicycle, quantities: Mapping[str, float]) -> Array:
    """Values (q,) of what is asked for, SI, where the free quantities have these values.

    Parameters
    ----------
    goal : Goal
    bicycle : Bicycle
        As theory has it.
    quantities : mapping of str to float
        All that are free, SI.
    """
    targets = []
    for label in goal.labels:
        what, _, part = label.partition(" ")
        if AT_SPEED not in what:
            targets.append(float(quantities[what]))
            continue
        v = float(what.partition(AT_SPEED)[2])
        values = open_loop(bicycle).dynamics(quantities).eigenvalues(v)
        s = values[np.argmin(np.abs(values - complex(named_modes(bicycle, v).weave[0, 0])))]
        targets.append(float(s.real if part == "re" else abs(s.imag)))
    return np.array(targets)


def _verdict_goal(theory: Theory, targets: Sequence[str], others: Sequence[dict[str, float]]) -> Goal:
    """Goal of telling theory from the same with other values of some quantities, once or more."""
    if len(targets) > 1:
        raise InputError(f"a verdict is asked for alone, found {', '.join(targets)}: leave one of them out")
    if not others or not all(others):
        raise InputError(
            "a verdict wants another model to tell theory from, found none: say what differs in it, as "
            "steer_damping = 0.3 (SI)"
        )
    labels = tuple(dict.fromkeys(name for model in others for name in model))
    for i, model in enumerate(others):
        same = [name for name, value in model.items() if value == theory.nominal(name)]
        if same:
            raise InputError(f"the other model has the same {same[0]} as theory: give another value, or leave it out")
        if model in others[:i]:
            raise InputError(f"the other model with {', '.join(model)} is given twice: leave one of them out")
    free = _free(theory, labels)
    scales = theory.scales(free)
    first = {name: value - theory.nominal(name) for name, value in others[0].items()}
    return Goal(
        free=free,
        labels=labels,
        units=tuple(unit_of(name) for name in labels),
        rows=np.array([(np.array(free) == name) * scales for name in labels]),
        wanted=np.full(len(labels), np.inf),
        known=known_before(theory, free),
        scales=scales,
        difference=np.array([first.get(name, 0.0) for name in labels]),
    )


def _target(text: str) -> tuple[str, float]:
    """Split "drive_gain +- 0.01" into name and deviation, infinite where none is asked for."""
    match = _PLUS_MINUS.fullmatch(text)
    if match is None:
        name = text.strip()
        if not name or re.search(r"\s", name):
            raise InputError(f"wanted {HOW}, found '{text}'")
        return name, np.inf
    try:
        std = float(match["std"])
    except ValueError:
        std = np.nan
    if not 0.0 < std < np.inf:
        raise InputError(f"wanted a standard deviation above 0 (SI) behind +-, found '{match['std']}' in '{text}'")
    return match["what"], std


def _free(theory: Theory, names: Sequence[str]) -> tuple[str, ...]:
    """Quantities that are free: those asked for, then those of the bicycle and the machine that have a deviation."""
    return tuple(dict.fromkeys([*names, *theory.uncertain]))


def _eigenvalue_rows(bicycle: Bicycle, what: str, free: Sequence[str]) -> list[Array]:
    """Derivatives (p,) of real and imaginary part of the bicycle's own weave at the speed that stands behind the @."""
    mode, _, speed = what.partition(AT_SPEED)
    try:
        v = float(speed)
    except ValueError:
        v = np.nan
    if mode != "weave" or not 0.0 < v < 100.0:
        raise InputError(f"wanted an eigenvalue as weave@5, the bicycle's own weave at 5 m/s, found '{what}'")
    s = complex(named_modes(bicycle, v).weave[0, 0])
    if not s.imag > 0.0:
        raise InputError(f"the weave of the bicycle {bicycle.name} does not swing at {v:g} m/s: ask for another speed")
    slopes = eigenvalue_derivatives(open_loop(bicycle), v, list(free), s)
    return [slopes.real, slopes.imag]
