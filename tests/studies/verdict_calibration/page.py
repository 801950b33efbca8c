"""Tables of the study: is p uniform where the model is true, in every stratum?"""

from collections.abc import Callable, Sequence

import numpy as np
from scipy.stats import binom, kstest

from riderless.experiments.fault_injection.summary_table import markdown_table
from tests.studies.verdict_calibration.judge import CampaignAnswer

LEVELS = (0.05, 0.01)  # of p, whose shares are counted
BOUNDS = 0.99  # share of counts that binomial bounds hold
KS_LEVEL = 0.01  # Kolmogorov-Smirnov p below which p is not uniform, over all rows together (Holm)
ANSWER_GROUPS: dict[str, Callable[[CampaignAnswer], str]] = {
    "verdict by stratum": lambda a: a.campaign.stratum,
    "verdict by controller": lambda a: a.campaign.method,
    "verdict by noise": lambda a: (
        "below 1" if a.campaign.noise < 1.0 else "1 to 2" if a.campaign.noise < 2.0 else "2 to 4"
    ),
    "verdict by bicycle": lambda a: a.campaign.bicycle,
    "verdict by estimator": lambda a: a.campaign.estimator,
}
HEAD = ["", "campaigns", "without verdict", "chi-square a degree", "p < 0.05", "p < 0.01", "KS p", "uniform"]


def binomial_bounds(n: int, level: float) -> tuple[int, int]:
    """Least and greatest count of n that a true share leaves with the probability `BOUNDS`."""
    least, greatest = binom.interval(BOUNDS, n, level)
    return int(least), int(greatest)


def holm(values: Sequence[float]) -> list[float]:
    """Correct p values for their number (Holm 1979)."""
    order = np.argsort(values)
    corrected = np.maximum.accumulate(np.array(values)[order] * np.arange(len(values), 0, -1))
    found = np.empty(len(values))
    found[order] = np.minimum(corrected, 1.0)
    return [float(p) for p in found]


def uniformity(answers: Sequence[CampaignAnswer]) -> float:
    """Kolmogorov-Smirnov p of the answers' p against a uniform one; 1 without any."""
    p = [a.p for a in answers if a.judged]
    return float(kstest(p, "uniform").pvalue) if p else 1.0


def calibration_tables(answers: Sequence[CampaignAnswer]) -> dict[str, str]:
    """Make a table for each grouping, by name; the column of Holm is over all their rows together."""
    rows = [
        (name, key, [a for a in answers if of(a) == key])
        for name, of in ANSWER_GROUPS.items()
        for key in sorted({of(a) for a in answers})
    ]
    corrected = holm([uniformity(some) for _, _, some in rows])
    tables = {}
    for name in ANSWER_GROUPS:
        lines = [_row(key, some, p) for (table, key, some), p in zip(rows, corrected, strict=True) if table == name]
        if name == "verdict by stratum":
            lines.append(_row("all", answers, uniformity(answers)))
        tables[name] = markdown_table(HEAD, lines)
    return tables


def _row(name: str, answers: Sequence[CampaignAnswer], corrected: float) -> list[str]:
    """Row of a table: counts beside their bounds, and whether all of them and KS hold."""
    judged = [a for a in answers if a.judged]
    n = len(judged)
    counts = [sum(a.p < level for a in judged) for level in LEVELS]
    bounds = [binomial_bounds(n, level) for level in LEVELS]
    held = all(low <= count <= high for count, (low, high) in zip(counts, bounds, strict=True)) and corrected > KS_LEVEL
    chi2 = sum(a.chi2 for a in judged) / max(sum(a.dof for a in judged), 1)
    shares = [f"{count} ({low} to {high})" for count, (low, high) in zip(counts, bounds, strict=True)]
    return [
        name,
        str(n),
        str(len(answers) - n),
        f"{chi2:.2f}",
        *shares,
        f"{uniformity(judged):.2g}",
        "yes" if held else "no",
    ]
