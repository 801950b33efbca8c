"""Course of an adaptive experiment.

It tells which run comes next and why, what is known after it, and when the experiment ends. Windows in, decisions out:
nothing is run here. The same recordings lead to the same course, so a campaign that was killed takes up its recorded
runs and goes on as if nothing had happened.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from riderless.experiments.analysis.identification.output_error import AveragedWindow
from riderless.experiments.analysis.windows.rules import WindowRules
from riderless.experiments.campaigns.adaptive.rival_models import (
    Ending,
    Rivals,
    all_is_known,
    budget_spent,
    known_words,
    nothing_left,
    unreachable,
)
from riderless.experiments.campaigns.protocols.auto import Settings
from riderless.experiments.campaigns.protocols.condition import Condition
from riderless.experiments.datatypes import AGREEMENT
from riderless.experiments.dynamics import Theory
from riderless.experiments.emulation.hand import RELEASE_DELAY
from riderless.experiments.experiment_design.choice import Measurement, TimeCosts, next_measurement, window_information
from riderless.experiments.experiment_design.goal import AT_SPEED, asked_values, read_goal
from riderless.experiments.experiment_design.knowledge import Knowledge, KnownSoFar
from riderless.experiments.experiment_design.paper_windows import PaperKick, Sensors, paper_theory, paper_window
from riderless.models.array_types import Array
from riderless.models.errors import InputError
from riderless.models.noise_statistics import STDS_95

# Runs at several speeds: entries of a menu one after the other, the speed changed under way by the machine itself.
#
# The bicycle keeps its lane all the time, so nobody has to hold it between one speed and the next. After the kicks at
# one speed nothing is played until the next one is reached and the bicycle has settled there.


_THEN = re.compile(r"(?P<first>.*?) m/s(?P<then>( then [\d.e+-]+ m/s)+) (?P<tag>kicked .*)")
_SAME = 1e-9  # m/s


def join_legs(entries: Sequence[Condition], settings: Settings, costs: TimeCosts = TimeCosts()) -> Condition:
    """Make one run of entries of a menu, in their order; of a single one it is that entry.

    Parameters
    ----------
    entries : sequence of Condition
        Of one controller and one length of the kicks.
    settings : Settings
    costs : TimeCosts
        How fast the speed is changed at most, and how long the bicycle then settles.
    """
    first = entries[0]
    if len(entries) == 1:
        return first
    played = first.excitation
    most = max(entry.excitation.amplitude for entry in entries)
    speeds, shares = [(0.0, first.v)], [first.excitation.amplitude / most] * settings.kicks
    change = min(costs.speed_change, first.rig.speed_drive.ramp if first.rig.speed_drive else np.inf)
    beyond = max(WindowRules().longest - settings.spacing_s, 0.0)  # s of the last kick's window after its turn
    for before, after in pairwise(entries):
        if abs(after.v - before.v) > _SAME:
            takes = abs(after.v - before.v) / change
            begins = played.delay + len(shares) * settings.spacing_s + beyond
            speeds += [(begins - RELEASE_DELAY, before.v), (begins + takes - RELEASE_DELAY, after.v)]
            shares += [0.0] * int(np.ceil((beyond + takes + costs.settling) / settings.spacing_s))
        shares += [after.excitation.amplitude / most] * settings.kicks
    length = len(shares) * settings.spacing_s
    return replace(
        first,
        tag=" ".join([*(f"then {entry.v:g} m/s" for entry in entries[1:]), first.tag]),
        scenario=replace(first.scenario, speed=tuple(speeds)),
        excitation=replace(
            played, amplitude=most, duration=length, periods=len(shares), shares=tuple(map(float, shares))
        ),
        length=RELEASE_DELAY + played.delay + length,
        instruction=f"{first.instruction}{_changes(speeds)}",
    )


def legs_named(label: str, menu: Sequence[Condition]) -> list[Condition]:
    """Find the entries that a run was made of, by its label; none where the menu does not have them."""
    match = _THEN.fullmatch(label)
    if match is None:
        return [entry for entry in menu if entry.label == label][:1]
    first = [entry for entry in menu if entry.label == f"{match['first']} m/s {match['tag']}"][:1]
    entries = list(first)
    for speed in re.findall(r"then ([\d.e+-]+) m/s", match["then"]):
        entries += [entry for entry in menu if first and _may_follow(first[0], entry) and f"{entry.v:g}" == speed][:1]
    return entries if len(entries) == 1 + match["then"].count("then") else []


def _may_follow(first: Condition, other: Condition) -> bool:
    """Can an entry come after another in one run: the same law, and kicks as long?"""
    return first.controller == other.controller and first.tag == other.tag


def _changes(speeds: Sequence[tuple[float, float]]) -> str:
    """Say which speeds [m/s] follow, of a profile; nothing where the first is kept."""
    later = [f"{v:g}" for _, v in speeds[2::2]]
    return f"; it changes its speed by itself to {', then '.join(later)} m/s" if later else ""


MINUTE_S = 60.0  # s
FORETOLD_ANEW = 0.5  # usual deviations that an estimate moves, until windows are foretold anew
MISFIT = 2.0  # times the noise of the sensors, from where on what is left is said; steps of an encoder make 1.5
MOST_RUNS = 1000  # of one entry of the menu


@dataclass(frozen=True, eq=False)
class Choice:
    """Run that was chosen, and why.

    Attributes
    ----------
    condition : Condition
    gain : float
        Growth of the criterion that it promises, nat.
    cost : float
        s, of the run and what goes before it.
    minutes : float
        Spent when it is over.
    second : str
        Next best of the menu, and the share of the gain per time that it promises; empty where there is no other.
    foretold : (q,) array
        Standard deviations of what is asked for after it, SI.
    """

    condition: Condition
    gain: float
    cost: float
    minutes: float
    second: str
    foretold: Array

    @property
    def rate(self) -> float:
        """Growth of the criterion per minute, nat/min."""
        return MINUTE_S * self.gain / self.cost

    @property
    def why(self) -> str:
        """Reason in words."""
        rate = f"{self.rate:.3g} nat/min"
        return f"{rate}; next best {self.second}" if self.second else f"{rate}; nothing else is left"


@dataclass(frozen=True, eq=False)
class CourseStep:
    """Run that was chosen and made: values and standard deviations (q,) of what is asked for after it, SI."""

    choice: Choice
    windows: int
    values: Array
    stds: Array


class Course:
    """Decisions of an experiment that runs itself, and what it knows.

    Parameters
    ----------
    menu : sequence of Condition
        What there is to choose from.
    settings : Settings
        Of the protocol `auto`.
    costs : TimeCosts

    Raises
    ------
    InputError
        What is asked for is not understood, or nothing on this menu would ever tell it.
    """

    def __init__(self, menu: Sequence[Condition], settings: Settings, costs: TimeCosts = TimeCosts()) -> None:
        self.menu, self.settings, self.costs = tuple(menu), settings, costs
        self.steps: list[CourseStep] = []
        self.dropped: dict[str, str] = {}  # label on the menu -> why it is not chosen any more
        self.ending: Ending | None = None
        self._sensors, self._heard = Sensors(), False
        theory = self._theory(self.menu[0])
        wanted = [text for text in settings.until.split(",") if text.strip()]
        self.goal = read_goal(theory, wanted, settings.against)
        slowest, fastest = min(entry.v for entry in self.menu), max(entry.v for entry in self.menu)
        for label in self.goal.labels:
            mode, at, speed = label.split(" ")[0].partition(AT_SPEED)
            if at and not slowest <= float(speed) <= fastest:
                raise InputError(
                    f"{mode}{at}{speed} lies outside the speeds of the menu, {slowest:g} to {fastest:g} m/s: no run "
                    "would show it; ask for a speed between them, or add it to speeds_m_s"
                )
        self.bicycle, self.nominal = theory.bicycle, {name: theory.nominal(name) for name in self.goal.free}
        self.rivals = Rivals.of(self.goal, self.nominal, settings.against) if self.goal.difference is not None else None
        self._knowledge = Knowledge(self.goal, self.nominal)
        self._foretold: dict[str, Measurement] = {}
        self._about = self.known.values
        self._chosen: Choice | None = None
        self._aim()
        menu_told = self.measurements()
        never = unreachable(self.goal, self.known.at_last(menu_told), menu_told)
        if never is not None:
            raise InputError(never.sentence)

    @property
    def known(self) -> KnownSoFar:
        """Estimate of the quantities as it is now."""
        return self._knowledge.estimate

    @property
    def values(self) -> Array:
        """Values (q,) of what is asked for as known now, SI."""
        return asked_values(self.goal, self.bicycle, self.known.quantities)

    @property
    def nominal_values(self) -> Array:
        """Values (q,) of what is asked for as theory has them, SI."""
        return asked_values(self.goal, self.bicycle, self.nominal)

    @property
    def minutes(self) -> float:
        """Minutes spent as the plan counts them: each run, and what goes before it."""
        return self.steps[-1].choice.minutes if self.steps else 0.0

    @property
    def misfit(self) -> float:
        """Remainder that theory leaves unexplained, in the noise of the sensors."""
        return self._knowledge.misfit

    @property
    def doubts(self) -> list[str]:
        """Reasons not to believe the intervals, in words; empty where there is none."""
        theory, found = self._theory(self.menu[0]), []
        if not any(self.bicycle.std.values()):
            found.append(
                f"the bicycle {self.bicycle.name} has no deviations: the interval holds only if it is exactly so; "
                'write deviations = "usual" into the campaign file for those of measured bicycles, or its own into '
                "[std] of its file (`riderless measure` finds them)"
            )
        for name, value, std in zip(self.goal.labels, self.values, self.known.stds, strict=True):
            if AT_SPEED in name or not self.steps:
                continue
            of = theory.range(name)
            if not of.allows(value) and not of.allows(value - np.sign(value) * STDS_95 * std):
                found.append(f"{name} {value:.3g} is a reason to doubt: {of.why}")
        for name, value in self.known.quantities.items():
            off, std = abs(value - self.nominal[name]), theory.uncertain.get(name, np.inf)
            if name not in self.goal.labels and off > AGREEMENT * std:
                found.append(
                    f"{name} comes out as {value:.4g} instead of {self.nominal[name]:.4g}, {off / std:.1f} of its "
                    "deviations off: bicycle or machine is not as its file says, and the interval may not hold"
                )
        if self.misfit > MISFIT:
            found.append(
                f"theory leaves {self.misfit:.2g} times the noise of the sensors unexplained: something else moved the "
                "bicycle too, and the interval may not hold"
            )
        return found

    def choose(self, recorded: str = "") -> Condition | None:
        """Choose the next run; None where the experiment has ended, as `ending` says.

        Parameters
        ----------
        recorded : str
            Label of one that was chosen before and lies in the folder: it is taken, and nothing ends before it.
        """
        if not recorded and self._has_ended():
            return None
        selected = legs_named(recorded, self.menu)
        measurements = self.measurements([entry.label for entry in selected])
        by_label = {run.name: run for run in measurements}
        last = self.steps[-1].choice.condition.scenario.speed[-1][1] if self.steps else None
        known, criterion = self.known, self.goal.criterion
        now = criterion.value(known.by_noise)
        times = [self.costs.before(run.v, last) + run.duration for run in measurements]
        gains = [criterion.value(known.by_noise + run.information) - now for run in measurements]
        if recorded:
            legs = [entry.label for entry in selected]
        else:
            legs = [measurements[next_measurement(measurements, known.by_noise, criterion, self.costs, last)].name]
        best = list(by_label).index(legs[0])
        if not recorded:
            if self.minutes + times[best] / MINUTE_S > self.settings.minutes:
                self.ending = budget_spent(self.goal, self.known, self.minutes, self.settings.minutes, self.so_far)
                return None
            legs = self._prolonged(legs, by_label, self.settings.minutes - self.minutes - times[best] / MINUTE_S)
        rates = np.array(gains) / times
        order = [i for i in np.argsort(-rates, kind="stable") if i != best]
        condition = self._again(legs)
        gained = sum((by_label[label].information for label in legs), np.zeros_like(known.by_noise))
        cost = times[best] + condition.duration - self._entry(legs[0]).duration
        self._chosen = Choice(
            condition=condition,
            gain=criterion.value(known.by_noise + gained) - now,
            cost=cost,
            minutes=self.minutes + cost / MINUTE_S,
            second=f"{measurements[order[0]].name} ({rates[order[0]] / rates[best]:.0%})" if order else "",
            foretold=known.after(gained).stds,
        )
        return condition

    def _prolonged(self, legs: list[str], by_label: Mapping[str, Measurement], minutes: float) -> list[str]:
        """Go on at other speeds in the same run as long as that tells more for its time than a run of its own.

        Parameters
        ----------
        legs : list of str
            Label of the first entry.
        by_label : mapping of str to Measurement
            By label, all there are to choose from.
        minutes : float
            That are left for it.
        """
        first, criterion, gained = self._entry(legs[0]), self.goal.criterion, by_label[legs[0]].information
        while len(legs) < self.settings.legs and self._wants_more(gained):
            information, ends = self.known.by_noise + gained, self._joined(legs)
            now = criterion.value(information)
            gains = {label: criterion.value(information + run.information) - now for label, run in by_label.items()}
            v = ends.scenario.speed[-1][1]
            alone = max(gains[label] / (self.costs.before(run.v, v) + run.duration) for label, run in by_label.items())
            further = {}
            for label in by_label:
                longer = self._joined([*legs, label]) if _may_follow(first, self._entry(label)) else None
                if longer is None or longer.label in self.dropped:
                    continue
                takes = longer.duration - ends.duration
                if longer.duration - first.duration <= MINUTE_S * minutes and gains[label] / takes >= alone:
                    further[label] = gains[label] / takes
            if not further:
                break
            legs = [*legs, max(further, key=further.__getitem__)]
            gained = gained + by_label[legs[-1]].information
        return legs

    def _wants_more(self, information: Array) -> bool:
        """Is what is asked for not reached with so much more information (p, p), as foretold?"""
        return not self.goal.asks or self.goal.shortfall(self.known.after(information).information) > 1.0

    def record(self, windows: Sequence[AveragedWindow]) -> CourseStep:
        """Take the windows of the run that was chosen last."""
        assert self._chosen is not None, "a run is chosen before it is recorded"
        if windows and not self._heard:  # from now on windows are foretold with the noise there is
            self._sensors, self._heard, self._foretold = Sensors.of(windows[0].theory), True, {}
        self._knowledge.add(windows)
        self._aim()
        step = CourseStep(self._chosen, len(windows), self.values, self.known.stds)
        self.steps.append(step)
        if not windows:
            self.drop(self._chosen.condition.label, "no window was found in its recording")
        self._chosen = None
        return step

    def drop(self, label: str, why: str) -> None:
        """Leave an entry of the menu out from now on."""
        self.dropped[label] = why

    @property
    def so_far(self) -> str:
        """Words for what is known, with values where quantities are asked for."""
        return self.rivals.words(self.known) if self.rivals else known_words(self.goal, self.known, self.values)

    def _aim(self) -> None:
        """Tell the best model from its best rival next, of those that a verdict decides between."""
        if self.rivals:
            self.goal = replace(self.goal, difference=self.rivals.difference(self.known))

    def _has_ended(self) -> bool:
        """Is it reached, or never to be, or is nothing left?"""
        known = self.known
        rivals = self.rivals
        self.ending = rivals.decided(known, len(self.steps)) if rivals else all_is_known(self.goal, known, self.so_far)
        if self.ending is None and all(entry.label in self.dropped for entry in self.menu):
            self.ending = nothing_left(self.dropped)
        if self.ending is None and known.windows:
            menu = self.measurements()
            at_last = known.at_last(menu)
            self.ending = unreachable(self.goal, at_last, menu)
            if self.rivals and self.ending is None:
                self.ending = self.rivals.exhausted(known, at_last)
        return self.ending is not None

    def measurements(self, recorded: Sequence[str] = ()) -> list[Measurement]:
        """Measurements of the menu, without those dropped unless recorded, as foretold with what is known now."""
        if np.abs(self.known.values - self._about).max() > FORETOLD_ANEW:
            self._foretold, self._about = {}, self.known.values
        wanted = [entry for entry in self.menu if entry.label not in self.dropped or entry.label in recorded]
        for entry in wanted:
            if entry.label not in self._foretold:
                self._foretold[entry.label] = self._measurement(entry)
        return [self._foretold[entry.label] for entry in wanted]

    def _measurement(self, entry: Condition) -> Measurement:
        """Foretell what a run of the menu tells."""
        played, settings = entry.excitation, self.settings
        about = dict(zip(self.goal.free, (self._about * self.goal.scales).tolist(), strict=True))
        kick = PaperKick("drive", settings.share_of_limits, 0.5 / played.f_high)
        window = paper_window(
            self._theory(entry).move(about), entry.v, settings.spacing_s, kick, played.amplitude, self._sensors
        )
        information = settings.kicks * window_information(window, self.goal.free)
        return Measurement(entry.label, information, entry.duration, entry.v)

    def _theory(self, entry: Condition) -> Theory:
        return paper_theory(entry.rig, entry.schedule, self._sensors)

    def _entry(self, label: str) -> Condition:
        return next(entry for entry in self.menu if entry.label == label)

    def _joined(self, legs: Sequence[str]) -> Condition:
        return join_legs([self._entry(label) for label in legs], self.settings, self.costs)

    def _again(self, legs: Sequence[str]) -> Condition:
        """Make the next run of entries of the menu, with noise of its own where it is emulated."""
        run = self._joined(legs)
        made = [step.choice.condition.label for step in self.steps]
        begun = sum(legs_named(label, self.menu)[0].label == legs[0] for label in made)
        scenario = replace(run.scenario, seed=(run.scenario.seed + begun) % 2**31)
        return replace(run, scenario=scenario, repeat=1 + made.count(run.label), repeats=MOST_RUNS)
