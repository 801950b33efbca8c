"""Campaigns from plan to report.

Plan, rehearse, run or go on, analyse.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from riderless.experiments.campaigns import run as runners
from riderless.experiments.campaigns.adaptive.course import Course
from riderless.experiments.campaigns.adaptive.runs import Asked, LearningRuns, course_document, course_section
from riderless.experiments.campaigns.display import CampaignDisplay
from riderless.experiments.campaigns.examples import example_text
from riderless.experiments.campaigns.file import Campaign, is_campaign, plan_campaign, read_campaign, short_digest
from riderless.experiments.campaigns.findings import CampaignFindings, finish_campaign
from riderless.experiments.campaigns.folder import (
    FinishedRun,
    choose_folder,
    lock_folder,
    missing_conditions,
    read_runs,
    require_place,
    run_as_json,
    write_campaign_record,
)
from riderless.experiments.campaigns.power_analysis import foresee
from riderless.experiments.campaigns.power_report import Foresight, foreseen_record, foreseen_sentence
from riderless.experiments.campaigns.protocols.condition import Condition
from riderless.experiments.campaigns.protocols.treadmill import treadmill_conditions
from riderless.experiments.campaigns.rehearsal import DryRun, dry_run, speed_outside
from riderless.experiments.campaigns.run import Attempt
from riderless.hil.rig.file import read_rig
from riderless.hil.runners.disk_room import require_disk_room
from riderless.hil.runners.emulation import Emulation
from riderless.hil.runners.latency_certificate import find_latency_test
from riderless.hil.runners.prepared_run import require_proofs
from riderless.hil.runners.simulated_run import require_runnable
from riderless.hil.runners.stop_proof import WITHOUT
from riderless.models.errors import InputError
from riderless.models.file_format import load_toml

CampaignSource = Campaign | Path | str | Mapping[str, Any] | None


@dataclass(frozen=True)
class CampaignResult:
    """Runs, rehearsals and findings of a campaign.

    Attributes
    ----------
    campaign : Campaign
    folder : Path
        Where runs, report and `campaign.json` lie.
    runs : tuple of FinishedRun
        All that lie there, good or not, those made before included.
    rehearsals : tuple of DryRun
        Of the conditions that were still to be run.
    findings : CampaignFindings or None
        None where a person stopped the campaign.
    course : Course or None
        Of one that runs itself: what was chosen and why, what is known, and how it ended.
    """

    campaign: Campaign
    folder: Path
    runs: tuple[FinishedRun, ...]
    rehearsals: tuple[DryRun, ...]
    findings: CampaignFindings | None
    course: Course | None = None

    @property
    def interrupted(self) -> bool:
        """Did a person stop it? The same call goes on with it."""
        return self.findings is None

    @property
    def missing(self) -> list[Condition]:
        """Conditions that no run has met with success; of one that runs itself none, for it chooses."""
        return [] if self.course else missing_conditions(self.campaign, self.runs)

    @property
    def complete(self) -> bool:
        """Was everything made that was planned; of one that runs itself, is what was asked for reached?"""
        if self.course is None:
            return not self.missing
        return self.course.ending is not None and (self.course.ending.kind == "reached" or not self.course.goal.asks)

    @property
    def spoilt(self) -> bool:
        """Is all that is missing, and something is, for this computer was too busy, and the same call may make it?"""
        last = {run.name: run.outcome.ended_by for run in self.runs}
        return bool(self.missing) and all(last.get(condition.name) == "computer" for condition in self.missing)

    def __repr__(self) -> str:
        planned = len(self.campaign.conditions)
        state = "stopped" if self.interrupted else "finished"
        return (
            f"<CampaignResult '{self.campaign.name}': {state}, {planned - len(self.missing)} of {planned} runs good, "
            f"in {self.folder}>"
        )

    def as_json(self) -> dict[str, Any]:
        """Give the document that `riderless campaign --json` prints."""
        return {
            "folder": str(self.folder),
            "runs": [run_as_json(run) for run in self.runs],
            "missing": [condition.name for condition in self.missing],
            "rehearsals": [rehearsal.as_json() for rehearsal in self.rehearsals],
            **(self.findings.as_json() if self.findings else {}),
            **({"course": course_document(self.course)} if self.course else {}),
        }


def open_campaign(
    source: CampaignSource = None, lockstep: bool = False, seed: int | None = None, model: str | None = None
) -> Campaign:
    """Plan a campaign from whatever describes it.

    Parameters
    ----------
    source : Campaign, path, mapping or None
        A campaign file, the same as a mapping, or a rig file, on whose emulated devices the usual treadmill campaign
        is run; None for the usual one on the emulated rig.
    lockstep : bool
        In simulated time, whatever the file says.
    seed : int or None
        Fixes kicks and sensor noise of the usual campaign, 1 by default; a file has its own.
    model : str or None
        Equations of motion of the usual campaign, linear by default or nonlinear; a file has its own.

    Raises
    ------
    InputError
        It cannot be read or planned, or has a seed and a model of its own.
    """
    path = Path(source) if isinstance(source, str | Path) else None
    if source is None or (path is not None and not is_campaign(path)):
        return _treadmill_campaign(path, 1 if seed is None else seed, model or "linear", lockstep)
    if seed is not None or model is not None:
        where = str(path or "its settings")
        raise InputError(f"a campaign file has its own seed and model: write them into {where}, not behind the command")
    if isinstance(source, Campaign):
        campaign = source
    elif isinstance(source, Mapping):
        campaign = plan_campaign(source)
    else:
        campaign = read_campaign(Path(source))
    return replace(campaign, lockstep=campaign.lockstep or lockstep)


def _treadmill_campaign(rig_file: Path | None, seed: int, model: str, lockstep: bool) -> Campaign:
    """Plan the emulated treadmill campaign that needs no file: `docs/campaigns/usual.toml`, on a belt with edges.

    On the devices of a rig, which may have no sensor of place, it is kicked on a belt without edges.

    Parameters
    ----------
    rig_file : Path or None
        On whose devices, emulated; None for the emulated rig.
    seed : int
        Fixes kicks and sensor noise.
    model : str
        Equations of motion, "linear" or "nonlinear".
    lockstep : bool
        In simulated time.
    """
    if seed < 0:
        raise InputError(f"the seed of a campaign must be a whole number from 0, found {seed}: choose another")
    machine, emulation = read_rig(rig_file) if rig_file else None, Emulation(model)
    settings = {"seed": seed, "rig": str(rig_file or "emulated"), "model": model}
    digest = {name: str(value) for name, value in settings.items()}
    if rig_file:
        digest[str(rig_file)] = short_digest(rig_file.read_bytes())
        conditions = tuple(treadmill_conditions(seed, emulation, machine))
    else:
        text = example_text("campaigns/usual.toml")
        digest["usual.toml"] = short_digest(text.encode())
        conditions = plan_campaign({**load_toml(text), "seed": seed, "model": model}).conditions
    return Campaign(
        name="Emulated treadmill campaign",
        conditions=conditions,
        digest=digest,
        lockstep=lockstep,
        settings=settings,
        stem=f"campaign-seed{seed}",
        usual=True,
    )


def _rehearse_each(campaign: Campaign, conditions: Sequence[Condition]) -> Iterator[DryRun]:
    """Rehearse conditions one after another; of repeats only the first, for they differ in their chances alone."""
    seen: set[tuple[str, str]] = set()
    for condition in conditions:
        kind = (condition.protocol, condition.label)
        if kind not in seen:
            seen.add(kind)
            yield dry_run(condition, campaign.most)


def rehearse_campaign(
    campaign: Campaign, conditions: Sequence[Condition] | None = None, display: CampaignDisplay | None = None
) -> tuple[DryRun, ...]:
    """Rehearse all conditions of a campaign, or some of them, in simulated time; nothing is kept of it.

    One that runs itself is refused where nothing that it may choose would ever tell what is asked for.
    """
    if campaign.learning is not None:
        LearningRuns.of(campaign)
    rehearsals, planned = [], campaign.conditions if conditions is None else conditions
    for condition in planned if campaign.lockstep else ():
        if not speed_outside(condition):  # which its rehearsal says better
            require_runnable(
                condition.rig,
                condition.schedule,
                condition.scenario,
                condition.emulation,
                condition.task,
                condition.allow_mismatch,
            )
    with (display or CampaignDisplay()).rehearsing() as tell:
        for rehearsal in _rehearse_each(campaign, planned):
            rehearsals.append(rehearsal)
            tell(rehearsal)
    return tuple(rehearsals)


def foresee_campaign(
    campaign: Campaign, rehearsals: Sequence[DryRun], display: CampaignDisplay | None = None
) -> tuple[Foresight, ...]:
    """Say which errors of each bicycle the runs of a campaign would show, from the rehearsals of all its conditions."""
    with (display or CampaignDisplay()).foreseeing() as tell:
        return foresee(campaign.conditions, rehearsals, tell)


def run_campaign(
    source: CampaignSource = None,
    out: Path | str | None = None,
    lockstep: bool = True,
    *,
    resume: bool = False,
    new: bool = False,
    foresight: bool = False,
    ports: Sequence[str] = (),
    fifo: int = 0,
    display: CampaignDisplay | None = None,
) -> CampaignResult:
    """Run a campaign, or go on with it, and analyse and report what was measured.

    Every condition that a file or settings describe is rehearsed first. What was begun in ``out`` and is not finished
    is gone on with. Ctrl-C stops the campaign; the runs made so far stay.

    Parameters
    ----------
    source : Campaign, path, mapping or None
        See `open_campaign`.
    out : path or None
        Where the campaign's folder is made, or the folder itself; "runs" by default.
    lockstep : bool
        In simulated time, much faster; False for real time, as the campaign says, against emulated bicycles.
    resume : bool
        There must be something to go on with.
    new : bool
        Begin anew, whatever was begun before.
    foresight : bool
        Say before the first run which errors of the machine the runs would show, and keep it for the report.
    ports : sequence of str
        Paths of the wired rig's ports, to run on a real bicycle, of which `display` asks a person before each run.
    fifo : int
        Real-time priority 1 to 90 of loop and bicycle; 0 for none.
    display : CampaignDisplay or None
        Who is shown, told and asked; nobody by default.

    Raises
    ------
    InputError
        The campaign cannot be planned, a condition is refused, or the folder belongs to another campaign.
    """
    campaign, screen = open_campaign(source, lockstep), display or CampaignDisplay()
    if ports and (campaign.machine is None or campaign.lockstep):
        raise InputError(
            f"the ports {', '.join(ports)} want a campaign with a wired rig, in real time: leave them out to emulate it"
        )
    if resume and new:
        raise InputError("--resume goes on with a campaign and --new begins another: give one of them")
    if ports and campaign.machine:
        require_proofs(campaign.machine, ports, screen.without_stop_proof)
        find_latency_test(campaign.machine, fifo)
    folder = choose_folder(Path(out or "runs"), campaign.stem, campaign, resume, always_new=new)
    require_place(folder)
    again = folder.exists()
    runs = read_runs(folder) if again else []
    if campaign.learning is not None:
        return _learn(campaign, folder, runs, partial(_attempts, campaign, folder, ports, fifo, screen), screen)
    missing = missing_conditions(campaign, runs)
    if campaign.usual:
        _require_speeds(missing)
    rehearsals = () if campaign.usual else rehearse_campaign(campaign, missing, screen)
    if any(rehearsal.refusal for rehearsal in rehearsals):
        raise InputError("; ".join(rehearsal.refusal for rehearsal in rehearsals if rehearsal.refusal))
    require_disk_room(folder, [(condition.rig, condition.duration) for condition in missing])
    foreseen = foresee_campaign(campaign, rehearsals, screen) if foresight else ()
    for table in foreseen:
        screen.say(foreseen_sentence(table))
    folder.mkdir(parents=True, exist_ok=True)
    with lock_folder(folder):
        about = {"rehearsals": [rehearsal.as_json() for rehearsal in rehearsals], **foreseen_record(folder, foreseen)}
        write_campaign_record(folder, campaign, runs, **about)
        if again:
            planned = len(campaign.conditions)
            screen.say(f"going on in {folder}: {planned - len(missing)} of {planned} runs are there; --new begins anew")
        findings, interrupted = None, False
        with suppress(KeyboardInterrupt):  # what was made stays, and what is left is made when it is gone on with
            with screen.running(campaign.conditions, runs, bool(ports)):
                for attempt in _attempts(campaign, folder, ports, fifo, screen, missing, screen.ask):
                    screen.made(attempt)
                    runs.append(FinishedRun(attempt.condition.name, attempt.folder, attempt.outcome))
                    write_campaign_record(folder, campaign, runs, **about)
                    interrupted = attempt.ends_campaign
            if not interrupted:
                findings = finish_campaign(folder, campaign, runs, screen.analyze)
    return CampaignResult(campaign, folder, tuple(runs), rehearsals, findings)


def _learn(
    campaign: Campaign,
    folder: Path,
    runs: list[FinishedRun],
    attempts: Callable[[Sequence[Condition], Asked], Iterable[Attempt]],
    screen: CampaignDisplay,
) -> CampaignResult:
    """Run a campaign that runs itself, or go on with it.

    Parameters
    ----------
    campaign : Campaign
    folder : Path
    runs : list of FinishedRun
        Made before.
    attempts : callable
        Makes runs of conditions, asking a person, where there is one.
    screen : CampaignDisplay
    """
    learning = LearningRuns.of(campaign)
    course, longest = learning.course, max(condition.duration for condition in campaign.conditions)
    room = round(60.0 * course.settings.minutes / longest) + 1
    require_disk_room(folder, [(campaign.conditions[0].rig, longest)] * room)
    folder.mkdir(parents=True, exist_ok=True)

    def note() -> None:
        about = {
            "rehearsals": [rehearsal.as_json() for rehearsal in learning.rehearsals],
            "course": course_document(course),
        }
        write_campaign_record(folder, campaign, runs, **about)

    def made() -> Campaign:
        return replace(campaign, conditions=tuple(learning.made))

    with lock_folder(folder):
        note()
        findings, interrupted = None, False
        with suppress(KeyboardInterrupt):  # as in `run_campaign`
            with screen.learning(course):
                learning.take_up(runs, screen)
                if runs:
                    screen.say(f"going on in {folder}: {len(learning.made)} runs are there; --new begins anew")
                for attempt in learning.attempts(runs, lambda condition, ask: attempts([condition], ask), screen):
                    screen.made(attempt)
                    runs.append(FinishedRun(attempt.condition.name, attempt.folder, attempt.outcome))
                    note()
                    interrupted = attempt.ends_campaign
            if not interrupted:
                note()
                findings = finish_campaign(folder, made(), runs, screen.analyze, course_section(course))
    return CampaignResult(made(), folder, tuple(runs), tuple(learning.rehearsals), findings, course)


def _require_speeds(conditions: Sequence[Condition]) -> None:
    """Refuse a campaign without a rehearsal at speeds at which its rig would never be armed."""
    for condition in conditions:
        outside = speed_outside(condition)
        if outside:
            raise InputError(f"{condition.name} is refused: {outside}, or give a campaign file with other speeds")


def _attempts(
    campaign: Campaign,
    folder: Path,
    ports: Sequence[str],
    fifo: int,
    screen: CampaignDisplay,
    conditions: Sequence[Condition],
    ask: Asked,
) -> Iterable[Attempt]:
    """Run what is left in simulated time, in real time against twins, or on the bicycle behind the ports.

    Parameters
    ----------
    campaign : Campaign
    folder : Path
    ports : sequence of str
    fifo : int
    screen : CampaignDisplay
    conditions : sequence of Condition
    ask : callable
        Asks a person beside a real bicycle before each run.
    """
    if campaign.lockstep:
        return runners.run_conditions_in_lockstep(conditions, folder, screen.watch)
    if not ports:
        return runners.run_in_real_time(conditions, folder, screen.watch, fifo, screen.feed)
    about = {WITHOUT: True} if screen.without_stop_proof else {}
    return runners.run_on_bicycle(
        conditions,
        folder,
        screen.watch,
        ports,
        ask,
        screen.keys,
        screen.heed,
        fifo,
        screen.unattended,
        screen.feed,
        about,
    )
