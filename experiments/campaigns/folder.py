"""Folder of a campaign.

The run folders have what was measured, `campaign.json` has what was wanted. A campaign that was stopped goes on in its
folder: runs that ended in success are kept and not made again, all others are kept too, with their reason, and made
again. A run that was killed has no stop record and says so.
"""

import errno
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

from riderless.experiments.campaigns.file import OF_BICYCLE, Campaign
from riderless.experiments.campaigns.protocols.condition import Condition
from riderless.hil.logs.folders import folder_stem, new_folder, numbered
from riderless.hil.logs.log import RUN_FILE as LOG
from riderless.hil.logs.log import read_run
from riderless.hil.runners.disk_room import existing_above
from riderless.hil.runners.operator import Outcome
from riderless.models.errors import InputError
from riderless.models.text_file import why_unreadable

CAMPAIGN_FILE = "campaign.json"
CAMPAIGN_FORMAT = "riderless campaign 1"


@dataclass(frozen=True)
class FinishedRun:
    """Run that lies in the folder, good or not; ``name`` is its condition's, empty if it cannot be told."""

    name: str
    folder: Path
    outcome: Outcome


def read_runs(folder: Path) -> list[FinishedRun]:
    """Read all runs of a folder from their logs, in the order in which they were begun.

    That is the order of `campaign.json`, which has each run from its end on. What it does not have (the run that was
    made when the program was killed) follows: by the time in its header, which runs in simulated time do not have;
    then by the last row of the log; without a header at the end. Files beside a log, written later, change nothing.
    """
    place = {name: i for i, name in enumerate(_recorded_folders(folder))}
    runs: list[tuple[tuple[int, str, int], FinishedRun]] = []
    for log in folder.glob(f"*/{LOG}"):
        run, begun = _finished_run(log.parent)
        runs.append(((place.get(run.folder.name, len(place)), begun, log.stat().st_mtime_ns), run))
    return [run for _, run in sorted(runs, key=lambda each: each[0])]


def _recorded_folders(folder: Path) -> list[str]:
    """Names of the run folders that `campaign.json` has, in its order; none where it cannot be read."""
    try:
        return [Path(run["run"]).name for run in read_campaign_record(folder)["runs"]]
    except (InputError, KeyError, TypeError):
        return []


def _finished_run(folder: Path) -> tuple[FinishedRun, str]:
    """Run from its log, and when it was begun as a text to be sorted by: empty if not told, late if not to be known."""
    try:
        log = read_run(folder, everything=False, stored=True)
    except InputError as error:
        return FinishedRun("", folder, Outcome("killed", str(error))), "~"
    name = log.header.condition.get("name", log.header.label)
    begun = str(log.header.provenance.get("utc", ""))
    return FinishedRun(name, folder, Outcome.of_run(log)), begun


def choose_folder(out: Path, stem: str, campaign: Campaign, resume: bool, always_new: bool = False) -> Path:
    """Choose the folder to work in: a new one, or one to go on with.

    Parameters
    ----------
    out : Path
        Where it is made, or the folder itself.
    stem : str
        Its name.
    campaign : Campaign
    resume : bool
        There must be something to go on with.
    always_new : bool
        Go on with nothing.

    Raises
    ------
    InputError
        There is nothing to go on with, or what there is belongs to another campaign.
    """
    given = (out / CAMPAIGN_FILE).exists()
    begun = out if given else _latest(out, stem)
    if begun is None:
        if resume:
            raise InputError(
                f"no campaign '{stem}' was begun in {out}: give the --out of the one to go on with, or no --resume"
            )
        return new_folder(out, stem)
    if resume:
        require_same_campaign(begun, campaign)
        return begun
    other = campaign.usual and not given and not _is_same(begun, campaign)  # has no file that might have changed
    if always_new or other or _is_finished(begun, campaign):
        if given:
            raise InputError(f"{out} holds a campaign already: give another --out, or --resume to go on with it")
        return new_folder(out, stem)
    require_same_campaign(begun, campaign)
    return begun


def require_place(folder: Path) -> None:
    """Refuse a folder that could not be made, before hours of runs want to go there.

    Raises
    ------
    InputError
    """
    there = existing_above(folder)
    if not there.is_dir() or not os.access(there, os.W_OK):
        what = "may not be written into" if there.is_dir() else "is no folder"
        raise InputError(f"the campaign's folder {folder} cannot be made, for {there} {what}: give another --out")


def _latest(out: Path, stem: str) -> Path | None:
    """Find the newest campaign of this name, by the number behind it."""
    begun = takewhile(Path.exists, numbered(out, folder_stem(stem)))
    return next((folder for folder in reversed(list(begun)) if (folder / CAMPAIGN_FILE).exists()), None)


def require_same_campaign(folder: Path, campaign: Campaign) -> None:
    """Refuse to go on with what was begun otherwise.

    Raises
    ------
    InputError
    """
    begun = read_campaign_record(folder)
    known = _as_called(begun["digest"], campaign.digest)
    changed = [name for name in {**known, **campaign.digest} if known.get(name) != campaign.digest.get(name)]
    otherwise = "put it back to go on, or give another --out to begin anew"
    if changed:
        raise InputError(f"{' and '.join(changed)} changed since the campaign in {folder} was begun: {otherwise}")
    if begun["lockstep"] != campaign.lockstep:
        how = "in simulated time" if begun["lockstep"] else "in real time"
        raise InputError(f"the campaign in {folder} was begun {how}: go on like that, or give another --out")
    if begun["planned"] != [condition.name for condition in campaign.conditions]:
        raise InputError(
            f"this version of riderless plans other runs than the one that began {folder}: go on with that one, or "
            "give another --out"
        )


def _is_same(folder: Path, campaign: Campaign) -> bool:
    """Tell whether the campaign in a folder is this one, begun before."""
    try:
        require_same_campaign(folder, campaign)
    except InputError:
        return False
    return True


def _as_called(begun: Mapping[str, str], now: Mapping[str, str]) -> dict[str, str]:
    """Digests of a campaign that was begun, by the names of now.

    Until a digest had the bicycles, which were not compared, files had the path by which they were reached.
    """
    called = {name: next((other for other in now if Path(name).match(f"*/{other}")), name) for name in begun}
    known = {called[name]: digest for name, digest in begun.items()}
    if not any(name.startswith(OF_BICYCLE) for name in begun):
        known |= {name: digest for name, digest in now.items() if name.startswith(OF_BICYCLE)}
    return known


def missing_conditions(campaign: Campaign, runs: Sequence[FinishedRun]) -> list[Condition]:
    """List the conditions that no run has met with success, in the campaign's order."""
    have = {run.name for run in runs if run.outcome.reason == "success"}
    return [condition for condition in campaign.conditions if condition.name not in have]


def missing_sentence(campaign: Campaign, runs: Sequence[FinishedRun]) -> str:
    """Say how many runs of a campaign are missing, and who ended their last attempts; empty if none is."""
    missing = [condition.name for condition in missing_conditions(campaign, runs)]
    if not missing:
        return ""
    last = {run.name: run.outcome for run in runs if run.name in missing}
    busy = max((outcome.delay for outcome in last.values()), default=0.0)
    names = {
        "computer": f"by this computer, which was too busy ({1e3 * busy:.0f} ms late)",
        "machine": "by the machine",
        "person": "by a person",
        "killed": "with the program",
    }
    endings = Counter(outcome.ended_by for outcome in last.values())
    reasons = [f"{endings[key]} ended {name}" for key, name in names.items() if endings[key]]
    reasons += [f"{len(missing) - len(last)} not made"] if len(last) < len(missing) else []
    return f"{len(missing)} of {len(campaign.conditions)} runs missing: {', '.join(reasons)}"


def _is_finished(folder: Path, campaign: Campaign) -> bool:
    """Tell whether the campaign in a folder has come to its end."""
    if campaign.learning is not None:
        return bool(read_campaign_record(folder).get("course", {}).get("ended"))
    return not missing_conditions(campaign, read_runs(folder))


def read_campaign_record(folder: Path) -> dict[str, Any]:
    """Read `campaign.json` of a campaign's folder; raises InputError."""
    try:
        record = json.loads((folder / CAMPAIGN_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"{folder / CAMPAIGN_FILE} cannot be read ({why_unreadable(error)}): give another --out"
        ) from None
    if not isinstance(record, dict) or record.get("format") != CAMPAIGN_FORMAT:
        raise InputError(
            f"{folder / CAMPAIGN_FILE} was written by another version of riderless: give another --out to begin anew"
        )
    return record


def write_campaign_record(folder: Path, campaign: Campaign, runs: Sequence[FinishedRun], **more: Any) -> None:
    """Write `campaign.json` whole or not at all, however the computer stops.

    Parameters
    ----------
    folder : Path
    campaign : Campaign
    runs : sequence of FinishedRun
        All that lie in the folder.
    **more
        Further keys of the document.
    """
    about = {
        "format": CAMPAIGN_FORMAT,
        "name": campaign.name,
        "digest": campaign.digest,
        "lockstep": campaign.lockstep,
        "planned": [condition.name for condition in campaign.conditions],
        "settings": campaign.settings,
        "runs": [run_as_json(run) for run in runs],
        **more,
    }
    new = folder / f".{CAMPAIGN_FILE}.new"
    with new.open("w", encoding="utf-8") as file:
        json.dump(about, file, indent=1, default=str)
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, folder / CAMPAIGN_FILE)


def run_as_json(run: FinishedRun) -> dict[str, str]:
    """Describe a run as `campaign.json` and `--json` have it."""
    return {
        "condition": run.name,
        "run": str(run.folder),
        "reason": run.outcome.reason,
        "cause": run.outcome.cause,
        "ended_by": run.outcome.ended_by,
    }


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Keep others out of the folder meanwhile; the system lets go of it however this program ends.

    Raises
    ------
    InputError
        Somebody does.
    """
    if sys.platform == "win32":  # where a folder cannot be opened
        import msvcrt

        fd = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_BINARY | os.O_TEMPORARY)
    else:
        import fcntl

        fd = os.open(folder, os.O_RDONLY)
    try:
        try:
            if sys.platform == "win32":
                msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
            else:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES, errno.EDEADLK):
                raise
            raise InputError(
                f"another riderless is at work in {folder}: wait for its end, or give another --out"
            ) from None
        yield
    finally:
        os.close(fd)
