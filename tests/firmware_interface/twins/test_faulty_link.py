"""Bytes under way, and what each fault does to them, one test per kind; frames read by the plain codec."""

import numpy as np
import pytest

from riderless.firmware_interface.node import reference_codec
from riderless.firmware_interface.twins.faults import BOTH_WAYS, TO_COMPUTER, TO_NODE, Fault, pack_faults
from riderless.firmware_interface.twins.faults import FaultKind as Kind
from riderless.firmware_interface.twins.faulty_link import fetch, new_mail, next_arrival, post
from tests.firmware_interface.wire import as_bytes, command_frame, sample_frame

PERIOD = 0.005


class Wire:
    """One way of a line: frames go in with the time, bytes come out with the time."""

    def __init__(self, *faults: Fault, way: int = TO_COMPUTER, byte_time: float = 0.0) -> None:
        self.mail, self.faults, self.way = new_mail(byte_time), pack_faults(faults), way
        self.out = np.zeros(4096, np.uint8)

    def send(self, data: bytes, t: float = 0.0) -> "Wire":
        post(self.mail, self.faults, self.way, as_bytes(data), len(data), t, t)
        return self

    def come(self, t: float) -> bytes:
        return self.out[: fetch(self.mail, t, self.out)].tobytes()

    def pass_on(self, data: bytes, t: float = 0.0) -> bytes:
        return self.send(data, t).come(t)


def frames(count: int = 200) -> list[bytes]:
    return [sample_frame(k, t_us=5000 * k, steer_counts=17 * k) for k in range(count)]


def test_without_faults_what_is_fetched_is_what_was_posted():
    wire = Wire()
    for k, frame in enumerate(frames()):
        assert wire.pass_on(frame, k * PERIOD) == frame
    long = bytes(range(256)) * 5
    assert wire.pass_on(long, 2.0) == long
    assert wire.come(1e9) == b""
    assert next_arrival(wire.mail) == np.inf


def test_a_line_with_a_speed_takes_its_time():
    wire = Wire(byte_time=0.001).send(b"x" * 40, 1.0).send(b"y" * 10, 1.0)
    assert wire.come(1.0399) == b""
    assert wire.come(1.0401) == b"x" * 40
    assert next_arrival(wire.mail) == pytest.approx(1.05)
    assert wire.come(1.0501) == b"y" * 10


def test_faults_last_from_their_start_to_before_their_stop_and_on_their_way_only():
    fault = Fault(Kind.DROP, start=0.010, stop=0.020)
    frame = sample_frame(3)
    wire = Wire(fault)
    assert [bool(wire.pass_on(frame, k * PERIOD)) for k in range(6)] == [True, True, False, False, True, True]
    assert Wire(fault, way=TO_NODE).pass_on(frame, 0.015) == frame
    assert Wire(Fault(Kind.DROP, way=BOTH_WAYS), way=TO_NODE).pass_on(frame) == b""


def test_the_same_seed_does_the_same_damage():
    def played(seed: int) -> list[bytes]:
        kinds = ((Kind.DROP, 0.0), (Kind.FLIP, 3), (Kind.SPLIT, 0.002), (Kind.NOISE, 20), (Kind.GARBLE, 4))
        wire = Wire(*(Fault(kind, size, chance=0.3, seed=seed) for kind, size in kinds))
        return [wire.pass_on(frame, k * PERIOD) for k, frame in enumerate(frames(50))]

    assert played(1) == played(1)
    assert played(1) != played(2)


@pytest.mark.parametrize("chance", [0.1, 0.5])
def test_chances_are_met(chance):
    wire = Wire(Fault(Kind.DROP, chance=chance, seed=5))
    lost = sum(not wire.pass_on(frame) for frame in frames(2000))
    assert abs(lost - 2000 * chance) < 4 * np.sqrt(2000 * chance * (1 - chance))


def bits_changed(a: bytes, b: bytes) -> list[int]:
    return np.flatnonzero(np.unpackbits(as_bytes(a)) != np.unpackbits(as_bytes(b))).tolist()


def test_flip_changes_one_bit_anywhere():
    wire = Wire(Fault(Kind.FLIP, 1, seed=2))
    frame = frames()[100]
    places = [bits_changed(frame, wire.pass_on(frame)) for _ in range(3000)]
    assert all(len(place) == 1 for place in places)
    assert len({place[0] for place in places}) == 8 * len(frame)


def test_garble_replaces_bytes_in_a_row():
    wire = Wire(Fault(Kind.GARBLE, 5, seed=2))
    frame = frames()[100]
    for _ in range(200):
        came = wire.pass_on(frame)
        wrong = [i for i in range(len(frame)) if came[i] != frame[i]]
        assert len(came) == len(frame)
        assert not wrong or wrong[-1] - wrong[0] < 5


def test_truncate_takes_bytes_off_the_end():
    wire = Wire(Fault(Kind.TRUNCATE, 10, seed=2))
    frame = frames()[100]
    lengths = set()
    for _ in range(300):
        came = wire.pass_on(frame)
        assert frame.startswith(came)
        lengths.add(len(frame) - len(came))
    assert lengths == set(range(1, 11))


def test_duplicate():
    frame = frames()[100]
    assert Wire(Fault(Kind.DUPLICATE)).pass_on(frame) == 2 * frame


def test_reorder_swaps_neighbours_and_loses_nothing():
    wire, sent = Wire(Fault(Kind.REORDER, chance=0.3, seed=4)), frames()
    came = b"".join(wire.pass_on(frame, k * PERIOD) for k, frame in enumerate(sent))
    came = [part + b"\0" for part in came.split(b"\0")[:-1]]
    numbers = [sent.index(frame) for frame in came]
    assert numbers != sorted(numbers)
    assert sorted(numbers) == list(range(len(numbers)))
    assert max(abs(n - k) for k, n in enumerate(numbers)) == 1


def test_delay():
    frame = frames()[100]
    wire = Wire(Fault(Kind.DELAY, 0.012)).send(frame, 1.0)
    assert wire.come(1.0119) == b""
    assert wire.come(1.0121) == frame


def test_bursts_hand_over_at_multiples_of_the_latency():
    wire, came = Wire(Fault(Kind.BURST, 0.016)), []
    for k, frame in enumerate(frames(9)):
        wire.send(frame, k * PERIOD)
        came.append(len(wire.come(k * PERIOD)) // len(frame))
    # sent at 0, 5, 10, 15 ms: handed over at 0, 16, 16, 16 ms, and fetched at the next multiple of 5 ms
    assert came == [1, 0, 0, 0, 3, 0, 0, 3, 0]


def test_split_brings_the_second_part_later():
    frame = frames()[100]
    wire = Wire(Fault(Kind.SPLIT, 0.002, seed=1)).send(frame, 1.0)
    first = wire.come(1.0)
    assert 0 < len(first) < len(frame)
    assert first + wire.come(1.002) == frame


def test_noise_comes_before_the_frame():
    wire, frame, lengths = Wire(Fault(Kind.NOISE, 30, seed=1)), frames()[100], set()
    for _ in range(500):
        came = wire.pass_on(frame)
        assert came.endswith(frame)
        lengths.add(len(came) - len(frame))
    assert lengths == set(range(1, 31))


@pytest.mark.parametrize("version", [0, 2, 255])
def test_another_version_has_the_right_crc(version):
    for frame in (sample_frame(1000, t_us=12345), command_frame(77, 1.5)):
        payload = reference_codec.unframe(Wire(Fault(Kind.VERSION, version)).pass_on(frame)[:-1])
        assert payload == bytes([version]) + reference_codec.unframe(frame[:-1])[1:]


def test_damage_upon_damage_stays_within_bounds():
    kinds = ((Kind.TRUNCATE, 250), (Kind.VERSION, 3), (Kind.FLIP, 2000), (Kind.SPLIT, 0.1), (Kind.DUPLICATE, 0.0))
    wire = Wire(*(Fault(kind, size, chance=0.7, seed=9) for kind, size in kinds))
    for k, frame in enumerate(frames(500)):
        wire.send(frame + b"\0" + frame[:1], k * PERIOD)
        wire.come(k * PERIOD)
    assert wire.mail["count"] <= 128


def test_what_there_is_no_room_for_is_lost_and_counted():
    wire = Wire(Fault(Kind.DELAY, 0.1))
    for _ in range(130):
        wire.send(b"123\0", 0.0)
    assert wire.mail["lost"] == 8
    assert wire.come(0.2) == b"123\0" * 128


def commands(count: int) -> list[bytes]:
    return [command_frame(k, 0.1, 1, sample_seq=k) for k in range(count)]


def heard(data: bytes) -> list[reference_codec.Message]:
    return [reference_codec.decode(frame) for frame in data.split(b"\0") if frame]


def test_replay_says_again_what_was_sent_so_long_ago():
    wire, sent = Wire(Fault(Kind.REPLAY, 0.1, start=0.5, stop=0.7, way=TO_NODE), way=TO_NODE), commands(200)
    for k, frame in enumerate(sent):
        again = sent[k - 20] if 100 <= k < 140 else b""
        assert wire.pass_on(frame, k * PERIOD) == frame + again


def test_replay_goes_on_when_nobody_speaks():
    wire, sent = Wire(Fault(Kind.REPLAY, 0.1, start=0.5, way=TO_NODE), way=TO_NODE), commands(100)
    for k, frame in enumerate(sent):
        wire.pass_on(frame, k * PERIOD)
    said = [wire.pass_on(b"", k * PERIOD) for k in range(100, 130)]
    assert said == sent[80:] + 10 * [b""]


def test_loop_says_the_last_frames_in_turn_in_place_of_new_ones():
    wire, sent = Wire(Fault(Kind.LOOP, 3, start=0.5, way=TO_NODE), way=TO_NODE), commands(120)
    said = [wire.pass_on(frame, k * PERIOD) for k, frame in enumerate(sent)]
    assert said[:100] == sent[:100]
    assert set(said[100:]) == set(sent[97:100])
    assert said[100:117] == said[103:], "in turn, for ever"


def test_forge_puts_a_command_of_its_own_behind_each_one():
    wire = Wire(Fault(Kind.FORGE, -7.0, start=0.5, way=TO_NODE), way=TO_NODE)
    for k, frame in enumerate(commands(120)):
        genuine, *forged = heard(wire.pass_on(frame, k * PERIOD))
        assert genuine == reference_codec.decode(frame[:-1])
        assert forged == ([genuine._replace(seq=k + 1, value=-7000)] if k >= 100 else [])
    assert wire.pass_on(sample_frame(3), 1.0) == sample_frame(3), "a sample is no command"


def test_what_an_attacker_says_is_not_damaged_and_not_heard_the_other_way():
    faults = (Fault(Kind.REPLAY, 0.05, way=TO_NODE), Fault(Kind.DROP, start=0.5, way=BOTH_WAYS))
    down, up, sent = Wire(*faults, way=TO_NODE), Wire(*faults), commands(110)
    said = [down.pass_on(frame, k * PERIOD) for k, frame in enumerate(sent)]
    assert said[100:] == sent[90:100]
    assert [up.pass_on(frame, k * PERIOD) for k, frame in enumerate(sent)][90:] == sent[90:100] + 10 * [b""]
