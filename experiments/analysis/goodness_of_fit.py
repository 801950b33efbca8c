"""Goodness of fit of a campaign: chi-square of the model's parameters, and the one that would have to move.

The question is put to the pooled eigenvalues, measured minus like for like, one pair for each condition. Their
covariance has two parts: that of the windows themselves, with a random effect between runs beside the noise of each,
and that of the uncertain parameters in the prediction, which all conditions share. The sum of squares of the
residuals in units of both is chi-square distributed if the model is right.

The answer to the second question comes from the motion itself (`experiments.analysis.output_error`): each quantity is
moved alone, and ranked by how much of the misfit it takes away, less what moving it costs.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy.special import chdtrc

from experiments.analysis.compare import compare
from experiments.analysis.identification import QUANTITY_STEP
from experiments.analysis.output_error import Segment, linearise
from experiments.analysis.random_effects import MIN_VARIANCE, between_run_variance, weighted_mean
from experiments.datatypes import Comparison, Response
from experiments.dynamics import unit_of
from experiments.notebook import plus_minus, value_table
from experiments.theory.theory import theory_for
from experiments.theory.uncertainty_bands import eigenvalue_derivatives
from models.array_types import Array

SIGNIFICANCE = 0.01  # probability of a worse misfit below which a model is rejected
WINDOWS_SEARCHED = 6  # windows beyond which a search for causes takes an even choice of a condition's windows
CAUSES_PREDICTED_AGAIN = 4  # best causes with which all predictions are made again
CAUSES_REPORTED = 8  # causes that are reported
OLD_KEYS = {"chi2_explained": "explains", "chi2_left": "left"}  # in JSON documents
INDISTINGUISHABLE = 0.8  # of what the best cause explains, above which another cannot be told from it


@dataclass(frozen=True)
class CandidateCause:
    """Quantity moved alone: by how much, and how much of the misfit it explains."""

    name: str
    nominal: float  # SI
    moved: float  # SI, to where
    deviations: float  # moved minus nominal, in its standard deviations
    measured: bool  # is that deviation a measured one, or only the usual?
    chi2_explained: float  # of the motion's chi-square
    chi2_left: float  # chi-square of the eigenvalues that would remain; nan where it was not tried

    @property
    def unit(self) -> str:
        """Unit of the quantity, SI."""
        return unit_of(self.name)


@dataclass(frozen=True)
class ConditionMeans:
    """Pooled eigenvalues of the windows of one label: measured minus like for like."""

    label: str
    v: float  # m/s
    n: int
    residual: complex
    std: complex  # standard deviations of both parts, the effect between runs included


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

    @property
    def explained(self) -> bool:
        """Do the model's parameters explain the data?"""
        return self.p >= SIGNIFICANCE

    @property
    def sentence(self) -> str:
        """Verdict in words."""
        numbers = f"chi-square {self.chi2:.1f} with {self.dof} degrees of freedom, p = {self.p:.2g}"
        if self.explained:
            return f"the model of {self.bicycle} explains these data ({numbers})"
        lacking = f"the model of {self.bicycle} does not explain these data ({numbers})"
        if not self.causes or self.causes[0].chi2_left > 0.5 * self.chi2:
            return f"{lacking}, and no single quantity would"
        first = self.causes[0]
        known = "of its standard deviations" if first.measured else "of its usual standard deviations"
        alike = [
            cause.name for cause in self.causes[1:] if cause.chi2_explained > INDISTINGUISHABLE * first.chi2_explained
        ]
        return (
            f"{lacking}; with {first.name} at {first.moved:.4g}{' ' if first.unit else ''}{first.unit} instead of "
            f"{first.nominal:.4g}, {abs(first.deviations):.1f} {known}, chi-square would be {first.chi2_left:.1f}"
            + (f"; these data cannot tell that from {', '.join(alike)}" if alike else "")
        )

    def as_json(self) -> dict[str, Any]:
        """Document of the verdict, under the names that readers of `--json` know."""
        causes = [{OLD_KEYS.get(name, name): value for name, value in asdict(cause).items()} for cause in self.causes]
        return {**asdict(self), "causes": causes, "explained": self.explained, "sentence": self.sentence}

    def __repr__(self) -> str:
        return f"GoodnessOfFit({self.sentence})"

    def _repr_html_(self) -> str:
        rows = {
            one.label: f"{plus_minus(one.residual.real, one.std.real, '1/s')}, "
            f"{plus_minus(one.residual.imag, one.std.imag, 'rad/s')} (n = {one.n})"
            for one in self.conditions
        }
        return value_table(f"Measured minus predicted: {self.sentence}", rows)


def verdicts(
    responses: Sequence[Response], comparisons: Sequence[Comparison], causes: bool = True
) -> list[GoodnessOfFit]:
    """Goodness of fit of each bicycle that was measured.

    Parameters
    ----------
    responses : sequence of Response
    comparisons : sequence of Comparison
        Of windows of these responses.
    causes : bool
        Search for what would explain a rejected model; takes some seconds.
    """
    by_name = {(r.source, r.label or r.source): r for r in responses}
    groups: dict[str, list[tuple[Response, Comparison]]] = {}
    for c in comparisons:
        response = by_name[c.window.source, c.label]
        groups.setdefault(theory_for(response).bicycle.name, []).append((response, c))
    return [bicycle_verdict(name, group, causes) for name, group in groups.items()]


def bicycle_verdict(bicycle: str, group: Sequence[tuple[Response, Comparison]], causes: bool = True) -> GoodnessOfFit:
    """Goodness of fit of one bicycle from its windows, each with the recording it was cut from."""
    conditions, between, chi2 = pool_conditions(group)
    p = float(chdtrc(2 * len(conditions), chi2)) if conditions else 1.0
    found: list[CandidateCause] = []
    if causes and p < SIGNIFICANCE:
        found = rank_causes([Segment.of(r, c.window) for r, c in _some(group)])[:CAUSES_REPORTED]
        tried = [
            replace(cause, chi2_left=pool_conditions(_again(group, cause))[2])
            for cause in found[:CAUSES_PREDICTED_AGAIN]
        ]
        alike = [cause for cause in tried if cause.chi2_explained > INDISTINGUISHABLE * tried[0].chi2_explained]
        found[: len(tried)] = sorted(alike, key=lambda cause: cause.chi2_left) + tried[len(alike) :]
    return GoodnessOfFit(bicycle, chi2, 2 * len(conditions), p, between, conditions, tuple(found))


def pool_conditions(group: Sequence[tuple[Response, Comparison]]) -> tuple[tuple[ConditionMeans, ...], complex, float]:
    """Pool each condition's windows; also the standard deviation between runs [1/s], both parts, and chi-square."""
    usable = [(r, c) for r, c in group if np.isfinite([c.z_re, c.z_im]).all()]
    labels = list(dict.fromkeys(c.label for _, c in usable))
    if not labels:
        return (), 0j, 0.0
    by_label = [[(r, c) for r, c in usable if c.label == label] for label in labels]
    means, variances, spread = [], [], []
    for part, i in (("real", 0), ("imag", 1)):
        residuals = [np.array([getattr(_residual(c), part) for _, c in some]) for some in by_label]
        var = [np.array([c.prediction.difference_std[i] ** 2 for _, c in some]) for some in by_label]
        between = between_run_variance(residuals, var)
        found = [weighted_mean(y, np.maximum(v + between, MIN_VARIANCE)) for y, v in zip(residuals, var, strict=True)]
        means.append([mean for mean, _ in found])
        variances.append([std**2 for _, std in found])
        spread.append(between)
    residual = np.array(means).T.ravel()
    covariance = np.diag(np.array(variances).T.ravel()) + _of_parameters(by_label)
    std = np.sqrt(np.diag(covariance))
    conditions = [
        ConditionMeans(
            label,
            float(np.mean([c.window.v_mean for _, c in some])),
            len(some),
            complex(means[0][i], means[1][i]),
            complex(std[2 * i], std[2 * i + 1]),
        )
        for i, (label, some) in enumerate(zip(labels, by_label, strict=True))
    ]
    chi2 = float(residual @ np.linalg.solve(covariance, residual))
    return tuple(conditions), complex(*np.sqrt(spread)), chi2


def _again(group: Sequence[tuple[Response, Comparison]], cause: CandidateCause) -> list[tuple[Response, Comparison]]:
    """Compare the same fits with the predictions of a theory in which one quantity is moved."""
    again = []
    for response, c in group:
        moved = replace(response, theory=theory_for(response).move({cause.name: cause.moved}))
        again += [(moved, one) for one in compare(moved, [c.window], [c.fit])]
    return again


def rank_causes(segments: Sequence[Segment]) -> list[CandidateCause]:
    """Rank the quantities, each moved alone to where the motion fits best; the one that explains most first."""
    theory = segments[0].theory
    names = theory.causes
    scale = np.array([theory.usual(name) for name in names])
    p = len(names)
    H, C, g = np.zeros((p, p)), np.zeros((p, p)), np.zeros(p)
    nothing = np.zeros(0)
    for segment in segments:
        stds = linearise(segment, {}, (), nothing, {}).stds
        here = linearise(segment, {name: theory.nominal(name) for name in names}, names, QUANTITY_STEP * scale, stds)
        J = here.jacobian * scale
        H, g, C = H + J.T @ J, g + J.T @ here.residual, C + np.outer(scale, scale) * here.score_covariance()
    felt = np.flatnonzero(np.diag(H) > 1e-9)  # a linear bicycle does not feel every parameter
    h, c = np.diag(H)[felt], np.maximum(np.diag(C)[felt] / np.diag(H)[felt], 1.0)
    score, precision = -g[felt] / c, h / c + 1.0
    explains = score**2 / precision
    causes = [
        CandidateCause(
            name=names[i],
            nominal=theory.nominal(names[i]),
            moved=theory.nominal(names[i]) + float(score[k] / precision[k] * scale[i]),
            deviations=float(score[k] / precision[k]),
            measured=names[i] in theory.uncertain,
            chi2_explained=float(explains[k]),
            chi2_left=float("nan"),
        )
        for k, i in enumerate(felt)
    ]
    return sorted(causes, key=lambda cause: -cause.chi2_explained)


def _some(group: Sequence[tuple[Response, Comparison]]) -> list[tuple[Response, Comparison]]:
    """At most `WINDOWS_SEARCHED` windows of each condition, evenly chosen."""
    chosen = []
    for label in dict.fromkeys(c.label for _, c in group):
        own = [(r, c) for r, c in group if c.label == label]
        chosen += [own[round(i)] for i in np.linspace(0, len(own) - 1, min(len(own), WINDOWS_SEARCHED))]
    return chosen


def _of_parameters(by_label: Sequence[Sequence[tuple[Response, Comparison]]]) -> Array:
    """Covariance (2 k, 2 k) that uncertain parameters give the predictions of k conditions, all at once."""
    std = theory_for(by_label[0][0][0]).uncertain
    G = _slopes(by_label, list(std)) * np.array(list(std.values()))
    return G @ G.T


def _slopes(by_label: Sequence[Sequence[tuple[Response, Comparison]]], names: Sequence[str]) -> Array:
    """Change of the predicted eigenvalues of k conditions by p quantities, (2 k, p): re, im, re, im, ..."""
    rows: list[Array] = []
    for some in by_label:
        response, c = some[0]
        v = float(np.mean([one.window.v_mean for _, one in some]))
        change = eigenvalue_derivatives(theory_for(response), v, names, c.prediction.frozen)
        rows += [change.real, change.imag]
    return np.array(rows).reshape(2 * len(by_label), len(names))


def _residual(c: Comparison) -> complex:
    """Measured minus like for like [1/s]."""
    return c.fit.eigenvalue - c.prediction.like
