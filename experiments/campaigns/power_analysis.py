"""Power analysis of a campaign by rehearsal.

It tells which errors the campaign would see, what hides the others, and what would make it see more. Each condition is
rehearsed `REHEARSALS` times, with other noise and as other bicycles drawn from the deviations, and the windows stand
for those of the experiment, under the noise of the rig's instruments: wind, a belt or a hand add to that. Repeats give
as many windows more.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from riderless.experiments.analysis.analyze import analyze_responses
from riderless.experiments.analysis.power.changed_window import FORESEEN_ERRORS
from riderless.experiments.analysis.power.detectable_size import largest_size, sizes_seen
from riderless.experiments.analysis.power.expected_power import (
    DRAW_SEED,
    ExpectedCampaigns,
    hiding_parameters,
    one_deviation,
    shrinkage,
    smallest_rejected,
)
from riderless.experiments.analysis.power.simulated_condition import RehearsedCondition, given_by
from riderless.experiments.analysis.verdict.steer_elements import DRY_FRICTION
from riderless.experiments.campaigns.power_report import MORE_KICKS, ForeseenError, Foresight
from riderless.experiments.campaigns.protocols.condition import Condition
from riderless.experiments.campaigns.protocols.plan_inputs import gentle_options, grid_over
from riderless.experiments.campaigns.rehearsal import DryRun, dry_run
from riderless.experiments.datatypes import Comparison
from riderless.experiments.dynamics import Theory
from riderless.experiments.theory.uncertainty_bands import draw_machine
from riderless.hil.design.methods import GainSchedule, design
from riderless.models.array_types import Array
from riderless.models.errors import InputError

REHEARSALS = 3  # of each condition: noise decides whether a window is kept, and how long it is
KNOWN_BETTER = 0.5  # of a parameter's standard deviation
SPEEDS_TRIED = 4  # of one more condition, for each bicycle and controller
LEAST_SPEED_STEP = 0.5  # m/s, between a planned speed and one more


def foresee(
    conditions: Sequence[Condition], rehearsed: Sequence[DryRun], tell: Callable[[str], None] = lambda what: None
) -> tuple[Foresight, ...]:
    """Foresee what a campaign would see of each bicycle's errors; none for bicycles whose rehearsals give no window.

    Parameters
    ----------
    conditions : sequence of Condition
        All of the campaign, repeats and all.
    rehearsed : sequence of DryRun
        Of each kind of condition one.
    tell : callable
        Told what is worked on.
    """
    foreseen = []
    for name in dict.fromkeys(rehearsal.condition.bicycle.name for rehearsal in rehearsed):
        own = [
            rehearsal for rehearsal in rehearsed if rehearsal.condition.bicycle.name == name and not rehearsal.refusal
        ]
        first = {rehearsal.condition.label: rehearsal for rehearsal in own}
        runs = {label: sum(c.label == label for c in conditions) for label in first}
        tell(f"which errors the runs of {name} would show")
        again = [first, *(_rehearsed_again(own, i) for i in range(1, REHEARSALS))]
        windows = [some for number, campaign in enumerate(again) if (some := _windows_of_campaign(campaign, number))]
        if windows:
            foreseen.append(_foreseen(name, [rehearsal.condition for rehearsal in own], windows, runs, tell))
    return tuple(foreseen)


def _rehearsed_again(made: Sequence[DryRun], number: int) -> dict[str, DryRun]:
    """Rehearse the kicked conditions with other noise, by label."""
    conditions = [rehearsal.condition for rehearsal in made if rehearsal.condition.kicked]
    other = {c.label: replace(c.scenario, seed=c.scenario.seed + number) for c in conditions}
    return {c.label: dry_run(replace(c, scenario=other[c.label])) for c in conditions}


def _windows_of_campaign(rehearsed: Mapping[str, DryRun], number: int) -> dict[str, Sequence[Comparison]]:
    """Windows of rehearsed conditions by label, as one of the bicycles drawn from the deviations would give them."""
    windows = {label: some for label, rehearsal in rehearsed.items() if (some := _windows(rehearsal))}
    if not windows:
        return {}
    drawn = draw_machine(next(iter(windows.values()))[0].segment.theory, np.random.default_rng([DRAW_SEED, number]))
    return {label: given for label, some in windows.items() if (given := given_by(drawn, some))}


def _windows(rehearsed: DryRun) -> Sequence[Comparison]:
    """Windows of a rehearsal with a fit that may be compared."""
    if rehearsed.response is None or not rehearsed.condition.kicked:
        return []
    try:
        analysis = analyze_responses([rehearsed.response])
    except InputError:  # no theory of such a motion
        return []
    return [c for c in analysis.comparisons if c.comparable and c.fit.influence.size]


def _foreseen(
    bicycle: str,
    planned: Sequence[Condition],
    windows: Sequence[dict[str, Sequence[Comparison]]],
    runs: dict[str, int],
    tell: Callable[[str], None],
) -> Foresight:
    """Foresee what the planned conditions of one bicycle would see.

    Parameters
    ----------
    bicycle : str
    planned : sequence of Condition
    windows : sequence of dict
        Of each rehearsal of the campaign, by label.
    runs : dict
        Runs planned of each label.
    tell : callable
    """
    theory = next(iter(windows[0].values()))[0].segment.theory
    rehearsed = [
        [RehearsedCondition.of(label, own, runs[label]) for label, own in campaign.items()] for campaign in windows
    ]
    usual = np.array([DRY_FRICTION.usual if n == DRY_FRICTION.name else theory.usual(n) for n in FORESEEN_ERRORS])
    small = [[condition.expected(usual, small=True) for condition in campaign] for campaign in rehearsed]
    largest = _largest_sizes(theory)
    seen, sizes, expected = sizes_seen(
        small, lambda at: [[c.expected(at) for c in campaign] for campaign in rehearsed], usual, largest
    )
    label, beside = _best_beside(expected, planned, sizes, tell)
    uncertain = tuple(theory.uncertain)
    q = len(uncertain)
    better = [shrinkage(expected, np.where(np.arange(q) == i, KNOWN_BETTER, 1.0)) for i in range(q)]
    hiding = [hiding_parameters(expected, i) for i in range(len(FORESEEN_ERRORS))]
    gains = [np.nansum(np.log(errors)) for errors in better]
    return Foresight(
        bicycle=bicycle,
        conditions=max(map(len, expected)),
        windows=max(sum(len(condition.covariances) for condition in campaign) for campaign in expected),
        errors=_errors(theory, seen, largest, expected, beside, hiding, better),
        one_more=label,
        know_first=uncertain[int(np.argmax(gains))] if any(hiding) else "",
    )


def _largest_sizes(theory: Theory) -> Array:
    """Sizes (p,) of the errors [SI] to the side on which a machine can have more of each; friction has no bound."""
    return np.array([largest_size(_nominal(theory, name), theory.range(name)) for name in FORESEEN_ERRORS])


def _nominal(theory: Theory, name: str) -> float:
    """Value of what an error is of, SI, without it; theory knows no dry friction."""
    return 0.0 if name == DRY_FRICTION.name else theory.nominal(name)


def _possible(size: float, largest: float) -> float:
    """Size that is seen; infinite where no machine can have so much."""
    return float(size) if not size > largest else float("inf")


def _best_beside(
    expected: ExpectedCampaigns, planned: Sequence[Condition], sizes: Array, tell: Callable[[str], None]
) -> tuple[str, ExpectedCampaigns]:
    """Label of the one more condition that would shrink the sizes most, and the campaigns with it; empty without one.

    Parameters
    ----------
    expected : sequence of sequences of ExpectedCondition
    planned : sequence of Condition
    sizes : (p,)
        At which the errors are tried, SI.
    tell : callable
    """
    tried: dict[str, RehearsedCondition] = {}
    for condition in _more_conditions(planned):
        tell(f"which errors it would show with one more condition: {condition.label}")
        for label, own in _windows_of_campaign({condition.label: dry_run(condition)}, 0).items():
            tried[label] = RehearsedCondition.of(label, own, 1)
    if not tried:
        return "", ()

    def with_one_more(label: str, small: bool = False) -> ExpectedCampaigns:
        one_more = tried[label].expected(sizes, small)
        return [[*campaign, one_more] for campaign in expected]

    label = min(tried, key=lambda label: _gain(expected, with_one_more(label, small=True)))
    return label, with_one_more(label)


def _errors(
    theory: Theory,
    seen: Array,
    largest: Array,
    expected: ExpectedCampaigns,
    beside: ExpectedCampaigns,
    hiding: Sequence[Sequence[int]],
    better: Sequence[Array],
) -> tuple[ForeseenError, ...]:
    """Smallest sizes of all errors, as planned and with what would make them smaller.

    Parameters
    ----------
    theory : Theory
    seen : (p,)
        Smallest sizes as planned.
    largest : (p,)
        Sizes that a machine can have.
    expected, beside : sequence of sequences of ExpectedCondition
        As planned, and with one more condition; none where there is no such.
    hiding : sequence of sequences of int
        Uncertain parameters that hide each error.
    better : sequence of (p,)
        Shares to which the sizes shrink with each parameter known better.
    """
    uncertain = tuple(theory.uncertain)
    more = smallest_rejected(
        [[c.repeated(MORE_KICKS) for c in campaign] for campaign in expected], seen / np.sqrt(MORE_KICKS)
    )
    besides = smallest_rejected(beside, seen) if beside else np.full(len(seen), np.nan)
    return tuple(
        ForeseenError(
            name=name,
            nominal=_nominal(theory, name),
            seen=float(seen[i]),
            more_kicks=_possible(more[i], largest[i]),
            one_more_speed=_possible(besides[i], largest[i]),
            known_better=float(seen[i] / better[hiding[i][0]][i]) if hiding[i] else float("nan"),
            hidden_by=tuple(uncertain[j] for j in hiding[i]),
        )
        for i, name in enumerate(FORESEEN_ERRORS)
    )


def _gain(before: ExpectedCampaigns, after: ExpectedCampaigns) -> float:
    """Mean logarithm of the sizes after over those before, of the errors that are felt."""
    with np.errstate(invalid="ignore"):
        ratio = np.log(one_deviation(after) / one_deviation(before))
    return float(np.mean(ratio[np.isfinite(ratio)])) if np.isfinite(ratio).any() else 0.0


def _more_conditions(planned: Sequence[Condition]) -> Iterator[Condition]:
    """Conditions at other speeds than those planned: between them and one step beside them."""
    kinds: dict[tuple[str, str], Condition] = {}
    speeds: dict[tuple[str, str], list[float]] = {}
    for condition in planned:
        if len({v for _, v in condition.scenario.speed}) == 1 and not (
            condition.excitation.releases or condition.excitation.held_back
        ):
            key = condition.method, condition.controller
            kinds.setdefault(key, condition)
            speeds.setdefault(key, []).append(condition.v)
    for key, condition in kinds.items():
        limits = condition.rig.limits
        for v in _speeds_beside(speeds[key]):
            if limits.speed_min.value <= v <= limits.speed_max.value:
                moved = _at_speed(condition, v)
                if moved:
                    yield moved


def _speeds_beside(planned: Sequence[float]) -> list[float]:
    """Up to `SPEEDS_TRIED` speeds [m/s] between those planned and beside them, the widest gaps first."""
    v = sorted(set(planned))
    gaps = sorted(pairwise(v), key=lambda pair: pair[0] - pair[1])
    step = max(LEAST_SPEED_STEP, 0.5 * (v[-1] - v[0]) / max(len(v) - 1, 1))
    middles = [0.5 * (a + b) for a, b in gaps if b - a >= 2.0 * LEAST_SPEED_STEP]
    beside = [v[0] - step, v[-1] + step]
    return [round(speed, 2) for speed in (beside + middles)[:SPEEDS_TRIED]]


def _at_speed(condition: Condition, v: float) -> Condition | None:
    """Condition at another speed; None where its controller has no gains there."""
    schedule = condition.schedule
    if not schedule.v[0] <= v <= schedule.v[-1]:
        again = _designed_over(schedule, v, condition) if isinstance(schedule, GainSchedule) else None
        if again is None:
            return None
        schedule = again
    scenario = replace(condition.scenario, speed=tuple((t, v) for t, _ in condition.scenario.speed))
    return replace(condition, v=v, schedule=schedule, scenario=scenario)


def _designed_over(schedule: GainSchedule, v: float, condition: Condition) -> GainSchedule | None:
    """Design gains as those of a schedule about a speed, by its options, or by the gentle ones where these do not."""
    about = (condition.bicycle, condition.method, grid_over([v]), schedule.loop)
    for options in (schedule.options, gentle_options(condition.bicycle, condition.method, schedule.drive)):
        try:
            return design(*about, allow_unstable=True, drive=schedule.drive, **options)
        except (InputError, TypeError, ValueError):
            continue
    return None
