"""Frequency responses in words: one table of loop and plant, and verdicts."""

from collections.abc import Iterator, Sequence

import numpy as np

from experiments.frequency.goodness_of_fit import answers, goodness
from experiments.frequency.response import TRUSTED, FrequencyResponse
from experiments.reports.text import Sentence, TextBlock, TextTable


def frequency_blocks(found: Sequence[FrequencyResponse], unusable: Sequence[str] = ()) -> Iterator[TextBlock]:
    """Describe loop and plant of each condition, a verdict for each bicycle, and what could not be used."""
    if found:
        yield TextTable(
            "Frequency responses: measured beside predicted",
            ["condition", "v m/s", "lines", "chi-square", "dof", "p", "gain", "more delay ms"],
            _rows(found),
            f"lines: with a coherence of {TRUSTED:g} or more; gain and delay: factor on the prediction, and delay\n"
            "beyond it, that fit all lines best, with one standard deviation",
        )
    for answer in answers(found):
        yield Sentence(answer.sentence, wrapped=False)
    for sentence in unusable:
        yield Sentence(sentence, wrapped=False)


def _rows(found: Sequence[FrequencyResponse]) -> list[list[str]]:
    """Make a row of the table for loop and plant of each condition, its repeats together."""
    made = []
    for label in dict.fromkeys(one.label for one in found):
        alike = [one for one in found if one.label == label]
        for of in ("loop", "plant"):
            judged = goodness(alike, of)
            made.append(
                [
                    f"{label}: {of}",
                    f"{np.mean([one.v for one in alike]):.2f}",
                    f"{judged.lines} of {judged.of_lines}",
                    f"{judged.chi2:.1f}",
                    str(judged.dof),
                    f"{judged.p:.2g}" if judged.p > 1e-12 else "< 1e-12",
                    f"{judged.gain:.4f} ± {judged.gain_std:.4f}" if judged.lines else "-",
                    f"{1e3 * judged.delay:+.2f} ± {1e3 * judged.delay_std:.2f}" if judged.lines else "-",
                ]
            )
    return made
