"""Frequency responses in the terminal."""

from collections.abc import Sequence

import numpy as np

from experiments.frequency.goodness_of_fit import frequency_verdicts, goodness
from experiments.frequency.response import TRUSTED, FrequencyResponse
from experiments.terminal.console import screen, table


def show(found: Sequence[FrequencyResponse], unusable: Sequence[str] = ()) -> None:
    """Print a table of loop and plant of each condition, a verdict for each bicycle, and what could not be used."""
    if found:
        table(
            "Frequency responses: measured beside predicted",
            ["condition", "v m/s", "lines", "chi-square", "dof", "p", "gain", "more delay ms"],
            rows(found),
            f"lines: with a coherence of {TRUSTED:g} or more; gain and delay: factor on the prediction, and delay\n"
            "beyond it, that fit all lines best, with one standard deviation",
        )
    for answer in frequency_verdicts(found):
        screen.print(answer.sentence, soft_wrap=True)
    for sentence in unusable:
        screen.print(sentence, soft_wrap=True)


def rows(found: Sequence[FrequencyResponse]) -> list[list[str]]:
    """A row of the table for loop and plant of each condition, its repeats together."""
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
