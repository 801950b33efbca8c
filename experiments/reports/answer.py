"""Answer of an analysis, in one sentence.

It comes first, with what it rests on, so that a text or a page has one voice. The question is put to all windows of a
bicycle together, and to the frequency responses of its runs. Single windows are no second verdict: they are counted
below it, and where their count looks otherwise the reason is said.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from riderless.experiments.analysis.comparison.compare import windows_by_bicycle
from riderless.experiments.analysis.comparison.process_noise import noise_of_bicycles, noise_sentence
from riderless.experiments.analysis.frequency_response.goodness_of_fit import FrequencyGoodness, frequency_verdict
from riderless.experiments.analysis.frequency_response.response import FrequencyResponse
from riderless.experiments.analysis.power.power import power_sentence
from riderless.experiments.analysis.verdict.goodness_of_fit import GoodnessOfFit
from riderless.experiments.analysis.verdict.wording import measure_next
from riderless.experiments.datatypes import AGREEMENT, Comparison, Response

NOTHING_COMPARED = "no window of these recordings could be compared with theory"


@dataclass(frozen=True)
class Answer:
    """Answer to "does theory explain what was measured?".

    Attributes
    ----------
    explained : bool or None
        None where nothing could be judged.
    headline : str
        The answer in one sentence, without a full stop.
    details : tuple of str
        Sentences that it rests on, or that follow from it.
    """

    explained: bool | None
    headline: str
    details: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Give the answer for a document."""
        return asdict(self)


@dataclass(frozen=True)
class _Judged:
    """One bicycle's verdict of one kind: on eigenvalues, or on frequency responses."""

    bicycle: str
    what: str
    explained: bool | None
    headline: str
    details: str


def answer_of(
    verdicts: Sequence[GoodnessOfFit],
    responses: Sequence[Response] = (),
    comparisons: Sequence[Comparison] = (),
    frequency: Sequence[FrequencyResponse] = (),
    missing: str = "",
) -> Answer:
    """Join the verdicts on eigenvalues and frequency responses to one answer.

    Parameters
    ----------
    verdicts : sequence of GoodnessOfFit
        One for each bicycle.
    responses : sequence of Response
        Recordings that the windows were cut from.
    comparisons : sequence of Comparison
        Windows beside their predictions.
    frequency : sequence of FrequencyResponse
        Of the runs that played a torque.
    missing : str
        Which runs of a campaign are missing and why: said with the answer, which is one about the others.
    """
    answer = _joined_answer(verdicts, responses, comparisons, frequency)
    return replace(answer, headline=f"{answer.headline}; {missing}") if missing else answer


def _joined_answer(
    verdicts: Sequence[GoodnessOfFit],
    responses: Sequence[Response],
    comparisons: Sequence[Comparison],
    frequency: Sequence[FrequencyResponse],
) -> Answer:
    judged = [_on_eigenvalues(verdict) for verdict in verdicts] + _on_frequency_responses(frequency)
    windows = _single_windows(verdicts, comparisons)
    windows += tuple(noise_sentence(bicycle, noise) for bicycle, noise in noise_of_bicycles(responses))
    if not judged:
        return Answer(None, windows[0] if windows else NOTHING_COMPARED, windows[1:])
    if len(judged) == 1:
        first = judged[0]
        return Answer(first.explained, first.headline, (*([first.details] if first.details else []), *windows))
    details = tuple(each.headline + (f": {each.details}" if each.details else "") for each in judged)
    known = [each.explained for each in judged if each.explained is not None]
    return Answer(all(known) if known else None, _headline(judged), (*details, *windows))


def _on_eigenvalues(verdict: GoodnessOfFit) -> _Judged:
    if verdict.dof == 0:
        why = verdict.untold or "no window has a finite deviation"
        answer = f"nothing can be said of the model of {verdict.bicycle}: {why}"
        return _Judged(verdict.bicycle, "eigenvalues", None, answer, "")
    advice = [power_sentence(verdict.power), measure_next(verdict.causes)]
    return _Judged(
        verdict.bicycle,
        "eigenvalues",
        verdict.explained,
        verdict.sentence,
        "; ".join(sentence for sentence in advice if sentence),
    )


def _on_frequency_responses(responses: Sequence[FrequencyResponse]) -> list[_Judged]:
    judged = []
    for bicycle in dict.fromkeys(response.bicycle for response in responses):
        own: FrequencyGoodness = frequency_verdict([response for response in responses if response.bicycle == bicycle])
        explained = None if own.headline.startswith("nothing can be said") else own.agrees
        judged.append(_Judged(bicycle, "frequency response", explained, own.headline, own.details))
    return judged


def _headline(judged: Sequence[_Judged]) -> str:
    """One sentence about several verdicts: bicycles where they are all of one kind, else what of which bicycle."""
    one_kind = len({each.what for each in judged}) == 1

    def names(explained: bool | None) -> str:
        some = [each for each in judged if each.explained is explained]
        listed = [each.bicycle if one_kind else f"the {each.what} of {each.bicycle}" for each in some]
        return ", ".join(listed[:-1]) + (" and " if len(listed) > 1 else "") + listed[-1] if listed else ""

    subject = "these data of " if one_kind else ""
    yes, no, unknown = names(True), names(False), names(None)
    parts = []
    if no:
        parts.append(f"theory does not explain {subject}{no}")
        parts += [f"it explains {'those of ' if one_kind else ''}{yes}"] if yes else []
    elif yes:
        parts.append(f"theory explains {subject}{yes}")
    if unknown:
        parts.append(f"nothing can be said of {unknown}")
    return "; ".join(parts)


def _single_windows(verdicts: Sequence[GoodnessOfFit], comparisons: Sequence[Comparison]) -> tuple[str, ...]:
    """Count the single windows of each bicycle, and say why their count may look otherwise than the verdict."""
    counted = []
    by_bicycle = windows_by_bicycle(comparisons)
    for bicycle, own in by_bicycle.items():
        n, k = len(own), sum(c.agrees for c in own)
        sentence = f"taken alone, {k} of {n} windows lie within {AGREEMENT:g} standard deviations of the prediction"
        if len(by_bicycle) > 1:
            sentence = f"{bicycle}: {sentence}"
        verdict = next((each for each in verdicts if each.bicycle == bicycle), None)
        if verdict is not None and verdict.dof and not verdict.withheld:
            uncertain = any(c.segment.theory.uncertain for c in own)
            sentence += _beside_the_whole(verdict, n, k, uncertain)
        counted.append(sentence)
    return tuple(counted)


def _beside_the_whole(verdict: GoodnessOfFit, n: int, k: int, uncertain: bool) -> str:
    """Reason for which ``k`` of ``n`` single windows do not contradict the verdict on all of them."""
    if verdict.explained is False:
        return "; together they show what one window is too uncertain to show" if k == n else ""
    if k == n:
        return ""
    allowed = []
    if abs(verdict.between) > 0.0:
        re, im = verdict.between.real, verdict.between.imag
        allowed.append(f"windows scatter by {re:.2g} 1/s and {im:.2g} rad/s beyond their noise")
    if uncertain:
        allowed.append("bicycle and machine are known only within their standard deviations")
    why = " and ".join(allowed) or "some of many windows lie far out by chance"
    return f"; {n - k} of {n} lie farther out, and the joint test allows for that: {why}"
