"""What the drive of a rig obeys: in its file, in a log's header, and gains of another kind."""

from dataclasses import replace

import pytest

from riderless.hil.controllers.registry import controller_from_text
from riderless.hil.controllers.timing import LoopTiming
from riderless.hil.design.closed_loop import SampledLoop
from riderless.hil.design.methods import design
from riderless.hil.logs.header import RunHeader, new_header
from riderless.hil.loop.excitation import Excitation
from riderless.hil.loop.limits import Limits
from riderless.hil.rig.armable import require_time_outs
from riderless.hil.rig.file import read_rig
from riderless.hil.rig.fitting import emulated_rig, require_fitting, require_playable_on
from riderless.hil.rig.stable import fastest_growth, require_stable
from riderless.models import load_bicycle
from riderless.models.errors import InputError
from riderless.models.linear.prescribed_steer import InnerLoop
from tests.hil.machine import rig_of
from tests.paths import ROOT

SILVER = load_bicycle("Silver")
RATE = InnerLoop(kind="rate", bandwidth=50.0, damping=1.0)
ANGLE = InnerLoop(kind="angle", bandwidth=60.0, damping=0.8)
SPEEDS = (4.5, 5.0, 5.5)


def rate_rig_text():
    return (ROOT / "docs/rigs/rate-drive.toml").read_text(encoding="utf-8")


def test_rig_file_says_what_its_drive_obeys(tmp_path):
    rig = read_rig(ROOT / "docs/rigs/rate-drive.toml")
    assert (rig.drive, rig.drive_kind) == (RATE, "rate")
    assert rig.timing.drive_lag == 0.0, "designs for it know the lag of the inner loop alone"
    path = tmp_path / "rig.toml"
    changed = rate_rig_text().replace('kind = "rate"', 'kind = "angle"').replace("steer_acceleration", "steer_command")
    path.write_text(changed.replace("value = 300.0                 # rad/s^2", "value = 0.6  # rad"))
    assert read_rig(path).drive == replace(RATE, kind="angle")
    assert read_rig(ROOT / "docs/rigs/node.toml").drive is None


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("bandwidth_rad_per_s = 50.0", "", "a drive of kind rate wants its bandwidth_rad_per_s in .drive., found none"),
        ('kind = "rate"', 'kind = "torque"', "a drive of kind torque has a lag .drive_lag_s in .loop.., found bandwid"),
        ('kind = "rate"', 'kind = "speed"', "drive.kind: .*'torque', 'rate' or 'angle'.*found 'speed'"),
        ("bandwidth_rad_per_s = 50.0", "bandwidth_rad_per_s = 1e5", "from 1 to 1000 rad/s, found 100000 rad/s"),
        ("[limits.steer_rate]", "[limits.steer_command]", "the limits steer_rate are missing"),
        ('kind = "rate"', 'kind = "angle"\n#', "the limits steer_command are missing"),
    ],
)
def test_drive_that_cannot_be_is_refused_in_a_sentence(tmp_path, old, new, sentence):
    path = tmp_path / "rig.toml"
    path.write_text(rate_rig_text().replace(old, new, 1))
    with pytest.raises(InputError, match=sentence):
        read_rig(path)


@pytest.mark.parametrize("drive", [None, RATE, ANGLE], ids=str)
def test_header_of_a_log_keeps_the_drive(drive):
    rig = rig_of(drive=drive)
    schedule = design(SILVER, "lqr", SPEEDS, rig.timing, drive=drive)
    header = new_header(rig, schedule, rig.calibrated(), runner="lockstep", simulated=True)
    assert ("drive" in header.to_json()["rig"]) == (drive is not None), "logs of a torque are as before"
    read = RunHeader.from_json(header.to_json())
    assert read.rig.drive == drive
    assert controller_from_text(read.to_json()["schedule"]).drive == drive


KINDS = {"torque": None, "rate": RATE, "angle": ANGLE}


@pytest.mark.parametrize("obeyed", KINDS)
@pytest.mark.parametrize("commanded", KINDS)
def test_gains_of_another_kind_are_refused_everywhere(commanded, obeyed):
    rig = rig_of(drive=KINDS[obeyed])
    schedule = design(SILVER, "lqr", SPEEDS, rig.timing, drive=KINDS[commanded])
    if commanded == obeyed:
        require_fitting(rig, schedule)
        SampledLoop.of_rig(rig, schedule)
        return
    for allow_mismatch in (False, True):
        with pytest.raises(
            InputError, match=rf"command a steer {commanded} \[.*\] but the drive obeys an? {obeyed} \["
        ):
            require_fitting(rig, schedule, allow_mismatch)
    with pytest.raises(InputError, match=f"design them again with --drive {obeyed}"):
        SampledLoop.of_rig(rig, schedule)


def test_gains_for_another_inner_loop_are_a_mismatch():
    schedule = design(SILVER, "lqr", SPEEDS, drive=RATE)
    slower = rig_of(drive=replace(RATE, bandwidth=30.0))
    with pytest.raises(
        InputError, match=r"a rate drive of 50 rad/s and damping 1, not for .* 30 rad/s .*--drive rate --bandwidth 30"
    ):
        require_fitting(slower, schedule)
    require_fitting(slower, schedule, allow_mismatch=True)
    with pytest.raises(InputError, match="not for a rate drive of 50 rad/s and no damping"):
        require_fitting(rig_of(drive=replace(RATE, damping=None)), schedule)
    require_fitting(rig_of(drive=replace(RATE, bandwidth=51.0)), schedule)  # no calibration knows it better


def test_such_a_drive_plays_its_own_command_and_cannot_let_go():
    rig = rig_of(drive=RATE)
    for kind in ("none", "push", "kicks", "sweep", "multisine", "steps"):
        require_playable_on(rig, Excitation(kind, 0.1, 30.0))
    require_playable_on(rig, Excitation("push", 0.1, 0.2, held_back=((1.0, 2.0),)))
    released = Excitation("push", 1.0, 0.2, releases=((1.0, 2.0),))
    require_playable_on(rig_of(), released)
    with pytest.raises(InputError, match=r"takes the torque off, but .* obeys a steer rate \[rad/s\] and would hold"):
        require_playable_on(rig, released)


@pytest.mark.parametrize("rate", [10.5, 50.0, 200.0, 1000.0])
def test_time_outs_of_an_emulated_rig_fit_the_rate_of_its_gains(rate):
    schedule = design(SILVER, "lqr", SPEEDS, LoopTiming(rate=rate))
    rig = emulated_rig(SILVER, schedule)
    require_time_outs(rig)
    assert rig.watchdog == max(min(5.0 / rate, 0.2), 0.025)


@pytest.mark.parametrize("drive", [RATE, ANGLE], ids=str)
def test_arming_checks_look_at_the_loop_with_its_drive(drive):
    schedule = design(SILVER, "lqr", SPEEDS, drive=drive)
    rig = emulated_rig(SILVER, schedule)
    assert rig.drive == drive
    assert rig.limits == Limits()
    _, eigenvalue = fastest_growth(rig, schedule)
    assert eigenvalue.real < 0.0
    require_stable(rig, schedule)
    wrong = replace(schedule, K=-schedule.K)
    with pytest.raises(InputError, match="Silver falls: at"):
        require_stable(rig, wrong)
