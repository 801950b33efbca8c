"""Clocks of other people's logs: counters that begin again, stamps of arrival, and times told by two columns."""

from datetime import datetime, timedelta

import numpy as np
import pytest

from riderless.experiments.recordings import foreign
from riderless.models.errors import InputError

MAPPING = """
[time]
{}
[phi_dot]
column = "rate"
unit = "rad/s"
[v]
constant = 4
unit = "m/s"
"""


def read(folder, names, t, stamps, time):
    """Response of a CSV file with the ``stamps`` of rows at the times ``t``, and a lean rate of sin(4 t)."""
    (folder / "log.toml").write_text(MAPPING.format(time))
    lines = [f"{stamp},{lean_rate:.6f}" for stamp, lean_rate in zip(stamps, np.sin(4.0 * t), strict=True)]
    (folder / "log.csv").write_text("\n".join([f"{names},rate", *lines]) + "\n")
    return foreign.read_foreign(folder / "log.csv", folder / "log.toml")


@pytest.mark.parametrize(
    ("unit", "period", "lowest", "rate", "name"),
    [
        ("us", 2**32, 0, 250, "2^32 us"),
        ("us", 2**32, -(2**31), 100, "2^32 us"),
        ("ms", 2**16, 0, 50, "2^16 ms"),
        ("ms", 2**16, -(2**15), 125, "2^16 ms"),
        ("ms", 604_800_000, 0, 200, "one week"),
        ("s", 86_400, 0, 100, "one day"),
    ],
)
def test_a_counter_that_begins_again_goes_on(tmp_path, unit, period, lowest, rate, name):
    t = np.arange(20 * rate) / rate
    ticks = t / {"us": 1e-6, "ms": 1e-3, "s": 1.0}[unit]
    counted = (ticks - ticks[7 * rate]) % period + lowest  # from its lowest value on after 7 s
    response = read(tmp_path, "n", t, [f"{n:.3f}" for n in counted], f'column = "n"\nunit = "{unit}"')
    np.testing.assert_allclose(response.t - response.t[0], t, atol=1e-5)
    (said,) = [remark for remark in response.remarks if name in remark]
    assert f"in row {7 * rate + 1}, 7.000 s after the first, the clock goes back by" in said


def test_a_counter_of_an_odd_period_is_refused_with_its_row_and_read_when_that_is_given(tmp_path):
    t = np.arange(1500) * 0.01
    counted, time = (1e3 * t + 3000) % 7000, 'column = "n"\nunit = "ms"'
    with pytest.raises(InputError, match=r"row 401, 3.990 s after the first, is 6.99 s before .* wraps under \[time\]"):
        read(tmp_path, "n", t, counted, time)
    response = read(tmp_path, "n", t, counted, time + "\nwraps = 7000")
    np.testing.assert_allclose(response.t - response.t[0], t, atol=1e-6)
    with pytest.raises(InputError, match="wraps above 0, of one column of numbers, found 7000 for 1 of date-time"):
        read(tmp_path, "n", t, counted, 'column = "n"\nunit = "date-time"\nwraps = 7000')


@pytest.mark.parametrize(("hour", "sense"), [(-1, "back"), (1, "forward")])
def test_summer_time_is_undone(tmp_path, hour, sense):
    t, begins = np.arange(2000) * 0.02, datetime(2025, 3, 30, 1, 59, 48)
    stamps = [begins + timedelta(seconds=float(one), hours=hour * bool(one >= 11.99)) for one in t]
    response = read(tmp_path, "when", t, stamps, 'column = "when"\nunit = "date-time"')
    np.testing.assert_allclose(response.t, t, atol=1e-6)
    assert any(f"in row 601, 12.000 s after the first, the clock goes {sense}" in remark for remark in response.remarks)


def test_seconds_and_nanoseconds_are_one_time(tmp_path):
    t = 0.7 + np.arange(2000) * 0.008
    stamps = [f"{1_700_000_000 + int(one)},{round(one % 1.0 * 1e9)}" for one in t]
    response = read(tmp_path, "s,ns", t, stamps, 'column = ["s", "ns"]\nunit = ["s", "ns"]')
    np.testing.assert_allclose(response.t, t - t[0], atol=1e-6)
    with pytest.raises(InputError, match=r"rate exactly .about 125 Hz.; if another column tells the rest"):
        read(tmp_path, "s,ns", t, stamps, 'column = "s"\nunit = "s"')
    with pytest.raises(InputError, match="one unit for all columns, or one for each of 2"):
        read(tmp_path, "s,ns", t, stamps, 'column = ["s", "ns"]\nunit = ["s", "date-time"]')


@pytest.mark.parametrize("form", ["%Y-%m-%d,%H:%M:%S.%f", "%d.%m.%Y,%H:%M:%S.%f", "%Y/%m/%d,%H:%M:%S.%f"])
@pytest.mark.parametrize("column", ['["day", "hour"]', '"hour"'])
def test_date_and_time_of_day_pass_midnight(tmp_path, form, column):
    t, begins = np.arange(1000) * 0.02, datetime(2025, 8, 31, 23, 59, 51)
    stamps = [(begins + timedelta(seconds=float(one))).strftime(form) for one in t]
    response = read(tmp_path, "day,hour", t, stamps, f'column = {column}\nunit = "date-time"')
    np.testing.assert_allclose(response.t, t, atol=1e-6)


ARRIVALS = {
    "pairs": lambda t: np.where(np.arange(len(t)) % 2, t, np.append(t[1:], t[-1]) - 4e-4),
    "a timer of 20 ms": lambda t: 0.02 * np.ceil(t / 0.02 - 1e-6) + 1e-5 * (np.arange(len(t)) % 3),
    "a timer of 24 ms that stamps once": lambda t: 0.024 * np.ceil(t / 0.024 - 1e-6),
}


@pytest.mark.parametrize("arrival", ARRIVALS)
@pytest.mark.parametrize("rate", [150, 400])
def test_rows_that_come_in_bursts_are_even_and_a_silence_stays(tmp_path, arrival, rate):
    t = np.arange(30 * rate) / rate
    stamps = np.maximum.accumulate(ARRIVALS[arrival](t))
    response = read(tmp_path, "t", t, [f"{one:.6f}" for one in stamps], 'column = "t"\nunit = "s"')
    assert len(response.t) == len(t)
    assert 1.0 / response.dt == pytest.approx(rate, rel=2e-5)
    (said,) = response.remarks
    assert f"taken as even at {rate} Hz" in said
    kept = (t < 12.0) | (t > 13.0)
    response = read(tmp_path, "t", t[kept], [f"{one:.6f}" for one in stamps[kept]], 'column = "t"\nunit = "s"')
    assert 1.0 / response.dt == pytest.approx(rate, rel=1e-4)
    assert sum("missing" in remark for remark in response.remarks) == 1
    assert np.ptp(response.t[~response.free]) == pytest.approx(1.0, abs=0.03)


def test_long_bursts_want_the_rate(tmp_path):
    t = np.arange(4000) / 100
    stamps = 0.5 * np.ceil(t / 0.5 - 1e-6)
    said = r"every 49. ms, first row \d+ with the one above it, which does not tell their rate exactly \(about 100 Hz\)"
    with pytest.raises(InputError, match=said):
        read(tmp_path, "t", t, stamps + 1e-4 * (np.arange(-1, 3999) % 50), 'column = "t"\nunit = "s"')
    response = read(tmp_path, "t", t, stamps, 'column = "t"\nunit = "s"\nrate = 100')
    np.testing.assert_allclose(np.diff(response.t), 0.01, atol=1e-9)
