"""Campaigns under controllers with states and a person's law: flown, known by hash, gone on with by that very file."""

import re

import pytest

from riderless.experiments.campaigns.file import plan_campaign, read_campaign
from riderless.experiments.campaigns.folder import choose_folder, missing_conditions, read_runs
from riderless.experiments.campaigns.rehearsal import dry_run
from riderless.experiments.campaigns.session import run_campaign
from riderless.hil.controllers.compiled import COMPILED_FORMAT
from riderless.hil.controllers.lti import LTI_FORMAT, LTIController
from riderless.hil.design.compensators.methods import design_compensator
from riderless.hil.logs.log import read_run
from riderless.models import catalogue
from riderless.models.errors import InputError
from tests.paths import DOCS

SMOOTH, _ = re.findall(r"```python\n(.*?)```", (DOCS / "controllers.md").read_text(encoding="utf-8"), re.S)
GENTLE = {"weights": {"T_delta": 0.03}}  # so that the weave lasts
SWITCHING = f"{SMOOTH}    if signals.phi_dot != 0.0:\n        out.T_req += math.copysign(0.02, signals.phi_dot)\n"
TEXT = """
name = "three kinds"
bicycles = ["Silver"]
time = "lockstep"
[[controller]]
method = "lqg"
[[controller]]
name = "of a file"
file = "space.toml"
[[controller]]
file = "my_law.py"
[[protocol]]
kind = "treadmill"
speeds_m_s = [5.0]
kicks = 2
spacing_s = 2.5
"""


@pytest.fixture(scope="module")
def campaign(tmp_path_factory, without_report):
    folder = tmp_path_factory.mktemp("campaign")
    space = design_compensator(catalogue.load_bicycle("Silver"), "yaw_rate", (4.5, 5.0, 5.5), options=GENTLE)
    (folder / "space.toml").write_text(space.to_toml(), encoding="utf-8")
    (folder / "my_law.py").write_text(SMOOTH, encoding="utf-8")
    file = folder / "kinds.toml"
    file.write_text(TEXT, encoding="utf-8")
    with without_report():
        return file, run_campaign(read_campaign(file), folder / "runs")


def headers(result):
    found = [read_run(run.folder).header for run in result.runs]
    return {header.condition["controller"]: header for header in found}


def test_each_kind_is_flown_and_its_kicks_agree_with_its_prediction(campaign):
    _, result = campaign
    assert result.missing == []
    windows = result.findings.as_json()["windows"]
    labels = {window["label"] for window in windows}
    assert labels == {"Silver lqg 5.0 m/s", "Silver of a file 5.0 m/s", "Silver my_law 5.0 m/s"}
    assert all(abs(window["z_re"]) < 3.0 and abs(window["z_im"]) < 3.0 for window in windows)


def test_a_header_keeps_matrices_and_of_a_law_its_hash_alone(campaign):
    file, result = campaign
    told = headers(result)
    assert LTI_FORMAT in told["lqg"].content["schedule"]
    assert isinstance(told["lqg"].schedule, LTIController)
    assert told["of a file"].content["schedule"] == (file.parent / "space.toml").read_text(encoding="utf-8")
    law = told["my_law"].content["schedule"]
    assert COMPILED_FORMAT in law
    assert "tanh" not in law


def test_going_on_wants_that_very_law(campaign):
    file, result = campaign
    law = file.parent / "my_law.py"
    law.write_text(SMOOTH.replace('"phi": 8.0', '"phi": 8.1'), encoding="utf-8")
    with pytest.raises(InputError, match=r"my_law.py changed since the campaign in .* put it back to go on"):
        choose_folder(result.folder, "kinds", read_campaign(file), resume=True)
    law.write_text(SMOOTH, encoding="utf-8")
    again = read_campaign(file)
    assert choose_folder(result.folder, "kinds", again, resume=True) == result.folder
    assert missing_conditions(again, read_runs(result.folder)) == []


def planned(folder, *lines):
    table = {
        "name": "x",
        "bicycles": ["Silver"],
        "controller": [dict(lines)],
        "protocol": [{"kind": "treadmill", "speeds_m_s": [5.0], "kicks": 1}],
    }
    return plan_campaign(table, folder)


def test_a_law_that_switches_is_refused_by_its_rehearsal_unless_it_is_wanted(tmp_path):
    (tmp_path / "switching.py").write_text(SWITCHING, encoding="utf-8")
    (condition,) = planned(tmp_path, ("file", "switching.py")).conditions
    assert "is not smooth" in dry_run(condition).refusal
    (condition,) = planned(tmp_path, ("file", "switching.py"), ("allow_unstable", True)).conditions
    assert dry_run(condition).refusal == ""


@pytest.mark.parametrize(
    ("text", "lines", "sentence"),
    [
        ("LAW = {", [("file", "law.py")], r"law.py is not Python \(line 1"),
        (SMOOTH, [("file", "law.py"), ("gains", "law.py")], "'file' and 'gains', which mean the same"),
        (SMOOTH, [("file", "law.py"), ("options", {"k": 1})], "has options and a file"),
        (SMOOTH, [("file", "none.py")], "none.py cannot be read"),
        (
            SMOOTH.replace('"speeds"', '"bicycle": "Benchmark", "speeds"'),
            [("file", "law.py")],
            "designed for Benchmark",
        ),
    ],
)
def test_a_file_that_does_not_fit_is_one_sentence(tmp_path, text, lines, sentence):
    (tmp_path / "law.py").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=sentence) as refused:
        planned(tmp_path, *lines)
    assert "\n" not in str(refused.value)
