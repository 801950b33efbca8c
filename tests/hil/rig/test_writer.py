"""Writing a rig file: what a person wrote stays, the old file is kept, a bad value changes nothing."""

import shutil

import pytest

from riderless.hil.rig.file import read_rig
from riderless.hil.rig.writer import rig_changes, write_rig
from riderless.models.errors import InputError
from tests.paths import DOCS

EXAMPLE = DOCS / "rigs/measured.toml"
NEW = {("calibration", "steer_offset"): 0.034, ("calibration", "gyro_offset"): [0.01, -0.02, 0.03]}


@pytest.fixture
def rig(tmp_path):
    path = tmp_path / "rig.toml"
    shutil.copy(EXAMPLE, path)
    return path


def test_values_change_and_all_else_stays(rig):
    before = rig.read_text()
    kept = write_rig(rig, NEW, "2026-11-21")
    assert kept == rig.with_name("rig-2026-11-21.toml")
    assert kept.read_text() == before
    calibration = read_rig(rig).calibrated()
    assert calibration.steer_offset == 0.034
    assert list(calibration.gyro_offset) == [0.01, -0.02, 0.03]
    was, now = set(before.splitlines()), set(rig.read_text().splitlines())
    assert {line.split("=")[0].strip() for line in was - now} == {"steer_offset"}
    assert {line.split("=")[0].strip() for line in now - was} == {"steer_offset", "gyro_offset"}
    assert "# rad, read with the wheel held straight" in rig.read_text()


def test_changes_tell_old_and_new(rig):
    assert [(c.key, c.old, c.new) for c in rig_changes(rig, NEW)] == [
        ("steer_offset", 0.012, 0.034),
        ("gyro_offset", None, [0.01, -0.02, 0.03]),
    ]
    write_rig(rig, NEW, "a")
    assert rig_changes(rig, NEW) == []
    assert write_rig(rig, NEW, "b") is None, "nothing to write, nothing kept"


def test_a_kept_file_is_never_overwritten(rig):
    kept = [write_rig(rig, {("calibration", "steer_offset"): 0.01 * n}, "same") for n in range(2, 5)]
    assert len(set(kept)) == 3
    assert all(path.exists() for path in kept)


def test_a_table_that_was_not_there_is_made(tmp_path):
    path = tmp_path / "rig.toml"
    shutil.copy(EXAMPLE.with_name("node.toml"), path)
    write_rig(path, {("calibration", "wheel_radius"): 0.33}, "a")
    assert read_rig(path).calibrated().wheel_radius == 0.33


def test_what_would_not_be_a_rig_changes_nothing(rig):
    before = sorted((p.name, p.read_text()) for p in rig.parent.iterdir())
    with pytest.raises(InputError, match="would not be a rig any more and was left alone"):
        write_rig(rig, {("loop", "rate_Hz"): -1.0}, "a")
    with pytest.raises(InputError, match="no rig file can be read"):
        write_rig(rig.with_name("other.toml"), NEW, "a")
    assert sorted((p.name, p.read_text()) for p in rig.parent.iterdir()) == before


@pytest.mark.parametrize("one", [True, False])
def test_settings_of_a_port_are_reached_by_its_number(tmp_path, one):
    path = tmp_path / "rig.toml"
    text = EXAMPLE.with_name("vectornav-vesc.toml").read_text()
    table, n = "port.1.settings", 0.315
    if one:  # a single [port] is a table, not a list of one
        text, table, n = EXAMPLE.with_name("node.toml").read_text(), "port.0", 460800
    path.write_text(text)
    key = "baud" if one else "torque_constant_Nm_A"
    write_rig(path, {(table, key): n}, "a")
    lines = path.read_text().splitlines()
    changed = [(old, new) for old, new in zip(text.splitlines(), lines, strict=True) if old != new]
    assert len(changed) == 1
    assert str(n) in changed[0][1]
    assert changed[0][1].count("=") == changed[0][0].count("=")


def test_a_calibration_that_cannot_be_changes_nothing(rig):
    before = rig.read_text()
    with pytest.raises(InputError, match="steer_sign must be 1 or -1"):
        write_rig(rig, {("calibration", "steer_sign"): 2}, "a")
    with pytest.raises(InputError, match="unknown calibration key"):
        write_rig(rig, {("calibration", "steer_zero"): 2.0}, "a")
    assert rig.read_text() == before
