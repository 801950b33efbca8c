"""Reader of recordings of any kind.

Our runs or others' files become a Response; folders are searched for them.
"""

import logging
import re
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from riderless.experiments.datatypes import Response
from riderless.experiments.recordings import foreign
from riderless.experiments.recordings.foreign.formats.registry import RECORDING_SUFFIXES
from riderless.experiments.recordings.foreign.formats.rosbag import METADATA as BAG_METADATA
from riderless.experiments.recordings.run_response import response_of_run
from riderless.experiments.recordings.runs import run_of
from riderless.hil.logs.export import MARKERS_SUFFIX
from riderless.hil.logs.log import RUN_FILE, Run, is_foreign_log
from riderless.models.errors import InputError
from riderless.models.file_format import describe_kind, load_toml
from riderless.models.parameters import Bicycle
from riderless.models.text_file import read_text_file

_logger = logging.getLogger("riderless.experiments")
_OWN_MAPPING = re.compile(r"(.+)=(.+\.toml)")  # a recording, and the mapping for it alone
_FOLDERS_NAMED = 3  # of those that are left out


def read_recording(
    path: str | Path,
    mapping: str | Path = "",
    preset: str = "",
    bicycle: str | Path | Bicycle = "",
    trust: bool = False,
) -> Response:
    """Read a recording of any known kind: a run folder (or its log), or a file of somebody else's.

    Parameters
    ----------
    path : str or Path
        Run folder, log, or file; ``log.csv=map.toml`` is a file with a mapping of its own.
    mapping, preset, bicycle, trust
        As `riderless.experiments.recordings.foreign.read_foreign` takes them; they do not concern our own runs.

    Raises
    ------
    InputError
        When there is nothing at ``path``, or nothing that is known.
    """
    path = Path(path)
    if (own := _OWN_MAPPING.fullmatch(str(path))) and not path.exists():
        path, mapping = Path(own[1]), own[2]
    if is_run(path):
        return response_of_run(read_named_run(path))
    _refuse_own_file(path)
    response = foreign.read_foreign(path, mapping, preset, bicycle, trust)
    _logger.info("read %d samples at %.4g Hz from %s", len(response.t), 1.0 / response.dt, path)
    return response


def refuse_unused(foreign: int, **given: object) -> None:
    """Refuse what is said of somebody else's files where none of ``foreign`` many is read.

    Raises
    ------
    InputError
        Names what was ``given`` and would be ignored.
    """
    names = [name for name, value in given.items() if value]
    if names and not foreign:
        raise InputError(
            f"{' and '.join(names)} would be ignored: only files of others need that, and these recordings bring their "
            "own columns, units and bicycle; leave it out"
        )


def read_named_run(path: Path) -> Run:
    """Read a run without its raw bytes; an exported log lies among others, and gives the run its own name."""
    run = run_of(path)
    exported = path.is_file() and path.name != RUN_FILE
    return replace(run, folder=path) if exported else run


def is_run(path: Path) -> bool:
    """Is this a run of ours, a folder or a log, and no bag of ROS nor another program's file?"""
    if path.is_dir():
        return not (path / BAG_METADATA).exists()
    return path.suffix == Path(RUN_FILE).suffix and not is_foreign_log(path)


def _refuse_own_file(path: Path) -> None:
    """Refuse a TOML file: read as text, it would be a table with one column, and its blank lines a fault of it.

    Raises
    ------
    InputError
        Says what the file is, where that shows.
    """
    if path.suffix.lower() != ".toml" or not path.is_file():
        return
    raise InputError(
        f"wanted a recording, found {_kind_of_settings(path)} in {path}: give a run folder, or a file of a recording "
        f"({', '.join(RECORDING_SUFFIXES)}); a mapping goes behind --mapping, a bicycle behind --bicycle"
    )


def _kind_of_settings(path: Path) -> str:
    """Say what a TOML file holds, by its format line or its tables."""
    try:
        return describe_kind(load_toml(read_text_file(path))) or "settings in TOML"
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return "something else"


def find_recordings(paths: str | Path | Sequence[str | Path]) -> list[Path]:
    """Find the recordings among files and folders: a folder of runs or logs stands for all of them."""
    folders: list[Path] = []
    for path in map(Path, [paths] if isinstance(paths, str | Path) else paths):
        if not path.is_dir() or (path / RUN_FILE).exists() or (path / BAG_METADATA).exists():
            folders.append(path)
            continue
        inside = sorted((p.parent for p in path.glob(f"*/{RUN_FILE}")), key=_by_number)
        inside += sorted((p for p in path.iterdir() if _recorded(p)), key=_by_number)
        if not inside:
            deeper = _folders_of_runs(path)
            instead = f"a folder of runs, as {deeper[0]}" if deeper else "a run folder or a file"
            raise InputError(
                f"no run and no recording ({', '.join(RECORDING_SUFFIXES)}) lies in {path}: give {instead}"
            )
        folders += inside
    return folders


def with_left_out(responses: Sequence[Response], folder: Path) -> list[Response]:
    """Add to the first of a folder's responses which folders of runs beside it were not looked into, as a remark."""
    recordings = list(responses)
    if recordings and folder.is_dir() and (deeper := _folders_of_runs(folder)):
        runs = sum(len(list(deep_folder.glob(f"*/{RUN_FILE}"))) for deep_folder in deeper)
        named = ", ".join(map(str, deeper[:_FOLDERS_NAMED])) + (" ..." if len(deeper) > _FOLDERS_NAMED else "")
        remark = f"runs a folder deeper in {folder} are left out, {runs} in all: to analyse them, give {named}"
        recordings[0] = replace(recordings[0], remarks=(remark, *recordings[0].remarks))
    return recordings


def _folders_of_runs(folder: Path) -> list[Path]:
    """Folders in a folder that hold runs and are none, such as campaigns."""
    holders = {path.parent.parent for path in folder.glob(f"*/*/{RUN_FILE}")}
    return sorted(path for path in holders if not (path / RUN_FILE).exists())


def _recorded(path: Path) -> bool:
    """Is this a file of a known format, or a bag of ROS, and not one that belongs to a recording?"""
    if path.is_dir():
        return (path / BAG_METADATA).exists()
    return path.suffix.lower() in (*RECORDING_SUFFIXES, Path(RUN_FILE).suffix) and not path.name.endswith(
        MARKERS_SUFFIX
    )


def _by_number(path: Path) -> list[tuple[float, str]]:
    """Sorts names that hold numbers by the numbers: 5.4 before 12.6."""
    parts = re.findall(r"(\d+\.?\d*)|(\D+)", path.name)
    return [(float(number or 0.0), text) for number, text in parts]
