"""Goodness of fit of a campaign.

Chi-square of the model's parameters, and the one that would have to move. The question is put to the pooled
eigenvalues, measured minus like for like, one pair for each condition (`conditions.py`). The sum of squares of the
residuals in units of their covariance is chi-square distributed if the model is right. Where it is too large,
`causes.py` looks for the quantity that would have to move.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any, TypeVar

import numpy as np
from scipy.special import chdtrc

from riderless.experiments.analysis.comparison.compare import windows_by_bicycle
from riderless.experiments.analysis.comparison.process_noise import (
    FEWEST_WINDOWS,
    driven_share,
    estimate_process_noise,
    in_still_air,
    may_tell,
)
from riderless.experiments.analysis.power.power import Detectable, power_table
from riderless.experiments.analysis.verdict.candidate import CandidateCause
from riderless.experiments.analysis.verdict.causes import find_causes
from riderless.experiments.analysis.verdict.conditions import CampaignFit, ConditionMeans, fit_campaign
from riderless.experiments.analysis.verdict.leftover import Leftover, some_windows
from riderless.experiments.analysis.verdict.nonlinear_causes import WINDOWS_RIDDEN, RiddenWindows
from riderless.experiments.analysis.verdict.pairs import CausePair, find_pairs, one_is_not_enough
from riderless.experiments.analysis.verdict.steer_elements import DRY_FRICTION
from riderless.experiments.analysis.verdict.uncertain_parameters import ParameterPosterior
from riderless.experiments.analysis.verdict.wording import SIGNIFICANCE, of_stops, of_two, p_text, what_would_explain
from riderless.experiments.analysis.windows.grouping import by_condition, comparable_windows
from riderless.experiments.analysis.windows.steer_stops import SteerStop, stops_by_bicycle
from riderless.experiments.datatypes import Comparison, Response
from riderless.experiments.notebook import plus_minus, value_table

# Reasons for which no verdict is given: p is not to be trusted where fits, or errors, are not what it rests on.


UNCALIBRATED = {  # estimator: why no p is given for its fits (docs/truth.md has the counts)
    "era": "windows fitted by era reject true models ten times as often as p says, as noise moves its poles by more "
    "than to first order; fit them with --estimator single_mode",
    "several_modes": "windows fitted by several_modes reject true models more often than p says, nine in a hundred at "
    "0.01; fit them with --estimator single_mode",
}
FEWEST_WITH_FRICTION = 2  # windows: in one, some friction explains nearly anything
GREATEST_SCATTER = 0.5  # of the eigenvalue's size, by which windows of one condition may scatter
BLIND_TO_WIND = ("four_state",)  # estimators whose errors count no random torques
GREATEST_DRIVEN_SHARE = 0.2  # of the measured lean rate, that wind, belt or road may drive in the windows


def why_withheld(group: Sequence[Comparison]) -> str:
    """Reason for which no verdict may be given on the windows of one bicycle; empty if one may.

    Parameters
    ----------
    group : sequence of Comparison
        Windows of one bicycle.
    """
    return _why_not_judged(group) or why_not_in_wind(group)


def _why_not_judged(group: Sequence[Comparison]) -> str:
    """Reason for which no verdict may be given in any air; empty if one may."""
    fitted = {c.fit.estimator for c in group}
    reasons = [c.segment.response.unpredicted for c in group]
    reasons += [why for name, why in UNCALIBRATED.items() if name in fitted]
    return next(filter(None, reasons), "") or _why_not_repeated(group)


def _why_not_repeated(group: Sequence[Comparison]) -> str:
    """Reason for which windows of one condition are no repeats; empty where they are, or stand alone."""
    for name, windows in by_condition(comparable_windows(group)).items():
        residuals = np.array([c.residual for c in windows])
        size = abs(np.mean([c.fit.eigenvalue for c in windows]))
        scatter = float(np.std(residuals, ddof=1)) if len(residuals) > 1 else 0.0
        if scatter > GREATEST_SCATTER * size:
            return (
                f"the windows of {name} scatter by {scatter:.2g} 1/s about the prediction, and their eigenvalue is "
                f"{size:.2g} 1/s in size: they show no motion that repeats; look at them one by one"
            )
    return ""


def why_not_in_wind(group: Sequence[Comparison]) -> str:
    """Reason for which the random torques in these windows forbid a verdict; empty if they do not."""
    blind = next(
        (c.fit.estimator for c in group if c.segment.response.process_noise and c.fit.estimator in BLIND_TO_WIND), ""
    )
    if blind:
        return (
            f"wind, belt or road moved it, and the errors of windows fitted by {blind} count none of that; fit them "
            "with --estimator single_mode"
        )
    share = driven_share(group)
    if share > GREATEST_DRIVEN_SHARE:
        return (
            f"wind, belt or road moved it {share:.2f} times as much as its kicks, and errors are known up to "
            f"{GREATEST_DRIVEN_SHARE:g} times only; kick harder, or where it is calmer; "
            "in still air see that the steer meets no stop"
        )
    if 0 < len(group) < FEWEST_WINDOWS and _may_be_wind(group):
        too_few = "one window does" if len(group) == 1 else "two windows do"
        return (
            f"{too_few} not tell wind, belt or road from a wrong model, and something moved it beside its kicks; "
            f"kick it until {FEWEST_WINDOWS} windows or more are kept"
        )
    return ""


def moved_by_friction(group: Sequence[Comparison]) -> list[Comparison]:
    """Windows compared in still air, where dry friction explains all that looks like wind; none where it does not.

    Friction takes from a motion what random torques might give it; wind moves a bicycle as no friction would.
    """
    still = [in_still_air(c) for c in comparable_windows(group) if c.fit.influence.size]
    windows = RiddenWindows(still)
    if len(still) < FEWEST_WITH_FRICTION or not windows.suit(DRY_FRICTION):
        return []
    size = windows.some(some_windows(still, WINDOWS_RIDDEN)).best_size(DRY_FRICTION)
    explained = chdtrc(2 * len(still) - 1, windows.misfit(DRY_FRICTION, size)) >= SIGNIFICANCE
    return still if size > 0.0 and explained else []


def _may_be_wind(group: Sequence[Comparison]) -> bool:
    """Tell whether few windows show what would be taken for random torques, were they more."""
    telling = [c for c in group if may_tell(c.segment.response)]
    return bool(telling) and estimate_process_noise(telling, fewest=1) is not None


# Guard around the verdict: whatever happens in it, windows, fits and comparisons remain, and the reason is told.


_Found = TypeVar("_Found")


def attempt(what: str, compute: Callable[[], _Found], otherwise: _Found) -> tuple[_Found, str]:
    """Compute, or give ``otherwise`` and the reason in words.

    The one place where any error at all is caught: a verdict is the last step of an analysis that took minutes, and
    must not take it away. The reason becomes part of the answer.

    Parameters
    ----------
    what : str
        Subject of the sentence: "the search for causes".
    compute : callable
        Without arguments.
    otherwise
        Result where it fails.
    """
    try:
        return compute(), ""
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        return otherwise, f"{what} could not be made: {reason}"


HALF_A_DRIVE = 0.5  # error of the drive's gain that a campaign has to be able to notice before it says anything
OLD_KEYS = {"chi2_explained": "explains", "chi2_left": "left"}  # in JSON documents


@dataclass(frozen=True, repr=False)
class GoodnessOfFit:
    """Goodness of fit of one bicycle's model over a campaign."""

    bicycle: str
    chi2: float
    dof: int
    p: float  # probability of a larger chi2 if the model is right
    between: complex  # 1/s, standard deviation between runs beyond the noise of single windows, both parts
    conditions: tuple[ConditionMeans, ...]
    causes: tuple[CandidateCause, ...]  # the best first; empty where nothing has to be explained
    parameters: ParameterPosterior | None = None  # after the campaign; None where none is uncertain
    withheld: str = ""  # why p is nan and nothing is judged; empty where it is
    power: tuple[Detectable, ...] = ()  # smallest deviations that would have been seen
    drive_gain: float = 1.0  # torque per torque told that theory goes by
    gain_by: str = "the drive reports"  # and who says so
    pairs: tuple[CausePair, ...] = ()  # two causes at once, the best first; empty where one is enough
    stops: tuple[SteerStop, ...] = ()  # that the steer met; windows with them are left out
    driven: bool = False  # does a drive turn the steer?
    untold: str = ""  # why the joint test or the search for causes could not be made, if it could not

    @property
    def explained(self) -> bool | None:
        """Do the model's parameters explain the data? None where the verdict is withheld, or anything would pass."""
        return None if self.withheld or self.too_weak else self.p >= SIGNIFICANCE

    @property
    def too_weak(self) -> bool:
        """Would a drive half as strong have passed as well?"""
        sizes = [deviation.deviation for deviation in self.power if deviation.name == "drive_gain"]
        return self.driven and self.p >= SIGNIFICANCE and bool(sizes) and min(sizes) >= HALF_A_DRIVE

    @property
    def sentence(self) -> str:
        """Verdict in words."""
        return f"{self._judgement}{of_stops(self.stops)}"

    @property
    def _judgement(self) -> str:
        if self.withheld:
            return f"the verdict on the model of {self.bicycle} is withheld: {self.withheld}"
        numbers = f"chi-square {self.chi2:.1f} with {self.dof} degrees of freedom, p = {p_text(self.p)}{self._reported}"
        n, k = sum(condition.n for condition in self.conditions), len(self.conditions)
        data = f"{n} {'window' if n == 1 else 'windows'} in {k} {'condition' if k == 1 else 'conditions'}"
        if self.too_weak:
            return (
                f"{data} cannot tell whether the model of {self.bicycle} is right: a drive half as strong would pass "
                f"as well ({numbers}); kick more, or at a speed where the drive does more"
            )
        if self.explained:
            return f"the model of {self.bicycle} explains {data} ({numbers})"
        lacking = f"the model of {self.bicycle} does not explain {data} ({numbers})"
        return f"{lacking}{what_would_explain(self.causes, self.chi2, self.dof, self.untold)}{of_two(self.pairs)}"

    @property
    def _reported(self) -> str:
        return "" if self.drive_gain == 1.0 else f"; with {self.drive_gain:.3g} of the torque told, as {self.gain_by}"

    def as_json(self) -> dict[str, Any]:
        """Document of the verdict, under the names that readers of `--json` know."""
        causes = [{OLD_KEYS.get(name, name): value for name, value in asdict(cause).items()} for cause in self.causes]
        after = self.parameters.as_json() if self.parameters else None
        own = asdict(replace(self, parameters=None)) | {"causes": causes, "parameters": after}
        return {**own, "explained": self.explained, "sentence": self.sentence}

    def __repr__(self) -> str:
        return f"GoodnessOfFit({self.sentence})"

    def _repr_html_(self) -> str:
        rows = {
            condition.label: f"{plus_minus(condition.residual.real, condition.std.real, '1/s')}, "
            f"{plus_minus(condition.residual.imag, condition.std.imag, 'rad/s')} (n = {condition.n})"
            for condition in self.conditions
        }
        return value_table(f"Measured minus predicted: {self.sentence}", rows)


def verdicts(
    responses: Sequence[Response],
    comparisons: Sequence[Comparison],
    causes: bool = True,
    tell: Callable[[str], None] = lambda what: None,
) -> list[GoodnessOfFit]:
    """Goodness of fit of each bicycle that was measured.

    Parameters
    ----------
    responses : sequence of Response
    comparisons : sequence of Comparison
        Of windows of these responses.
    causes : bool
        Search for what would explain a rejected model; takes some seconds.
    tell : callable
        Told which bicycle is judged and what is worked on, often.
    """

    def telling(name: str) -> Callable[[str], None]:
        return lambda what: tell(f"verdict on {name}: {what}")

    groups, stops = windows_by_bicycle(comparisons), stops_by_bicycle(responses)
    judged = [bicycle_verdict(name, group, causes, telling(name)) for name, group in groups.items()]
    return [replace(verdict, stops=tuple(stops.get(verdict.bicycle, ()))) for verdict in judged]


def bicycle_verdict(
    bicycle: str,
    group: Sequence[Comparison],
    causes: bool = True,
    tell: Callable[[str], None] = lambda what: None,
) -> GoodnessOfFit:
    """Goodness of fit of one bicycle from its windows.

    Nothing that happens here takes the analysis away: the reason is told in its place (`GoodnessOfFit.untold`).

    Parameters
    ----------
    bicycle : str
    group : sequence of Comparison
    causes : bool
        Search for what would explain a rejected model.
    tell : callable
        Told what is worked on.
    """
    tell("joint test")
    fit, untold = attempt("the joint test", lambda: fit_campaign(group), CampaignFit((), 0j, 0.0, 1.0))
    withheld, _ = attempt("the wind", lambda: _why_not_judged(group), "") if fit.conditions else ("", "")
    if fit.conditions and not withheld:
        withheld, _ = attempt("the wind", lambda: why_not_in_wind(group), "")
        still: list[Comparison] = []
        if withheld:
            still, _ = attempt("friction", lambda: moved_by_friction(group), still)
        if still:
            group, withheld = still, ""
            fit, untold = attempt("the joint test", lambda: fit_campaign(group), fit)
    if withheld:
        fit = replace(fit, p=float("nan"))
    explaining: list[CandidateCause] = []
    leftover = cache(lambda: Leftover(group))  # made once, where it can be made
    if causes and fit.p < SIGNIFICANCE:
        explaining, untold = attempt("the search for causes", lambda: find_causes(group, leftover, tell), explaining)
    unknown: tuple[Detectable, ...] = ()
    pairs: list[CausePair] = []
    if explaining and one_is_not_enough(explaining, 2 * len(fit.conditions)):
        dof = 2 * len(fit.conditions)
        pairs, _ = attempt("the search for pairs", lambda: find_pairs(group, leftover(), explaining, dof, tell), pairs)
    by_rig = bool(group) and group[0].segment.theory.losses.gain != 1.0
    power, _ = attempt("the power", lambda: power_table(group, leftover().covariance, SIGNIFICANCE), unknown)
    return GoodnessOfFit(
        bicycle=bicycle,
        chi2=fit.chi2,
        dof=2 * len(fit.conditions),
        p=fit.p,
        between=fit.between,
        conditions=fit.conditions,
        causes=tuple(explaining),
        parameters=fit.parameters,
        withheld=withheld,
        power=power,
        drive_gain=group[0].segment.theory.nominal("drive_gain") if group else 1.0,
        pairs=tuple(pairs),
        driven=bool(group) and group[0].segment.dynamics.drive is not None,
        gain_by="the rig says" if by_rig else "the drive reports",
        untold=untold,
    )
