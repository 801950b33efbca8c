"""What a campaign comes to: the usual one, the rehearsals of any, and analysis and report of what was measured."""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.analysis import Analysis
from experiments.campaign_file import Campaign
from experiments.campaign_folder import Made
from experiments.dry_run import DryRun, dry_run
from experiments.frequency_response import TRUSTED, FrequencyResponse, frequency_response
from experiments.nouns import Response
from experiments.plain import plain
from experiments.protocols.condition import Condition
from experiments.protocols.treadmill import conditions
from experiments.recordings import read
from experiments.reporting import report_on
from hil.emulation import Emulation
from hil.log import read_run
from hil.rig import Rig
from models.errors import InputError

FREQUENCY = "frequency_response.json"
SHOWN = (("loop", "phi_dot"), ("plant", "phi_dot"), ("plant", "delta"))  # of the responses, in the table


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
    """What was found: analysis of the kicked runs and its page, frequency responses of those with a torque played."""

    analysis: Analysis
    page: Path | None
    responses: tuple[FrequencyResponse, ...]
    unusable: tuple[str, ...]  # why a run gave no frequency response

    def as_json(self) -> dict[str, Any]:
        """For `--json`."""
        found = {"report": str(self.page) if self.page else None, **self.analysis.as_json()}
        if self.responses or self.unusable:
            found["frequency_responses"] = [response.as_json() for response in self.responses]
            found["no_frequency_response"] = list(self.unusable)
        return found


def finish(
    folder: Path, campaign: Campaign, runs: Sequence[Made], analysed: Callable[[list[Response]], Analysis]
) -> Finished:
    """Analyse the good runs in the order of the campaign, and write report and frequency responses."""
    good = {run.name: run.folder for run in runs if run.outcome.reason == "success"}
    kicked = [c for c in campaign.conditions if c.kicked and c.name in good]
    played = [c for c in campaign.conditions if c.excitation.kind != "none" and not c.kicked and c.name in good]
    analysis, page = Analysis((), (), ()), None
    if kicked:
        analysis = analysed([read(good[c.name]) for c in kicked])
        page = report_on(folder, campaign.name, analysis, [run.folder for run in runs if run.name])
    responses, unusable = [], []
    for condition in played:
        try:
            responses.append(frequency_response(read_run(good[condition.name])))
        except InputError as error:
            unusable.append(str(error))
    if responses:
        text = json.dumps(plain([response.as_json() for response in responses]), indent=1)
        (folder / FREQUENCY).write_text(text, encoding="utf-8")
    return Finished(analysis, page, tuple(responses), tuple(unusable))


def frequency_rows(responses: Sequence[FrequencyResponse]) -> list[list[str]]:
    """A table row for each response of a condition: lines to be trusted, and how far they lie from theory there."""
    rows = []
    for label in dict.fromkeys(found.label for found in responses):
        alike = [found for found in responses if found.label == label]
        for of, output in SHOWN:
            several = [found.named(of, output) for found in alike]
            trusted = np.concatenate([one.coherence >= TRUSTED for one in several])
            ratio = np.concatenate([one.measured / one.predicted for one in several])[trusted]
            gain = f"{100 * (np.median(np.abs(ratio)) - 1):+.1f} %" if len(ratio) else "-"
            phase = f"{np.degrees(np.median(np.angle(ratio))):+.1f}" if len(ratio) else "-"
            v = np.mean([found.v for found in alike])
            rows.append([f"{label}: {of}, {output}", f"{v:.2f}", f"{len(ratio)} of {len(trusted)}", gain, phase])
    return rows
