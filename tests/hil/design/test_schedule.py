"""A gain schedule: interpolation, the TOML file there and back, and files that are not one."""

import re
from pathlib import Path

import numpy as np
import pytest

from riderless.hil.design.methods import GainSchedule, LoopTiming, design
from riderless.models.catalogue import load_bicycle
from riderless.models.errors import InputError

OLD_FILES = Path(__file__).parent / "old_files"


@pytest.fixture(scope="module")
def schedule():
    return design(load_bicycle("Benchmark"), "lqr", [1.5, 3.0, 6.5], LoopTiming(rate=250.0))


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("lqr", {}),
        ("poles", {"raw": ["-2+3j", "-2-3j", -4, -12.0]}),
        ("poles", {"real": np.array([-4.0, -12.0])}),
        ("lean", {"k": 3.0, "allow_unstable": True}),
        ("off", {}),
    ],
)
def test_there_and_back_to_the_last_bit(method, options, tmp_path):
    written = design(load_bicycle("Balanceassistv1"), method, [1.0 / 3.0, 2.0, 7.7], LoopTiming(rate=333.0), **options)
    path = tmp_path / "gains.toml"
    path.write_text(written.to_toml())
    for read in (
        GainSchedule.from_toml(written.to_toml()),
        GainSchedule.from_toml(path),
        GainSchedule.from_toml(str(path)),
    ):
        for name in ("v", "K", "closed_loop"):
            np.testing.assert_array_equal(getattr(read, name), getattr(written, name))
        for name in ("method", "options", "bicycle", "loop", "margins", "notes"):
            assert getattr(read, name) == getattr(written, name)
        assert read.to_toml() == written.to_toml()


def test_interpolates_between_and_holds_the_ends(schedule):
    np.testing.assert_allclose(schedule.gains(2.0), schedule.K[0] + (schedule.K[1] - schedule.K[0]) / 3.0, rtol=1e-14)
    np.testing.assert_array_equal(schedule.gains(3.0), schedule.K[1])
    np.testing.assert_array_equal(schedule.gains(0.0), schedule.K[0])
    np.testing.assert_array_equal(schedule.gains(99.0), schedule.K[2])
    one = design(load_bicycle("Benchmark"), "lqr", [3.0])
    np.testing.assert_array_equal(one.gains(1.0), one.K[0])


def test_cannot_be_altered(schedule):
    with pytest.raises(ValueError, match="read-only"):
        schedule.K[0, 0] = 0.0
    with pytest.raises(AttributeError):
        schedule.method = "off"


def test_says_what_it_was_designed_for(schedule):
    assert (schedule.rate, schedule.delay, schedule.drive_lag) == (250.0, 1, 0.005)
    assert schedule.bicycle == load_bicycle("Benchmark")
    assert np.all(schedule.stable)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("v = 3.0", "v = 1.5", "must increase"),
        ("v = 3.0", "v = nan", "finite"),
        ("v = 3.0", "v = 'three'", "a speed v wants numbers, found 'three'"),
        ("v = 3.0", "v = true", "a speed v wants numbers, found True"),
        ("v = 3.0\n", "", "lacks 'v'"),
        ("v = 3.0\nK = [", "v = 3.0\nK = [ 1.0,", "the gains K wants lists of one length"),
        ("v = 3.0\nK = [", "v = 3.0\nK = [ inf ]\nX = [", "a speed has the keys .* found 'X'"),
        ("v = 3.0\nK = [", "v = 3.0\nK = [ '0',", "the gains K wants numbers, found '0'"),
        ('"phi",\n    "delta"', '"delta",\n    "phi"', "in this order, found .delta, phi, phi_dot"),
        ('    "phi",\n', "", "in this order, found .delta, phi_dot"),
        ('method = "lqr"', 'method = "lqr"\ngain = 2.0', "the file has the keys .* found 'gain'"),
        ("[loop]", "[drive]\nkind = 'rate'\n[loop]", "found 'drive'"),
        ("rate = 250.0", "rate = -250.0", "rate must be above 0 Hz"),
        ("rate = 250.0", "speed = 250.0", "not a gain schedule"),
        ("gain schedule 1", "gain schedule 99", "wants format"),
        ('method = "lqr"', 'method = "lqr', "not TOML"),
        ("[bicycle", "[tricycle", "found 'tricycle': did you mean bicycle"),
        ("w = 1.02", "w = -1.02", "w = -1.02 m"),
    ],
)
def test_malformed_text(schedule, old, new, says):
    text = schedule.to_toml()
    assert old in text
    with pytest.raises(InputError, match=says):
        GainSchedule.from_toml(text.replace(old, new))


def test_gains_must_be_finite_and_six(schedule):
    text = schedule.to_toml()
    with pytest.raises(InputError, match="finite"):
        GainSchedule.from_toml(re.sub(r"K = \[\s+[^,]+,", "K = [ nan,", text, count=1))
    with pytest.raises(InputError, match="6 gains at each of 3 speeds"):
        GainSchedule.from_toml(re.sub(r"K = \[\s+[^,]+,", "K = [", text))


def test_no_speeds(schedule):
    head = schedule.to_toml().split("[[speed]]")[0]
    with pytest.raises(InputError, match="lacks 'speed'"):
        GainSchedule.from_toml(head)
    with pytest.raises(InputError, match="at least one speed"):
        GainSchedule.from_toml("speed = []\n" + head)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        GainSchedule.from_toml(tmp_path / "nothing.toml")
    with pytest.raises(InputError, match="cannot be read"):
        GainSchedule.from_toml("")
    (tmp_path / "noise.toml").write_bytes(bytes(range(256)))
    with pytest.raises(InputError, match="cannot be read"):
        GainSchedule.from_toml(tmp_path / "noise.toml")


def test_an_old_file_is_read_as_before():
    """Written by `riderless design Silver --speeds 3:6:0.5` by a release before this test; files of users look so."""
    path = OLD_FILES / "silver_lqr_schedule_1.toml"
    read = GainSchedule.from_toml(path)
    assert (read.method, read.bicycle, read.loop) == ("lqr", load_bicycle("Silver"), LoopTiming(200.0, 1, 0.005))
    assert read.v.tolist() == [3.0, 3.5, 4.0, 4.5, 5.0, 5.5, 6.0]
    assert read.K[0].tolist() == [
        -28.178285076543354,
        12.76192134325111,
        -6.5304178989530035,
        1.6446060968775333,
        0.058405339822452815,
        0.05762001346054237,
    ]
    assert read.margins[0].gain == (0.25403614480253, 14.56873095300892)
    assert (read.margins[0].phase, read.margins[0].delay) == (0.9925689498598191, 0.08728157455670564)
    assert read.stable.all()
    assert read.to_toml() == path.read_text(encoding="utf-8")
    again = design(read.bicycle, read.method, read.v, read.loop, **read.options)
    np.testing.assert_allclose(again.K, read.K, rtol=1e-9)


def test_its_arrays_are_its_own():
    made = design(load_bicycle("Silver"), "lqr", [4.0, 5.0])
    K = made.K.copy()
    about = {"method": "x", "options": {}, "bicycle": made.bicycle, "loop": made.loop, "notes": made.notes}
    about |= {"closed_loop": made.closed_loop, "margins": made.margins, "K": K}
    own = GainSchedule(v=[4.0, 5.0], **about)
    K[:] = 0.0  # of the caller, who may go on with it
    assert np.array_equal(own.K, made.K)
    assert own.v.tolist() == [4.0, 5.0]
    with pytest.raises(InputError, match=r"must increase from 0 m/s or more, found \[-4\.0, 5\.0\] m/s"):
        GainSchedule(v=[-4.0, 5.0], **about)
