"""Causes that would explain a rejected model.

Each quantity is moved alone (`riderless.experiments.analysis.identification.output_error`), and ranked by how much of
the misfit it takes away, less what moving it costs. The best are then tried on the eigenvalues: every prediction is
made again with them. Beside them stand the parts that no linear theory has (`nonlinear_causes.py`). What is left of the
eigenvalues' chi-square decides which is named first.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from riderless.experiments.analysis.identification.output_error import AveragedWindow, linearise
from riderless.experiments.analysis.power.power import like_for_like_slopes
from riderless.experiments.analysis.verdict.candidate import (
    LIKELIHOOD_BOUND,
    CandidateCause,
    impossible,
    nearest_possible,
)
from riderless.experiments.analysis.verdict.leftover import Leftover, some_windows, with_moved_prediction
from riderless.experiments.analysis.verdict.nonlinear_causes import nonlinear_causes
from riderless.experiments.analysis.verdict.uncertain_parameters import linear_predictions
from riderless.experiments.analysis.windows.grouping import comparable_windows
from riderless.experiments.datatypes import Comparison
from riderless.experiments.dynamics import Theory, unit_of
from riderless.models.array_types import ComplexArray
from riderless.models.errors import InputError

WINDOWS_SEARCHED = 4  # windows beyond which a search for causes takes an even choice of a condition's windows
CAUSES_PREDICTED_AGAIN = 4  # best causes with which all predictions are made again
CAUSES_REPORTED = 8  # causes that are reported
ALIKE_TRIED = 6  # quantities that explain the eigenvalues as well, though the motion ranks them lower
AS_GOOD = 0.8  # of what the best cause explains: one that cannot be is told of if it would explain more


def find_causes(
    group: Sequence[Comparison],
    leftover_of: Callable[[], Leftover],
    tell: Callable[[str], None] = lambda name: None,
) -> list[CandidateCause]:
    """Find what would explain the misfit of one bicycle's windows; the best first, those tried on eigenvalues ahead.

    Parameters
    ----------
    group : sequence of Comparison
    leftover_of : callable
        Gives the leftover of the same windows.
    tell : callable
        Told what is tried.
    """
    tell("all quantities")
    leftover = leftover_of()
    ranked = rank_causes([AveragedWindow.of(c.segment) for c in some_windows(group, WINDOWS_SEARCHED)])
    leading = [cause for cause in ranked if cause.chi2_explained > 0.0][:CAUSES_REPORTED]
    tried = nonlinear_causes(group, leftover, tell)
    nominal = linear_predictions(group, {})
    for cause in leading[:CAUSES_PREDICTED_AGAIN]:
        tell(cause.name)
        try:
            tried.append(_on_eigenvalues(group, leftover, nominal, cause))
        except InputError:  # a machine that cannot be is no candidate
            continue
    tell("what cannot be told from them")
    tried.sort(key=lambda cause: cause.chi2_left)
    tried = tried[:CAUSES_REPORTED] + _alike(group, leftover, nominal, ranked, tried)
    before, names = leftover.chi2(group), {cause.name for cause in tried}
    tried = [replace(cause, chi2_before=before) for cause in tried]
    untried = [cause for cause in leading if cause.name not in names][: max(CAUSES_REPORTED - len(tried), 0)]
    return tried + untried + _impossible_but_better(ranked, leading)


def _alike(
    group: Sequence[Comparison],
    leftover: Leftover,
    nominal: ComplexArray,
    ranked: Sequence[CandidateCause],
    tried: Sequence[CandidateCause],
) -> list[CandidateCause]:
    """Find quantities that explain the eigenvalues as well as the best cause, though they would have to be far off.

    The motion ranks a quantity by its usual deviation, and so never tries a mass that is wrong by a tenth. It is no
    likely cause, but no answer may deny that it cannot be told from the one named.
    """
    names = [cause.name for cause in ranked if cause.name not in {other.name for other in tried}]
    if not names or not tried:
        return []
    residual, slopes = leftover.residual, like_for_like_slopes(comparable_windows(group), names)
    precise = np.linalg.solve(leftover.covariance, np.column_stack([residual, slopes]))
    sizes = np.einsum("ij,ij->j", slopes, precise[:, 1:])
    with np.errstate(divide="ignore", invalid="ignore"):
        moves = slopes.T @ precise[:, 0] / sizes
    chi2_after = residual @ precise[:, 0] - np.nan_to_num(moves**2 * sizes)
    theory, alike = group[0].segment.theory, []
    for i in np.argsort(chi2_after)[:ALIKE_TRIED]:
        cause = next(other for other in ranked if other.name == names[i])
        if chi2_after[i] > tried[0].chi2_left + LIKELIHOOD_BOUND or not np.isfinite(moves[i]):
            break
        moved = nearest_possible(theory, cause.name, cause.nominal + float(moves[i]))
        cause = replace(cause, moved=moved, deviations=(moved - cause.nominal) / theory.usual(cause.name))
        try:
            alike.append(_on_eigenvalues(group, leftover, nominal, cause))
        except InputError:
            continue
    return [cause for cause in alike if cause.chi2_left <= tried[0].chi2_left + LIKELIHOOD_BOUND]


def _impossible_but_better(ranked: Sequence[CandidateCause], leading: Sequence[CandidateCause]) -> list[CandidateCause]:
    """Quantities that cannot be moved the way they should, though that would explain as much as the best that can."""
    best = max((cause.chi2_explained for cause in leading), default=0.0)
    names = {cause.name for cause in leading}
    return [
        cause
        for cause in sorted(ranked, key=lambda cause: -cause.would_explain)
        if cause.outside and cause.name not in names and cause.would_explain > max(AS_GOOD * best, 0.0)
    ]


def rank_causes(windows: Sequence[AveragedWindow]) -> list[CandidateCause]:
    """Rank the quantities, each moved alone to where the motion fits best; the one that explains most first.

    None is moved beyond what is possible. One whose best value lies there is told of (`CandidateCause.outside`), and
    explains only what its nearest possible value does; the last are those that cannot move at all.
    """
    theory = windows[0].theory
    names = theory.causes
    scale = np.array([theory.usual(name) for name in names])
    p = len(names)
    H, C, g = np.zeros((p, p)), np.zeros((p, p)), np.zeros(p)
    for window in windows:
        here = linearise(window, {}, names, linearise(window, {}).stds)
        J = here.jacobian * scale
        H, g, C = H + J.T @ J, g + J.T @ here.residual, C + np.outer(scale, scale) * here.score_covariance()
    felt = np.flatnonzero(np.diag(H) > 1e-9)  # a linear bicycle does not feel every parameter
    h, c = np.diag(H)[felt], np.maximum(np.diag(C)[felt] / np.diag(H)[felt], 1.0)
    score, precision = -g[felt] / c, h / c + 1.0
    causes = [_within_the_possible(theory, names[i], float(score[k]), float(precision[k])) for k, i in enumerate(felt)]
    return sorted(causes, key=lambda cause: -cause.chi2_explained)


def _within_the_possible(theory: Theory, name: str, score: float, precision: float) -> CandidateCause:
    """Move a quantity to where a quadratic with this score and precision (per usual deviation) is best, if it can be.

    Parameters
    ----------
    theory : Theory
    name : str
    score, precision : float
        First derivative of half the chi-square explained, and minus its second.
    """
    nominal, scale = theory.nominal(name), theory.usual(name)
    best = nominal + score / precision * scale
    moved = nearest_possible(theory, name, best)
    deviations = (moved - nominal) / scale
    return CandidateCause(
        name=name,
        nominal=nominal,
        moved=moved,
        deviations=deviations,
        measured=name in theory.uncertain,
        chi2_explained=max(deviations * (2.0 * score - precision * deviations), 0.0),
        chi2_left=float("nan"),
        best=best,
        outside="" if moved == best else impossible(theory, name, best),
        unit=unit_of(name),
        would_explain=score**2 / precision,
    )


def _on_eigenvalues(
    group: Sequence[Comparison], leftover: Leftover, nominal: ComplexArray, cause: CandidateCause
) -> CandidateCause:
    """Predict again with a quantity where the motion wants it, and where the eigenvalues do; the better of the two.

    Parameters
    ----------
    group : sequence of Comparison
    leftover : Leftover
        Of the same windows.
    nominal : (N,) complex
        Linear predictions with nothing moved [1/s].
    cause : CandidateCause
    """
    change = linear_predictions(group, {cause.name: cause.moved}) - nominal
    by_motion = replace(cause, chi2_left=leftover.chi2(_again(group, change)))
    theory = group[0].segment.theory
    share = _share_wanted(group, change)
    moved = nearest_possible(theory, cause.name, cause.nominal + share * (cause.moved - cause.nominal))
    deviations = (moved - cause.nominal) / theory.usual(cause.name)
    elsewhere = replace(cause, moved=moved, deviations=deviations)
    chi2_left = leftover.chi2(_again(group, linear_predictions(group, {cause.name: moved}) - nominal))
    return replace(elsewhere, chi2_left=chi2_left) if chi2_left < by_motion.chi2_left else by_motion


def _share_wanted(group: Sequence[Comparison], change: ComplexArray) -> float:
    """Share of a change (N,) of the predictions with which the windows agree best, were it in proportion to a move."""
    std = np.array([c.prediction.difference_std for c in group])
    z = np.array([(c.z_re, c.z_im) for c in group])
    d = np.column_stack([change.real, change.imag]) / std
    known = np.isfinite(z).all(axis=1) & np.isfinite(d).all(axis=1)
    z, d = z[known].ravel(), d[known].ravel()
    return float(z @ d / (d @ d)) if d.any() else 1.0


def _again(group: Sequence[Comparison], change: ComplexArray) -> list[Comparison]:
    """Compare the same fits with predictions that are changed (N,) [1/s]."""
    return [with_moved_prediction(c, complex(by)) for c, by in zip(group, change, strict=True)]
