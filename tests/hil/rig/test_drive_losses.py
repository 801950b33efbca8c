"""Losses of a drive in the rig's file, in a log's header, in the emulated machine and before arming."""

from dataclasses import replace

import numpy as np
import pytest

from riderless.hil.design.methods import design
from riderless.hil.logs.header import RunHeader, new_header
from riderless.hil.rig.file import read_rig
from riderless.hil.rig.rig import Rig
from riderless.hil.rig.stable import fastest_growth, require_stable
from riderless.hil.runners.emulation import emulated_drive
from riderless.models import load_bicycle
from riderless.models.errors import InputError
from riderless.models.linear.perturbed import Variant
from riderless.models.linear.prescribed_steer import InnerLoop
from riderless.models.plant.drive_losses import DriveLosses
from riderless.models.plant.steer_drive import SteerDrive
from tests.paths import DOCS

SILVER = load_bicycle("Silver")
EVERYTHING = DriveLosses(gain=0.9, offset=-0.02, dead_band=0.03, hysteresis=0.04, friction=0.05)
KEYS = "gain = 0.9\noffset_Nm = -0.02\ndead_band_Nm = 0.03\nhysteresis_Nm = 0.04\nfriction_Nm = 0.05\n"


def written(folder, text):
    path = folder / "rig.toml"
    path.write_text((DOCS / "rigs" / "measured.toml").read_text(encoding="utf-8") + text)
    return path


def test_a_rig_file_tells_them_and_old_ones_read_as_before(tmp_path):
    assert read_rig(written(tmp_path, "\n[drive]\n" + KEYS)).losses == EVERYTHING
    assert not read_rig(written(tmp_path, "")).losses.told


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("gain = 5.0", r"the gain of a drive must be from 0.1 to 3 N m made per N m commanded, found 5"),
        ("gain = nan", "the gain of a drive must be"),
        ("dead_band_Nm = -0.1", r"the dead_band of a drive must be from 0 to 2 N m, found -0.1 N m: measure it again"),
        ("friction_Nm = 50", r"the friction of a drive must be from 0 to 2 N m, found 50 N m"),
        ("offset_Nm = -3", r"the offset of a drive must be from -2 to 2 N m, found -3 N m"),
        ("stiction_Nm = 1", "there is no such key"),
    ],
)
def test_what_no_drive_loses_is_refused_in_a_sentence(tmp_path, text, sentence):
    with pytest.raises(InputError, match=sentence):
        read_rig(written(tmp_path, "\n[drive]\n" + text))


def test_a_drive_that_obeys_a_rate_has_friction_only():
    rate = InnerLoop(kind="rate")
    assert Rig(SILVER, drive=rate, losses=DriveLosses(friction=0.1)).losses.friction == 0.1
    with pytest.raises(InputError, match="gain, dead_band of a drive say what becomes of a torque commanded"):
        Rig(SILVER, drive=rate, losses=DriveLosses(gain=0.9, dead_band=0.1))


@pytest.mark.parametrize("losses", [DriveLosses(), EVERYTHING], ids=["none", "all"])
def test_header_of_a_log_keeps_them(losses):
    rig = Rig(SILVER, losses=losses)
    header = new_header(rig, design(SILVER, "lqr", (5.0,), rig.timing), rig.calibrated(), runner="lockstep")
    assert ("losses" in header.to_json()["rig"]) == bool(losses.told), "logs of a drive without are as before"
    assert RunHeader.from_json(header.to_json()).rig.losses == losses


def test_the_emulated_drive_has_them_and_its_errors_beyond():
    drive = emulated_drive(Rig(SILVER, losses=EVERYTHING), SteerDrive(gain=0.5, coulomb=0.1, viscous=0.3))
    assert (drive.gain, drive.offset, drive.dead_band, drive.hysteresis) == (0.45, -0.02, 0.03, 0.04)
    assert drive.coulomb == pytest.approx(0.15)
    assert drive.viscous == 0.3


def test_the_loop_is_judged_with_its_gain_before_arming():
    """A tenth of the torque leaves a slow bicycle to fall, nearly as fast as it does without any."""
    rig, slow = Rig(SILVER), (2.5,)
    gains = design(SILVER, "lqr", slow, rig.timing)
    honest, weak = (fastest_growth(replace(rig, losses=DriveLosses(gain=g)), gains, slow)[1] for g in (1.0, 0.1))
    assert honest.real < 0.0
    alone = max(np.linalg.eigvals(Variant(SILVER).system(2.5)[0]).real)
    assert 0.2 * alone < weak.real < alone
    with pytest.raises(InputError, match=r"Silver falls: at 2\.5 m/s"):
        require_stable(replace(rig, losses=DriveLosses(gain=0.1)), gains, slow)
