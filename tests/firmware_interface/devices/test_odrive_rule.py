"""The ODrive's driver against its twin: no answer is ever taken for another, and the drive obeys as it should."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riderless.firmware_interface.messages import COMMAND_CLEAR, COMMAND_ENABLE, STATUS_ENABLED, STATUS_WATCHDOG
from tests.firmware_interface.devices.odrive_bench import (
    ANSWERS,
    BATCH,
    GEAR,
    TRUTH,
    Bench,
    answered,
    checked,
    command,
    counters,
    fresh_link,
    heard,
    lines_of,
    said,
    tuned_in,
)


def recovered(bench: Bench, within: int, **how) -> bool:
    """Goes on until two batches in a row are complete; every reading on the way must be true."""
    in_a_row = 0
    for _ in range(within):
        in_a_row = in_a_row + 1 if bench.tick(flags=COMMAND_ENABLE, steps=1, **how) else 0
        assert bench.truthful
        assert bench.link["raw"]["status"] & STATUS_ENABLED
        if in_a_row == 2:
            return True
    return False


def once(change):
    """A hand on the line that does ``change`` the first time, and nothing afterwards."""
    done = []

    def hand(data: bytes) -> bytes:
        if done or not data:
            return data
        done.append(True)
        return change(data)

    return hand


@pytest.mark.parametrize("way", ["down", "up"])
@pytest.mark.parametrize("line", range(7))
@pytest.mark.parametrize(
    "damage",
    [
        lambda line: b"",
        lambda line: line + line,
        lambda line: line[:-3],
        lambda line: line[3:],
        lambda line: line.replace(b"*", b"#"),
        lambda line: line[:2] + b"\n" + line[2:],
        lambda line: b"\xff\x00noise" + line,
    ],
    ids=["dropped", "doubled", "end cut", "beginning cut", "star lost", "split", "noise before"],
)
def test_a_damaged_line_costs_a_few_ticks_and_nothing_else(way, line, damage):
    bench = Bench().enable()

    def change(data: bytes) -> bytes:
        lines = lines_of(data)
        lines[line % len(lines)] = damage(lines[line % len(lines)])
        return b"".join(lines)

    assert recovered(bench, 10, **{way: once(change)})


@pytest.mark.parametrize("way", ["down", "up"])
def test_each_single_flipped_bit_costs_a_few_ticks_and_nothing_else(way):
    bench = Bench().enable()
    size = len(BATCH) + len(b"c 0 0.0000 *109\n") if way == "down" else len(answered(*ANSWERS))
    for at in range(size):
        for bit in range(8):

            def flip(data: bytes, at=at, bit=bit) -> bytes:
                data = bytearray(data)
                data[at % len(data)] ^= 1 << bit
                return bytes(data)

            assert recovered(bench, 12, **{way: once(flip)}), (at, bit)


FORMS = "WPWRPR"  # of the answers: a whole number, a pair, a fraction
UNLIKE = [(i, j) for j in range(6) for i in range(j) if FORMS[i] != FORMS[j]]


@pytest.mark.parametrize(("first", "second"), UNLIKE)
def test_two_answers_that_change_places(first, second):
    def change(data: bytes) -> bytes:
        lines = lines_of(data)
        lines[first], lines[second] = lines[second], lines[first]
        return b"".join(lines)

    assert recovered(Bench().enable(), 10, up=once(change))


@pytest.mark.parametrize("late", range(1, 14))
@pytest.mark.parametrize("ticks", [1, 3, 20])
def test_answers_that_come_late_are_never_those_of_another_batch(late, ticks):
    bench = Bench().enable()
    under_way: list[bytes] = []
    seen = bench.seq

    def delay(data: bytes) -> bytes:
        under_way.append(data)
        return under_way.pop(0) if len(under_way) > late else b""

    for _ in range(ticks):
        bench.tick(flags=COMMAND_ENABLE, steps=1, up=delay)
        assert bench.truthful
        # an answer that comes late acknowledges no command that was said after its question
        assert bench.link["raw"]["command_seq"] <= max(seen, bench.seq - min(late, 3))
    flushed = b"".join(under_way)
    assert recovered(bench, 12, up=once(lambda data: flushed + data))
    bench.run(3, flags=COMMAND_ENABLE)
    assert bench.link["raw"]["command_seq"] == bench.seq  # no batch behind


@pytest.mark.parametrize("count", range(6))
def test_part_of_a_batch_changes_no_reading(count):
    link = tuned_in()
    said(link)
    heard(link, answered(*ANSWERS))
    before = link["raw"].copy()
    said(link)
    heard(link, answered(*("1", "0.5 0.0", "2048", "1.5", "0.0 3.0", "23.000000")[:count]))
    assert link["raw"] == before
    for _ in range(8):
        said(link)
    assert link["raw"] == before


def test_nothing_but_the_mark_is_the_mark():
    link = tuned_in()
    said(link)
    heard(link, answered("8"))
    waiting = 0
    while (words := said(link, send=0)) == b"":
        waiting += 1
    assert waiting >= 2  # a silence of several ticks before the mark
    heard(link, answered(*ANSWERS[1:]))  # so late
    heard(link, answered("8", "0", "2000001", "2000003", "2000002.0", "2000002 0"))
    assert said(link, send=0) == b""
    assert heard(link, checked(words.split()[2].decode())) == 0
    assert said(link, send=0) == BATCH


def test_errors_are_cleared_only_when_there_are_some():
    link = tuned_in()
    for error in ("0", "64", "0"):
        assert b"sc *48\n" not in said(link, command(0.0, COMMAND_ENABLE | COMMAND_CLEAR))
        heard(link, answered("1", ANSWERS[1], error, *ANSWERS[3:]))
        assert (b"sc *48\n" in said(link, command(0.0, COMMAND_CLEAR))) == (error != "0")
        heard(link, answered("1", ANSWERS[1], error, *ANSWERS[3:]))


def test_a_doubled_stream_of_answers_is_found_out():
    bench = Bench().enable()
    before = counters(bench.link).get("samples_lost", 0)
    bench.tick(flags=COMMAND_ENABLE, up=lambda data: data + data)
    assert bench.truthful
    assert said(bench.link, send=0).startswith(b"w test_property")
    assert counters(bench.link).get("samples_lost", 0) == before  # the batch was whole


@given(st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255), st.booleans()), max_size=30))
def test_whatever_happens_to_the_line_the_readings_stay_apart(damages):
    bench = Bench().enable()
    for at, byte, upward in damages:

        def spoil(data: bytes, at=at, byte=byte) -> bytes:
            if not data:
                return data
            where = at % len(data)
            return data[:where] + bytes([byte]) + data[where + 1 :] if byte & 1 else data[:where] + data[where + 1 :]

        bench.tick(flags=COMMAND_ENABLE, steps=1, **{"up" if upward else "down": spoil})
        raw = bench.link["raw"]
        assert raw["bus_mV"] == TRUTH["bus_mV"]
        assert raw["torque_mNm"] == TRUTH["torque_mNm"]
    bench.run(12, flags=COMMAND_CLEAR)
    assert recovered(bench.enable(), 12)


# ---- driver and twin, as the supervisor uses them


def test_a_sample_each_tick_acknowledges_the_command_of_the_tick():
    bench = Bench().enable()
    for _ in range(50):
        assert bench.tick(flags=COMMAND_ENABLE) == 1
        assert bench.link["raw"]["command_seq"] == bench.seq
    assert bench.truthful


def test_torque_arrives_within_a_tick_and_goes_with_enable():
    bench = Bench().enable()
    bench.tick(flags=COMMAND_ENABLE, T=3.5)
    assert abs(bench.twin.T - 3.5) < 1e-4 * GEAR
    assert bench.twin.enabled
    bench.tick(T=3.5)
    assert (bench.twin.T, bench.twin.enabled) == (0.0, False)


def test_the_watchdog_is_proven_cleared_and_the_drive_comes_back():
    bench = Bench()
    bench.run(10)
    assert bench.link["raw"]["status"] == STATUS_WATCHDOG  # struck while nobody fed it, and stays
    bench.run(10, flags=COMMAND_CLEAR)
    assert (bench.link["raw"]["status"], bench.link["raw"]["faults"]) == (0, 0)
    ticks = 0
    while bench.link["raw"]["status"] != STATUS_ENABLED:
        bench.tick(flags=COMMAND_ENABLE)
        ticks += 1
    assert ticks <= 4
    assert bench.twin.requests == [8]
    ticks = 0
    while bench.link["raw"]["status"] != STATUS_WATCHDOG:
        assert bench.tick(flags=COMMAND_ENABLE, send=0) == 1
        ticks += 1
    assert 5 <= ticks <= 8
    assert not bench.twin.enabled
    bench.run(10, flags=COMMAND_ENABLE, T=1.0)  # latched: without CLEAR it stays off
    assert bench.link["raw"]["status"] == STATUS_WATCHDOG
    assert bench.twin.T == 0.0
    bench.run(4, flags=COMMAND_CLEAR)
    assert bench.link["raw"]["status"] == 0
    bench.run(4, flags=COMMAND_ENABLE, T=1.0)
    assert bench.link["raw"]["status"] == STATUS_ENABLED
    assert abs(bench.twin.T - 1.0) < 1e-3


def test_a_request_is_not_repeated_while_it_is_taken_up():
    bench = Bench().enable()
    bench.run(30, flags=COMMAND_ENABLE)
    assert bench.twin.requests == [8]


def test_a_request_that_was_lost_is_repeated():
    bench = Bench()
    bench.run(12, flags=COMMAND_CLEAR)
    lose = once(lambda data: data.replace(b"requested_state", b"requested_stare"))
    for _ in range(20):
        bench.tick(flags=COMMAND_ENABLE, down=lose)
    assert bench.twin.requests == [8]
    assert bench.link["raw"]["status"] == STATUS_ENABLED


def test_a_drive_that_may_be_on_is_switched_off_though_nothing_is_heard():
    bench = Bench()
    bench.run(12, flags=COMMAND_CLEAR)
    deaf = {"up": lambda data: b""}
    bench.tick(flags=COMMAND_ENABLE, **deaf)
    assert bench.twin.enabled
    bench.tick(**deaf)
    assert not bench.twin.enabled


def test_nothing_is_switched_on_before_the_drive_was_heard():
    link = fresh_link()
    for _ in range(10):
        assert b"requested_state" not in said(link, command(1.0, COMMAND_ENABLE))
