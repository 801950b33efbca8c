"""Rig files with sensors of place: those of the docs read, and a wrong one is refused in a sentence."""

import pytest

from riderless.hil.rig.file import read_rig
from riderless.models.errors import InputError
from tests.paths import ROOT

RIGS = ROOT / "docs" / "rigs"


@pytest.mark.parametrize(("name", "device"), [("rtk", "ubx"), ("camera", "camera"), ("lane", "distance")])
def test_the_rigs_of_the_docs_read(name, device):
    rig = read_rig(RIGS / f"{name}.toml")
    assert (rig.ports[1].device, rig.ports[1].carries) == (device, ("place",))


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        ("rtk", "lat_deg = 52.0116", "", r"a ubx needs lat_deg \[deg\], latitude of a point on the lane's middle"),
        ("camera", "x0_mm = 0.0", "", r"a camera needs x0_mm \[mm\], where the lane's middle begins"),
        ("rtk", "rtk = 2", "kind = 2", "a ubx has no setting kind: its settings are lat_deg"),
        ("rtk", "z_m = -1.0", "z_m = 1.0", r"place\.z_m = 1 m is below the ground: z points down, so write z_m = -1"),
        ("rtk", "z_m = -0.50", "z_m = 0.50", r"imu\.z_m = 0\.5 m is below the ground: z points down"),
        ("rtk", "baud = 115200", "baud = 9600", "9600 baud is too slow for a ubx at 10 Hz: a NAV-PVT of 100 bytes"),
    ],
)
def test_a_rig_that_cannot_be_is_refused(tmp_path, file, old, new, says):
    text = (RIGS / f"{file}.toml").read_text()
    assert old in text
    (tmp_path / "rig.toml").write_text(text.replace(old, new))
    with pytest.raises(InputError, match=says):
        read_rig(tmp_path / "rig.toml")
