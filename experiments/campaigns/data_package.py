"""Data package of a campaign.

By the Frictionless Data Package standard, version 1: runs as tables, with what each column means. A folder with
``datapackage.json`` is what a repository of research data takes: every file has its path, size and hash, every column
its type, unit and meaning; sensors, bicycles, controllers and the licence stand beside them.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from riderless.experiments.campaigns.folder import CAMPAIGN_FILE
from riderless.experiments.recordings.read import find_recordings
from riderless.experiments.reports.files import make_folder, whole_or_gone
from riderless.experiments.reports.paper.tables import (
    CONDITION_COLUMNS,
    WINDOW_COLUMNS,
    conditions_csv,
    paper_conditions,
    windows_csv,
)
from riderless.hil.logs.export import column_meanings, export_run
from riderless.hil.logs.folders import own_name
from riderless.hil.logs.log import RUN_FILE, Run, read_run
from riderless.hil.output_file import OutputFile
from riderless.models.errors import InputError
from riderless.models.harmless_text import harmless_sentence

PACKAGE_FILE = "datapackage.json"
LICENCES = {  # identifier of opendefinition.org: title, where it stands
    "CC0-1.0": ("CC0 1.0", "https://creativecommons.org/publicdomain/zero/1.0/"),
    "CC-BY-4.0": ("Creative Commons Attribution 4.0", "https://creativecommons.org/licenses/by/4.0/"),
    "CC-BY-SA-4.0": ("Creative Commons Attribution-ShareAlike 4.0", "https://creativecommons.org/licenses/by-sa/4.0/"),
    "ODC-BY-1.0": ("Open Data Commons Attribution License 1.0", "https://opendatacommons.org/licenses/by/1-0/"),
    "ODbL-1.0": ("Open Data Commons Open Database License 1.0", "https://opendatacommons.org/licenses/odbl/1-0/"),
    "PDDL-1.0": ("Open Data Commons Public Domain Dedication 1.0", "https://opendatacommons.org/licenses/pddl/1-0/"),
}
_ABOUT = (
    "Runs of a riderless bicycle, one table of ticks and one of markers each. All numbers are in SI units; lean, steer "
    "and steer torque are positive to the right."
)
MISSING = ["", "nan"]  # texts of a table that are no value
_UNITS = {
    "m_s": "m/s",
    "1_s": "1/s",
    "rad_s": "rad/s",
    "s": "s",
}  # at the end of a column's name in the report's tables
_WORDS = ("condition", "recording", "bicycle", "estimator")  # columns of those tables that are texts
_IMU = ("phi_dot_meas", "theta_dot_meas", "psi_dot_meas", "a_x_meas", "a_y_meas", "a_z_meas")
_COLUMNS = {  # what a device carries, by the columns that hold it
    "imu": _IMU,
    "steer": ("delta_meas",),
    "wheel": ("v_meas",),
    "sensors": (*_IMU, "delta_meas", "v_meas"),
    "drive": ("T_meas", "bus_meas"),
    "place": ("y_meas",),
}


@dataclass(frozen=True)
class PackageTerms:
    """Words that only the owner of the data can say.

    Attributes
    ----------
    licence : str
        One of `LICENCES`.
    title : str
        Of the package.
    authors : sequence of str
        Names, with or without an address behind in angle brackets.
    """

    licence: str
    title: str
    authors: Sequence[str] = ()

    def __post_init__(self) -> None:
        if self.licence not in LICENCES:
            raise InputError(
                f"a data package wants its licence, one of {', '.join(LICENCES)}, found '{self.licence}': "
                "choose one with --licence"
            )


def write_data_package(
    source: Path, folder: Path, terms: PackageTerms, force: bool = False, tell: Callable[[str], None] = lambda run: None
) -> list[Path]:
    """Write the runs of a campaign, or of any folder, and its report's tables as a data package; the files written.

    Parameters
    ----------
    source : Path
        Folder of a campaign, of runs, or one run.
    folder : Path
        Of the package; made when absent.
    terms : PackageTerms
    force : bool
        Files may take the place of others.
    tell : callable
        Told the name of each run.

    Raises
    ------
    InputError
        There is no run, or a file is there already or cannot be written.
    """
    runs = [path for path in find_recordings([source]) if (path / RUN_FILE).is_file()]
    if not runs:
        raise InputError(f"wanted a campaign or a folder of runs, found no run in {source}: name another folder")
    place = OutputFile(folder / PACKAGE_FILE, "the data package", force)
    with whole_or_gone(folder):
        make_folder(folder)
        place.require_free()
        resources: list[dict[str, Any]] = []
        machines: list[dict[str, Any]] = []
        for name, path in zip(_names(runs), runs, strict=True):
            tell(name)
            run = read_run(path, stored=True)
            resources += _run_resources(run, name, folder, force)
            machines.append(_machine(run, name))
        resources += _report_resources(source, folder, force)
        title, where = LICENCES[terms.licence]
        document = {
            "profile": "data-package",
            "name": _slug(terms.title) or "runs",
            "title": terms.title,
            "description": _ABOUT,
            "created": max((machine["begun"] for machine in machines), default=""),
            "licenses": [{"name": terms.licence, "title": title, "path": where}],
            "contributors": [_contributor(author) for author in terms.authors],
            "keywords": ["bicycle dynamics", "eigenvalues", "steer torque"],
            "sources": [{"title": "riderless"}],
            "runs": machines,
            "resources": resources,
        }
        place.write(
            json.dumps({key: value for key, value in document.items() if value not in ("", [])}, indent=1) + "\n"
        )
        return [folder / resource["path"] for resource in resources] + [place.path]


def _names(runs: Sequence[Path]) -> list[str]:
    """Names of the runs for paths and resources: their folders', made plain, each once."""
    names: list[str] = []
    for path in runs:
        name = plain = _slug(own_name(path)) or "run"
        number = 2
        while name in names:
            name, number = f"{plain}-{number}", number + 1
        names.append(name)
    return names


def _slug(text: str) -> str:
    """Text in small letters, digits, points, hyphens and underscores, as a resource may be called."""
    return re.sub(r"[^a-z0-9._-]+", "-", text.lower()).strip("-.")


def _run_resources(run: Run, name: str, folder: Path, force: bool) -> Iterator[dict[str, Any]]:
    """Write the tables of a run, and describe them."""
    make_folder(folder / name)
    written = export_run(run, "csv", folder / name / "ticks.csv", force=force)
    dtype, meanings = run.ticks.dtype, column_meanings(run)
    ticks = [
        {
            "name": column,
            "type": "integer" if dtype[column].kind in "iu" else "number",
            "unit": meanings[column].unit,
            "description": meanings[column].meaning,
        }
        for column in dtype.names or ()
    ]
    markers = [
        {"name": "t", "type": "number", "unit": "s", "description": "time, host's monotonic clock as t_host"},
        {"name": "kind", "type": "string", "description": "kick, state, operator, ..."},
        {"name": "text", "type": "string", "description": "further words"},
    ]
    yield _table(folder, written[0], f"{name}.ticks", f"one row a tick: {run.header.label}", ticks, "k")
    yield _table(folder, written[1], f"{name}.markers", "what happened at known times", markers)
    for path in written[2:]:
        kind = path.name.split(".", 2)[1] if path.suffix == ".json" else "plotjuggler"
        yield _file(folder, path, f"{name}.{kind}")


def _report_resources(source: Path, folder: Path, force: bool) -> Iterator[dict[str, Any]]:
    """Write conditions and windows of a campaign's report, if it has one, and describe them."""
    from riderless.experiments.reports.paper.citations import read_numbers

    tables: dict[str, tuple[str, tuple[str, ...], str]] = {}
    with suppress(InputError):  # a folder without a report
        document = read_numbers(source)
        conditions = paper_conditions(document)
        tables["conditions"] = (conditions_csv(conditions), CONDITION_COLUMNS, "eigenvalues by condition")
        tables["windows"] = (windows_csv(document), WINDOW_COLUMNS, "eigenvalue of each window")
    for name, (text, columns, about) in tables.items():
        path = folder / f"{name}.csv"
        OutputFile(path, "the data package", force).write(text)
        yield _table(folder, path, name, about, [_report_field(column) for column in columns])
    if (source / CAMPAIGN_FILE).is_file():
        path = folder / CAMPAIGN_FILE
        OutputFile(path, "the data package", force, [source / CAMPAIGN_FILE]).write(
            (source / CAMPAIGN_FILE).read_bytes()
        )
        yield _file(folder, path, "campaign")


def _report_field(column: str) -> dict[str, Any]:
    """Field of a report's table, whose unit stands at the end of its name."""
    if column in _WORDS:
        return {"name": column, "type": "string"}
    if column == "windows":
        return {"name": column, "type": "integer", "unit": "1"}
    unit = next(unit for end, unit in _UNITS.items() if column.endswith(f"_{end}"))
    return {"name": column, "type": "number", "unit": unit}


def _table(
    folder: Path, path: Path, name: str, about: str, fields: list[dict[str, Any]], key: str = ""
) -> dict[str, Any]:
    """Resource of a table of comma-separated values."""
    schema: dict[str, Any] = {"fields": fields, "missingValues": MISSING}
    if key:
        schema["primaryKey"] = key
    return {
        **_file(folder, path, name),
        "profile": "tabular-data-resource",
        "type": "table",
        "description": harmless_sentence(about),
        "format": "csv",
        "mediatype": "text/csv",
        "dialect": {"delimiter": ",", "header": True, "lineTerminator": "\r\n" if _has_cr(path) else "\n"},
        "schema": schema,
    }


def _has_cr(path: Path) -> bool:
    """Do its lines end as in the standard of CSV?"""
    with path.open("rb") as file:
        return file.readline().endswith(b"\r\n")


def _file(folder: Path, path: Path, name: str) -> dict[str, Any]:
    """Resource of a file: where it lies, its size and hash."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    return {
        "name": name,
        "path": path.relative_to(folder).as_posix(),
        "profile": "data-resource",
        "type": "file",  # the second version's word; without it a reader takes our JSON for a description of its own
        "encoding": "utf-8",
        "bytes": path.stat().st_size,
        "hash": f"sha256:{digest.hexdigest()}",
    }


def _machine(run: Run, name: str) -> dict[str, Any]:
    """Describe what made a run: bicycle, controller, sensors; why it ended."""
    header, rig = run.header, run.header.rig
    return {
        "run": name,
        "label": header.label,
        "runner": header.runner,
        "begun": str(header.content.get("provenance", {}).get("utc", "")),
        "bicycle": rig.bicycle.name,
        "controller": header.controller,
        "rate_Hz": rig.rate,
        "ended": run.stop.reason,
        "sensors": [
            {
                "device": port.device,
                "carries": list(port.carries),
                "columns": [column for carried in port.carries for column in _COLUMNS.get(carried, ())],
                "baud": port.baud,
            }
            for port in rig.ports
        ],
    }


def _contributor(author: str) -> dict[str, str]:
    """Author of the data, with an address where one is given."""
    match = re.fullmatch(r"\s*([^<>]+?)\s*(?:<([^<>\s]+@[^<>\s]+)>)?\s*", author)
    if not match:
        raise InputError(
            f"an author is a name, with or without <address>, found '{author}': write Ada Lovelace <ada@x.org>"
        )
    named, address = match.groups()
    return {"title": named, "role": "author", **({"email": address} if address else {})}
