"""Goodness of fit of frequency responses.

Chi-square of their trusted lines against theory, and a sentence. The errors of a line's lean rate and steer belong
together, and their covariance is itself measured, from a few bins only. The outputs are taken one after the other, each
given those before it (Roy's step-down procedure): with nu complex degrees of freedom, 2 (nu - j) log(L_j / L_j-1) of
output j = 0, 1, ... is chi-square distributed with two degrees of freedom, exactly, where L_j = 1 + d^H S^-1 d / nu
over the outputs up to j. Lines share no data, so all of it adds up.

The uncertain quantities of bicycle and machine move all lines at once. They may move, at the price of the square of
their own deviations, to where they fit best: the sum is then what a covariance with the predictions' part would give.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import chdtrc

from riderless.experiments.analysis.frequency_response.response import (
    JUDGED_OUTPUTS,
    RESPONSE_CHANNELS,
    TRUSTED,
    FrequencyResponse,
    predicted_ratio,
)
from riderless.experiments.analysis.verdict.goodness_of_fit import SIGNIFICANCE
from riderless.experiments.analysis.verdict.wording import p_text
from riderless.experiments.notebook import value_table
from riderless.models.array_types import Array, ComplexArray
from riderless.models.errors import InputError

LEAST_P = 1e-12  # below it p is told as less
FREED = 3  # gain, delay and lag of the steer, with which the lines are fitted
SEARCH_STEPS = 5  # of the search for where uncertain quantities fit best
OUTPUT_WORDS = {"phi_dot": "lean rate", "delta": "steer", "T": "torque"}


@dataclass(frozen=True)
class LargestDeviation:
    """Line that lies farthest from theory in units of its error."""

    source: str
    output: str
    f: float  # Hz
    gain: float  # measured over predicted
    phase: float  # rad, measured minus predicted
    std: float  # of the relative gain, and of the phase [rad]

    @property
    def deviations(self) -> float:
        """Distance from theory in standard deviations of gain and phase."""
        return abs(self.gain * np.exp(1j * self.phase) - 1.0) / (self.gain * self.std)

    @property
    def sentence(self) -> str:
        """Gain and phase of that line in words."""
        gain, phase = 100.0 * (self.gain - 1.0), np.degrees(self.phase)
        return (
            f"the largest difference in units of its error is {gain:+.2f} ± {100.0 * self.gain * self.std:.2f} % and "
            f"{phase:+.2f} ± {np.degrees(self.std):.2f} deg, in the {OUTPUT_WORDS[self.output]} at {self.f:.2f} Hz"
        )


@dataclass(frozen=True, repr=False)
class ResponseGoodness:
    """Goodness of fit of the responses of the loop or of the plant in one run, or in several together.

    Attributes
    ----------
    lines, of_lines : int
        Lines trusted in every output, of how many.
    chi2, dof, p
        Of the trusted lines; p is the probability of a larger chi2 if theory is right.
    gain, gain_std : float
        A factor on the predicted response that fits all lines best ...
    delay, delay_std : float
        ... with a delay more [s], of the drive or of all sensors ...
    lag, lag_std : float
        ... and the steer measured so much later than the lean rate [s].
    chi2_left : float
        chi2 with all three; three degrees of freedom less. "left" in documents.
    """

    of: str
    lines: int
    of_lines: int
    chi2: float
    dof: int
    p: float
    gain: float
    gain_std: float
    delay: float
    delay_std: float
    lag: float
    lag_std: float
    chi2_left: float
    largest: LargestDeviation | None

    @property
    def agrees(self) -> bool:
        """Does theory explain the trusted lines?"""
        return self.lines > 0 and self.p >= SIGNIFICANCE

    @property
    def sentence(self) -> str:
        """Verdict in words."""
        if self.largest is None:
            return (
                f"nothing can be said of the {self.of}'s response: none of {self.of_lines} lines has a coherence of "
                f"{TRUSTED:g}; play longer or a larger torque"
            )
        does = "agrees" if self.agrees else "does not agree"
        return f"the {self.of}'s response {does} with theory: {self.numbers}; {self.largest.sentence}"

    def as_json(self) -> dict[str, Any]:
        """Document of the verdict, under the names that readers of `--json` know."""
        numbers = {"left" if name == "chi2_left" else name: value for name, value in asdict(self).items()}
        return {**numbers, "agrees": self.agrees, "sentence": self.sentence}

    def __repr__(self) -> str:
        return f"ResponseGoodness({self.sentence})"

    def _repr_html_(self) -> str:
        return value_table(f"Response of the {self.of}", {"chi-square": self.numbers, "theory": self.sentence})

    @property
    def p_text(self) -> str:
        """Probability in words; a dash where nothing was compared."""
        if not self.lines:
            return "-"
        return p_text(self.p) if self.p > LEAST_P else f"< {LEAST_P:g}"

    @property
    def numbers(self) -> str:
        """Chi-square in words."""
        p = f"p {self.p_text}" if self.p_text.startswith("<") else f"p = {self.p_text}"
        lines = f"{self.lines} of {self.of_lines} lines"
        return f"chi-square {self.chi2:.1f} with {self.dof} degrees of freedom ({lines}), {p}"

    @property
    def p_left(self) -> float:
        """Probability of a larger `chi2_left` if gain, delay and lag are all that is wrong."""
        return float(chdtrc(self.dof - FREED, self.chi2_left))

    @property
    def factor(self) -> str:
        """Effect of gain, delay and lag of the steer, in words, and what they do not explain."""
        if not np.isfinite(self.gain_std):
            return "too few lines tell a gain, a delay and a lag of the steer"
        rest = "" if self.p_left >= SIGNIFICANCE else ", which they do not explain"
        return (
            f"{self.gain:.4f} ± {self.gain_std:.4f} of the predicted gain, {self.late} would leave a chi-square of "
            f"{self.chi2_left:.1f} with {self.dof - FREED} degrees of freedom{rest}"
        )

    @property
    def late(self) -> str:
        """Delay, and lag of the steer beside it, in words."""
        return (
            f"{1e3 * self.delay:+.2f} ± {1e3 * self.delay_std:.2f} ms of delay and the steer measured "
            f"{1e3 * self.lag:+.2f} ± {1e3 * self.lag_std:.2f} ms later than the lean rate"
        )


def goodness(responses: Sequence[FrequencyResponse] | FrequencyResponse, system: str) -> ResponseGoodness:
    """Goodness of fit of one run, or of several of one bicycle together.

    Parameters
    ----------
    responses : FrequencyResponse or sequence of FrequencyResponse
    system : str
        "loop" or "plant".
    """
    return _goodness((responses,) if isinstance(responses, FrequencyResponse) else tuple(responses), system)


@lru_cache(maxsize=64)  # the first line, the section and the numbers of a report ask for the same
def _goodness(several: tuple[FrequencyResponse, ...], system: str) -> ResponseGoodness:
    parts = [_Part.of_run(response, system) for response in several]
    n, of_lines = sum(len(part.f) for part in parts), sum(len(response.f) for response in several)
    dof = 2 * len(JUDGED_OUTPUTS) * n
    if not n:
        nan = float("nan")
        return ResponseGoodness(system, 0, of_lines, 0.0, 0, 1.0, nan, nan, nan, nan, nan, nan, nan, None)
    names = list(dict.fromkeys(name for response in several for name in response.slopes))
    prior = np.asarray(np.linalg.inv(_correlation(several, names)), float)
    moved, shifts = _moved(parts, names, prior)
    chi2 = float(moved @ prior @ moved) + sum(part.chi2(shift) for part, shift in zip(parts, shifts, strict=True))
    # in logarithms a gain and delays are straight: log q = log(gain) - 2 pi i f (delay, and of the steer the lag too)
    shapes = [np.zeros((*part.q.shape, FREED), complex) for part in parts]
    for shape, part in zip(shapes, parts, strict=True):
        late = -2j * np.pi * part.f
        shape[:, :, 0], shape[:, :, 1], shape[:, JUDGED_OUTPUTS.index("delta"), 2] = 1.0, late[:, None], late
    best, std = _best(parts, [part.q for part in parts], shapes, np.zeros((FREED, FREED)))
    log_gain, delay, lag = best.tolist()
    chi2_left = sum(part.chi2(np.asarray(shape @ best, complex)) for part, shape in zip(parts, shapes, strict=True))
    return ResponseGoodness(
        of=system,
        lines=n,
        of_lines=of_lines,
        chi2=chi2,
        dof=dof,
        p=float(chdtrc(dof, chi2)),
        gain=float(np.exp(log_gain)),
        gain_std=float(np.exp(log_gain) * std[0]),
        delay=delay,
        delay_std=float(std[1]),
        lag=lag,
        lag_std=float(std[2]),
        chi2_left=chi2_left,
        largest=max((part.largest for part in parts if len(part.f)), key=lambda residual: residual.deviations),
    )


@dataclass(frozen=True, eq=False)
class _Part:
    """Trusted lines of one run: logarithms q (m, p) of measured over predicted and their covariances."""

    run: FrequencyResponse
    of: str
    trusted: np.ndarray
    f: Array
    q: ComplexArray
    covariance: ComplexArray

    @classmethod
    def of_run(cls, run: FrequencyResponse, system: str) -> "_Part":
        ratio, covariance = run.ratios(system)
        seen = run.lines.coherence[:, : len(JUDGED_OUTPUTS if system == "loop" else RESPONSE_CHANNELS)]
        trusted = np.all(seen >= TRUSTED, axis=1)
        ratio, covariance = ratio[trusted], covariance[trusted]
        relative = covariance / (ratio[:, :, None] * ratio[:, None, :].conj())
        return cls(run, system, trusted, run.f[trusted], np.log(ratio), relative)

    def slopes(self, names: Sequence[str]) -> ComplexArray:
        """Change of the logarithms of the prediction by one standard deviation of each quantity, (m, p, k)."""
        none = np.zeros((len(self.trusted), len(JUDGED_OUTPUTS)), complex)
        side = ("loop", "plant").index(self.of)
        columns = [self.run.slopes[name][side] if name in self.run.slopes else none for name in names]
        return np.stack(columns, axis=-1)[self.trusted] if columns else np.zeros((*self.q.shape, 0), complex)

    def shift(self, deviations: dict[str, float]) -> ComplexArray:
        """Change of the logarithms of the prediction by quantities so many standard deviations away, (m, p)."""
        own = {name: many for name, many in deviations.items() if name in self.run.slopes}
        return np.asarray(np.log(predicted_ratio(self.run.move(own), self.run.theory, self.of, self.f)), complex)

    def chi2(self, moved: ComplexArray) -> float:
        """Chi-square of the lines against a prediction whose logarithms moved by (m, p)."""
        return float(step_down(self.q - moved, self.covariance, self.run.lines.freedom).sum())

    @property
    def largest(self) -> LargestDeviation:
        """Line farthest from theory in units of its error."""
        std = np.sqrt(0.5 * np.einsum("mii->mi", self.covariance).real)
        k, i = np.unravel_index(np.argmax(np.abs(np.expm1(self.q)) / (np.abs(np.exp(self.q)) * std)), self.q.shape)
        q = complex(self.q[k, i])
        return LargestDeviation(
            self.run.source, JUDGED_OUTPUTS[i], float(self.f[k]), float(np.exp(q.real)), q.imag, float(std[k, i])
        )


def _correlation(several: Sequence[FrequencyResponse], names: Sequence[str]) -> Array:
    """Correlation matrix (k, k) of the uncertain quantities of all runs, which are of one bicycle."""
    matrix = np.eye(len(names))
    for run in several:
        if run.correlation is not None:
            places = [names.index(name) for name in run.slopes]
            matrix[np.ix_(places, places)] = run.correlation
    return matrix


def _moved(parts: Sequence[_Part], names: Sequence[str], prior: Array) -> tuple[Array, list[ComplexArray]]:
    """Move uncertain quantities (k,) to where they fit best, in standard deviations; and each prediction with them.

    ``prior`` (k, k) is the inverse of their correlations. Slopes are those at the beginning, but residuals are computed
    anew: a loop is not linear in its parameters.
    """
    slopes = [part.slopes(names) for part in parts]
    moved, shifts = np.zeros(len(names)), [np.zeros_like(part.q) for part in parts]
    for _ in range(SEARCH_STEPS if names else 0):
        seen = [part.q - s + J @ moved for part, s, J in zip(parts, shifts, slopes, strict=True)]
        there, _ = _best(parts, seen, slopes, prior)
        try:
            shifts = [part.shift(dict(zip(names, there.tolist(), strict=True))) for part in parts]
        except InputError:  # no bicycle can be like that
            break
        moved = there
    return moved, shifts


def _best(
    parts: Sequence[_Part], seen: Sequence[ComplexArray], slopes: Sequence[ComplexArray], prior: Array
) -> tuple[Array, Array]:
    """Quantities (k,) with which ``slopes`` fit what is ``seen`` best, and their standard deviations.

    ``prior`` (k, k) holds their precision. The deviations come from the scatter of the lines' scores (a sandwich
    covariance): covariances from so few bins make good enough weights, but promise half the scatter there is.
    """
    k = len(prior)
    H, g = np.array(prior, float), np.zeros(k)
    lines = []  # score (m, k) of each line and its information (m, k, k): score - information times quantities
    for part, q, J in zip(parts, seen, slopes, strict=True):
        nu, p = part.run.lines.freedom, len(JUDGED_OUTPUTS)
        # the inverse of a covariance that was measured is too large on average
        weighted = 2.0 * (nu - p) / nu * np.linalg.solve(part.covariance, J).conj()
        information = np.einsum("mpj,mpk->mjk", weighted, J).real
        score = np.einsum("mpk,mp->mk", weighted, q).real
        H, g = H + information.sum(axis=0), g + score.sum(axis=0)
        lines.append((score, information))
    if not k:
        return g, g
    inverse = np.linalg.inv(H)
    best = inverse @ g
    scores = np.concatenate([score - information @ best for score, information in lines])
    n = len(scores)
    if n <= k:  # as many quantities as lines: nothing scatters
        return best, np.full(k, np.nan)
    scatter = n / (n - k) * scores.T @ scores
    return best, np.sqrt(np.diag(inverse @ scatter @ inverse))


def step_down(d: ComplexArray, covariance: ComplexArray, freedom: int) -> Array:
    """Chi-square (m,) of differences d, two degrees of freedom for each of the p outputs; see the module.

    Parameters
    ----------
    d : (m, p)
        Complex differences.
    covariance : (m, p, p)
        E[d d^H] of complex errors, estimated with ``freedom`` degrees.
    """
    total, before = np.zeros(len(d)), np.ones(len(d))
    for j in range(d.shape[1]):
        some = d[:, : j + 1, None]
        squares = (some.conj().swapaxes(1, 2) @ np.linalg.solve(covariance[:, : j + 1, : j + 1], some)).real[:, 0, 0]
        now = 1.0 + squares / freedom
        total += 2.0 * (freedom - j) * np.log(now / before)
        before = now
    return total


def response_document(response: FrequencyResponse) -> dict[str, Any]:
    """Document of every number of a run, the goodness of fit included."""
    judged = {system: goodness(response, system) for system in ("loop", "plant")}
    return {
        **response.as_json(),
        "goodness": {system: verdict.as_json() for system, verdict in judged.items()},
    }


@dataclass(frozen=True)
class FrequencyGoodness:
    """Verdict on the runs of one bicycle together."""

    agrees: bool
    headline: str
    details: str

    @property
    def sentence(self) -> str:
        """Headline and details."""
        return f"{self.headline}: {self.details}" if self.details else self.headline


def frequency_verdict(responses: Sequence[FrequencyResponse]) -> FrequencyGoodness:
    """Verdict on all runs of one bicycle together."""
    loop, plant = goodness(responses, "loop"), goodness(responses, "plant")
    if loop.largest is None or plant.largest is None:
        return FrequencyGoodness(
            False, f"nothing can be said of the frequency response of {responses[0].bicycle}", loop.sentence
        )
    headline = (
        f"the frequency response of {responses[0].bicycle} {'agrees' if loop.agrees else 'does not agree'} with theory"
    )
    if len(responses) > 1:
        headline += f" ({sum(goodness(response, 'loop').agrees for response in responses)} of {len(responses)} runs do)"
    details = f"loop {loop.numbers}; {loop.largest.sentence}"
    if not loop.agrees:
        details += f"; the plant's {'agrees' if plant.agrees else f'does not either; {plant.factor}'}"
    return FrequencyGoodness(loop.agrees, headline, details)


def frequency_verdicts(responses: Sequence[FrequencyResponse]) -> list[FrequencyGoodness]:
    """Verdict on each bicycle."""
    bicycles = dict.fromkeys(response.bicycle for response in responses)
    return [frequency_verdict([response for response in responses if response.bicycle == name]) for name in bicycles]
