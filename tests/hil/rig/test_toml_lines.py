"""Lines and words of the faults of TOML files."""

import pytest

from riderless.experiments.campaigns.file import plan_campaign
from riderless.hil.rig.file import read_rig
from riderless.hil.rig.toml_lines import find_key_lines
from riderless.models.errors import InputError
from tests.paths import DOCS

NODE = (DOCS / "rigs/node.toml").read_text(encoding="utf-8")


def refusal(folder, old, new):
    """Sentence with which the rig of the docs is refused once ``old`` is ``new``."""
    assert old in NODE
    (folder / "rig.toml").write_text(NODE.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_rig(folder / "rig.toml")
    return str(caught.value)


def test_a_faulty_limit_is_found_where_it_stands(tmp_path):
    reason = next(line for line in NODE.splitlines() if line.startswith('reason = "45 deg'))
    line = find_key_lines(NODE)["limits", "steer", "value"]
    assert f"line {line}: limit 'steer' needs a value" in refusal(tmp_path, reason, "")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("rate_Hz = 200", 'rate_Hz = "200 Hz"', "rate_Hz: input should be a valid number in Hz (found '200 Hz');"),
        ("rate_Hz = 200", "rate_Hz = 5", "rate_Hz: input should be greater than 10 Hz (found 5 Hz);"),
        ("baud = 921600", "baud = -1", "baud: input should be greater than 0 (found -1);"),
        ("baud = 921600", "carries = 3", "carries: input should be a list (found 3);"),
    ],
)
def test_units_stand_behind_numbers_alone(tmp_path, old, new, words):
    assert words in refusal(tmp_path, old, new)


def test_a_table_of_which_there_may_be_several_wants_two_brackets():
    with pytest.raises(InputError) as caught:
        plan_campaign({"name": "x", "protocol": {"kind": "coast_down"}})
    assert "protocol: there may be several: write [[protocol]] above each (found {" in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"speeds_m_s": 4.5}, "speeds_m_s: input should be a list of numbers in m/s (found 4.5);"),
        ({"speeds_m_s": []}, "speeds_m_s: list should have at least 1 item, not 0 (found []);"),
        ({"speeds_m_s": [4.5, -1.0]}, "speeds_m_s.1: input should be greater than 0 m/s (found -1.0 m/s);"),
        ({"speeds_m_s": [5.0], "lean_rate_rad_s": 20}, "than or equal to 3 rad/s (found 20 rad/s);"),
    ],
)
def test_units_of_a_campaign_are_whole(settings, words):
    protocol = {"kind": "coast_down", **settings}
    with pytest.raises(InputError) as caught:
        plan_campaign({"name": "x", "protocol": [protocol]})
    assert words in str(caught.value)
