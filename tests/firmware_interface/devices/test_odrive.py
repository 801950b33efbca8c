"""The ODrive's driver: its lines, its numbers, and the rule that keeps answers apart."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riderless.firmware_interface.devices import odrive_text
from riderless.firmware_interface.devices.link import ROLE_DRIVE, ROLE_STEER, ROLE_WHEEL, TX_SIZE
from riderless.firmware_interface.devices.odrive import DEVICE
from riderless.firmware_interface.devices.registry import device
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.messages import (
    COMMAND_CLEAR,
    COMMAND_ENABLE,
    FAULT_DRIVE,
    FAULT_ENCODER,
    STATUS_ENABLED,
    STATUS_STOP_BUTTON,
    STATUS_WATCHDOG,
)
from riderless.firmware_interface.twins.odrive import ODriveTwin
from tests.firmware_interface.devices.odrive_bench import (
    ALL,
    ANSWERS,
    BATCH,
    SETTINGS,
    TRUTH,
    answered,
    as_array,
    checked,
    command,
    config,
    counters,
    fresh_link,
    heard,
    lines_of,
    said,
    tuned_in,
)
from tests.paths import REFERENCE

MARK = b"w test_property 2000001 *42\nr test_property *60\n"


# ---- the lines


def test_it_is_in_the_registry():
    assert device("odrive") is DEVICE
    assert DEVICE.carries == ALL


def test_published_lines():
    path = REFERENCE / "device_vectors.json"
    lines = [v for v in json.loads(path.read_text())["vectors"] if v["device"] == "odrive"]
    assert len(lines) == 2
    link = tuned_in()
    batch = said(link, send=0)
    assert bytes.fromhex(lines[0]["hex"]) in batch.splitlines(keepends=True)
    for line in lines:  # the other says the same, with a comment behind
        assert ODriveTwin(config()).hear(bytes.fromhex(line["hex"]), 0.0) == checked("24.000000", b"\r\n")


def test_a_link_begins_with_a_mark_then_asks_its_batch():
    link = fresh_link()
    assert said(link, send=0) == MARK
    assert said(link, send=0) == b""  # nothing is asked while an answer is due
    assert heard(link, b"2000001*51\r\n") == 0
    assert said(link, send=0) == BATCH
    assert said(link, send=0) == b""
    assert heard(link, answered(*ANSWERS)) == 1
    assert said(link, send=0) == BATCH


@pytest.mark.parametrize(
    ("role", "missing"),
    [
        (ROLE_DRIVE, (b"f 0", b"f 1")),
        (ROLE_DRIVE | ROLE_STEER, (b"f 1",)),
        (ROLE_DRIVE | ROLE_WHEEL, (b"f 0",)),
        (ALL, ()),
    ],
)
def test_only_what_it_carries_is_asked(role, missing):
    link = tuned_in(role)
    wanted = b"".join(line for line in BATCH.splitlines(keepends=True) if not line.startswith(missing or b"-"))
    assert said(link, send=0) == wanted
    answers = [a for a, line in zip(ANSWERS, BATCH.splitlines(), strict=True) if not line.startswith(missing or b"-")]
    assert heard(link, answered(*answers)) == 1
    assert link["raw"]["steer_counts"] == (TRUTH["steer_counts"] if role & ROLE_STEER else 0)
    assert link["raw"]["wheel_mrad_s"] == (TRUTH["wheel_mrad_s"] if role & ROLE_WHEEL else 0)


def test_the_torque_is_said_first_in_the_drives_unit():
    link = tuned_in()
    assert said(link, command(-9.8768, COMMAND_ENABLE)) == b"c 0 -1.2346 *66\n" + BATCH
    assert said(tuned_in(), command(-9.8768)) == b"c 0 0.0000 *109\n" + BATCH  # ENABLE is off


@pytest.mark.parametrize("T", [math.nan, math.inf, -math.inf])
def test_a_torque_that_is_no_number_never_leaves(T):
    link = tuned_in()
    said(link)
    heard(link, answered(*ANSWERS))
    assert said(link, command(T, COMMAND_ENABLE)).startswith(b"c 0 0.0000 *109\nw axis0.requested_state 1 *35\n")


def test_without_send_nothing_feeds_the_watchdog():
    link = tuned_in()
    for _ in range(20):
        lines = said(link, command(1.0, COMMAND_ENABLE), send=0).splitlines()
        assert all(line[:1] in (b"r", b"f") or line.startswith(b"w test_property") for line in lines)


def test_a_link_without_the_drive_says_no_torque():
    link = tuned_in(ROLE_STEER | ROLE_WHEEL)
    assert said(link, command(1.0, COMMAND_ENABLE), send=1).startswith(b"r axis0.current_state")


def test_even_the_longest_tick_has_room():
    link = tuned_in()
    said(link)
    heard(link, answered("8", *ANSWERS[1:2], "1048575", *ANSWERS[3:]))
    link["memory"][9] = 2_999_998
    longest = said(link, command(-1e9, COMMAND_CLEAR))  # `sc`, a state and a batch
    assert longest.startswith(b"c 0 0.0000 *109\nsc *48\nw axis0.requested_state 1")
    longest = len(longest) + len(b"-9999.000") - len(b"0.0000")
    assert longest < TX_SIZE


@given(st.floats(-9e9, 9e9), st.integers(0, 30))
def test_decimals_are_the_nearest(value, at):
    out = np.zeros(TX_SIZE, np.uint8)
    end = odrive_text.append_decimal(out, np.int64(at), value)
    written = out[at:end].tobytes().decode()
    assert abs(float(written) - value) <= 0.5e-4 + 1e-12 * abs(value)
    assert written.partition(".")[2].isdigit()
    assert len(written.partition(".")[2]) == 4
    assert written != "-0.0000"


# ---- the numbers


def form_and_numbers(words: str):
    line = as_array(words.encode())
    return odrive_text.parse_answer(line, np.int64(len(line)))


@given(st.floats(-1e200, 1e200), st.sampled_from(["{:f}", "{:e}", "{:.17g}", "{:+.3f}"]))
def test_numbers_are_read_as_python_reads_them(value, how):
    words = how.format(value)
    form, first, _ = form_and_numbers(words)
    assert form == (odrive_text.FORM_WHOLE if words.isdigit() and float(words) < 2**32 else odrive_text.FORM_REAL)
    assert first == pytest.approx(float(words), rel=1e-12, abs=1e-300)


@given(st.floats(-1999.9, 1999.9))
def test_positions_come_through_to_the_count(turns):
    link = tuned_in()
    said(link)
    words = f"{turns:f}"
    assert heard(link, answered("8", f"{words} 0.000000", *ANSWERS[2:])) == 1
    assert link["raw"]["steer_counts"] == round(float(words) * 1e6)


def test_from_two_thousand_turns_on_a_position_is_off_scale():
    link = tuned_in()
    said(link)
    assert heard(link, answered("8", "2000.000000 0.000000", *ANSWERS[2:])) == 1
    assert (link["raw"]["steer_counts"], link["raw"]["off_scale"]) == (0, 1)


@pytest.mark.parametrize(
    ("words", "form"),
    [
        ("0", odrive_text.FORM_WHOLE),
        ("4294967295", odrive_text.FORM_WHOLE),
        ("4294967296", odrive_text.FORM_REAL),
        ("-1", odrive_text.FORM_REAL),
        ("1.", odrive_text.FORM_REAL),
        (".5", odrive_text.FORM_REAL),
        ("1e3", odrive_text.FORM_REAL),
        ("nan", odrive_text.FORM_REAL),
        ("-inf", odrive_text.FORM_REAL),
        ("INF", odrive_text.FORM_REAL),
        ("1 2", odrive_text.FORM_PAIR),
        ("-1.5 nan", odrive_text.FORM_PAIR),
        ("1 2 3", odrive_text.FORM_WORDS),
        ("1  2", odrive_text.FORM_WORDS),
        ("1 ", odrive_text.FORM_WORDS),
        (" 1", odrive_text.FORM_WORDS),
        ("1 x", odrive_text.FORM_WORDS),
        ("1x", odrive_text.FORM_WORDS),
        ("1e", odrive_text.FORM_WORDS),
        ("1.2.3", odrive_text.FORM_WORDS),
        ("--1", odrive_text.FORM_WORDS),
        (".", odrive_text.FORM_WORDS),
        ("-", odrive_text.FORM_WORDS),
        ("in", odrive_text.FORM_WORDS),
        ("lu", odrive_text.FORM_WORDS),
        ("invalid property", odrive_text.FORM_WORDS),
    ],
)
def test_forms_of_an_answer(words, form):
    assert form_and_numbers(words)[0] == form


def test_huge_exponents_are_no_trouble():
    assert form_and_numbers("1e99999999999999999999")[1] == math.inf
    assert form_and_numbers("1e-99999999999999999999")[1] == 0.0


# ---- a batch becomes a reading


def reading_of(*answers: str, seq: int = 1):
    link = tuned_in()
    said(link, command(seq=seq))
    assert heard(link, answered(*answers)) == 1
    return link["raw"]


def test_a_batch_in_si():
    raw = reading_of(*ANSWERS, seq=77)
    assert {name: int(raw[name]) for name in TRUTH} == TRUTH
    assert (raw["status"], raw["faults"], raw["off_scale"]) == (STATUS_ENABLED, 0, 0)
    assert (raw["seq"], raw["command_seq"]) == (1, 77)


@pytest.mark.parametrize(
    ("state", "error", "status", "faults"),
    [
        (8, 0, STATUS_ENABLED, 0),
        (1, 0, 0, 0),
        (8, 0x800, STATUS_WATCHDOG, 0),
        (1, 0x800, STATUS_WATCHDOG, 0),
        (1, 0x840, STATUS_WATCHDOG, FAULT_DRIVE),
        (1, 0x40, 0, FAULT_DRIVE),
        (1, 0x1, 0, FAULT_DRIVE),
        (1, 0x100, 0, FAULT_DRIVE | FAULT_ENCODER),
        (1, 0x4000, STATUS_STOP_BUTTON, FAULT_DRIVE),
        (1, 0x80000000, 0, FAULT_DRIVE),
        (3, 0, 0, 0),
    ],
)
def test_states_and_errors(state, error, status, faults):
    raw = reading_of(str(state), ANSWERS[1], str(error), *ANSWERS[3:])
    assert (raw["status"], raw["faults"]) == (status, faults)


@pytest.mark.parametrize("place", [1, 3, 4, 5])
@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "1e30"])
def test_what_is_no_number_is_off_the_scale(place, number):
    answers = list(ANSWERS)
    answers[place] = number if place in (3, 5) else f"{number} {number}"
    raw = reading_of(*answers)
    assert raw["off_scale"] == 1
    assert abs(int(raw["steer_counts"])) < 2e9
    link = tuned_in()  # and it heals
    for wanted, batch in ((1, answers), (0, ANSWERS)):
        said(link)
        heard(link, answered(*batch))
        assert link["raw"]["off_scale"] == wanted


def test_an_unpowered_bus_may_read_below_zero():
    raw = reading_of(*ANSWERS[:5], "-0.012000")
    assert (raw["bus_mV"], raw["off_scale"]) == (0, 0)


@given(st.lists(st.integers(1, 40), max_size=10))
def test_an_answer_may_be_split_anywhere(cuts):
    link = tuned_in()
    said(link)
    data, samples = answered(*ANSWERS), 0
    for cut in cuts:
        samples += heard(link, data[:cut])
        data = data[cut:]
    assert samples + heard(link, data) == 1
    assert {name: int(link["raw"][name]) for name in TRUTH} == TRUTH


# ---- counting what is broken


@pytest.mark.parametrize(
    ("line", "counted"),
    [
        (b"24.087744*33\r\n", {"frames_bad_crc": 1, "bytes_skipped": 13}),
        (b"24.087744\r\n", {"frames_bad_crc": 1, "bytes_skipped": 10}),
        (b"24.087744*\r\n", {"frames_bad_crc": 1, "bytes_skipped": 11}),
        (b"24.087744*0032\r\n", {"frames_bad_crc": 1, "bytes_skipped": 15}),
        (b"24.087744*3x\r\n", {"frames_bad_crc": 1, "bytes_skipped": 13}),
        (b"*\r\n", {"frames_bad_crc": 1, "bytes_skipped": 2}),
        (b"invalid property*86\r\n", {"frames_bad_version": 1}),
        (b"unknown command*47\r\n", {"frames_bad_version": 1}),
        (b"*0\n", {"frames_bad_version": 1}),
        (b"1" * 251 + b"\r\n", {"frames_bad_length": 1, "bytes_skipped": 252}),
        (b"1" * 300 + b"\r\n", {"frames_bad_length": 1, "bytes_skipped": 301}),
        (b"24.087744*32\r\n", {"frames_ok": 1}),
    ],
)
def test_lines_that_do_not_fit_are_counted_and_end_the_batch(line, counted):
    link = tuned_in()
    before = counters(link)
    said(link, send=0)
    assert heard(link, line) == 0
    after = {name: n - before.get(name, 0) for name, n in counters(link).items()}
    assert {name: n for name, n in after.items() if n} == {**counted, "samples_lost": 1}
    assert heard(link, answered(*ANSWERS)) == 0  # too late
    assert said(link, send=0) == MARK.replace(b"2000001 *42", b"2000002 *41")


@given(st.binary(max_size=600))
def test_garbage_never_makes_a_reading_nor_stops_it(garbage):
    link = tuned_in()
    said(link, send=0)
    heard(link, garbage)
    assert not link["raw"]["seq"]
    heard(link, b"\n")
    words, ticks = said(link, send=0), 0
    while not words.startswith(b"w"):
        words, ticks = said(link, send=0), ticks + 1
        assert ticks <= 4
    assert heard(link, checked(words.split()[2].decode())) == 0
    assert said(link, send=0) == BATCH
    assert heard(link, answered(*ANSWERS)) == 1


@pytest.mark.parametrize("example", DEVICE.examples, ids=lambda example: example.source)
def test_the_drivers_examples_are_rejected(example):
    link = tuned_in()
    ok = counters(link)["frames_ok"]
    said(link)
    assert not example.valid
    assert heard(link, example.wire) == 0
    assert counters(link)["frames_ok"] == ok


# ---- what it says of itself


def test_traffic_counts_a_batch_and_a_torque():
    settings = DEVICE.settled(SETTINGS)
    traffic = DEVICE.traffic(ALL, settings)
    assert len(b"p 0 -10.000000*NN\n" + BATCH) == traffic.down, "an angle is the longest of its set-points"
    assert sum(map(len, lines_of(answered("8", "-1.234567 -1.234567", "0", "-12.34567", *ANSWERS[4:])))) <= traffic.up
    assert DEVICE.traffic(ROLE_DRIVE, settings).down == traffic.down - len(b"f 0 *86\nf 1 *87\n")


def test_a_line_that_is_too_slow_is_refused():
    settings = DEVICE.settled(SETTINGS)
    DEVICE.require_room(ALL, settings, 200.0, 460_800)
    with pytest.raises(DeviceError, match="230400 baud is too slow for a odrive at 200 Hz"):
        DEVICE.require_room(ALL, settings, 200.0, 230_400)


def test_the_wheel_needs_its_axis():
    with pytest.raises(DeviceError, match="needs wheel_axis"):
        DEVICE.traffic(ALL, DEVICE.settled({**SETTINGS, "wheel_axis": -1}))


def test_the_torque_limit_must_be_given():
    with pytest.raises(DeviceError, match=r"an? odrive needs torque_limit_Nm \[N m\]"):
        DEVICE.settled({})
