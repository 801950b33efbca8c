"""Verdicts of the study's campaigns, each a line of a file: what is there already is not asked again."""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from riderless.experiments.analysis.analyze import analyze_responses
from riderless.experiments.analysis.verdict.conditions import fit_campaign
from riderless.experiments.analysis.verdict.goodness_of_fit import why_not_in_wind
from riderless.experiments.campaigns.sweeps import spread
from riderless.models.errors import InputError
from tests.studies.answer_lines import end_last_line, whole_lines
from tests.studies.verdict_calibration.simulate import campaign_responses
from tests.studies.verdict_calibration.strata import StudyCampaign


@dataclass(frozen=True)
class CampaignAnswer:
    """Verdict of one true campaign; p is nan where there is none, and does not count where it is withheld."""

    campaign: StudyCampaign
    conditions: int
    windows: int
    chi2: float
    dof: float
    p: float
    reason: str = ""  # why there was no verdict

    @property
    def judged(self) -> bool:
        """Was a verdict given?"""
        return math.isfinite(self.p) and not self.reason

    def line(self) -> str:
        """Line of the file of results."""
        return json.dumps({"key": self.campaign.key, **asdict(self)})


def ask_verdict(campaign: StudyCampaign) -> CampaignAnswer:
    """Simulate a campaign and ask for its verdict."""
    found = analyze_responses(campaign_responses(campaign), estimator=campaign.estimator)
    fit = fit_campaign(found.comparisons)  # p even where it is withheld
    if fit.conditions:
        k, n = len(fit.conditions), sum(c.n for c in fit.conditions)
        return CampaignAnswer(campaign, k, n, fit.chi2, 2 * k, fit.p, why_not_in_wind(found.comparisons))
    nan = float("nan")
    return CampaignAnswer(campaign, 0, 0, nan, 0, nan, "no window with a fit that may be compared")


def read_answers(path: Path) -> list[CampaignAnswer]:
    """Read the answers kept in a file, of its whole lines.

    Raises
    ------
    InputError
        A line that is no answer.
    """
    found = []
    for number, line in enumerate(whole_lines(path), 1):
        try:
            document = json.loads(line)
            document.pop("key")
            found.append(CampaignAnswer(**{**document, "campaign": StudyCampaign(**document["campaign"])}))
        except (ValueError, KeyError, TypeError):
            raise InputError(
                f"wanted an answer of the study in line {number} of {path}, found '{line[:40]}': name another file"
            ) from None
    return found


def ask_all(
    campaigns: Sequence[StudyCampaign], path: Path, jobs: int | None = 1, cluster: str | None = None
) -> Iterator[CampaignAnswer]:
    """Ask for the verdicts that a file lacks, and append each to it as it comes; yields all, those kept first.

    Parameters
    ----------
    campaigns : sequence of StudyCampaign
    path : Path
        File of answers, a line each; made where there is none.
    jobs, cluster
        See `riderless.experiments.campaigns.sweeps.spread`.
    """
    wanted = {one.key: one for one in campaigns}
    kept = [answer for answer in read_answers(path) if answer.campaign.key in wanted]
    yield from kept
    done = {answer.campaign.key for answer in kept}
    missing = [one for one in campaigns if one.key not in done]
    end_last_line(path)
    with path.open("a", encoding="utf-8") as file:
        for _, answer in spread(ask_verdict, missing, jobs, cluster):
            file.write(answer.line() + "\n")
            file.flush()
            yield answer
