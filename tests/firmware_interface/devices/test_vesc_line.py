"""Driver of the VESC on a line with other things on it: every answer is heard, nothing else is believed."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.firmware_interface.devices.vesc_bench import (
    ASKED,
    answer,
    counted,
    fed,
    framed,
    fresh,
)


@pytest.mark.parametrize(
    ("data", "counters"),
    [
        (framed(b"\x00\x06\x02410\0"), {"frames_ok": 1}),  # late, known, not needed
        (framed(b"\x04" + bytes(73)), {"frames_ok": 1}),
        (framed(b"\xde\x04\x00"), {"frames_ok": 1, "frames_bad_version": 1}),
        (framed(answer()[2:-4]), {"frames_ok": 1, "frames_bad_version": 1}),  # old firmware: no status
        (framed(b"\x32\x00\x21\x81\x21" + bytes(12)), {"frames_ok": 1, "frames_bad_version": 1}),  # another selection
        (ASKED, {"frames_ok": 1, "frames_bad_version": 1}),  # an echo
        (framed(b"\x15" + bytes(246)), {"frames_ok": 1, "frames_bad_version": 1}),  # the longest there is room for
        (answer()[:-1] + b"\x04", {"frames_bad_crc": 1, "bytes_skipped": 22}),  # its end byte is wrong
        (b"\x02\x00\x00\x00\x03" + bytes(3), {"bytes_skipped": 8}),  # nothing in it
        (b"\x02\xf8" + bytes(9), {"frames_bad_length": 1, "bytes_skipped": 11}),
        (b"\x03\x01\x2c" + bytes(9), {"frames_bad_length": 1, "bytes_skipped": 12}),  # 300 bytes
        (b"\x03\x00\xff" + bytes(9), {"bytes_skipped": 12}),  # a VESC never sends this
    ],
)
def test_what_is_no_answer_is_counted(data, counters):
    link = fresh()
    assert fed(link, data) == 0
    assert counted(link) == counters
    assert link["receiver"]["filled"] == 0
    assert fed(link, answer()) == 1


@pytest.mark.parametrize(("start", "length"), [(framed(b"\x15" + b"text " * 60), 307), (b"\x02\xf0", 2)])
def test_a_long_packet_or_a_false_start_costs_no_reading(start, length):
    link = fresh()
    assert fed(link, start, *[answer(position=k) for k in range(5)]) == 5
    assert counted(link) == {"frames_ok": 5, "frames_bad_length": 1, "bytes_skipped": length}


STARTS = [b"\x02", b"\x03", b"\x02\xf0", b"\x02\x11", b"\x03\x02", b"\x03\x02\x11", b"\x02\x11\x32\x00\x21"]
STUFF = st.one_of(
    st.binary(max_size=300),
    st.sampled_from(STARTS),
    st.integers(1, 21).map(lambda n: answer(iq=3)[:n]),
    st.integers(1, 21).map(lambda n: answer(iq=3)[-n:]),
    st.integers(1, 60).map(lambda n: framed(b"\x04" + bytes(73))[:n]),
)


@given(st.lists(STUFF, max_size=12), st.integers(0, 20))
@example([b"\x02\xf0"], 0)
def test_every_answer_is_heard_whatever_stands_between(stuff, tail):
    link, n = fresh(), 0
    for k, noise in enumerate(stuff):
        assert fed(link, noise) == 0
        whole = answer(iq=k, position=1000 * k)
        for i in range(len(whole)):
            assert fed(link, whole[i : i + 1]) == (i == 21)
        assert (link["raw"]["steer_counts"], link["raw"]["seq"]) == (1000 * k, k + 1)
        n += len(noise) + len(whole)
    fed(link, answer()[:tail])
    receiver = link["receiver"]
    assert receiver["frames_ok"] == len(stuff)
    assert receiver["bytes_skipped"] + 22 * receiver["frames_ok"] + receiver["filled"] == n + tail


@given(st.lists(STUFF | st.just(answer(iq=5, position=9)), max_size=20), st.data())
def test_bytes_may_come_in_any_pieces(parts, data):
    said, whole, pieces = b"".join(parts), fresh(), fresh()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(said)), max_size=12)))
    samples = fed(pieces, *[said[a:b] for a, b in zip([0, *cuts], [*cuts, len(said)], strict=True)])
    assert samples == fed(whole, said)
    assert pieces["raw"] == whole["raw"]
    assert counted(pieces) == counted(whole)


@given(st.integers(0, 21), st.integers(1, 255))
def test_a_damaged_answer_is_no_reading(at, flipped):
    damaged = bytearray(answer(iq=-1234, position=200_000_000))
    damaged[at] ^= flipped
    link = fresh()
    assert fed(link, bytes(damaged)) == 0
    assert fed(link, answer()) == 1
