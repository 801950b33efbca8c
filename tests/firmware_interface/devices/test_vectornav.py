"""VectorNav's messages: frames worked by hand, the manual's, broken ones; time, scale and what gets lost."""

import json
import math
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riderless.firmware_interface.calibration import DEVICE_CLOCK, Calibration, calibrate
from riderless.firmware_interface.devices import vectornav
from riderless.firmware_interface.devices.link import LINK_STATE, ROLE_IMU, TX_SIZE, hear, new_link, say
from riderless.firmware_interface.devices.registry import device
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.messages import COMMAND, COMMAND_ENABLE, SAMPLE
from tests.firmware_interface.wire import as_bytes, record
from tests.paths import REFERENCE

PERIOD_ns = 5_000_000
RATES, FORCES = (1.0, -0.5, 0.25), (0.5, -0.25, -9.75)  # whole counts
COUNTERS = ("frames_ok", "frames_bad_crc", "frames_bad_length", "frames_bad_version", "bytes_skipped")
FIELD_SIZES = (8, 8, 8, 12, 16, 12, 24, 12, 12, 24, 20, 28, 2, 4, 8)  # of group 1, from the manual


def crc(data: bytes) -> int:
    """CRC-16/XMODEM bit by bit, as in any textbook."""
    value = 0
    for byte in data:
        value ^= byte << 8
        for _ in range(8):
            value = (value << 1 ^ 0x1021 if value & 0x8000 else value << 1) & 0xFFFF
    return value


def closed(body: bytes) -> bytes:
    """A binary message around what stands between sync and CRC."""
    return b"\xfa" + body + crc(body).to_bytes(2, "big")


def ours(k: int, rates=RATES, forces=FORCES, t_ns: int | None = None) -> bytes:
    """Our message of the k-th period."""
    stamp = k * PERIOD_ns if t_ns is None else t_ns
    return closed(struct.pack("<BHQ9f", 1, 0x0129, stamp, 10.0, 20.0, 30.0, *rates, *forces))


OTHERS = {
    "angles": closed(bytes.fromhex("01 0800") + struct.pack("<3f", 1.0, 2.0, 3.0)),
    "all of group 1": closed(bytes.fromhex("01 ff7f") + bytes(range(198))),
    "two groups": closed(bytes.fromhex("05 0800 1000") + bytes(16)),
    "field of a size we do not know": closed(bytes.fromhex("09 0100 0050") + bytes(range(3, 61))),
    "another group": closed(bytes.fromhex("10 0200") + struct.pack("<3f", 1.0, 2.0, 3.0)),
    "more groups behind": closed(bytes.fromhex("81 01 0100 0100") + bytes(range(17))),
    "more fields behind": closed(bytes.fromhex("01 2981 0100") + bytes(range(200))),
    "a CRC of zero in its head": closed(b"\x82" + crc(b"\x82").to_bytes(2, "big") + bytes(range(20))),
    "ours and one more field": closed(struct.pack("<BHQ3f", 1, 0x0129 | 0x1000, 7, *RATES) + bytes(26)),
}
NOISE = st.lists(  # what looks like a beginning, and anything else
    st.sampled_from([b"\xfa", b"\xfa\x01", b"\x29\x01", b"\xfa\x81", b"\xfa\x01\xff\x7f", b"$VN", b"\r\n"])
    | st.binary(max_size=40),
    max_size=40,
).map(b"".join)
LINES = (b"$VNRRG,01,VN-200T-CR*31\r\n", b"$VNERR,0C*01\r\n", b"$VNWRG,75,1,4,01,0129*XX\n")


def fresh(period_us: int = 5000) -> np.void:
    """A link as the loop makes it."""
    links = np.zeros(1, LINK_STATE)
    links[0] = new_link()
    link = links[0]
    link["hear"], link["say"], link["role"] = vectornav.DEVICE.hear, vectornav.DEVICE.say, ROLE_IMU
    link["period_us"] = period_us
    return link


def fed(link: np.void, *chunks: bytes) -> int:
    """New readings out of the chunks, one after the other, by way of the pointer the tick uses."""
    return sum(int(hear(link, as_bytes(chunk + b"\0"), len(chunk))) for chunk in chunks)


def counted(link: np.void) -> dict[str, int]:
    return {name: int(link["receiver"][name]) for name in COUNTERS if link["receiver"][name]}


@pytest.fixture
def vectors() -> list[dict]:
    """What manuals and test suites of others have."""
    path = REFERENCE / "device_vectors.json"
    return [v for v in json.loads(path.read_text())["vectors"] if v["device"] == "vectornav"]


def test_crc_of_the_textbook():
    assert crc(b"123456789") == 0x31C3  # check value of CRC-16/XMODEM in the catalogues


def test_worked_message():
    # 2 s; 1, -0.5, 0.25 rad/s; 0.5, -0.25, -9.75 m/s^2; floats written down from their bits, CRC by long division
    wire = bytes.fromhex(
        "FA 01 2901 0094357700000000 00002041 0000A041 0000F0410000803F 000000BF 0000803E 0000003F 000080BE 00001CC1"
    )
    wire += crc(wire[1:]).to_bytes(2, "big")
    link = fresh()
    assert len(wire) == vectornav.MESSAGE_SIZE == 50
    assert fed(link, wire) == 1
    raw = link["raw"]
    assert raw["gyro_counts"].tolist() == [2**20, -(2**19), 2**18]
    assert raw["accel_counts"].tolist() == [2**15, -(2**14), -9.75 * 2**16]
    assert raw["t_us"] == 2_000_000
    assert raw["off_scale"] == raw["faults"] == raw["status"] == 0
    assert counted(link) == {"frames_ok": 1}


def test_readings_in_si_units():
    link, sample = fresh(), record(SAMPLE)
    fed(link, ours(3, (0.1, -0.2, 0.3), (0.3, 0.2, -9.81)))
    cal = Calibration(wheel_radius=0.3, gyro_lsb=vectornav.GYRO_LSB, accel_lsb=vectornav.ACCEL_LSB)
    calibrate(link["raw"], cal.as_record(), record(DEVICE_CLOCK), sample)
    assert [sample[f"{axis}_dot_meas"] for axis in ("phi", "theta", "psi")] == pytest.approx([0.1, -0.2, 0.3], abs=1e-6)
    assert [sample[f"a_{axis}_meas"] for axis in "xyz"] == pytest.approx([0.3, 0.2, -9.81], abs=1e-5)
    assert sample["valid"]


def test_every_binary_vector(vectors):
    binary = [v for v in vectors if v["kind"] == "binary"]
    assert {v["valid"] for v in binary} == {True, False}
    for vector in binary:
        link, wire = fresh(), bytes.fromhex(vector["hex"])
        assert fed(link, wire) == 0, "none of them is our message"
        whole = {"frames_ok": 1, "frames_bad_version": 1}
        assert (counted(link) == whole) == vector["valid"], vector["source"]
        assert (int(link["receiver"]["frames_ok"]) == 1) == vector["valid"], vector["source"]
        assert (crc(wire[1:]) == 0) == vector["valid"], vector["source"]
        assert vector["valid"] or int(link["receiver"]["bytes_skipped"]) > 0
        assert fed(link, ours(1)) == 1, "and nothing is in the way of ours"


def test_binary_vectors_mean_what_they_say(vectors):
    meant = {0: "yaw_pitch_roll_deg", 2: "values"}
    for index, name in meant.items():
        wire, decoded = bytes.fromhex(vectors[index]["hex"]), vectors[index]["decoded"]
        groups, fields = struct.unpack_from("<BH", wire, 1)
        size = sum(size for bit, size in enumerate(FIELD_SIZES) if fields >> bit & 1)
        assert (groups, [fields], len(wire)) == (decoded["groups"], decoded["fields"], 4 + size + 2)
        assert struct.unpack_from(f"<{size // 4}f", wire, 4) == pytest.approx(decoded[name], rel=1e-7)


def test_every_ascii_vector(vectors):
    lines = [v for v in vectors if v["kind"] == "ascii"]
    assert len(lines) == 8
    for vector in lines:
        wire = bytes.fromhex(vector["hex"])
        text = vectornav.decode_line(wire)
        assert "$" + text + wire[-3:].decode() == vector["decoded"]["text"]
        assert vectornav.encode_line(text) == wire + b"\r\n", vector["source"]
        broken = wire[:5] + bytes([wire[5] ^ 1]) + wire[6:]
        assert vectornav.decode_line(broken) is None
        link = fresh()
        assert fed(link, wire + b"\r\n" + ours(1)) == 1
        assert counted(link) == {"frames_ok": 1}, "a line is legal and not ours to count"


def test_checks_of_lines():
    assert vectornav.encode_line("VNRRG,01") == b"$VNRRG,01*72\r\n"  # worked by hand: 56^4E^52^52^47^2C^30^31
    assert vectornav.decode_line(b"$VNRRG,01*72") == "VNRRG,01"
    assert vectornav.decode_line(b"$123456789*31C3\r\n") == "123456789"  # the CRC's check value
    assert vectornav.decode_line(b"$123456789*31c3\n") == "123456789"
    assert vectornav.decode_line(b"$VNRRG,01*XX\r\n") == "VNRRG,01"
    for bad in (
        b"$VNRRG,01*73",
        b"$123456789*31C4",
        b"VNRRG,01*72",
        b"$VNRRG,01",
        b"$VNRRG,01*7",
        b"",
        b"$",
        b"$\xff*FF",
    ):
        assert vectornav.decode_line(bad) is None


@pytest.mark.parametrize("name", OTHERS)
def test_other_messages_are_skipped_whole(name):
    link, wire = fresh(), OTHERS[name]
    assert fed(link, ours(1), wire, ours(2), wire, wire, ours(3)) == 3
    assert counted(link) == {"frames_ok": 6, "frames_bad_version": 3}
    assert link["receiver"]["samples_lost"] == 0
    assert link["raw"]["seq"] == 3


def test_a_message_too_long_to_hold_costs_none_of_ours():
    link = fresh()
    for header, size in (("11 ff7f ff01", 198 + 126), ("81 01 0180 0100", 300)):  # known length, and unknown
        before = int(link["receiver"]["frames_bad_length"])
        assert fed(link, closed(bytes.fromhex(header) + bytes([1]) * size), ours(1), ours(2)) == 2
        assert link["receiver"]["frames_bad_length"] == before + 1


@pytest.mark.parametrize("cut", range(50))
def test_a_message_cut_off_is_seen_and_costs_no_other(cut):
    link, message = fresh(), ours(2)
    assert fed(link, ours(1), message[:cut] + message[cut + 1 :], ours(3), ours(4)) == 3
    assert link["receiver"]["samples_lost"] == 1
    seen = counted(link)
    assert seen.pop("frames_ok") == 3
    assert seen.pop("bytes_skipped") == 49
    assert cut == 0 or sum(seen.values()) >= 1, "a broken frame, but for a sync that never came"


@pytest.mark.parametrize("at", range(50))
def test_a_flipped_byte_costs_one_message(at):
    link, message = fresh(), bytearray(ours(2))
    message[at] ^= 0x55
    assert fed(link, ours(1), bytes(message), ours(3)) == 2
    assert link["receiver"]["frames_ok"] == 2
    assert link["receiver"]["bytes_skipped"] == 50
    assert link["raw"]["t_us"] == 15000


def test_a_false_sync_costs_nothing():
    link = fresh()
    noise = (
        b"\xfa",
        b"\xfa\xfa",
        b"\xfa\x01",
        b"\xfa\x01\x29",
        b"\xfa\x01\x29\x01",
        b"\xfa\x00",
        b"$",
        b"$VN",
        b"$VNRRG,75",
    )
    for k, garbage in enumerate(noise):
        assert fed(link, garbage + ours(k)) == 1
    assert link["receiver"]["bytes_skipped"] == sum(map(len, noise))
    assert link["receiver"]["samples_lost"] == 0


@given(NOISE)
def test_after_any_noise_every_message_is_heard(noise):
    link = fresh()
    before = fed(link, noise)
    held = int(link["receiver"]["filled"])
    assert held < 250
    assert link["receiver"]["bytes_skipped"] + held <= len(noise)
    assert before == 0
    assert [fed(link, ours(k)) for k in (5, 6, 7)] == [1, 1, 1]
    assert link["receiver"]["filled"] == 0
    assert link["raw"]["t_us"] == 35000


@given(st.data())
def test_bytes_may_come_in_any_pieces(data):
    parts = st.one_of(
        st.integers(0, 20).map(ours),
        st.sampled_from([*OTHERS.values(), *LINES]),
        st.binary(max_size=30),
        st.integers(1, 49).map(lambda n: ours(3)[:n]),
    )
    stream = b"".join(data.draw(st.lists(parts, max_size=12)))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=10)))
    whole, pieces = fresh(), fresh()
    chunks = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert fed(pieces, *chunks) == fed(whole, stream)
    assert pieces["receiver"] == whole["receiver"]
    assert pieces["raw"] == whole["raw"]


@given(st.lists(st.sampled_from(range(4)), max_size=30), st.binary(max_size=40))
def test_nothing_is_counted_twice(order, noise):
    noise = noise.replace(b"\xfa", b"").replace(b"$", b"")
    parts = [ours(k) for k in range(30)], list(OTHERS.values()), LINES, [noise]
    link = fresh()
    new = fed(link, *(parts[kind][k % len(parts[kind])] for k, kind in enumerate(order)))
    assert new == order.count(0)
    assert link["receiver"]["frames_ok"] == order.count(0) + order.count(1)
    assert link["receiver"]["frames_bad_version"] == order.count(1)
    assert link["receiver"]["bytes_skipped"] == order.count(3) * len(noise)
    assert link["receiver"]["frames_bad_crc"] == link["receiver"]["frames_bad_length"] == 0


def test_a_message_is_heard_or_rejected_with_its_last_byte():
    link = fresh()
    assert fed(link, ours(1)[:49]) == 0
    assert fed(link, ours(1)[49:]) == 1
    fed(link, ours(1)[:-1])
    assert link["receiver"]["frames_bad_crc"] == 0
    fed(link, b"\0")
    assert link["receiver"]["frames_bad_crc"] == 1
    link = fresh()
    assert fed(link, OTHERS["all of group 1"][:120] + ours(2)[:49]) == 0
    assert fed(link, ours(2)[49:]) == 1, "in the midst of what seems another message ours may have begun"


def test_numbers_count_periods_of_the_sensors_clock():
    link, seqs = fresh(), []
    for k in (10, 11, 12, 15, 16):
        fed(link, ours(k, t_ns=k * PERIOD_ns + (-1) ** k * 900_000))  # a clock that is read unevenly
        seqs.append(int(link["raw"]["seq"]))
    assert np.diff(seqs).tolist() == [1, 1, 3, 1]
    assert link["receiver"]["samples_lost"] == 2
    fed(link, ours(0, t_ns=16 * PERIOD_ns + 1_000_000))  # sooner than half a period, but a new one
    assert link["raw"]["seq"] == seqs[-1] + 1
    assert link["receiver"]["samples_lost"] == 2


def test_a_repeated_time_stamp_is_not_new():
    link = fresh()
    assert fed(link, ours(4), ours(4)) == 1
    assert link["receiver"]["samples_repeated"] == 1
    assert link["receiver"]["samples_lost"] == 0
    assert fed(link, ours(5)) == 1
    assert fed(fresh(period_us=0), ours(0), ours(9)) == 2, "time zero is one like any other, and so is no period"


def test_a_restarted_sensor_counts_as_one_lost():
    link = fresh()
    assert fed(link, ours(1000), ours(1001), ours(0), ours(1)) == 4
    assert link["receiver"]["samples_lost"] == 1
    assert link["raw"]["seq"] == link["receiver"]["last_seq"] == 4
    assert fed(link, ours(1 + 0x8000)) == 1, "nor is a jump by half the range of numbers to be counted out"
    assert link["receiver"]["samples_lost"] == 2


def test_time_and_numbers_wrap():
    link, wrap_ns = fresh(), 2**32 * 1000
    fed(link, ours(0, t_ns=wrap_ns - PERIOD_ns))
    assert link["raw"]["t_us"] == 2**32 - 5000
    fed(link, ours(0, t_ns=wrap_ns + 999))
    assert link["raw"]["t_us"] == 0
    link["receiver"]["last_seq"] = 65534
    seqs = [fed(link, ours(k, t_ns=wrap_ns + k * PERIOD_ns)) * int(link["raw"]["seq"]) for k in (1, 2, 3)]
    assert seqs == [65535, 0, 1]
    assert link["receiver"]["samples_lost"] == 0


@given(st.lists(st.integers(0, 2**64 - 1), max_size=8))
def test_any_time_stamp_is_survived(stamps):
    link = fresh()
    new = fed(link, *(ours(0, t_ns=stamp) for stamp in stamps))
    assert new + link["receiver"]["samples_repeated"] == len(stamps)
    assert link["receiver"]["samples_lost"] <= 0x8000 * len(stamps)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 3e38, -40_000.0])
@pytest.mark.parametrize("place", range(6))
def test_what_is_no_number_or_too_large_is_off_scale(bad, place):
    values = [*RATES, *FORCES]
    values[place] = bad
    link, right = fresh(), fresh()
    fed(right, ours(1))
    assert fed(link, ours(1, values[:3], values[3:])) == 1
    assert link["raw"]["off_scale"] == 1
    counts, wanted = ([*raw["gyro_counts"], *raw["accel_counts"]] for raw in (link["raw"], right["raw"]))
    assert abs(counts.pop(place)) == 2**31 - 1
    wanted.pop(place)
    assert counts == wanted, "the others are what they are"
    assert fed(link, ours(2)) == 1
    assert link["raw"]["off_scale"] == 0, "and the next is good again"


@given(st.tuples(*[st.floats(-35, 35, width=32)] * 3), st.tuples(*[st.floats(-160, 160, width=32)] * 3))
def test_all_that_the_sensor_can_measure_is_on_scale(rates, forces):
    link = fresh()
    fed(link, ours(1, rates, forces))
    assert link["raw"]["off_scale"] == 0
    assert np.abs(link["raw"]["gyro_counts"] * vectornav.GYRO_LSB - rates).max() <= vectornav.GYRO_LSB / 2
    assert np.abs(link["raw"]["accel_counts"] * vectornav.ACCEL_LSB - forces).max() <= vectornav.ACCEL_LSB / 2


@pytest.mark.parametrize("send", [0, 1])
def test_it_is_told_nothing_in_the_loop(send):
    out = np.full(TX_SIZE, 0xAA, np.uint8)
    assert say(fresh(), record(COMMAND, T_cmd=1.0, flags=COMMAND_ENABLE), send, out) == 0
    assert (out == 0xAA).all()


def test_what_the_driver_says_of_itself():
    driver = device("vectornav")
    assert driver is vectornav.DEVICE
    assert driver.carries == ROLE_IMU
    assert driver.settled({}) == {"async_port": 1.0}
    assert driver.traffic(ROLE_IMU, {})[:2] == (50, 0)
    driver.require_room(ROLE_IMU, {}, 200.0, 115200)
    driver.require_room(ROLE_IMU, {}, 800.0, 460800)
    with pytest.raises(DeviceError, match="50 bytes up each period, so 50 bytes x 10 bits x 400 Hz = 200000 bit/s"):
        driver.require_room(ROLE_IMU, {}, 400.0, 115200)
    for example in driver.examples:
        link = fresh()
        fed(link, example.wire)
        assert bool(link["receiver"]["frames_ok"]) == example.valid, example.source
        assert all(np.array_equal(link["raw"][field], value) for field, value in example.raw.items())
