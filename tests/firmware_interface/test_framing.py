"""Frames: the compiled codec against the packages `cobs` and `fastcrc`, and against bad lines."""

import random

import fastcrc
import pytest
from cobs import cobs
from hypothesis import given, settings
from hypothesis import strategies as st

from riderless.firmware_interface.framing import MAX_PAYLOAD, crc_ccitt, new_decoder
from riderless.firmware_interface.node import reference_codec
from tests.firmware_interface.wire import as_bytes, framed, payloads

PAYLOADS = st.one_of(
    st.binary(min_size=1, max_size=MAX_PAYLOAD),
    st.lists(st.sampled_from([0, 0, 0, 1, 255]), min_size=1, max_size=MAX_PAYLOAD).map(bytes),
)


def frame_by_packages(payload: bytes) -> bytes:
    return cobs.encode(payload + fastcrc.crc16.ibm_3740(payload).to_bytes(2, "little")) + b"\0"


def test_crc_check_value():
    # the check value of CRC-16/CCITT-FALSE in the catalogues: CRC of "123456789"
    assert crc_ccitt(as_bytes(b"123456789"), 0, 9) == 0x29B1
    assert reference_codec.crc16(b"123456789") == 0x29B1


@given(PAYLOADS)
def test_frames_equal_those_of_the_packages_and_of_plain_python(payload):
    wanted = frame_by_packages(payload)
    assert framed(payload) == wanted
    assert reference_codec.frame(payload) == wanted


@given(PAYLOADS)
def test_frames_of_the_packages_are_decoded(payload):
    stuffed = frame_by_packages(payload)
    decoder = new_decoder()
    assert payloads(decoder, stuffed) == [payload]
    assert reference_codec.unframe(stuffed[:-1]) == payload
    assert decoder["frames_ok"] == 1
    assert decoder["bytes_skipped"] == 0


@pytest.mark.parametrize("size", [1, 2, 249, 250])
@pytest.mark.parametrize("byte", [0, 1, 255])
def test_extreme_payloads(size, byte):
    payload = bytes([byte]) * size
    assert framed(payload) == frame_by_packages(payload)
    assert payloads(new_decoder(), framed(payload)) == [payload]


def test_delimiter_stands_at_the_end_only():
    payload = bytes(range(250))
    assert framed(payload).index(0) == len(payload) + 3


def test_split_at_every_byte():
    stuffed = framed(b"\0one\0\0two\0") + framed(b"three")
    for cut in range(len(stuffed) + 1):
        assert payloads(new_decoder(), stuffed[:cut], stuffed[cut:]) == [b"\0one\0\0two\0", b"three"]
    assert payloads(new_decoder(), *(bytes([byte]) for byte in stuffed)) == [b"\0one\0\0two\0", b"three"]


def test_delimiters_in_a_row_are_idling():
    decoder = new_decoder()
    assert payloads(decoder, b"\0\0\0" + framed(b"a") + b"\0\0" + framed(b"b")) == [b"a", b"b"]
    assert decoder["frames_bad_length"] == 0
    assert decoder["bytes_skipped"] == 0


@pytest.mark.parametrize(
    ("garbage", "counter"),
    [
        (b"\x01\0", "frames_bad_length"),  # nothing in it
        (b"\x03\x11\x22\0", "frames_bad_length"),  # a CRC of nothing
        (b"\x09\x11\x22\x33\x44\0", "frames_bad_length"),  # the distance leads past the end
        (b"\xff" + b"\x11" * 300 + b"\0", "frames_bad_length"),  # over-long
        (b"\xff" + b"\x11" * 100_000 + b"\0", "frames_bad_length"),
        (b"\x05\x11\x22\x33\x44\0", "frames_bad_crc"),
    ],
)
def test_each_bad_frame_is_counted_and_costs_only_itself(garbage, counter):
    decoder = new_decoder()
    assert payloads(decoder, framed(b"before") + garbage + framed(b"after")) == [b"before", b"after"]
    assert decoder[counter] == 1
    assert decoder["frames_bad_crc"] + decoder["frames_bad_length"] == 1
    assert decoder["bytes_skipped"] == len(garbage)
    assert decoder["frames_ok"] == 2


def test_over_long_frame_is_not_stored():
    decoder = new_decoder()
    neighbours = decoder["payload"].size
    assert neighbours == MAX_PAYLOAD + 2
    payloads(decoder, b"\x11" * 100_000)
    assert decoder["first"] == 0x11
    assert decoder["filled"] == 100_000
    assert decoder["frames_ok"] == 0


@pytest.mark.parametrize("size", [MAX_PAYLOAD + 1, MAX_PAYLOAD + 2, MAX_PAYLOAD + 3])
def test_over_long_frame_with_the_right_crc_is_refused(size):
    # the general form of COBS needs no second byte yet, and no zero tells where the frame leaves its place
    for seed in range(300):
        payload = bytes(random.Random(seed).choices(range(1, 256), k=size))
        decoder = new_decoder()
        assert payloads(decoder, frame_by_packages(payload)) == []
        assert decoder["frames_bad_length"] == 1


@given(st.binary(max_size=600), st.binary(max_size=600))
def test_in_step_again_within_one_good_frame_of_any_garbage(garbage, more):
    decoder = new_decoder()
    found = payloads(decoder, garbage, more, framed(b"lost?"), framed(b"the next one"))
    assert found[-1] == b"the next one"


@given(PAYLOADS, st.data())
def test_a_flipped_bit_never_makes_another_payload(payload, data):
    stuffed = bytearray(framed(payload))
    bit = data.draw(st.integers(0, 8 * len(stuffed) - 1))
    stuffed[bit // 8] ^= 1 << bit % 8
    decoder = new_decoder()
    found = payloads(decoder, bytes(stuffed), framed(b"next"), framed(b"last"))
    assert found[-1] == b"last"
    assert set(found) <= {payload, b"next", b"last"}


@settings(max_examples=20)
@given(st.integers(0, 2**32))
def test_only_frames_that_stand_in_a_noisy_stream_are_accepted(seed):
    # every accepted payload must be found in the stream by the packages too, and the other way round
    rng = random.Random(seed)
    stream = bytearray()
    for _ in range(200):
        stream += framed(rng.randbytes(rng.randint(1, 60)))
        if rng.random() < 0.3:
            stream += rng.randbytes(rng.randint(1, 20))
    for _ in range(100):
        stream[rng.randrange(len(stream))] ^= 1 << rng.randrange(8)

    def by_packages(stuffed: bytes) -> bytes | None:
        try:
            data = cobs.decode(stuffed)
        except cobs.DecodeError:
            return None
        good = len(data) > 2 and fastcrc.crc16.ibm_3740(data[:-2]).to_bytes(2, "little") == data[-2:]
        return data[:-2] if good else None

    wanted = [p for p in map(by_packages, bytes(stream).split(b"\0")[:-1]) if p is not None]
    decoder = new_decoder()
    assert payloads(decoder, bytes(stream)) == wanted
    assert decoder["frames_ok"] == len(wanted) > 50
    assert decoder["frames_bad_crc"] + decoder["frames_bad_length"] > 10
