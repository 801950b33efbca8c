"""Findings of a campaign.

Analysis of the kicked runs, frequency responses of those with a torque played, report.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from riderless.experiments.analysis.analyze import Analysis
from riderless.experiments.analysis.frequency_response.goodness_of_fit import response_document
from riderless.experiments.analysis.frequency_response.response import FrequencyResponse, add_response
from riderless.experiments.campaigns.file import Campaign
from riderless.experiments.campaigns.folder import FinishedRun, missing_sentence
from riderless.experiments.campaigns.power_report import foreseen_sections
from riderless.experiments.datatypes import Response
from riderless.experiments.recordings.read import read_named_run, read_recording
from riderless.experiments.reports.gather import report_on
from riderless.experiments.reports.page.course_section import CourseSection
from riderless.hil.logs.json_values import plain

FREQUENCY_FILE = "frequency_response.json"


@dataclass(frozen=True)
class CampaignFindings:
    """Analysis, frequency responses and report of the good runs.

    Attributes
    ----------
    page : Path or None
        The report; None without a good run to report on.
    unusable : tuple of str
        Why a run gave no frequency response.
    missing : str
        Which runs of the campaign are missing and why, in a sentence; empty if none is.
    """

    analysis: Analysis
    page: Path | None
    responses: tuple[FrequencyResponse, ...]
    unusable: tuple[str, ...]
    missing: str = ""

    def __repr__(self) -> str:
        return (
            f"<CampaignFindings: {len(self.analysis.comparisons)} windows, {len(self.responses)} frequency responses, "
            f"report {self.page}>"
        )

    def as_json(self) -> dict[str, Any]:
        """Give the findings as the document of `--json` has them."""
        document = {"report": str(self.page) if self.page else None, **self.analysis.as_json()}
        if self.responses or self.unusable:
            document["frequency_responses"] = [response_document(response) for response in self.responses]
            document["no_frequency_response"] = list(self.unusable)
        return document


def finish_campaign(
    folder: Path,
    campaign: Campaign,
    runs: Sequence[FinishedRun],
    analysed: Callable[[list[Response]], Analysis],
    course: CourseSection | None = None,
) -> CampaignFindings:
    """Analyse the good runs in the order of the campaign, and write report and frequency responses.

    Parameters
    ----------
    folder : Path
        Of the campaign; report and frequency responses are written into it.
    campaign : Campaign
    runs : sequence of FinishedRun
        All runs made, good or not.
    analysed : callable
        Analyses a list of responses, see `riderless.experiments.analysis.analyze.analyze`.
    course : CourseSection or None
        What an experiment that ran itself chose, and why.
    """
    good = {run.name: run.folder for run in runs if run.outcome.reason == "success"}
    kicked = [c for c in campaign.conditions if c.kicked and c.name in good]
    played = [c for c in campaign.conditions if c.excitation.kind != "none" and not c.kicked and c.name in good]
    analysis, page, missing = Analysis((), (), ()), None, missing_sentence(campaign, runs)
    if kicked:
        analysis = analysed([read_recording(good[c.name]) for c in kicked])
    responses: list[FrequencyResponse] = []
    unusable: list[str] = []
    for condition in played:
        add_response(read_named_run(good[condition.name]), responses, unusable)
    if responses:
        text = json.dumps(plain([response_document(response) for response in responses]), indent=1)
        (folder / FREQUENCY_FILE).write_text(text, encoding="utf-8")
    if kicked or played:
        logs = [run.folder for run in runs if run.name]
        page = report_on(
            folder,
            campaign.name,
            analysis,
            logs,
            frequency=responses,
            no_frequency=unusable,
            course=course,
            foreseen=foreseen_sections(folder),
            missing=missing,
        )
    return CampaignFindings(analysis, page, tuple(responses), tuple(unusable), missing)
