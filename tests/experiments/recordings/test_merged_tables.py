"""Tables merged of sensors with rates of their own, as those of ROS: rows of other sensors are no flaw."""

import numpy as np
import pytest

from riderless.experiments.analysis.analyze import analyze_responses
from riderless.experiments.recordings import foreign
from riderless.experiments.recordings.foreign.merged import join_rows
from riderless.experiments.recordings.foreign.table import Table
from riderless.experiments.recordings.foreign.times import times_in_seconds
from riderless.models.errors import InputError
from tests.experiments.recordings.foreign_log import KICKS, in_their_units, signals, weave, write_csv
from tests.experiments.recordings.test_foreign_mapping import EXAMPLE

SLOW = {"belt": 10, "button": 2, "armed": 5}  # rows of 10 ms from value to value


def merged(path, late=0.0, seed=1, **slow):
    """One row for each reading: the belt, the button and what is armed are told in rows of their own, ``late`` ms."""
    theirs = in_their_units(signals(seed=seed))
    t, slow = theirs.pop("time"), SLOW | slow
    tables = [(t, [name for name in theirs if name not in slow])]
    tables += [(t[::step] + late * (i + 1), [name]) for i, (name, step) in enumerate(slow.items())]
    parts = []
    for at, names in tables:
        kept = at <= t[-1]
        part = np.full((kept.sum(), 1 + len(theirs)), np.nan)
        part[:, 0] = at[kept]
        for column, name in enumerate(theirs, start=1):
            if name in names:
                part[:, column] = np.interp(at[kept], t, theirs[name])
        parts.append(part)
    rows = np.concatenate(parts)
    rows = rows[np.argsort(rows[:, 0], kind="stable")]
    return write_csv(path, dict(zip(["time", *theirs], rows.T, strict=True)))


def read(path):
    described = path.with_name("mapping.toml")
    described.write_text(EXAMPLE)
    return foreign.read_foreign(path, described)


@pytest.mark.parametrize("seed", [2, 3, 4])
@pytest.mark.parametrize("late", [0.0, 1.7, 4.0])
def test_the_eigenvalue_that_went_in_is_found(tmp_path, late, seed):
    response = read(merged(tmp_path / "log.csv", late, seed))
    assert [marker.t for marker in response.markers] == pytest.approx(KICKS, abs=0.03)
    assert response.free[(response.t > 0.7) & (response.t < 17.7)].all()
    assert not response.free[response.t < 0.4].any()
    fits = [one.fit for one in analyze_responses([response]).comparisons]
    assert len(fits) == len(KICKS)
    off = np.mean([fit.eigenvalue for fit in fits]) - weave()
    assert abs(off.real) < 0.1
    assert abs(off.imag) < 0.1


def test_the_grid_is_that_of_the_gyro_and_a_reading_that_it_missed_is_a_row_that_is_missing(tmp_path):
    theirs, truth = in_their_units(signals()), signals()
    theirs["gyro_x"][1::2] = np.nan
    theirs["gyro_x"][600] = np.nan
    response = read(write_csv(tmp_path / "log.csv", theirs))
    assert response.remarks == ("column time of log.csv: a row is missing from 5.980 to 6.020 s, not free",)
    np.testing.assert_allclose(response.t, truth["t"][:-1:2], rtol=0, atol=1e-9)
    assert response.t[~response.free & (response.t > 0.55)] == pytest.approx([6.0])
    told = np.arange(900) != 300
    np.testing.assert_allclose(response.phi_dot[told], truth["phi_dot"][::2][told], rtol=0, atol=1e-8)
    np.testing.assert_allclose(response.delta[told], truth["delta"][::2][told], rtol=0, atol=1e-8)


@pytest.mark.parametrize("seed", [5, 6])
def test_rows_of_other_sensors_change_no_digit_of_the_lean_rate(tmp_path, seed):
    plain = read(write_csv(tmp_path / "plain.csv", in_their_units(signals(seed=seed))))
    response = read(merged(tmp_path / "log.csv", 1.7, seed))
    np.testing.assert_array_equal(response.t, plain.t)
    np.testing.assert_array_equal(response.phi_dot, plain.phi_dot)
    np.testing.assert_array_equal(response.delta, plain.delta)
    np.testing.assert_allclose(response.v[10:-30], plain.v[10:-30], rtol=0, atol=5e-3)


def test_a_speed_that_is_told_twice_a_second_is_too_slow(tmp_path):
    with pytest.raises(InputError, match=r"wanted values in column belt of log\.csv, found 98 % of them missing"):
        read(merged(tmp_path / "log.csv", belt=50))


def test_rows_of_one_time_with_two_values_are_left_as_they_are(tmp_path):
    t = np.repeat(np.arange(40.0), 2)
    table = Table(tmp_path / "log.csv", {"t": t, "x": np.arange(80.0), "y": np.where(np.arange(80) % 2, np.nan, t)})
    assert join_rows(table, "t", ["t", "x", "y"]) is table
    joined = join_rows(table, "t", ["t", "y"])
    assert np.array_equal(joined.raw("t"), joined.raw("y"))
    assert np.array_equal(joined.raw("t"), np.arange(40.0))


OWN = EXAMPLE.replace('column = "belt"', 'column = "wheel/belt"\ntime = "wheel/stamp"')
OWN = OWN.replace('column = "motor"', 'column = "drive/motor"\ntime = "drive/stamp"')


def of_groups(path, origin=0.0, seed=1, missed=()):
    """HDF5 of three groups with times of their own: everything at 100 Hz, the belt at 12.5 Hz, the motor at 40 Hz."""
    import h5py

    theirs = in_their_units(signals(seed=seed))
    t = theirs.pop("time")
    with h5py.File(path, "w") as file:
        for name, step, late, columns in (("wheel", 80.0, 3.1, ["belt"]), ("drive", 25.0, -4.0, ["motor"])):
            at = np.delete(np.arange(t[0] + late, t[-1] + step, step), missed if name == "wheel" else [])
            file[f"{name}/stamp"] = origin + at
            for column in columns:
                file[f"{name}/{column}"] = np.interp(at, t, theirs.pop(column))
        file["imu/time"] = origin + t
        for column, values in theirs.items():
            file[f"imu/{column}"] = values
    return path


def read_own(path, text=OWN):
    described = path.with_name("mapping.toml")
    described.write_text(text)
    return foreign.read_foreign(path, described)


@pytest.mark.parametrize("origin", [0.0, 1.79e12])  # ms; since 1970
def test_a_table_with_times_of_its_own_comes_onto_those_of_the_recording(tmp_path, origin):
    truth = signals(seed=7)
    response = read_own(of_groups(tmp_path / "log.h5", origin, seed=7))
    np.testing.assert_allclose(response.t, truth["t"], rtol=0, atol=1e-6)
    np.testing.assert_allclose(response.phi_dot, truth["phi_dot"], rtol=0, atol=1e-9)
    np.testing.assert_allclose(response.v[10:], truth["v"][10:], rtol=0, atol=5e-3)
    lag = np.correlate(response.T_delta[20:-20], truth["T_delta"][18:-18], "valid")
    assert lag.argmax() == 2  # the drive's stamps begin 4 ms early, and are read so
    assert [marker.t for marker in response.markers] == pytest.approx(KICKS)
    fits = [one.fit for one in analyze_responses([response]).comparisons]
    assert len(fits) == len(KICKS)
    assert abs(np.mean([fit.eigenvalue for fit in fits]) - weave()) < 0.1


def test_a_reading_that_such_a_table_missed_is_not_free(tmp_path):
    response = read_own(of_groups(tmp_path / "log.h5", missed=[100]))
    (told,) = (remark for remark in response.remarks if "8.003" in remark or "7.9" in remark)
    assert told.startswith("wheel/belt: ")
    assert told.endswith("not free")
    assert not response.free[(response.t > 7.93) & (response.t < 8.08)].any()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('time = "wheel/stamp"', 'time = "drive/stamp"'), r"wanted column wheel/belt of log\.h5 as long as its times"),
        (('time = "wheel/stamp"', "time = 3"), "wanted a text for time, found 3"),
        (('time = "wheel/stamp"', 'time = "wheel/stamps"'), "wanted a column 'wheel/stamps'"),
        (('time = "wheel/stamp"', ""), r"a quantity may have its own times \(time\)"),
        (('column = "wheel/belt"', "constant = 14.4"), r"\[v\]: wanted a column where there are times, found a const"),
        (('[time]\ncolumn = "time"', "[time]\nrate = 100"), r"\[v\]: wanted \[time\] with a column"),
    ],
)
def test_times_of_its_own_that_cannot_be_get_one_sentence(tmp_path, change, words):
    assert change[0] in OWN
    with pytest.raises(InputError, match=words):
        read_own(of_groups(tmp_path / "log.h5"), OWN.replace(*change))


def test_times_of_two_kinds_are_refused():
    with pytest.raises(InputError, match="all numbers or all date-times, found both"):
        times_in_seconds(np.arange(3.0), 1.0, "column x", np.array(["2026-11-20T12:00:00"], object))
