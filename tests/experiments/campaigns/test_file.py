"""A campaign file: what it may say, and what is said when it says something else."""

import shutil

import pytest

from riderless.experiments.campaigns.file import is_campaign, read_campaign
from riderless.experiments.campaigns.run import run_conditions_in_lockstep
from riderless.hil.logs.log import read_run
from riderless.models.errors import InputError
from tests.experiments.commands.test_cli import call
from tests.paths import ROOT

PLAIN = """
name = "test"
bicycles = ["Benchmark"]
[[controller]]
method = "off"
[[protocol]]
kind = "treadmill"
speeds_m_s = [5.0]
"""


def written(folder, text, name="test.toml"):
    path = folder / name
    path.write_text(text)
    return path


def test_a_file_says_all(tmp_path):
    text = """
name = "all of it"
rig = "node.toml"
seed = 7
model = "nonlinear"
time = "lockstep"
share_of_limits = 0.5
[[controller]]
name = "soft"
method = "lqr"
options = { weights = { T_delta = 0.2 } }
[[controller]]
method = "lean"
[[protocol]]
kind = "treadmill"
speeds_m_s = [5.0, 6.0]
controllers = ["soft"]
[[protocol]]
kind = "sine_sweep"
speeds_m_s = [5.0]
"""
    shutil.copy(ROOT / "docs/rigs/node.toml", tmp_path)
    campaign = read_campaign(written(tmp_path, text))
    assert (campaign.name, campaign.lockstep, campaign.most) == ("all of it", True, 0.5)
    assert campaign.machine.name == "node"
    assert [c.protocol for c in campaign.conditions] == ["treadmill"] * 2 + ["sine_sweep"] * 2
    assert {c.controller for c in campaign.conditions[:2]} == {"soft"}
    assert {c.controller for c in campaign.conditions[2:]} == {"soft", "lean"}
    assert {c.emulation.model for c in campaign.conditions} == {"nonlinear"}
    assert all(c.rig.limits == campaign.machine.limits for c in campaign.conditions)
    soft = next(c for c in campaign.conditions if c.controller == "soft").schedule
    assert soft.options["weights"]["T_delta"] == 0.2


def test_gains_of_a_file_are_those_of_the_file(tmp_path):
    from riderless.hil.design.methods import design
    from riderless.models import catalogue

    gains = design(catalogue.load_bicycle("Benchmark"), "lqr", (4.0, 5.0))
    written(tmp_path, gains.to_toml(), "mine.toml")
    text = PLAIN.replace('method = "off"', 'name = "mine"\ngains = "mine.toml"')
    (condition,) = read_campaign(written(tmp_path, text)).conditions
    assert condition.schedule.K.tolist() == gains.K.tolist()
    assert condition.label == "Benchmark mine 5.0 m/s"
    with pytest.raises(InputError, match="were designed for Benchmark, not for Silver"):
        read_campaign(written(tmp_path, text.replace('["Benchmark"]', '["Silver"]')))


def test_a_wrong_controller_is_run_where_its_table_says_so(tmp_path):
    from riderless.hil.design.methods import LoopTiming, design
    from riderless.models import catalogue

    early = design(catalogue.load_bicycle("Benchmark"), "lqr", (4.0, 5.0), LoopTiming(delay=0))
    written(tmp_path, early.to_toml(), "mine.toml")
    text = PLAIN.replace('method = "off"', 'gains = "mine.toml"')
    with pytest.raises(
        InputError, match=r"controller 'lqr' were designed for a delay of 0 samples .*allow_mismatch = true"
    ):
        read_campaign(written(tmp_path, text))
    wrong = text.replace('"mine.toml"', '"mine.toml"\nallow_mismatch = true').replace('["Benchmark"]', '["Silver"]')
    campaign = read_campaign(written(tmp_path, wrong + "kicks = 1\nspacing_s = 1.0\n"))
    (condition,) = campaign.conditions
    assert (condition.rig.bicycle.name, condition.schedule.bicycle.name) == ("Silver", "Benchmark")
    (attempt,) = run_conditions_in_lockstep(campaign.conditions, tmp_path, lambda condition, row: None)
    header = read_run(attempt.folder).header
    assert (header.bicycle.name, header.schedule.bicycle.name) == ("Silver", "Benchmark")


@pytest.mark.parametrize(
    ("new", "words"),
    [
        ('gains = "mine.toml"\noptions = {k = 2}', "has options and a file of gains"),
        ('method = "off"\nallow_mismatch = true', "designed for its bicycle: leave allow_mismatch out"),
    ],
)
def test_keys_of_a_controller_that_would_be_ignored(tmp_path, new, words):
    with pytest.raises(InputError, match=words):
        read_campaign(written(tmp_path, PLAIN.replace('method = "off"', new)))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('kind = "treadmill"', 'kind = "tredmill"', "wants a kind among treadmill, .*found 'tredmill'"),
        ("speeds_m_s = [5.0]", "speed = [5.0]", "line 8, protocol.0.speed: there is no such key"),
        ("speeds_m_s = [5.0]", 'speeds_m_s = ["fast"]', "line 8, protocol.0.speeds_m_s.*valid number.*'fast'"),
        ("speeds_m_s = [5.0]", "speeds_m_s = [5.0, 5.0]", "two runs of the campaign would be called"),
        ("speeds_m_s = [5.0]", "speeds_m_s = [5.0]\nrepeats = 0", "greater than or equal to 1.*found 0"),
        ("speeds_m_s = [5.0]", 'speeds_m_s = [5.0]\ncontrollers = ["lqr"]', "names the controller 'lqr', .*has off"),
        ('method = "off"', 'method = "on"', "method is one of lqr, .*found 'on'"),
        ('method = "off"', 'name = "none"', "either a method .*found neither"),
        ('method = "off"', 'method = "off"\n[[controller]]\nmethod = "off"', "different names, found off, off"),
        ('["Benchmark"]', '["Tandem"]', "Tandem"),
        ('name = "test"', 'nam = "test"', "name: field required"),
        ('name = "test"', 'name = "test"\ntime = "slow"', "line 3, time: .*'slow'"),
        ('name = "test"', 'name = "test"\nrig = "nowhere.toml"', "nowhere.toml"),
        ('name = "test"', "name =", "not valid TOML"),
    ],
)
def test_what_is_wrong_is_told_in_one_sentence(tmp_path, old, new, words):
    assert old in PLAIN
    with pytest.raises(InputError, match=words) as error:
        read_campaign(written(tmp_path, PLAIN.replace(old, new)))
    assert "\n" not in str(error.value)
    assert "test.toml" in str(error.value)


def test_a_rig_and_a_campaign_are_told_apart(tmp_path):
    assert all(not is_campaign(path) for path in (ROOT / "docs/rigs").glob("*.toml"))
    assert all(is_campaign(path) for path in (ROOT / "docs/campaigns").glob("*.toml"))
    for text, words in [
        ('name = "x"', r"neither a campaign file, which has \[\[protocol\]\]"),
        ("x", "not valid TOML"),
    ]:
        with pytest.raises(InputError, match=words):
            is_campaign(written(tmp_path, text))
    with pytest.raises(InputError, match="no campaign or rig file can be read"):
        is_campaign(tmp_path / "nothing.toml")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--seed", "3"], "has its own seed and model"),
        (["--port", "/dev/null"], "--port wants a campaign file with a wired rig"),
        (["--resume"], "no campaign 'test' was begun"),
    ],
)
def test_options_that_do_not_fit_are_refused(tmp_path, capsys, monkeypatch, options, words):
    code, _, err = call(capsys, monkeypatch, "campaign", written(tmp_path, PLAIN), "-o", tmp_path / "runs", *options)
    assert code == 2
    assert words in " ".join(err.split())
    assert not (tmp_path / "runs").exists()


def test_a_wired_rig_wants_its_ports(tmp_path, capsys, monkeypatch):
    """Not emulated and in real time, the campaign talks to a bicycle: one that is not there is told at once."""
    rig = (ROOT / "docs/rigs/node.toml").read_text().replace("/dev/serial/by-id/usb-riderless_node", "")
    written(tmp_path, rig.replace('path = ""\n', ""), "rig.toml")
    text = PLAIN.replace('bicycles = ["Benchmark"]', 'rig = "rig.toml"')
    code, _, err = call(capsys, monkeypatch, "campaign", written(tmp_path, text), "-o", tmp_path / "runs")
    assert code == 2
    assert "no bicycle to talk to" in err
