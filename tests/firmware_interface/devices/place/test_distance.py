"""Distance sensor across the belt: lines by hand, and its twin behind the driver."""

import numpy as np
import pytest

from riderless.firmware_interface.devices.link import new_link
from riderless.firmware_interface.devices.place import distance
from riderless.firmware_interface.devices.registry import device
from riderless.firmware_interface.messages import FIX_Y
from riderless.firmware_interface.twins.place.distance import send_distance
from riderless.firmware_interface.twins.place.sending import new_place_twin
from riderless.firmware_interface.twins.place.sensor import PlaceFault, see_place

SETTINGS = {name: setting.default for name, setting in distance.DEVICE.settings.items()}


def told(*chunks, **settings):
    """Link after these bytes, each of which came in one tick, and the number of fixes."""
    link, fixes = new_link(), 0
    distance.prepare(link, SETTINGS | settings)
    for chunk in chunks:
        fixes += distance.receive(link, np.frombuffer(bytearray(chunk) or bytearray(1), np.uint8), len(chunk))
    return link, fixes


@pytest.mark.parametrize(
    ("line", "y_mm"),
    [
        (b"123.4\r\n", 123),
        (b"-123.6\n", -124),
        (b"D=+0099 mm\r", 99),
        (b"  7.\n", 7),
        (b"0\n", 0),
        (b"17.\n", 17),
        (b"D=-1.236e+2 mm\n", -124),
        (b"12e mm\n", 12),  # no power without a digit
        (b"12e-\n", 12),
        (b"0e999\n", 0),
    ],
)
def test_the_number_of_a_line_is_the_place(line, y_mm):
    link, fixes = told(line)
    assert (fixes, link["fix"]["y_mm"], link["fix"]["has"]) == (1, y_mm, FIX_Y)
    assert (link["fix"]["age_us"], link["fix"]["sigma_mm"]) == (5000, 2)


@pytest.mark.parametrize(
    ("number", "y_mm"),
    [
        (b".512", 512),
        (b"-.512", -512),
        (b"+.5", 500),
        (b"-0.512", -512),
        (b"-512e-3", -512),
        (b"5.12E-1", 512),
        (b".0512e1", 512),
        (b"+.00512e+02", 512),
        (b"1e-1", 100),
    ],
)
def test_a_number_keeps_its_point_sign_and_power(number, y_mm):
    for line in (b"%b\r\n", b"y=%b m\n", b"%b\n", b" .. %b\n"):
        link, fixes = told(line % number, mm_per_unit=1000.0)
        assert (fixes, link["fix"]["y_mm"]) == (1, y_mm)
    link, fixes = told(b"1.5;%b;.2e1;7\n" % number, field=1.0, mm_per_unit=1000.0)
    assert (fixes, link["fix"]["y_mm"]) == (1, y_mm)
    assert told(b"%b;7\n" % number, field=1.0)[0]["fix"]["y_mm"] == 7


def test_field_scale_and_offset_are_those_of_the_rig():
    link, fixes = told(b"17;1.250;OK\n", field=1.0, mm_per_unit=-1000.0, offset_mm=2000.0)
    assert (fixes, link["fix"]["y_mm"]) == (1, 750)


@pytest.mark.parametrize(
    "line",
    [b"ERR\n", b"----\r\n", b"12\n", b"9" * 16 + b"\n", b"5 99999999999999999999\n", b"5 1e99999999999999999999\n"],
)
def test_a_line_without_the_number_is_no_fix(line):
    link, fixes = told(line, field=1.0)
    assert fixes == 0
    assert link["receiver"]["frames_bad_length"] == 1


def test_lines_are_found_however_they_are_cut():
    whole = b"1.5\r\n2.5\r\n" + b"x" * 100 + b"3\n" + b"4\n"
    for cut in range(len(whole)):
        link, fixes = told(whole[:cut], whole[cut:])
        assert (fixes, link["fix"]["seq"], link["fix"]["y_mm"]) == (3, 3, 4)
    link, _ = told(*(bytes([byte]) for byte in whole))
    assert link["fix"]["seq"] == 3


def test_any_bytes_leave_it_in_order():
    rng = np.random.default_rng(5)
    link, _ = told(rng.bytes(3000), b"\n42\n")
    assert link["fix"]["y_mm"] == 42


def sent(faults=(), seconds=3.0, y=0.123, noise=1.0, **settings):
    """Fixes (t, y [mm]) that the driver makes of the twin's bytes at 200 Hz."""
    twin = new_place_twin("distance", SETTINGS | settings, z=-0.5, seed=3, faults=faults, noise=noise)
    link, out, rows, seq = new_link(), np.zeros(256, np.uint8), [], 0
    distance.prepare(link, SETTINGS | settings)
    for k in range(round(200 * seconds)):
        t = k / 200
        see_place(twin, t, 0.0, y(t) if callable(y) else y, 0.0, 0.02)
        distance.receive(link, out, send_distance(twin, t, out))
        if link["fix"]["seq"] != seq:
            seq = int(link["fix"]["seq"])
            rows.append((t, int(link["fix"]["y_mm"])))
    return np.array(rows)


@pytest.mark.parametrize("settings", [{}, {"field": 2.0, "mm_per_unit": -25.4, "offset_mm": 800.0}])
def test_the_twin_says_what_the_driver_reads(settings):
    rows = sent(noise=0.0, **settings)
    assert np.abs(rows[:, 1] - (123 + 500 * np.sin(0.02))).max() <= 1.0  # with the lean at its height
    assert len(rows) == pytest.approx(300, abs=2)  # of 100 Hz
    assert rows[0, 0] == pytest.approx(0.005)  # late by its latency


def test_noise_drop_outs_and_outliers_are_as_large_as_they_say():
    rows = sent(seconds=60.0)
    inside = rows[np.abs(rows[:, 1] - 133) < 50, 1]
    assert np.std(inside) == pytest.approx(2.0, rel=0.1)
    assert 1 - len(rows) / 6000 == pytest.approx(0.01, abs=0.006)
    assert 1 - len(inside) / len(rows) == pytest.approx(0.002, abs=0.002)


@pytest.mark.parametrize(
    ("fault", "seen"),
    [
        (PlaceFault("silent", 1.0, 2.0), lambda t, y: not np.any((t > 1.01) & (t < 1.99))),
        (PlaceFault("frozen", 1.0, 2.0), lambda t, y: len(set(y[(t > 1.02) & (t < 1.99)])) == 1),
        (PlaceFault("outliers", 1.0, 2.0, 0.5), lambda t, y: np.mean(np.abs(y[(t > 1) & (t < 2)] - 133) > 500) > 0.3),
        (PlaceFault("drift", 1.0, 2.0, 0.1), lambda t, y: abs(np.median(y[t > 2.1]) - 233) < 3),
        (PlaceFault("noisy", 1.0, 2.0, 20.0), lambda t, y: 25 < np.std(y[(t > 1) & (t < 2)]) < 60),
        (PlaceFault("late", 1.0, 2.0, 0.2), lambda t, y: not np.any((t > 1.01) & (t < 1.19))),
    ],
)
def test_faults_show_in_its_lines(fault, seen):
    rows = sent(faults=(fault,))
    assert not seen(*sent().T) or (fault.kind == "silent" and len(sent()) > len(rows))
    assert seen(*rows.T)


def test_it_is_a_device_like_others():
    driver = device("distance")
    assert driver.settled({})["rate_Hz"] == 100.0
    assert "place" in repr(driver)
