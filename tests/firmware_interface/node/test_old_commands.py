"""Rules 2 to 5 of docs/node-protocol.md: no recorded, late, repeated or forged frame moves the drive for long."""

import random

import pytest

from riderless.firmware_interface.messages import (
    COMMAND_CLEAR,
    COMMAND_ENABLE,
    STATUS_ENABLED,
    STATUS_FOREIGN,
    STATUS_WATCHDOG,
)
from tests.firmware_interface.node import test_rules as rules
from tests.firmware_interface.wire import SESSION

PERIOD, WINDOW = rules.PERIOD, rules.WATCHDOG_PERIODS


def moved(torques) -> float:
    """Time with torque [s]."""
    return PERIOD * sum(T != 0.0 for T in torques)


def ride(bench, periods: int = 400) -> list[bytes]:
    """Frames of a controller that clears, switches on and makes 5 N m, as recorded on the line."""
    frames = []
    for k in range(periods):
        bench.readings[6] = 1e-3 * (k % 2)  # bars that move
        frames.append(bench.frame(5.0, COMMAND_CLEAR if k < 5 else COMMAND_ENABLE))
        bench.instant(frames[-1])
    assert bench.status & STATUS_ENABLED
    return frames


def test_two_old_frames_in_turn_end_within_the_watchdogs_time():
    bench = rules.Bench()
    a, b = ride(bench, 20)[-2:]
    torques = [bench.instant(b if k % 2 else a) for k in range(round(60.0 / PERIOD))]
    assert 0.0 < moved(torques) <= 0.025
    assert not bench.status & STATUS_ENABLED
    assert bench.status & (STATUS_WATCHDOG | STATUS_FOREIGN)
    assert bench.fw["refused"] > 11_000


@pytest.mark.parametrize("length", [1, 2, 3, 7, 50, 350])
def test_a_circular_buffer_of_any_length_ends_within_the_watchdogs_time(length):
    bench = rules.Bench()
    buffer = ride(bench)[-length:]
    torques = [bench.instant(buffer[k % length]) for k in range(2000)]
    assert moved(torques) <= 0.025


def test_a_recorded_run_moves_nothing_in_another_session():
    recorded = ride(rules.Bench())
    bench = rules.Bench(nonce=SESSION + 1)
    torques = [bench.instant(frame) for frame in recorded]
    assert moved(torques) == 0.0
    assert bench.status == STATUS_FOREIGN
    assert bench.fw["refused"] == len(recorded)
    assert bench.sample().refused == len(recorded) % 256


def test_a_recorded_run_with_its_request_opens_another_session_after_power_up():
    """Everything the computer said, said again at the same instants: the noise of the instruments tells them apart."""
    ends = []
    for noise in (1, 2):
        bench, rng = rules.Bench(nonce=0), random.Random(noise)
        bench.readings[:] = [rng.gauss(0.0, 0.01) for _ in range(9)]
        for _ in range(3):
            bench.instant()
        bench.session = bench.hello(SESSION).session
        if noise == 1:
            recorded, opened = ride(bench), bench.session
        else:
            ends = [bench.instant(frame) for frame in recorded]
            assert bench.session not in (0, opened)
    assert moved(ends) == 0.0


@pytest.mark.parametrize("later", [WINDOW, 40, 1000, 65536, 65536 + 2, 2 * 65536])
def test_recorded_frames_of_the_same_session_move_nothing_later(later):
    """65 536 samples and commands later (5.5 min) the halves of all numbers are the same again."""
    bench = rules.Bench()
    recorded = ride(bench, 100)
    bench.command(flags=0)
    for _ in range(min(later, 1000) - 1):
        bench.instant()
    bench.fw["seq"] += max(0, later - 1000)
    torques = [bench.instant(frame) for frame in recorded]
    assert moved(torques) == 0.0
    assert not bench.status & STATUS_ENABLED
    assert bench.status & STATUS_FOREIGN


@pytest.mark.parametrize("ago", [WINDOW, WINDOW + 1, 60])
def test_old_frames_beside_the_controller_disable_and_are_named(ago):
    bench = rules.Bench()
    recorded = ride(bench, 100)
    T = [bench.instant(bench.frame(1.0) + recorded[-ago]) for _ in range(100)]
    assert moved(T) == 0.0
    assert bench.status == STATUS_FOREIGN


@pytest.mark.parametrize("ago", [1, 2, 3, WINDOW - 1])
def test_late_and_repeated_frames_are_passed_over(ago):
    bench = rules.Bench()
    recorded = ride(bench, 100)
    for _ in range(100):
        recorded.append(bench.frame(1.0))
        assert bench.instant(recorded[-1] + recorded[-ago - 1] + recorded[-1]) == 1.0
    assert bench.status == STATUS_ENABLED
    assert bench.fw["refused"] == 0


def test_frames_swapped_on_the_way_are_passed_over():
    bench = rules.Bench().enable()
    first = bench.frame(1.0)
    bench.instant()
    second = bench.frame(2.0)
    assert bench.instant(second + first) == 2.0
    assert bench.status == STATUS_ENABLED


@pytest.mark.parametrize(
    "numbers",
    [
        lambda bench: {"seq": bench.seq + 1},  # the next one: he knows all
        lambda bench: {"seq": bench.seq + 100},
        lambda bench: {"seq": bench.seq},
        lambda bench: {"seq": bench.seq - 3},
        lambda bench: {"session": SESSION ^ 1},
        lambda bench: {"session": 0},
        lambda bench: {"sample_seq": int(bench.fw["seq"])},  # not yet sent
        lambda bench: {"sample_seq": int(bench.fw["seq"]) - 1 + 65536},
        lambda bench: {"sample_seq": int(bench.fw["seq"]) - 1 - WINDOW},
    ],
)
@pytest.mark.parametrize("first", [False, True])
def test_forged_commands_beside_the_controller_disable_and_are_named(numbers, first):
    bench = rules.Bench()
    ride(bench, 100)
    torques = []
    for k in range(400):
        flags = COMMAND_ENABLE if k < 10 else 0 if k < 100 else COMMAND_CLEAR if k < 200 else COMMAND_ENABLE
        genuine = bench.frame(1.0, flags)
        seq = bench.seq
        if first:
            bench.seq -= 1
        forged = bench.frame(7.0, **{"seq": bench.seq + 1, **numbers(bench)})
        bench.seq = seq
        torques.append(bench.instant(forged + genuine if first else genuine + forged))
    assert moved(T for T in torques if T > 1.0) <= 2 * PERIOD
    assert moved(torques) <= 3 * PERIOD
    assert bench.status == STATUS_FOREIGN, "and the computer's off, clear and on do not arm it again"


def test_nothing_enables_after_a_foreign_command_until_another_session():
    bench = rules.Bench().enable()
    assert bench.command(1.0, session=3) == 0.0
    for flags in (0, COMMAND_CLEAR, COMMAND_ENABLE, COMMAND_ENABLE):
        assert bench.command(1.0, flags) == 0.0
        assert bench.status == STATUS_FOREIGN
    assert bench.hello(SESSION).session == SESSION, "the request that opened it opens no other"
    assert bench.status == STATUS_FOREIGN
    bench.session = bench.hello(SESSION + 1).session
    assert bench.status == 0
    bench.enable()
    assert bench.command(1.0) == 1.0


def test_without_a_session_no_command_counts():
    bench = rules.Bench(nonce=0)
    assert bench.session == 0
    for session in (0, SESSION):
        for flags in (0, COMMAND_CLEAR, COMMAND_ENABLE, COMMAND_ENABLE):
            assert bench.command(1.0, flags, session=session) == 0.0
    assert bench.status == STATUS_FOREIGN
    assert bench.fw["commands"] == 0


def test_a_request_for_another_session_disables_and_is_refused():
    bench = rules.Bench().enable()
    assert bench.hello(0).session == 0, "who only asks does no harm"
    assert bench.status == STATUS_ENABLED
    bench.command()
    assert bench.hello(SESSION).session == SESSION, "nor does our own request, late"
    assert bench.status == STATUS_ENABLED
    bench.command()
    assert bench.hello(123).session == 0
    assert bench.status == STATUS_FOREIGN
    assert bench.hello(123).session == 123, "the drive is off now"


def test_a_command_that_came_before_its_session_is_forgotten():
    bench = rules.Bench()
    bench.command(1.0, COMMAND_CLEAR)
    late = bench.frame(1.0, COMMAND_CLEAR)
    bench.session = bench.hello(17).session
    bench.instant(late)
    assert bench.command(1.0) == 0.0, "ENABLE off was not seen in this session"


def test_off_in_answer_to_an_old_sample_sets_no_bit_while_disabled():
    bench = rules.Bench().enable()
    bench.command(flags=0)
    old = int(bench.fw["seq"]) - 1
    for _ in range(30):  # samples do not come up any more, commands still go down
        bench.command(flags=0, sample_seq=old)
    assert bench.status == 0
    assert bench.fw["refused"] > 20


@pytest.mark.parametrize("late", range(WINDOW + 2))
def test_age_counts_from_the_sample(late):
    """However late the line is, the torque of one sample is gone when the sample is as old as the expiry."""
    bench = rules.Bench().enable()
    frame = bench.frame(2.0, expiry_ms=20)
    for _ in range(late):
        bench.instant()
    torques = [bench.instant(frame if k == 0 else b"") for k in range(8)]
    assert torques == [2.0] * max(0, 3 - late) + [0.0] * (8 - max(0, 3 - late))
