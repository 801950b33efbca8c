"""Others' recordings through a mapping: every format, unit and way to tell the time comes out the same."""

import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from riderless.experiments.cli import app
from riderless.experiments.feedback_law import FeedbackLaw
from riderless.experiments.recordings import foreign
from riderless.experiments.recordings.foreign import mapping, times, units
from riderless.experiments.recordings.foreign.formats.registry import FILE_FORMATS
from riderless.models.errors import InputError
from riderless.models.plant.drive_losses import DriveLosses
from tests.experiments.recordings.foreign_log import KICKS, in_their_units, signals, weave, write_csv
from tests.paths import DOCS

DOC = (DOCS / "foreign-logs.md").read_text()
EXAMPLE, LAW_EXAMPLE, RESISTANCE_EXAMPLE = re.findall(r"```toml\n(.*?)```", DOC, re.S)[:3]
SI = signals()
THEIRS = in_their_units(SI)
LEAST = '[time]\ncolumn = "time"\nunit = "ms"\n[phi_dot]\ncolumn = "gyro_x"\nunit = "deg/s"\nsign = -1\n'
LEAST += '[v]\nconstant = 14.4\nunit = "km/h"\n'


@pytest.fixture
def described(tmp_path):
    """Path of a mapping with the given text."""

    def write(text, name="mapping.toml"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def matlab73(path):
    """As MATLAB writes version 7.3: a user block of 512 bytes, columns as rows, fields of structs as groups."""
    import h5py

    with h5py.File(path, "w", userblock_size=512) as file:
        for name, values in THEIRS.items():
            file[f"log/{name}"] = values.reshape(1, -1)
            file[f"log/{name}"].attrs["MATLAB_class"] = np.bytes_("double")
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM")


def matlab5(path):
    from scipy.io import savemat

    savemat(path, {"log": {name: values.reshape(-1, 1) for name, values in THEIRS.items()}, "note": "hello", "n": 3.0})


def hdf5(path):
    import h5py

    with h5py.File(path, "w") as file:
        for name, values in THEIRS.items():
            file[f"a/b/{name}"] = values
        file["matrix"] = np.arange(12.0).reshape(6, 2)


def parquet(path):
    import pyarrow
    from pyarrow import parquet as pq

    pq.write_table(pyarrow.table(dict(THEIRS)), path)


WRITERS = {
    "plain.csv": lambda path: write_csv(path, THEIRS),
    "semicolon.log": lambda path: write_csv(path, THEIRS, ";"),
    "tab.tsv": lambda path: write_csv(path, THEIRS, "\t"),
    "v5.mat": matlab5,
    "v73.mat": matlab73,
    "some.h5": hdf5,
    "some.parquet": parquet,
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_signals_that_went_in(tmp_path, described, name):
    WRITERS[name](tmp_path / name)
    response = foreign.read_foreign(tmp_path / name, described(EXAMPLE))
    assert response.remarks == ()
    np.testing.assert_allclose(response.t, SI["t"], rtol=0, atol=1e-9)
    digits = 0.5e-6  # of the text files, in their units
    for quantity, per in {"phi_dot": np.pi / 180, "v": 1 / 3.6, "phi": np.pi / 180, "T_delta": 2.0}.items():
        np.testing.assert_allclose(getattr(response, quantity), SI[quantity], rtol=0, atol=digits * per * 1.01)
    np.testing.assert_allclose(response.delta, SI["delta"], rtol=0, atol=1e-8)
    assert [marker.t for marker in response.markers] == pytest.approx(KICKS)
    assert np.array_equal(response.free, SI["armed"] > 0)
    assert response.bicycle.name == "DelftSbW2024"
    assert response.label == "our bicycle, 4 m/s"


def test_the_mapping_of_the_docs_finds_the_eigenvalue_that_went_in(tmp_path, described):
    path = write_csv(tmp_path / "log.csv", THEIRS)
    described("# nothing")
    (tmp_path / "m.toml").write_text(EXAMPLE)
    done = CliRunner().invoke(app, ["analyze", str(path), "--mapping", str(tmp_path / "m.toml"), "--json"])
    assert done.exit_code == 0, done.output
    windows = json.loads(done.stdout)["windows"]
    assert len(windows) == len(KICKS)
    for window in windows:
        assert complex(window["predicted_re"], window["predicted_im"]) == pytest.approx(weave(), abs=0.02)
        assert complex(window["like_re"], window["like_im"]) == pytest.approx(
            complex(window["re"], window["im"]), abs=0.15
        )


def test_the_windows_of_the_docs_are_understood(tmp_path):
    from riderless.experiments.analysis.windows.notes import read_notes

    path = tmp_path / "windows.txt"
    path.write_text(re.search(r"```text\n(.*?)```", DOC, re.S)[1])
    assert [note.verb for note in read_notes(path, ["log.csv"])["log.csv"]] == ["veto", "move", "add"]


def test_units_are_what_they_are_called():
    assert units.unit_factor("deg/s", units.RATE_UNITS, "") == pytest.approx(0.017453292519943295, abs=1e-17)
    assert units.unit_factor("rpm", units.RATE_UNITS, "") == pytest.approx(0.10471975511965977, abs=1e-16)
    assert units.unit_factor("mph", units.SPEED_UNITS, "") == 0.44704  # by definition, 1609.344 m in 3600 s
    assert units.unit_factor("km/h", units.SPEED_UNITS, "") * 36.0 == pytest.approx(10.0)
    assert units.unit_factor("Nm", units.TORQUE_UNITS, "") == 1.0
    assert units.parse_quantity("-50 deg/s", units.RATE_UNITS, "") == pytest.approx(-0.8726646259971648)


def test_zero_scale_sign_and_offset():
    given = {"column": "e", "unit": "counts", "scale": "0.5 deg", "zero": 100, "sign": -1}
    one = mapping.read_column("x", "delta", given)
    assert -one.factor * (110 - one.zero) == pytest.approx(np.radians(-5.0))
    assert one.sign == -1
    two = mapping.read_column("x", "phi", {"column": "e", "unit": "deg", "offset": 2.0})
    assert two.offset == pytest.approx(np.radians(2.0))


@pytest.mark.parametrize(
    ("values", "unit"),
    [
        (SI["t"], "s"),
        (SI["t"] * 1e3, "ms"),
        (np.round(SI["t"] * 1e6), "us"),
        (SI["t"] + 1.7e9, "s"),  # since 1970
        (np.datetime64("2026-11-20T12:00:00") + np.round(SI["t"] * 1e3).astype("m8[ms]"), "date-time"),
    ],
)
def test_ways_to_tell_the_time(values, unit):
    factor = 1.0 if unit == "date-time" else units.unit_factor(unit, units.TIME_UNITS, "")
    t, said = times.times_in_seconds(np.asarray(values), factor, "time")
    np.testing.assert_allclose(t, SI["t"], rtol=0, atol=1e-6)
    assert len(said) == (unit == "date-time" or values[0] > 1e9)


def test_date_times_as_text_with_a_change_of_zone(tmp_path, described):
    stamps = [f"2026-10-25 02:59:59.{k:03d}+02:00" for k in range(500, 1000, 10)]
    stamps += [f"2026-10-25T02:00:00.{k:03d}+01:00" for k in range(0, 1000, 10)]
    path = tmp_path / "clock.csv"
    rows = [f"{stamp},{np.sin(0.1 * i):.5f}" for i, stamp in enumerate(stamps)]
    path.write_text("when,rate\n" + "\n".join(rows))
    text = '[time]\ncolumn = "when"\nunit = "date-time"\n[phi_dot]\ncolumn = "rate"\nunit = "rad/s"\n'
    response = foreign.read_foreign(path, described(text + '[v]\nconstant = 4\nunit = "m/s"\n'))
    np.testing.assert_allclose(response.t, 0.01 * np.arange(150), rtol=0, atol=1e-9)
    assert "begins at 2026-10-25T00:59:59.500" in response.remarks[0]


def test_a_rate_alone_is_enough(tmp_path, described):
    path = write_csv(tmp_path / "log.csv", {"gyro_x": THEIRS["gyro_x"]})
    response = foreign.read_foreign(path, described(LEAST.replace('column = "time"\nunit = "ms"', "rate = 100")))
    np.testing.assert_allclose(response.t, SI["t"], rtol=0, atol=1e-12)
    assert (response.v == 4.0).all()


def test_uneven_times_come_onto_an_even_grid_and_gaps_are_not_free(tmp_path, described):
    rng = np.random.default_rng(4)
    keep = np.ones(len(SI["t"]), bool)
    keep[700:750] = False
    keep[300] = False
    t = SI["t"] + rng.uniform(-0.003, 0.003, len(keep))
    lean_rate = np.interp(t, SI["t"], signals(noise=1e-6)["phi_dot"])
    columns = {"time": 1e3 * t[keep], "gyro_x": -np.degrees(lean_rate[keep])}
    response = foreign.read_foreign(write_csv(tmp_path / "log.csv", columns), described(LEAST))
    steps = np.diff(response.t)
    assert np.ptp(steps) < 1e-9
    assert steps[0] == pytest.approx(0.01, abs=4e-6)  # two drawn ends, 0.003 s each, over 1800 steps
    gap = (response.t > t[699]) & (response.t < t[750])
    assert gap.sum() == pytest.approx(50, abs=1)
    assert not response.free[gap].any()
    assert response.free[~gap].all()
    said = "\n".join(response.remarks)
    assert len(response.remarks) == 3
    assert f"a row is missing from {t[299]:.3f} to {t[301]:.3f} s, bridged" in said
    assert f"50 rows are missing from {t[699]:.3f} to {t[750]:.3f} s, not free" in said
    assert "brought to an even 10 ms" in said
    smooth = ~gap & (np.abs(response.t[:, None] - KICKS).min(axis=1) > 0.05)
    expected = np.interp(response.t, SI["t"], signals(noise=1e-6)["phi_dot"])
    assert np.abs(response.phi_dot - expected)[smooth].max() < 0.01  # curvature w^2 A dt^2 / 8, w = 20 in the caster


def test_a_file_of_two_sessions_is_no_recording():
    t = np.concatenate([np.arange(500) * 0.01, 1e5 + np.arange(500) * 0.01])
    with pytest.raises(InputError, match="most of which is gaps"):
        times.grid_of_times(t, "time")


def test_times_that_run_backwards():
    t = np.arange(1000) * 0.01
    t[400:405] = t[390:395]
    grid = times.grid_of_times(t, "time")
    assert "5 rows without a time or with one that does not increase, first after 3.990 s" in grid.remarks[0]
    assert "5 rows are missing from 3.990 to 4.050 s, not free" in grid.remarks[1]
    np.testing.assert_allclose(grid.even(2.0 * t), 2.0 * grid.t, rtol=0, atol=1e-9)
    with pytest.raises(InputError, match="wanted times that increase, found 999 of 1000"):
        times.grid_of_times(t[::-1], "time")


def test_no_window_reaches_over_a_clock_that_steps_back(tmp_path, described):
    t = np.arange(2000) * 0.01
    told = np.where(t < 10.0, t, t - 0.3)  # set back by 0.3 s at 10 s; 30 rows later it is past 10 s again
    told[400] = told[398]  # and one row that comes late, which is no step
    path = write_csv(tmp_path / "log.csv", {"time": 1e3 * told, "gyro_x": np.sin(5 * t)}, form="{:.12g}")
    response = foreign.read_foreign(path, described(LEAST))
    assert any("the clock steps back before 10.000 s: no window reaches over that" in it for it in response.remarks)
    np.testing.assert_allclose(response.t[~response.free], [10.0], rtol=0.0, atol=1e-9)


def test_rounded_times_are_taken_as_even(tmp_path, described):
    t = np.arange(4000) / 1024.0  # in whole ms: steps of 1, and 24 of 0 a second
    path = write_csv(tmp_path / "log.csv", {"time": np.rint(1e3 * t), "gyro_x": np.sin(5 * t)}, form="{:.6g}")
    response = foreign.read_foreign(path, described(LEAST))
    # a straight line through 4000 times rounded to 1 ms: 0.29 ms sqrt(12 / 4000) / 3.9 s = 4e-6
    assert response.dt == pytest.approx(1 / 1024, rel=8e-6)
    assert response.remarks == ()
    np.testing.assert_allclose(response.phi_dot, -np.radians(np.sin(5 * t)), atol=1e-7)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = ", ["TOML"]),
        (LEAST + "[fi]\ncolumn = 'a'", ["'fi'", "phi"]),
        (LEAST + "[phi]\ncolum = 'a'", ["[phi]", "colum", "column"]),
        (LEAST + "[phi]\ncolumn = 'roll'", ["[phi]", "unit"]),
        (LEAST + "[phi]\ncolumn = 'roll'\nunit = 'deg/s'", ["[phi]", "rad, mrad, deg", "deg/s"]),
        (LEAST + "[phi]\ncolumn = 'roll'\nunit = 'V'", ["[phi]", "scale", "zero"]),
        (LEAST + "[phi]\ncolumn = 'roll'\nscale = 5", ["[phi] scale", "50 rad"]),
        (LEAST + "[phi]\ncolumn = 'role'\nunit = 'deg'", ["'role'", "roll"]),
        (LEAST + "[phi]\ncolumn = 'roll'\nunit = 'deg'\nsign = 2", ["[phi]", "sign"]),
        (LEAST + "[phi]\ncolumn = 'roll'\nunit = 'deg'\nconstant = 2", ["[phi]", "both"]),
        (LEAST + "[phi]\ncolumn = 'roll'\nunit = 'deg'\nscale = '2 deg'", ["[phi]", "both"]),
        (LEAST + "[psi_dot]\ncolumn = 'gyro_x'\nunit = 'deg/s'", ["its own", "'gyro_x'", "[phi_dot] and [psi_dot]"]),
        (LEAST + "[kicks]\ntimes = ['a']", ["[kicks]", "4.1", "'a'"]),
        (LEAST + "[kicks]\ntimes = [9.0]\ncolumn = 'kick'", ["[kicks]: column would be ignored beside times"]),
        (LEAST + "[kicks]\ncolumn = 'gyro_x'\nclock = 'time'", ["[kicks]: clock would be ignored beside column"]),
        (LEAST + "[kicks]\nkind = 'kick'", ["[kicks]: wanted times or beside or column too, found kind alone"]),
        (LEAST + "[free]\nequals = 1\nafter = 2", ["[free]: wanted column too, found equals and after alone"]),
        (LEAST + "[free]\nintervals = [[1, 9]]\nafter = 2", ["[free]: wanted column too, found after alone"]),
        (LEAST + "[rows]\nequals = 1", ["[rows]: wanted column too, found equals alone"]),
        (LEAST + "[kicks]\ncolumn = 3", ["[kicks]", "column", "3"]),
        (LEAST + "[free]\ncolumn = 'armed'\nafter = 'b'", ["[free]", "after", "'b'"]),
        (LEAST + "[text]\nskip = -1", ["[text]", "skip", "-1"]),
        (LEAST + "[kicks]\ntimes = [99]", ["[kicks]", "99", "17.990"]),
        (LEAST + "[free]\nintervals = [[2, 3], [20, 30]]", ["[free]", "17.990 s", "20 to 30 s"]),
        (LEAST + "[rows]\ncolumn = 'armed'\nequals = 77", ["[rows]", "column armed is 77, found none"]),
        (LEAST + "[rows]\ncolumn = 'armed'\nequals = 'b'", ["[rows]", "column armed is 'b', found none"]),
        (LEAST + "[free]\nintervals = [[3, 2]]", ["[free]", "[3, 2]"]),
        (LEAST + "[law]\nsteer = 3", ["[law]", "steer_into_lean"]),
        (LEAST + "[law]\nsteer_into_lean = 2.0\nv0 = inf", ["[law]", "finite", "v0", "inf"]),
        (LEAST + "[law]\nsteer_into_lean = nan\nv0 = 6.5", ["[law]", "finite", "steer_into_lean", "nan"]),
        (LEAST + "[law]\nphi_dot = 2.0\ndelay_s = 15", ["[law]", "delay_s", "0.2 s", "15 s"]),
        (LEAST + "[law]\nphi_dot = 2.0\nrate_hz = 2", ["[law]", "a period of rate_hz", "0.5 s"]),
        (LEAST + "[drive]\nfriction_Nm = -0.1", ["[drive]", "friction", "-0.1 N m"]),
        (LEAST + "[std]\nmore_delay = -1", ["[std]", "more_delay", "-1"]),
        (LEAST + "[kicks]\ntimes = [nan]", ["[kicks]", "4.1", "nan"]),
        (LEAST + "[free]\nintervals = [[nan, 9.5]]", ["[free]", "intervals", "nan"]),
        ("law = 'lqr'\n" + LEAST, ["uncontrolled", "lqr"]),
        ("bicycle = 'Bechmark'\n" + LEAST, ["Bechmark", "Benchmark"]),
        ("kind = 'delf'\n" + LEAST, ["delf", "delft-sbw"]),
        (LEAST.replace('unit = "ms"', 'unit = "ms"\nrate = 200'), ["200 Hz", "0.01 s"]),
        (LEAST.replace("ms", "h"), ["[time]", "'h'"]),
        (LEAST.replace('unit = "ms"', 'unit = "s"'), ["time", "10 s", "ms"]),
        (LEAST.replace("time]\ncolumn", "time]\ncol"), ["[time]", "col"]),
        (LEAST.replace("[v]", "[phi]"), ["[phi]", "km/h"]),
    ],
)
def test_a_mapping_that_cannot_be_gets_one_sentence(tmp_path, described, text, words):
    path = write_csv(tmp_path / "log.csv", THEIRS)
    with pytest.raises(InputError) as caught:
        foreign.read_foreign(path, described(text))
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert all(word in sentence for word in words), sentence


def test_a_flag_may_be_a_quantity_and_a_wheel_may_tell_the_speed_too(tmp_path, described):
    path = write_csv(tmp_path / "log.csv", THEIRS)
    wheel = LEAST.replace("constant = 14.4", 'column = "belt"') + '[wheel]\ncolumn = "belt"\nscale = "0.8 rad/s"\n'
    flags = wheel + '[kicks]\ncolumn = "gyro_x"\n[free]\ncolumn = "belt"\n'
    assert foreign.read_foreign(path, described(flags), trust=True).free.all()


@pytest.mark.parametrize("name", ["v5.mat", "v73.mat", "some.h5", "some.parquet"])
def test_a_damaged_file_gets_one_sentence(tmp_path, described, name):
    WRITERS[name](tmp_path / name)
    data = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(data[: len(data) // 2])
    with pytest.raises(InputError, match=r"wanted .* found"):
        foreign.read_foreign(tmp_path / name, described(EXAMPLE))


@pytest.mark.parametrize(("library", "name"), [("h5py", "some.h5"), ("pyarrow", "some.parquet")])
def test_a_library_that_is_not_there_is_named(tmp_path, described, monkeypatch, library, name):
    WRITERS[name](tmp_path / name)
    monkeypatch.setitem(__import__("sys").modules, library, None)
    with pytest.raises(InputError, match=rf"needs the library {library}.*riderless\[formats\]"):
        foreign.read_foreign(tmp_path / name, described(EXAMPLE))


def test_every_format_is_written_here():
    assert len(FILE_FORMATS) == 8  # one more: write it above; four are written by `topic_logs`


def test_a_text_file_with_units_under_the_names_and_decimal_commas(tmp_path, described):
    path = write_csv(tmp_path / "log.csv", {k: THEIRS[k] for k in ("time", "gyro_x")}, ";")
    lines = path.read_text().replace(".", ",").splitlines()
    path.write_text("\n".join(["made by hand", lines[0], "ms;deg/s", *lines[1:]]))
    text = LEAST + '[text]\ndecimal = ","\nheader_line = 2\nskip = 1\n'
    np.testing.assert_allclose(foreign.read_foreign(path, described(text)).phi_dot, SI["phi_dot"], rtol=0, atol=1e-8)


@pytest.mark.parametrize(
    ("line", "value", "remedy"),
    [
        (1, "0,5", 'decimal = "," under [text]'),
        (1, "2026-11-20T12:34:56.789", 'unit = "date-time" under [time]'),
        (1, "ms", "skip = 1 under [text]"),
        (70, "Halt", 'say missing = ["Halt"] under [text]'),
    ],
)
def test_a_text_where_a_number_was_wanted_gets_its_remedy(tmp_path, described, line, value, remedy):
    path = write_csv(tmp_path / "log.csv", {k: THEIRS[k] for k in ("time", "gyro_x")}, ";")
    lines = path.read_text().splitlines()
    lines[line] = value + lines[line][lines[line].index(";") :]
    path.write_text("\n".join(lines))
    with pytest.raises(InputError, match=re.escape(remedy)):
        foreign.read_foreign(path, described(LEAST))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda lines: ["Recorded by Bob", *lines],
            "found 2 in line 2 of .*: names .*header_line = 2 under",
        ),
        (lambda lines: ["By Bob", "at 4 m/s", *lines], "found 2 in line 3 of .*: names .*header_line = 3 under"),
        (lambda lines: [*lines[:9], lines[9] + ",1", *lines[10:]], "found 3 in line 10 of .*: correct .*ragged = true"),
        (lambda lines: [*lines, "17"], "found 1 in line 1802 of .*: cut short there, delete that line"),
        (lambda lines: [*lines[:9], "", "a,b", *lines[9:]], "found 0 in line 10 of .*: a file of its own"),
    ],
)
def test_a_row_of_another_length_gets_its_remedy(tmp_path, described, change, said):
    """Every one of them was told to be deleted, the line of names under a title too."""
    path = write_csv(tmp_path / "log.csv", {k: THEIRS[k] for k in ("time", "gyro_x")})
    path.write_text("\n".join(change(path.read_text().splitlines())) + "\n")
    with pytest.raises(InputError, match=said.replace(": ", ";.*")) as caught:
        foreign.read_foreign(path, described(LEAST))
    assert ("delete that line" in str(caught.value)) == ("delete" in said)


def test_columns_of_matrices_and_of_tables_inside_files(tmp_path):
    import h5py
    from scipy.io import savemat

    from riderless.experiments.recordings.foreign.formats.registry import read_table

    a, b = np.arange(100.0), 5.0 - np.arange(100.0)
    savemat(tmp_path / "m.mat", {"m": np.column_stack([a, b]), "wide": np.array([a, b])})
    with h5py.File(tmp_path / "m.h5", "w") as file:
        file["x/m"] = np.array([a, b])  # as MATLAB 7.3 has its columns
        file["x/table"] = np.rec.fromarrays([a, b], names="first,second")
        file["y/m"] = np.arange(200.0)
    mat, hdf = read_table(tmp_path / "m.mat"), read_table(tmp_path / "m.h5")
    assert sorted(mat.columns) == ["m[1]", "m[2]", "wide[1]", "wide[2]"]
    for table, name in [(mat, "m[2]"), (mat, "wide[2]"), (hdf, "/x/m[2]"), (hdf, "x.table.second"), (hdf, "second")]:
        np.testing.assert_array_equal(table.numbers(name), b)
    with pytest.raises(InputError, match=r"wanted a column 'm'"):
        mat.numbers("m")


def test_a_law_with_gains_delay_rate_and_lag_is_read_with_its_deviations(described):
    found = mapping.load_mapping(described(LEAST + LAW_EXAMPLE))
    assert found.law == FeedbackLaw(gains=(2.0, -1.0, 8.0, -1.0), delay_s=0.015, rate_hz=100.0, drive_lag_s=0.008)
    assert found.law.latency == pytest.approx(0.020)
    assert found.losses == DriveLosses(friction=0.05)
    assert found.std == {"more_delay": 0.003, "drive_gain": 0.02}


def test_what_a_mapping_states_of_resistance_is_in_theory(described, tmp_path):
    text = f'bicycle = "Silver"\n{LEAST}{RESISTANCE_EXAMPLE}[std]\nrolling = 0.001\n'
    theory = foreign.read_foreign(write_csv(tmp_path / "log.csv", THEIRS), described(text)).own_theory
    assert theory.on_belt
    assert theory.uncertain == {"rolling": 0.001}
    assert theory.nominal("rolling") == 0.006
    with pytest.raises(InputError, match="wanted a place such as at"):
        mapping.load_mapping(described(text.replace("[0.81, -0.84]", "0.8")))
