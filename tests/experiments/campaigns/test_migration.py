"""`riderless migrate`: format lines, what a reader says of other versions, and nothing lost on the way."""

import json

import pytest

from riderless.experiments import cli
from riderless.experiments.campaigns.file import read_campaign
from riderless.experiments.campaigns.migration import migrate
from riderless.experiments.recordings.foreign import mapping
from riderless.hil.design.compensators.methods import design_compensator
from riderless.hil.design.methods import design
from riderless.hil.design.schedule import GainSchedule
from riderless.hil.rig.file import read_rig
from riderless.models import catalogue
from riderless.models.errors import InputError
from riderless.models.file_format import VERSIONS, format_line
from riderless.models.linear.prescribed_steer import InnerLoop
from tests.paths import DOCS

MAPPING = """# whose log
[time]
column = "t"
[phi_dot]
column = "p"
unit = "rad/s"
[v]
column = "v"
unit = "m/s"
"""


@pytest.fixture
def old(tmp_path):
    """One file of each kind as it was before there were format lines; gains had one always."""
    gains = design(catalogue.load_bicycle("Silver"), "lqr", (4.0, 5.0))
    steered = design(catalogue.load_bicycle("Silver"), "lqr", (4.0, 5.0), drive=InnerLoop(kind="rate"))
    texts = {
        "gain schedule": gains.to_toml(),
        "steer schedule": steered.to_toml(),
        "lane schedule": design(gains.bicycle, "lane", (4.0, 5.0)).to_toml(),
        "steer lane schedule": design(gains.bicycle, "lane", (4.0, 5.0), drive=InnerLoop(kind="rate")).to_toml(),
        "state space": design_compensator(gains.bicycle, "lqg", (4.0, 5.0)).to_toml(),
        "steer state space": design_compensator(
            gains.bicycle, "lqg", (4.0, 5.0), drive=InnerLoop(kind="rate")
        ).to_toml(),
        "rig": (DOCS / "rigs/node.toml").read_text(),
        "campaign": (DOCS / "campaigns/treadmill.toml").read_text(),
        "mapping": MAPPING,
        "readings": "[readings]\nmB = 9.8\n",
        "path": 'shape = "circle"\nradius_m = 8.0\nspeed_m_per_s = 4.0\n',
    }
    for noun, text in texts.items():
        (tmp_path / f"{noun}.toml").write_text(text)
    return tmp_path


@pytest.mark.parametrize("noun", ["rig", "campaign", "mapping", "path", "readings"])
def test_an_old_file_is_stamped_and_its_text_kept(old, noun):
    path = old / f"{noun}.toml"
    before = path.read_text()
    done = migrate(path)
    assert (done.noun, len(done.changes)) == (noun, 1)
    assert done.kept is not None
    assert done.kept.read_text() == before
    after = path.read_text()
    assert f'format = "{format_line(noun)}"' in after
    assert [row for row in after.splitlines() if not row.startswith("format")] == before.splitlines(), "all else stays"
    again = migrate(path)
    assert again.changes == ()
    assert again.kept is None


def test_what_was_read_before_is_read_after(old):
    rig, gains = read_rig(old / "rig.toml"), GainSchedule.from_toml(old / "gain schedule.toml")
    campaign = read_campaign(old / "campaign.toml")
    columns = mapping.load_mapping(old / "mapping.toml").quantities
    for noun in VERSIONS:
        migrate(old / f"{noun}.toml")
    assert read_rig(old / "rig.toml") == rig
    assert read_campaign(old / "campaign.toml").digest == campaign.digest, "a campaign half made goes on"
    assert GainSchedule.from_toml(old / "gain schedule.toml").to_toml() == gains.to_toml()
    assert GainSchedule.from_toml(old / "steer schedule.toml").drive == InnerLoop(kind="rate")
    assert mapping.load_mapping(old / "mapping.toml").quantities == columns


@pytest.mark.parametrize("noun", ["rig", "campaign", "mapping"])
def test_a_later_version_and_another_kind_are_named(old, noun):
    path = old / f"{noun}.toml"
    text = path.read_text()
    path.write_text(f'format = "riderless {noun} 9"\n' + text)
    with pytest.raises(InputError, match="update riderless"):
        migrate(path)
    path.write_text('format = "riderless toaster 1"\n' + text)
    with pytest.raises(InputError, match="another kind of file"):
        migrate(path)


def test_a_file_that_would_not_read_is_left_alone(old):
    path = old / "rig.toml"
    path.write_text(path.read_text() + "\n[toaster]\nheat = 3\n")
    before = path.read_text()
    with pytest.raises(InputError, match="toaster"):
        migrate(path)
    assert path.read_text() == before
    assert sorted(p.name for p in old.iterdir() if "rig" in p.name) == ["rig.toml"]


@pytest.mark.parametrize("noun", [noun for noun in VERSIONS if noun.endswith(("schedule", "space"))])
def test_every_kind_of_controller_is_known(old, noun):
    assert migrate(old / f"{noun}.toml").changes == ()


def test_a_bicycle_is_named(old):
    path = old / "bicycle.toml"
    path.write_text("[parameters]\nw = 1.0\n")
    with pytest.raises(InputError, match="found a bicycle, which has no format to rewrite, in"):
        migrate(path)


def test_on_the_command_line(old, capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["riderless", "migrate", str(old / "rig.toml"), "--json"])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 0
    assert json.loads(capsys.readouterr().out)[0]["noun"] == "rig"
    (old / "shopping.toml").write_text("milk = 2\n")
    monkeypatch.setattr("sys.argv", ["riderless", "migrate", str(old / "shopping.toml")])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 2
    assert "none of their tables" in capsys.readouterr().err
