"""Unusual bicycles at the command line: refused with the mistake, trusted with --trust or by a line in their file."""

import inspect

import pytest
from typer.testing import CliRunner

from riderless.experiments.campaigns.file import read_campaign
from riderless.experiments.cli import COMMANDS, app
from riderless.experiments.recordings.foreign.mapping import mapping_of
from riderless.hil.rig.file import read_rig
from riderless.models.catalogue import load_bicycle
from riderless.models.errors import InputError, UnusualBicycle
from tests.experiments.campaigns.test_file import PLAIN
from tests.paths import ROOT

ODD = "c = -0.05"  # m: the contact ahead of the steer axis


@pytest.fixture
def odd(tmp_path, monkeypatch):
    """Silver with a negative trail, named odd.toml in the working directory."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "odd.toml"
    path.write_text(load_bicycle("Silver").to_toml().replace("c = 0.19", ODD), encoding="utf-8")
    return path


def vouched(path):
    path.write_text('trust = "built so"\n' + path.read_text(encoding="utf-8"), encoding="utf-8")


COMMAND_LINES = {
    "eig": ["eig", "odd.toml", "--speeds", "5"],
    "modes": ["modes", "odd.toml"],
    "turns": ["turns", "odd.toml", "--lean", "0", "--steer", "0"],
    "plan": ["plan", "odd.toml", "--speeds", "5"],
    "design": ["design", "odd.toml", "--method", "off", "--speeds", "5"],
    "simulate": ["simulate", "odd.toml", "--model", "linear", "--duration", "-1"],
    "margins": ["margins", "off", "--bicycle", "odd.toml", "--speeds", "5"],
    "certify": ["certify", "off", "--bicycle", "odd.toml", "--speeds", "4,5"],
    "envelope": ["envelope", "odd.toml", "--speeds", "5"],
    "convert": ["convert", "odd.toml"],
    "play": ["play", "odd.toml", "--tcp-port", "1"],
    "compare": ["compare", "nowhere.csv", "--bicycle", "odd.toml"],
    "load": ["load", "odd.toml", "load.toml"],
    "path": ["path", "lane.toml", "odd.toml"],
    "run": ["run", "--emulated", "--bicycle", "odd.toml", "--duration", "-1"],
    "emulate": ["emulate", "odd.toml", "--duration", "-1"],
    "analyze": ["analyze", "log.csv", "--mapping", "m.toml", "--bicycle", "odd.toml"],
    "plot": ["plot", "log.csv", "--mapping", "m.toml", "--bicycle", "odd.toml"],
    "live": ["live", "log.csv", "--mapping", "m.toml", "--bicycle", "odd.toml"],
    "identify": ["identify", "log.csv", "--free", "mB", "--mapping", "m.toml", "--bicycle", "odd.toml"],
}


def test_every_command_that_takes_a_bicycle_takes_trust():
    taking = {name for name, f in COMMANDS.items() if {"bike", "bicycle"} & set(inspect.signature(f).parameters)}
    taking -= {"init"}  # copies one of the catalogue, which are all plausible
    trusting = {name for name, f in COMMANDS.items() if "trust" in inspect.signature(f).parameters}
    trusting -= {"measure"}  # makes one of readings
    assert taking == trusting == set(COMMAND_LINES)


@pytest.mark.parametrize("command", ["eig", "modes", "design"])
def test_refused_without_and_taken_with_trust(odd, command):
    refused = CliRunner().invoke(app, COMMAND_LINES[command])
    assert isinstance(refused.exception, InputError)
    assert "c = -0.05 m looks like the wrong sign" in str(refused.exception)
    assert "--trust" in str(refused.exception)
    taken = CliRunner().invoke(app, [*COMMAND_LINES[command], "--trust"])
    assert taken.exit_code == 0, taken.output
    assert taken.stderr.count("\n") == 1
    assert taken.stderr.startswith("riderless: bicycle 'Silver' is unusual: c = -0.05 m, plausible are")
    vouched(odd)
    taken = CliRunner().invoke(app, COMMAND_LINES[command])
    assert taken.exit_code == 0, taken.output
    assert taken.stderr.endswith("trusted: built so\n")


@pytest.mark.parametrize(("command", "found_later"), [("run", "--duration"), ("analyze", "log.csv"), ("turns", "")])
def test_trust_reaches_the_reader_of_the_bicycle(odd, command, found_later):
    """With trust the command comes to the next fault of its line, or to its end."""
    column = '[{}]\ncolumn = "{}"\nunit = "{}"\n'
    mapping = column.format("phi_dot", "rate", "rad/s") + column.format("v", "speed", "m/s") + "[time]\nrate = 200.0\n"
    (odd.parent / "m.toml").write_text(mapping, encoding="utf-8")
    refused = CliRunner().invoke(app, COMMAND_LINES[command])
    assert "looks like the wrong sign" in str(refused.exception)
    later = CliRunner().invoke(app, [*COMMAND_LINES[command], "--trust"])
    assert "looks like the wrong sign" not in str(later.exception)
    assert found_later in str(later.exception)
    assert "is unusual" in later.stderr


def test_a_rig_is_trusted_by_a_line_in_the_file_of_its_bicycle(odd):
    rig = odd.parent / "rig.toml"
    text = (ROOT / "docs/rigs/node.toml").read_text(encoding="utf-8")
    rig.write_text(text.replace('"Benchmark"', '"odd.toml"'), encoding="utf-8")
    with pytest.raises(InputError, match=r"rig\.toml, line 3: bicycle: .*odd\.toml.*wrong sign.*trust = \"why\""):
        read_rig(rig)
    with pytest.raises(InputError, match="--trust is for a named bicycle"):
        CliRunner().invoke(app, ["run", "rig.toml", "--trust"], catch_exceptions=False)
    vouched(odd)
    with pytest.warns(UnusualBicycle, match="trusted: built so"):
        assert read_rig(rig).bicycle.trust == "built so"


def test_a_campaign_is_trusted_by_a_line_in_the_file_of_its_bicycle(odd):
    file = odd.parent / "campaign.toml"
    file.write_text(PLAIN.replace("Benchmark", "odd.toml"), encoding="utf-8")
    with pytest.raises(InputError, match=r"campaign\.toml.*wrong sign"):
        read_campaign(file)


def test_a_mapping_is_trusted_by_either(odd):
    document = {"kind": "kooijman", "bicycle": "odd.toml"}
    with pytest.raises(InputError, match=r"m\.toml: bicycle: .*wrong sign"):
        mapping_of(document, "m.toml", odd.parent)
    with pytest.warns(UnusualBicycle):
        mapping_of(document, "m.toml", odd.parent, trust=True)


def test_a_log_keeps_the_reason(odd):
    from riderless.hil.rig.rig import Rig
    from tests.hil.machine import gains

    vouched(odd)
    with pytest.warns(UnusualBicycle):
        bicycle = load_bicycle(odd)
    schedule = gains(Rig(bicycle), speeds=(5.0,), method="off")
    assert 'trust = "built so"' in schedule.to_toml()
    assert type(schedule).from_toml(schedule.to_toml()).bicycle.trust == "built so"
    assert "trust" not in load_bicycle("Silver").as_dict()
