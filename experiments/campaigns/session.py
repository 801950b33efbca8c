"""What a campaign comes to: the usual one, the rehearsals of any, and analysis and report of what was measured."""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.analysis.analyze import Analysis
from experiments.campaigns.file import Campaign
from experiments.campaigns.folder import FinishedRun
from experiments.campaigns.protocols.condition import Condition
from experiments.campaigns.protocols.treadmill import conditions
from experiments.campaigns.rehearsal import DryRun, dry_run
from experiments.datatypes import Response
from experiments.frequency.goodness_of_fit import response_document
from experiments.frequency.response import FrequencyResponse, add_response
from experiments.recordings.runs import read_recording
from experiments.reports.gather import report_on
from hil.logs.json_values import plain
from hil.rig.rig import Rig
from hil.runners.emulation import Emulation

FREQUENCY = "frequency_response.json"


def usual(rig_file: Path | None, seed: int, model: str, lockstep: bool) -> Campaign:
    """The emulated treadmill campaign that needs no file, on the emulated rig or on the devices of a rig file."""
    machine = Rig.from_toml(rig_file) if rig_file else None
    settings = {"seed": seed, "rig": str(rig_file or "emulated"), "model": model}
    digest = {name: str(value) for name, value in settings.items()}
    if rig_file:
        digest[str(rig_file)] = hashlib.sha256(rig_file.read_bytes()).hexdigest()[:16]
    return Campaign(
        name="Emulated treadmill campaign",
        conditions=tuple(conditions(seed, Emulation(model), machine)),
        digest=digest,
        lockstep=lockstep,
        settings=settings,
    )


def rehearsals(campaign: Campaign, of: Sequence[Condition]) -> Iterator[DryRun]:
    """Every condition's, one after another; of repeats only the first, for they differ in their chances alone."""
    seen: set[tuple[str, str]] = set()
    for condition in of:
        kind = (condition.protocol, condition.label)
        if kind not in seen:
            seen.add(kind)
            yield dry_run(condition, campaign.most)


@dataclass(frozen=True)
class Finished:
    """What was found: analysis of the kicked runs, frequency responses of those with a torque played, and the page."""

    analysis: Analysis
    page: Path | None
    responses: tuple[FrequencyResponse, ...]
    unusable: tuple[str, ...]  # why a run gave no frequency response

    def as_json(self) -> dict[str, Any]:
        """For `--json`."""
        found = {"report": str(self.page) if self.page else None, **self.analysis.as_json()}
        if self.responses or self.unusable:
            found["frequency_responses"] = [response_document(response) for response in self.responses]
            found["no_frequency_response"] = list(self.unusable)
        return found


def finish(
    folder: Path, campaign: Campaign, runs: Sequence[FinishedRun], analysed: Callable[[list[Response]], Analysis]
) -> Finished:
    """Analyse the good runs in the order of the campaign, and write report and frequency responses."""
    good = {run.name: run.folder for run in runs if run.outcome.reason == "success"}
    kicked = [c for c in campaign.conditions if c.kicked and c.name in good]
    played = [c for c in campaign.conditions if c.excitation.kind != "none" and not c.kicked and c.name in good]
    analysis, page = Analysis((), (), ()), None
    if kicked:
        analysis = analysed([read_recording(good[c.name]) for c in kicked])
    responses: list[FrequencyResponse] = []
    unusable: list[str] = []
    for condition in played:
        add_response(good[condition.name], responses, unusable)
    if responses:
        text = json.dumps(plain([response_document(response) for response in responses]), indent=1)
        (folder / FREQUENCY).write_text(text, encoding="utf-8")
    if kicked or played:
        logs = [run.folder for run in runs if run.name]
        page = report_on(folder, campaign.name, analysis, logs, frequency=responses, no_frequency=unusable)
    return Finished(analysis, page, tuple(responses), tuple(unusable))
