"""Analysis of responses.

Windows -> fits -> predictions -> comparisons, the same for every kind of recording.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from riderless.experiments.analysis.comparison.compare import (
    Summary,
    compare,
    rejected_fits,
    summary,
    windows_by_bicycle,
)
from riderless.experiments.analysis.comparison.process_noise import in_random_torques, noise_json, with_process_noise
from riderless.experiments.analysis.estimators import ESTIMATOR_GROUP, ESTIMATORS, real_mode, single_mode
from riderless.experiments.analysis.estimators.uncertainty import fit_window
from riderless.experiments.analysis.identification.four_state import NAME as FOUR_STATE
from riderless.experiments.analysis.identification.four_state import fit_cuts
from riderless.experiments.analysis.verdict.goodness_of_fit import GoodnessOfFit, verdicts
from riderless.experiments.analysis.verdict.next_steps import next_steps
from riderless.experiments.analysis.windows.cut import make_window
from riderless.experiments.analysis.windows.find import find_windows
from riderless.experiments.analysis.windows.grouping import in_conditions, with_unknown_resistance
from riderless.experiments.analysis.windows.notes import BY_PERSON, PRINTED_ROUNDING, across_not_free, apply_notes
from riderless.experiments.analysis.windows.steer_stops import stops_by_bicycle, without_stops
from riderless.experiments.datatypes import OURS, Comparison, Fit, Rejected, Response, Segment, Window
from riderless.experiments.theory.modes import kicked_mode
from riderless.firmware_interface.devices.outside import offered
from riderless.hil.controllers.controller import NotLinearError
from riderless.models.errors import InputError
from riderless.models.linear.resistance import Resistance

LEAST_LINEAR_GAIN = 5.0  # of the log likelihood over all windows, from which on they move linearly
MOVES_LINEARLY = (
    "all windows together move as linear equations do, however far the bicycle leans, as of a linear simulation; they "
    "are compared with linear motions"
)
_logger = logging.getLogger("riderless.experiments")
FASTEST_LOG = 100.0  # m/s; a log that says more is refused elsewhere, window by window


@dataclass(frozen=True)
class Analysis:
    """Windows, fits and comparisons of a set of recordings."""

    responses: tuple[Response, ...]
    comparisons: tuple[Comparison, ...]
    rejected: tuple[Rejected, ...]

    @property
    def summary(self) -> Summary:
        """Number of windows that agree with the prediction, and the pooled values of each condition."""
        return summary(self.comparisons)

    @cached_property
    def verdicts(self) -> list[GoodnessOfFit]:
        """Goodness of fit of each bicycle over all its windows, and the parameters that would explain a misfit."""
        return verdicts(self.responses, self.comparisons)

    def judge(self, tell: Callable[[str], None]) -> list[GoodnessOfFit]:
        """Make the verdicts now, and tell what is worked on; those that were made before stay."""
        if "verdicts" not in self.__dict__:
            self.__dict__["verdicts"] = verdicts(self.responses, self.comparisons, tell=tell)
            for response in self.responses:
                response.release_memory()
        return self.verdicts

    def as_json(self) -> dict[str, Any]:
        """Document of windows, verdicts and rejected parts, as `riderless analyze --json` prints them."""
        return {
            "verdicts": [_verdict_json(v) for v in self.verdicts],
            "windows": [_window_json(c) for c in self.comparisons],
            "process_noise": noise_json(self.responses),
            "next_steps": next_steps(self.responses, self.comparisons, self.rejected),
            "rejected": [
                {"source": r.source, "t_start": r.t_start, "t_end": r.t_end, "reason": r.reason} for r in self.rejected
            ],
        }


def analyze_responses(
    responses: Sequence[Response],
    given: tuple[float, float] | None = None,
    estimator: str | None = None,
    on_progress: Callable[[Response], None] = lambda response: None,
    on_window: Callable[[Response, int, int], None] = lambda response, done, total: None,
) -> Analysis:
    """Find windows, fit, predict and compare.

    Parameters
    ----------
    responses : sequence of Response
    given : (t_start, t_end) or None
        A window [s] given by a person instead of the automatic ones.
    estimator : str or None
        A name of `riderless.experiments.analysis.estimators.ESTIMATORS`, or four_state; None takes the one that suits
        what theory expects.
    on_progress : callable
        Told each response when it is done.
    on_window : callable
        Told each response with how many of its windows have been compared, of how many.

    Raises
    ------
    InputError
        There is no such estimator.
    """
    require_estimator(estimator)
    comparisons: list[Comparison] = []
    rejected: list[Rejected] = []
    looked_at: list[Response] = []
    stops = stops_by_bicycle(responses)
    for response in responses:
        why = _why_not_linear(response)
        response.release_memory()
        if why:
            looked_at.append(response)
            rejected.append(Rejected(response.source, float(response.t[0]), float(response.t[-1]), why))
            on_progress(response)
            continue
        if given is None:
            found, refused = find_windows(response)
            if response.kind == OURS:
                found, at_stops = without_stops(response, found, stops.get(response.own_theory.bicycle.name, ()))
                refused = sorted([*refused, *at_stops], key=lambda part: part.t_start)
            windows, refused = apply_notes(response, (found, refused))  # a person's notes have the last word
        else:
            windows, refused = [given_window(response, *given)], []
        looked_at.append(with_unknown_resistance(response, windows))
        fits = []
        for window in windows:
            segment = Segment(looked_at[-1], window)
            fit = fitted(segment, estimator or suitable(segment))
            if fit.ok:
                comparisons.append(compare(segment, fit))
            else:
                where = response.source, window.t_start, window.t_end
                _logger.warning("no fit of %s from %.2f to %.2f s: %s", *where, fit.status)
            fits.append(fit)
            response.release_memory()  # so that long signals are never in memory all at once
            on_window(response, len(fits), len(windows))
        rejected += [*refused, *rejected_fits(windows, fits)]
        on_progress(response)
    analysis = _of_one_resistance(Analysis(tuple(looked_at), tuple(comparisons), tuple(rejected)))
    analysis = _of_one_theory(analysis)
    analysis = _in_process_noise(analysis)
    return replace(analysis, comparisons=tuple(in_conditions(analysis.comparisons)))


def _why_not_linear(response: Response) -> str:
    """Say why theory has nothing to say of a response: its controller has no linearisation; mostly empty."""
    v = float(np.median(response.v))
    if response.theory is None or not 0.0 <= v <= FASTEST_LOG:
        return ""
    try:
        response.own_theory.dynamics().matrix(v)
    except NotLinearError as error:
        return str(error)
    return ""


def _of_one_resistance(found: Analysis) -> Analysis:
    """Let all recordings of a bicycle know that something resists it, where one does: they are judged together."""
    known = {r.theory.bicycle.name for r in found.responses if r.theory and r.theory.resistance}
    responses = {r.key: r for r in found.responses}
    for key, response in responses.items():
        theory = response.theory
        if theory and theory.resistance is None and theory.bicycle.name in known:
            responses[key] = replace(response, theory=replace(theory, resistance=Resistance()))
    comparisons = [replace(c, segment=Segment(responses[c.key], c.window)) for c in found.comparisons]
    return replace(found, responses=tuple(responses.values()), comparisons=tuple(comparisons))


def _of_one_theory(found: Analysis) -> Analysis:
    """Compare all windows of a bicycle in somebody else's logs with linear motions, where these explain them better.

    A real bicycle bends, and so does one of ours that is not emulated by linear equations. A log of a simulation may
    not; all its windows together tell that, and no window is judged by the theory that suits it best.
    """
    theirs = [c for c in found.comparisons if c.segment.response.kind != OURS and c.segment.theory.losses.linear]
    gains = {}
    for name, group in windows_by_bicycle(theirs).items():
        gains[name] = sum(c.prediction.linear_gain for c in group)
        if gains[name] > LEAST_LINEAR_GAIN and group[0].segment.theory.resistance:  # a wrong one may seem to bend it
            free = [compare(_unresisted(c.segment), c.fit) for c in group]
            gains[name] = min(gains[name], sum(c.prediction.linear_gain for c in free))
    linear = {name for name, gain in gains.items() if gain > LEAST_LINEAR_GAIN}
    responses = {response.key: response for response in found.responses}
    for key, response in responses.items():
        if response.kind != OURS and response.own_theory.bicycle.name in linear:
            remarks = (*response.remarks, MOVES_LINEARLY)
            responses[key] = replace(response, theory=replace(response.own_theory, linear=True), remarks=remarks)
    comparisons = []
    for c in found.comparisons:
        segment = Segment(responses[c.key], c.window)
        again = c.prediction.nonlinear and segment.theory.linear
        comparisons.append(compare(segment, c.fit) if again else replace(c, segment=segment))
    return replace(found, responses=tuple(responses.values()), comparisons=tuple(comparisons))


def _unresisted(segment: Segment) -> Segment:
    """Window of a bicycle that something slows at the rear rim."""
    response = segment.response
    theory = replace(response.own_theory, resistance=None)
    return replace(segment, response=replace(response, theory=theory))


def _in_process_noise(found: Analysis) -> Analysis:
    """Carry the random torques of wind, belt or road that the windows show, if any, into the errors of all."""
    responses = with_process_noise(found.responses, found.comparisons)
    by_key = {response.key: response for response in responses}
    comparisons: list[Comparison] = []
    for c in found.comparisons:
        segment = Segment(by_key[c.key], c.window)
        if segment.response.process_noise is None:
            comparisons.append(replace(c, segment=segment))
        else:
            comparisons.append(compare(segment, in_random_torques(segment, c.fit)))
    return Analysis(tuple(responses), tuple(comparisons), found.rejected)


def require_estimator(name: str | None) -> None:
    """Refuse what is neither an estimator nor None, before anything long is done. Raises InputError."""
    known = (*ESTIMATORS, FOUR_STATE)
    if name not in (*known, None) and offered(ESTIMATOR_GROUP, str(name)) is None:
        raise InputError(f"wanted an estimator among {', '.join(known)}, found '{name}'; choose one of them")


def fitted(segment: Segment, estimator: str) -> Fit:
    """Fit one window by a named estimator, one of `experiments.analysis.estimators` or the joint four-state fit."""
    return fit_cuts(segment) if estimator == FOUR_STATE else fit_window(segment, estimator)


def suitable(segment: Segment) -> str:
    """Choose the estimator for what theory expects: an oscillation, or, where it knows none, real exponentials.

    An uncontrolled bicycle at rest or slower than its double-root speed falls over without swinging.
    """
    oscillates = np.isfinite(kicked_mode(segment.dynamics, segment.window.v_mean))
    return single_mode.NAME if oscillates else real_mode.NAME


def given_window(response: Response, t_start: float, t_end: float) -> Window:
    """Make a window of the rows of a response with t_start <= t <= t_end.

    Raises
    ------
    InputError
        When the recording does not hold that time.
    """
    t, half = response.t, 0.5 * response.dt
    rows = np.flatnonzero((t >= t_start - half) & (t <= t_end + half))
    if t_end <= t_start or len(rows) < 10:
        raise InputError(
            f"the window {t_start:g} to {t_end:g} s holds {len(rows)} samples of {response.source}, which runs "
            f"from {t[0]:.3f} to {t[-1]:.3f} s: give a start and a later end within it"
        )
    start, stop = int(rows[0]), int(rows[-1]) + 1
    beyond = t_start < t[0] - PRINTED_ROUNDING or t_end > t[-1] + PRINTED_ROUNDING
    cut = f" as {t_start:g} to {t_end:g} s, which the recording does not hold all of" if beyond else ""
    return make_window(response, start, stop, f"given {BY_PERSON}{cut}{across_not_free(response, start, stop)}")


def _verdict_json(v: GoodnessOfFit) -> dict[str, Any]:
    return v.as_json()


def _window_json(c: Comparison) -> dict[str, Any]:
    return {
        "source": c.window.source,
        "label": c.label,
        "condition": c.condition,
        "t_start": c.window.t_start,
        "t_end": c.window.t_end,
        "v_mean": c.window.v_mean,
        "v_start": c.window.v_start,
        "v_end": c.window.v_end,
        "re": c.fit.re,
        "im": c.fit.im,
        "re_std": c.fit.re_std,
        "im_std": c.fit.im_std,
        "predicted_re": c.prediction.frozen.real,
        "predicted_im": c.prediction.frozen.imag,
        "like_re": c.prediction.like.real,
        "like_im": c.prediction.like.imag,
        "difference_re_std": c.prediction.difference_std[0],
        "difference_im_std": c.prediction.difference_std[1],
        "bias_re": c.prediction.bias.real,
        "bias_im": c.prediction.bias.imag,
        "corrected_re": c.corrected.real,
        "corrected_im": c.corrected.imag,
        "like_model": "nonlinear" if c.prediction.nonlinear else "linear",
        "lean_rate": c.prediction.lean_rate,
        "z_re": c.z_re,
        "z_im": c.z_im,
        "r2": c.fit.r2,
        "mode": c.prediction.mode,
        "rule": c.window.rule,
        "status": c.fit.status,
        "prediction_status": c.prediction.status,
    }
