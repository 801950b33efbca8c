"""Satellite receivers: sentences and frames of manuals and of independent encoders, and their twins."""

import math

import numpy as np
import pynmea2
import pytest
from pyubx2 import GET, UBXMessage, UBXReader

from riderless.firmware_interface.devices.driver import DeviceRequirements
from riderless.firmware_interface.devices.place import nmea, ubx
from riderless.firmware_interface.devices.place.datum import ground_place
from riderless.firmware_interface.devices.registry import device
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.messages import FIX_PSI, FIX_X, FIX_Y
from riderless.firmware_interface.twins.place.sending import new_place_twin, send_place
from riderless.firmware_interface.twins.place.sensor import PlaceFault, see_place
from tests.firmware_interface.devices.place.sensors import DATUM, seen, settings_of, told

RECEIVERS = ("nmea", "ubx")
RECORDED = next(example.wire for example in ubx.DEVICE.examples if example.valid)


def cartesian(lat, lon):
    """Place on the ellipsoid in axes of the earth [m]: a second route to distances on it."""
    a, f = 6378137.0, 1 / 298.257223563
    e2 = f * (2 - f)
    lat, lon = math.radians(lat), math.radians(lon)
    n = a / math.sqrt(1 - e2 * math.sin(lat) ** 2)
    return np.array(
        [n * math.cos(lat) * math.cos(lon), n * math.cos(lat) * math.sin(lon), n * (1 - e2) * math.sin(lat)]
    )


@pytest.mark.parametrize("lat0", [-55.0, 0.0, 33.0, 52.0116, 68.0])
@pytest.mark.parametrize("lane", [0.0, 30.0, 135.0, 270.0])
def test_metres_are_those_of_the_ellipsoid(lat0, lane):
    lon0 = 4.3571
    for dlat, dlon in ((1e-3, 0.0), (0.0, 1e-3), (-2e-3, 1.5e-3)):
        lat, lon = lat0 + dlat, lon0 + dlon
        up_lat, up_lon = math.radians(lat0), math.radians(lon0)
        north = np.array([-math.sin(up_lat) * math.cos(up_lon), -math.sin(up_lat) * math.sin(up_lon), math.cos(up_lat)])
        east = np.array([-math.sin(up_lon), math.cos(up_lon), 0.0])
        apart = cartesian(lat, lon) - cartesian(lat0, lon0)
        c, s = math.cos(math.radians(lane)), math.sin(math.radians(lane))
        n, e = apart @ north, apart @ east
        x, y = ground_place(
            *(round(1e9 * z) for z in (lat0, lon0)), math.radians(lane), round(1e9 * lat), round(1e9 * lon)
        )
        assert (x, y) == pytest.approx((n * c + e * s, -n * s + e * c), abs=3e-3)


def test_across_the_date_line():
    x, y = ground_place(0, 179_999_990_000, 0.0, 0, -179_999_990_000)
    assert (x, y) == pytest.approx((0.0, 2e-5 * math.radians(1) * 6378137.0), abs=1e-3)


def gga(lat=52.0116, lon=4.3571, quality=4, time="101010.10", talker="GN"):
    """A GGA as pynmea2 writes it."""
    values = (
        time,
        *angle(lat, 2, "NS"),
        *angle(lon, 3, "EW"),
        str(quality),
        "17",
        "0.6",
        "3.1",
        "M",
        "42.0",
        "M",
        "1.0",
        "0",
    )
    return f"{pynmea2.GGA(talker, 'GGA', values)}\r\n".encode()


def rmc(lat=52.0116, lon=4.3571, mode="R", time="101010.10", status="A", speed=8.0, course=41.0, talker="GN"):
    """An RMC as pynmea2 writes it."""
    values = (
        time,
        status,
        *angle(lat, 2, "NS"),
        *angle(lon, 3, "EW"),
        f"{speed}",
        f"{course}",
        "010126",
        "",
        "",
        mode,
        "V",
    )
    return f"{pynmea2.RMC(talker, 'RMC', values)}\r\n".encode()


def angle(value, digits, sides):
    """Degrees as degrees and minutes, and a side."""
    whole = int(abs(value))
    return f"{whole:0{digits}d}{60 * (abs(value) - whole):010.7f}", sides[value < 0]


@pytest.mark.parametrize("talker", ["GP", "GN"])
@pytest.mark.parametrize(("lat", "lon"), [(52.0117, 4.3573), (-33.9, 151.2), (-0.001, -71.5), (40.0, -0.0001)])
def test_sentences_of_another_encoder(talker, lat, lon):
    datum = {"lat_deg": lat, "lon_deg": lon, "lane_deg": 90.0}
    north = 0.001
    for sentence in (gga, rmc):
        link, fixes = told("nmea", sentence(lat + north, lon, talker=talker), **datum)
        assert (fixes, int(link["fix"]["has"]) & 3) == (1, FIX_X | FIX_Y)
        way = np.linalg.norm(cartesian(lat + north, lon) - cartesian(lat, lon))
        assert [link["fix"]["x_mm"], link["fix"]["y_mm"]] == pytest.approx(
            [0, -1e3 * way], abs=2
        )  # north is to the left
        assert (link["fix"]["age_us"], link["fix"]["sigma_mm"]) == (80_000, 20)


def test_the_worked_examples_of_manuals():
    link, fixes = told(
        "nmea", *(example.wire for example in nmea.DEVICE.examples), rtk=0.0, lat_deg=47.285, lon_deg=8.565
    )
    assert fixes == 1  # the other is on the Pacific
    # 4717.11437 N, 00833.91522 E in degrees, by hand
    x, y = ground_place(47285000000, 8565000000, math.radians(30.0), 47285239500, 8565253667)
    assert [link["fix"]["x_mm"], link["fix"]["y_mm"]] == pytest.approx([1e3 * x, 1e3 * y], abs=2)
    said = pynmea2.parse("$GPRMC,083559.00,A,4717.11437,N,00833.91522,E,0.004,77.52,091202,,,A*57", check=True)
    assert (said.latitude, said.longitude) == pytest.approx((47.2852395, 8.565253667))


@pytest.mark.parametrize(
    ("sentence", "fixes"),
    [
        (gga(quality=4), (1, 1, 1)),
        (gga(quality=5), (0, 1, 1)),
        (gga(quality=2), (0, 0, 1)),
        (gga(quality=1), (0, 0, 1)),
        (gga(quality=0), (0, 0, 0)),
        (gga(quality=6), (0, 0, 0)),  # dead reckoning
        (gga(quality=8), (0, 0, 0)),  # a simulator
        (rmc(mode="R"), (1, 1, 1)),
        (rmc(mode="F"), (0, 1, 1)),
        (rmc(mode="D"), (0, 0, 1)),
        (rmc(mode="R", status="V"), (0, 0, 0)),
        (rmc(mode="N"), (0, 0, 0)),
        (gga(talker="GL"), (0, 0, 0)),
        (gga(lat=53.0), (0, 0, 0)),  # 110 km from the datum
        (b"$GNGGA,,,,,,4,00,99.99,,,,,,*52\r\n", (0, 0, 0)),
    ],
)
def test_a_fix_is_as_good_as_the_rig_wants(sentence, fixes):
    assert tuple(told("nmea", sentence, rtk=rtk)[1] for rtk in (2.0, 1.0, 0.0)) == fixes
    assert told("nmea", sentence)[0]["receiver"]["frames_ok"] == 1


def test_an_epoch_makes_one_fix_and_a_course_a_heading_where_asked():
    both = rmc() + gga()
    assert told("nmea", both + rmc(time="101010.20") + gga(time="101010.20"))[1] == 2
    assert told("nmea", rmc(mode="F") + gga())[1] == 1  # the better of the two counts
    assert told("nmea", both)[0]["fix"]["has"] == FIX_X | FIX_Y
    link, _ = told("nmea", both, course=1.0)
    assert link["fix"]["has"] & FIX_PSI
    assert 1e-6 * link["fix"]["psi_urad"] == pytest.approx(math.radians(11.0), abs=1e-5)
    assert not told("nmea", rmc(speed=0.5), course=1.0)[0]["fix"]["has"] & FIX_PSI


def test_each_wrong_character_of_a_sentence_is_found():
    whole = gga()
    for i in range(1, len(whole) - 2):
        broken = whole[:i] + bytes([whole[i] ^ 1]) + whole[i + 1 :]
        assert told("nmea", broken)[1] == 0
    assert told("nmea", b"\xff\x00$GNGG" + whole + b"x" * 300 + whole.replace(b".10,", b".20,"))[1] <= 2


def pvt(**given):
    """A NAV-PVT as pyubx2 writes it."""
    values = {"lat": 52.0116, "lon": 4.3571, "fixType": 3, "gnssFixOk": 1, "carrSoln": 2, "hAcc": 14, "iTOW": 1000}
    return UBXMessage("NAV", "NAV-PVT", GET, **{**values, **given}).serialize()


def test_frames_of_another_encoder():
    link, fixes = told("ubx", pvt(lat=52.0126, velN=3000, velE=2000, headMot=41.0), course=1.0)
    way = np.linalg.norm(cartesian(52.0126, 4.3571) - cartesian(52.0116, 4.3571))
    assert (fixes, link["fix"]["has"]) == (1, FIX_X | FIX_Y | FIX_PSI)
    found = [link["fix"]["x_mm"], link["fix"]["y_mm"]]
    assert found == pytest.approx([1e3 * way * math.cos(math.pi / 6), -1e3 * way * math.sin(math.pi / 6)], abs=20)
    assert (link["fix"]["sigma_mm"], link["fix"]["age_us"]) == (14, 80_000)
    assert 1e-6 * link["fix"]["psi_urad"] == pytest.approx(math.radians(11.0), abs=1e-6)


def test_a_frame_that_was_recorded():
    said = UBXReader.parse(RECORDED)
    assert (said.carrSoln, said.hAcc, said.fixType) == (1, 39, 3)
    here = {"lat_deg": said.lat, "lon_deg": said.lon}
    assert told("ubx", RECORDED, **here)[1] == 0  # a float solution
    link, fixes = told("ubx", RECORDED, rtk=1.0, **here)
    assert (fixes, link["fix"]["x_mm"], link["fix"]["y_mm"], link["fix"]["sigma_mm"]) == (1, 0, 0, 39)
    assert told("ubx", RECORDED, RECORDED, rtk=1.0, **here)[1] == 1  # the same epoch
    for i in range(len(RECORDED)):
        broken = RECORDED[:i] + bytes([RECORDED[i] ^ 4]) + RECORDED[i + 1 :]
        assert told("ubx", broken, rtk=0.0, **here)[1] == 0


@pytest.mark.parametrize(
    "given", [{"carrSoln": 1}, {"carrSoln": 0}, {"gnssFixOk": 0}, {"fixType": 2}, {"fixType": 5}, {"lat": 53.0}]
)
def test_a_solution_that_is_not_good_enough(given):
    assert told("ubx", pvt())[1] == 1
    assert told("ubx", pvt(**given))[1] == 0


def test_other_messages_and_sentences_around_it_are_passed_over():
    other = UBXMessage("NAV", "NAV-STATUS", GET, iTOW=5).serialize()
    again = pvt(iTOW=1100)
    link, fixes = told("ubx", other + gga() + pvt() + b"\xb5" + pvt()[:50] + again + other)
    assert (fixes, link["receiver"]["frames_ok"]) == (2, 2)


@pytest.mark.parametrize("name", RECEIVERS)
@pytest.mark.parametrize("datum", [DATUM, {"lat_deg": -33.9, "lon_deg": -151.2, "lane_deg": 250.0}])
def test_the_twin_says_what_the_driver_reads(name, datum):
    rows = seen(name, noise=0.0, where=lambda t: (4.0 * t, 3.0 * math.sin(t), 0.0, 0.0), course=1.0, **datum)
    taken = rows[:, 0] - rows[:, 4]
    assert np.allclose(rows[:, 4], 0.08)
    assert len(rows) == pytest.approx(29, abs=1)
    worst = 0.002 if name == "nmea" else 0.012  # of 1e-7 deg
    assert np.abs(rows[:, 1] - 4.0 * taken).max() < worst
    assert np.abs(rows[:, 2] - 3.0 * np.sin(taken)).max() < worst
    way = np.arctan2(3.0 * (np.sin(taken) - np.sin(taken - 0.1)), 0.4)
    assert np.abs(rows[1:, 3] - way[1:]).max() < 1e-3


def test_the_twins_bytes_are_read_by_others():
    out = np.zeros(1024, np.uint8)
    for name in RECEIVERS:
        twin = new_place_twin(name, settings_of(name, latency_ms=0.0), noise=0.0)
        see_place(twin, 0.0, 0.0, 0.0, 0.0, 0.0)
        data = bytes(out[: send_place(twin, 0.0, out)])
        if name == "ubx":
            said = UBXReader.parse(data)
            assert (said.carrSoln, said.gnssFixOk, said.hAcc) == (2, 1, 20)
            assert (said.lat, said.lon) == pytest.approx((52.0116, 4.3571), abs=1e-7)
        else:
            for line in data.decode().splitlines():
                said = pynmea2.parse(line, check=True)
                assert (said.latitude, said.longitude) == pytest.approx((52.0116, 4.3571), abs=1e-8)
            assert said.gps_qual == 4


@pytest.mark.parametrize("name", RECEIVERS)
def test_noise_drop_outs_and_jumps_are_as_large_as_they_say(name):
    rows = seen(name, seconds=300.0, where=lambda t: (0.0, 0.1, 0.0, 0.0), rate=100)
    off = rows[:, 2] - 0.1
    inside = np.abs(off) < 0.5
    assert 1 - len(rows) / 2999 == pytest.approx(0.01, abs=0.006)
    assert np.median(np.abs(off[inside])) / 0.6745 == pytest.approx(0.02, rel=0.15)
    assert 0.0 < 1 - inside.mean() < 0.006


def test_a_lost_solution_is_no_fix_or_a_noisy_one():
    fault = PlaceFault("float", 1.0, 2.0)
    rows = seen("ubx", faults=(fault,))
    assert not np.any((rows[:, 0] - rows[:, 4] >= 1.0) & (rows[:, 0] - rows[:, 4] < 2.0))
    rows = seen("ubx", faults=(fault,), rtk=1.0)
    during = (rows[:, 0] - rows[:, 4] >= 1.0) & (rows[:, 0] - rows[:, 4] < 2.0)
    assert np.std(rows[during, 2]) > 5 * np.std(rows[~during, 2])


@pytest.mark.parametrize("name", RECEIVERS)
@pytest.mark.parametrize(
    ("given", "says"), [({"lat_deg": 95.0}, "lat_deg .* between -89 and 89 deg"), ({"rtk": 1.5}, "rtk .* whole number")]
)
def test_impossible_settings_are_refused(name, given, says):
    with pytest.raises(DeviceError, match=says):
        device(name).introduce(None, DeviceRequirements(200.0, 0.025, settings_of(name, **given)))


@pytest.mark.parametrize("name", RECEIVERS)
def test_a_receiver_without_a_datum_is_refused(name):
    with pytest.raises(DeviceError, match=f"a {name} needs lat_deg .deg., latitude of a point on the lane's middle"):
        device(name).settled({"lane_deg": 30.0})
