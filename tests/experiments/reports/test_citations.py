"""`riderless cite`: the sources that a report rests on, no more and no fewer."""

import json
import re

import pytest

from riderless.experiments.reports.paper.citations import cited_sources
from riderless.models import catalogue
from riderless.models.errors import InputError
from tests.experiments.commands.test_cli import riderless  # noqa: F401


def report(folder, bicycle="Benchmark", estimator="several_modes", nonlinear=False, **more):
    """Write the numbers of a report with one window."""
    window = {"bicycle": bicycle, "estimator": estimator, "prediction": {"nonlinear": nonlinear}}
    document = {"windows": [window], "provenance": {}, "verdicts": [], "schedules": [], "figure7": None}
    (folder / "report.json").write_text(json.dumps(document | more))
    return folder


def keys(folder, **what):
    return [one.key for one in cited_sources(report(folder, **what))]


def test_each_part_of_a_result_brings_its_source(tmp_path):
    always = ["riderless", "meijaard2007"]
    assert keys(tmp_path) == [*always, "bicycleparameters"]
    assert keys(tmp_path, estimator="single_mode") == [*always, "kooijman2008", "bicycleparameters"]
    assert keys(tmp_path, estimator="era") == [*always, "juang1985", "bicycleparameters"]
    assert keys(tmp_path, nonlinear=True) == [*always, "moore2012", "bicycleparameters"]
    assert keys(tmp_path, bicycle="DelftSbW2024") == [*always, "delftsbw2024"]
    assert keys(tmp_path, bicycle="Silver") == [*always, "kooijman2008", "bicycleparameters"]
    assert keys(tmp_path, bicycle="our own") == always
    assert keys(tmp_path, bicycle="our own", schedules=[{"method": "lqr"}]) == [*always, "bryson1975"]
    two = {"conditions": [{"n": 2}]}
    assert keys(tmp_path, bicycle="our own", verdicts=[two]) == [*always, "dersimonian1986"]


@pytest.mark.parametrize("bicycle", catalogue.bicycle_names())
def test_every_bicycle_of_the_catalogue_has_a_source(tmp_path, bicycle):
    assert len(keys(tmp_path, bicycle=bicycle)) > 2


def test_what_is_printed_is_bibtex(riderless, tmp_path):  # noqa: F811
    code, out, _ = riderless("cite", report(tmp_path, estimator="single_mode", bicycle="Silver"))
    assert code == 0
    assert out.count("{") == out.count("}")
    assert re.findall(r"^@\w+\{(\w+),$", out, re.MULTILINE)[:3] == ["riderless", "meijaard2007", "kooijman2008"]
    assert "% the equation that was fitted" in out
    assert "VERSION" not in out


@pytest.mark.parametrize("content", [None, "", "[]", "{}", '{"windows": 3, "provenance": {}}'])
def test_what_is_no_report_is_refused(tmp_path, content):
    if content is not None:
        (tmp_path / "report.json").write_text(content)
    with pytest.raises(InputError, match=r"wanted the folder of a report, with its report\.json"):
        cited_sources(tmp_path)
