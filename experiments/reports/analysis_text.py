"""Analysis in words.

Windows, conditions, verdicts, frequency responses, and what stands beside them.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from riderless.experiments.analysis.analyze import Analysis
from riderless.experiments.analysis.comparison import coasting
from riderless.experiments.analysis.comparison.compare import PooledCondition, figure7_residuals
from riderless.experiments.analysis.frequency_response.goodness_of_fit import goodness
from riderless.experiments.analysis.frequency_response.response import TRUSTED, FrequencyResponse
from riderless.experiments.analysis.verdict.goodness_of_fit import GoodnessOfFit
from riderless.experiments.analysis.verdict.next_steps import next_steps
from riderless.experiments.analysis.windows.grouping import same_speeds
from riderless.experiments.analysis.windows.notes import BY_PERSON
from riderless.experiments.datatypes import Comparison, Response
from riderless.experiments.recordings.author_windows import BesideAuthors
from riderless.experiments.recordings.published import Figure7
from riderless.experiments.reports.answer import answer_of
from riderless.experiments.reports.text import Sentence, TextBlock, TextTable, eigenvalue_text, number_text

REMARKS_SHOWN = 8  # of one recording
WINDOWS_LISTED = 24  # of more, only the conditions are shown


def answer_blocks(
    analysis: Analysis, frequency: Sequence[FrequencyResponse] = (), missing: str = ""
) -> Iterator[Sentence]:
    """Give the answer, which everything else follows from, with what is ``missing`` of a campaign."""
    if not (analysis.responses or frequency):
        if missing:
            yield Sentence(missing, strong=True)
        return
    answer = answer_of(analysis.verdicts, analysis.responses, analysis.comparisons, frequency, missing)
    yield Sentence(answer.headline, strong=True)
    for sentence in answer.details:
        yield Sentence(sentence)
    yield Sentence("")


def analysis_blocks(analysis: Analysis) -> Iterator[TextBlock]:
    """Describe what was measured beside what was predicted: per window when few, else per condition."""
    summary = analysis.summary
    if not analysis.comparisons:
        yield Sentence("no window could be compared with the prediction; what was looked at:")
        for r in analysis.rejected:
            yield Sentence(f"{r.source} {r.t_start:.2f}-{r.t_end:.2f} s: {r.reason}")
        yield from _what_next(analysis)
        return
    if len(analysis.comparisons) <= WINDOWS_LISTED:
        yield window_table(analysis.comparisons)
    yield condition_table(summary.pooled)
    if analysis.rejected:
        yield Sentence(f"{len(analysis.rejected)} parts rejected, first: {analysis.rejected[0].reason}")
    reasons = [(r.source, r.t_start, r.t_end, r.reason) for r in analysis.rejected]
    reasons += [(w.source, w.t_start, w.t_end, w.rule) for w in (c.window for c in analysis.comparisons)]
    for source, start, end, text in reasons:
        if BY_PERSON in text:
            yield Sentence(f"{source} {start:.2f}-{end:.2f} s: {text}", wrapped=False)
    yield from _what_next(analysis)
    for verdict in analysis.verdicts:
        if verdict.explained is False:
            yield _cause_table(verdict)


def _what_next(analysis: Analysis) -> Iterator[Sentence]:
    """Say what to do about the recordings in which no window could be compared."""
    for step in next_steps(analysis.responses, analysis.comparisons, analysis.rejected):
        yield Sentence(f"what to do next: {step}")


def window_table(comparisons: Sequence[Comparison]) -> TextTable:
    """List the windows, measured beside predicted."""
    return TextTable(
        "Windows: eigenvalues 1/s",
        ["recording", "window s", "v m/s", "measured", "std re, im", "frozen", "like for like", "z re, im"],
        [
            [
                c.label or c.window.source,
                f"{c.window.t_start:.2f}-{c.window.t_end:.2f}",
                f"{c.window.v_start:.2f}-{c.window.v_end:.2f}",
                eigenvalue_text(complex(c.fit.re, c.fit.im)),
                f"{c.fit.re_std:.2f}, {c.fit.im_std:.2f}",
                eigenvalue_text(c.prediction.frozen),
                eigenvalue_text(c.prediction.like),
                f"{number_text(c.z_re, 1)}, {number_text(c.z_im, 1)}",
            ]
            for c in comparisons
        ],
        _windows_apart(comparisons),
        keys=2,
    )


def _windows_apart(comparisons: Sequence[Comparison]) -> str:
    """Say which windows are large motions, and in which the frozen eigenvalue is not what a fit should find."""
    large = [c.prediction.lean_rate for c in comparisons if c.prediction.nonlinear]
    changes = [c for c in comparisons if "because the speed changes" in c.prediction.status]
    sentences = []
    if large:
        sentences.append(
            f"like for like through the nonlinear bicycle: {len(large)} of {len(comparisons)} windows, lean rate up to "
            f"{max(large):.2g} rad/s"
        )
    if changes:
        bias = np.mean([c.prediction.bias for c in changes])
        sentences.append(
            f"speed changes: in {len(changes)} of {len(comparisons)} windows a fit should not find the frozen "
            f"eigenvalue,\nbut {bias.real:+.3f} 1/s and {bias.imag:+.3f} rad/s more on average: compare like for like"
        )
    return "\n".join(sentences)


def condition_table(pooled: Sequence[PooledCondition]) -> TextTable:
    """List the conditions, each the mean over its windows."""
    return TextTable(
        "Conditions: eigenvalues 1/s, mean over windows",
        ["condition", "v m/s", "measured", "95 % re, im", "frozen", "like for like", "scatter", "width", "within 3"],
        [
            [
                p.label,
                f"{p.v_mean:.2f}",
                eigenvalue_text(complex(p.re.mean, p.im.mean)),
                f"{number_text(p.re.half_width, 2)}, {number_text(p.im.half_width, 2)}",
                eigenvalue_text(p.frozen),
                eigenvalue_text(p.like),
                f"{number_text(p.residual_re.birge_ratio, 1)}, {number_text(p.residual_im.birge_ratio, 1)}",
                f"{p.width:.2f}",
                f"{p.agreeing}/{p.n}",
            ]
            for p in pooled
        ],
        "frozen: eigenvalue of theory at the mean speed; like for like: the same fit on the model driven by the\n"
        "measured speed; 95 %: half the mean's interval, an effect between windows included; scatter: measured\n"
        "minus like, over what windows say of their errors; width: m/s from the slowest window to the fastest (one at\n"
        "changing speed has its own row); within 3: single windows, in deviations of their own noise",
    )


def _cause_table(verdict: GoodnessOfFit) -> TextTable:
    """List what would explain a model that is rejected, each quantity moved alone."""
    return TextTable(
        f"What would explain it, {verdict.bicycle}: each alone, the best first",
        ["quantity", "unit", "nominal", "would be", "deviations", "explains", "chi-square left"],
        [
            [
                cause.name,
                cause.unit,
                f"{cause.nominal:.5g}",
                f"{cause.moved:.5g}",
                f"{cause.deviations:+.1f}" + ("" if cause.measured else " usual"),
                f"{cause.chi2_explained:.0f}",
                number_text(cause.chi2_left, 1),
            ]
            for cause in verdict.causes
        ],
        "deviations: of its own standard deviation, or of what is usual where nobody gave one; explains: of the\n"
        "chi-square of lean rate, steer and yaw rate themselves; left: of the eigenvalues, predicted again with it",
    )


def remarks_of(responses: Sequence[Response]) -> list[tuple[str, str]]:
    """All that was noticed about recordings: the name of each, and a sentence."""
    return [(response.source, remark) for response in responses for remark in response.remarks]


def remarks_json(responses: Sequence[Response]) -> list[dict[str, str]]:
    """Remarks on recordings for a document."""
    return [{"source": source, "remark": remark} for source, remark in remarks_of(responses)]


def remark_blocks(responses: Sequence[Response]) -> Iterator[Sentence]:
    """Say what was found wrong in the recordings, the first remarks of each."""
    for response in responses:
        for remark in response.remarks[:REMARKS_SHOWN]:
            yield Sentence(f"{response.source}: {remark}", wrapped=False)
        if len(response.remarks) > REMARKS_SHOWN:
            yield Sentence(f"{response.source}: {len(response.remarks) - REMARKS_SHOWN} more remarks, with --json")


def beside_table(rows: Sequence[BesideAuthors]) -> TextTable:
    """Compare the automatic windows with those cut by hand."""
    return TextTable(
        "Beside the windows cut by hand: eigenvalues 1/s, means over the shared windows",
        ["recording", "v m/s", "by hand", "found", "extra", "by hand", "automatic", "frozen"],
        [
            [
                row.source,
                f"{row.v_mean:.2f}",
                str(row.by_hand),
                str(row.found),
                str(row.extra),
                eigenvalue_text(row.hand),
                eigenvalue_text(row.shared),
                eigenvalue_text(row.frozen),
            ]
            for row in rows
        ],
    )


def published_blocks(name: str, measured: Figure7) -> Iterator[TextBlock]:
    """Compare a table of published eigenvalues with the weave of Silver, also as if each run had been slowing."""
    residuals = figure7_residuals(measured)
    yield Sentence(
        f"{name}: {residuals.n} measured weave eigenvalues minus the frozen ones of Silver: "
        f"Re {residuals.re_mean:+.3f} 1/s (rms {residuals.re_rms:.3f}), "
        f"Im {residuals.im_mean:+.3f} rad/s (rms {residuals.im_rms:.3f})"
    )
    rates = coasting.DECELERATIONS
    yield TextTable(
        "like for like, had every run slowed after a push: mean of Re, 1/s, by what slowed it",
        ["slowed by", *(f"{rate:g} m/s^2" for rate in rates)],
        [
            [by, *(f"{coasting.coasting_residuals(rate, by, measured=measured).re_mean:+.3f}" for rate in rates)]
            for by in coasting.RETARDING_FORCES
        ],
        "neither the deceleration nor what slowed a run is published, but of one",
    )


def frequency_blocks(responses: Sequence[FrequencyResponse], unusable: Sequence[str] = ()) -> Iterator[TextBlock]:
    """Describe loop and plant of each condition, and what could not be used."""
    if responses:
        yield TextTable(
            "Frequency responses: measured beside predicted",
            ["condition", "v m/s", "lines", "chi-square", "dof", "p", "gain", "more delay ms", "steer lag ms"],
            _frequency_rows(responses),
            f"lines: with a coherence of {TRUSTED:g} or more; gain, delay, lag: factor on the prediction, more\n"
            "delay, and how much later than the lean rate the steer is measured, that fit all lines best, with one std",
        )
    for sentence in unusable:
        yield Sentence(sentence, wrapped=False)


def _frequency_rows(responses: Sequence[FrequencyResponse]) -> list[list[str]]:
    """Make a row of the table for loop and plant of each condition, its repeats together."""
    made = []
    for label, alike in _alike(responses):
        for system in ("loop", "plant"):
            judged = goodness(alike, system)
            made.append(
                [
                    f"{label}: {system}",
                    f"{np.mean([response.v for response in alike]):.2f}",
                    f"{judged.lines} of {judged.of_lines}",
                    f"{judged.chi2:.1f}",
                    str(judged.dof),
                    judged.p_text,
                    f"{judged.gain:.4f} ± {judged.gain_std:.4f}" if judged.lines else "-",
                    f"{1e3 * judged.delay:+.2f} ± {1e3 * judged.delay_std:.2f}" if judged.lines else "-",
                    f"{1e3 * judged.lag:+.2f} ± {1e3 * judged.lag_std:.2f}" if judged.lines else "-",
                ]
            )
    return made


def _alike(responses: Sequence[FrequencyResponse]) -> Iterator[tuple[str, list[FrequencyResponse]]]:
    """Frequency responses of each condition, with its label."""
    for label in dict.fromkeys(response.label for response in responses):
        own = [response for response in responses if response.label == label]
        for part in same_speeds([response.v for response in own]):
            yield label, [own[i] for i in part]
