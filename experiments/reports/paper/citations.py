"""Sources that a report rests on.

They are read from its numbers: which, why, and their BibTeX.
"""

import json
import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from riderless.experiments.reports.files import REPORT_NUMBERS
from riderless.hil.logs.provenance import package_versions
from riderless.models import catalogue
from riderless.models.errors import InputError
from riderless.models.text_file import why_unreadable


class _CitedSource(NamedTuple):
    """Source, what the report takes from it, and its entry in BibTeX."""

    key: str
    why: str
    bibtex: str


def cited_sources(report: Path) -> list[_CitedSource]:
    """Read which sources a report rests on, in the order in which a paper would name them.

    Parameters
    ----------
    report : Path
        Folder of a report, or its ``report.json``.

    Raises
    ------
    InputError
        There is no report, or its numbers cannot be read.
    """
    document = read_numbers(report)
    text = files("riderless.experiments.reports.paper").joinpath("sources.bib").read_text(encoding="utf-8")
    text = text.replace("VERSION", package_versions()["riderless"])
    entries = {re.match(r"@\w+\{([^,]+),", part)[1]: part.strip() for part in re.split(r"\n(?=@)", text)}  # type: ignore[index]
    reasons: dict[str, str] = {}
    for key, why in _reasons(document):
        reasons.setdefault(key, why)
    return [_CitedSource(key, why, entries[key]) for key, why in reasons.items()]


def read_numbers(report: Path) -> dict[str, Any]:
    """Read the numbers of a report; the errors are those of `cited_sources`."""
    path = report / REPORT_NUMBERS if report.is_dir() else report
    wanted = f"wanted the folder of a report, with its {REPORT_NUMBERS}"
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"{wanted}, found none at {path} ({why_unreadable(error)}); `riderless analyze RUN -o REPORT` writes one"
        ) from None
    except (ValueError, RecursionError):  # the last: nested without end
        raise InputError(f"{wanted}, found something else in {path}; name another") from None
    if not isinstance(document, dict) or not isinstance(document.get("windows"), list) or "provenance" not in document:
        raise InputError(f"{wanted}, found something else in {path}; name another")
    return document


def _reasons(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Sources and what each is for."""
    windows = document["windows"]
    yield "riderless", "the program that made the report"
    yield "meijaard2007", "the linear model, its parameters and signs"
    estimators = {window.get("estimator") for window in windows}
    if "single_mode" in estimators:
        yield "kooijman2008", "the equation that was fitted"
    if document.get("figure7"):
        yield "kooijman2008", "published measurements beside ours"
    if "era" in estimators:
        yield "juang1985", "the estimator era"
    if any(
        condition.get("n", 0) > 1 for verdict in document.get("verdicts", ()) for condition in verdict["conditions"]
    ):
        yield "dersimonian1986", "the effect between windows"
    if any((window.get("prediction") or {}).get("nonlinear") for window in windows):
        yield "moore2012", "the nonlinear model"
    if any(schedule.get("method") == "lqr" for schedule in document.get("schedules", ())):
        yield "bryson1975", "weights of the controller"
    for bicycle in sorted({str(window.get("bicycle")) for window in windows}):
        yield from _of_bicycle(bicycle)


def _of_bicycle(name: str) -> Iterator[tuple[str, str]]:
    """Sources of a bicycle's parameters; a bicycle that is not of the catalogue has its own."""
    if name not in catalogue.bicycle_names():
        return
    why = f"parameters of {name}"
    origin = f"{catalogue.load_bicycle(name).source} {catalogue.load_bicycle(name).note}"
    if name == "Silver":
        yield "kooijman2008", why
    elif name == "TwoMassSkateTheory":
        yield "kooijman2011", why
    elif name not in ("Benchmark", "DelftSbW2024"):
        yield "moore2012", why
    if "BicycleParameters" in origin:
        yield "bicycleparameters", why
    if "sbw_bicycle" in origin:
        yield "delftsbw2024", why
