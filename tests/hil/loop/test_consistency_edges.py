"""Slow contradictions at their edges: each smoothing by its half-life, each limit just met, either side of each."""

import math

import numpy as np
import pytest

from riderless.firmware_interface.messages import SAMPLE
from riderless.hil.loop.consistency import (
    LEARNT_TIME,
    SHOWN_SHARE,
    TURN_SHARE,
    WEIGHT_SHARE,
    follow_turn,
    follow_weight,
    leans_too_far,
    look_at_drift,
)
from riderless.hil.loop.limits import Limits
from riderless.hil.loop.observer import ESTIMATE, OBSERVER
from riderless.hil.loop.plausibility import new_monitor
from riderless.hil.loop.states import Symptom

HALF = math.log(2.0)  # time constants until half of a step is seen
LIMITS = Limits().as_record()
NOTHING = Symptom.NONE


def records():
    """Monitor, sample and estimate, all zero."""
    return new_monitor(), np.zeros(1, SAMPLE)[0], np.zeros(1, ESTIMATE)[0]


def test_while_a_person_holds_it_nothing_is_looked_at_and_all_is_learnt():
    m, sample, e = records()
    m["yaw_gap"] = m["side_force"] = 5.0
    e["gyro_bias"], e["yaw_bias"], sample["a_y_meas"] = 0.4, -0.3, 9.0
    assert look_at_drift(LIMITS, m, sample, e, False, 0.1) == NOTHING
    assert [m[name] for name in ("gyro_bias", "yaw_bias", "yaw_gap", "side_force")] == [0.4, -0.3, 0.0, 0.0]


def test_means_of_a_second_of_force_and_of_half_a_second_of_yaw():
    m, sample, e = records()
    sample["a_y_meas"], m["side_force"] = 1.6, 0.4
    look_at_drift(LIMITS, m, sample, e, True, 1.0 * HALF)
    assert m["side_force"] == pytest.approx(1.0)
    e["yaw_bias"], e["yaw_error"], m["yaw_bias"], m["yaw_gap"] = 0.03, 0.05, 0.01, 0.02
    look_at_drift(LIMITS, m, sample, e, True, 0.5 * HALF)
    assert m["yaw_gap"] == pytest.approx(0.045)  # half way from 0.02 to 0.03 + 0.05 - 0.01


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(
    ("name", "limit"),
    [("gyro_bias", "roll_drift"), ("yaw_bias", "gyro_drift"), ("yaw_gap", "gyro_drift"), ("side_force", "side_force")],
)
def test_what_is_just_at_its_limit_has_not_drifted_and_each_alone_is_enough(name, limit, sign):
    """In a tick without time nothing moves."""
    for share, noticed in ((1.0, NOTHING), (1.001, Symptom.SENSORS_DISAGREE)):
        m, sample, e = records()
        (e if name in ("gyro_bias", "yaw_bias") else m)[name] = sign * share * LIMITS[limit]
        assert look_at_drift(LIMITS, m, sample, e, True, 0.0) == noticed


@pytest.mark.parametrize("name", ["gyro_bias", "yaw_bias"])
def test_a_bias_counts_from_what_it_was_when_control_began(name):
    m, sample, e = records()
    m[name] = e[name] = 0.5
    assert look_at_drift(LIMITS, m, sample, e, True, 0.0) == NOTHING
    m[name] = -0.5
    assert look_at_drift(LIMITS, m, sample, e, True, 0.0) == Symptom.SENSORS_DISAGREE


def bicycle(by_speed=0.12, by_trail=0.3):
    """The part of the observer that a turn is told by."""
    o = np.zeros(1, OBSERVER)[0]
    o["lean_by_speed"], o["lean_by_trail"], o["g"] = by_speed, by_trail, 9.81
    return o


@pytest.mark.parametrize(
    ("v", "by_speed", "lean"),
    [
        (5.0, 0.12, 0.66),  # 0.12 * 5 + 0.3 / 5 rad per rad/s
        (5.0, 0.01, 5.0 / 9.81),  # never less than the lean of a point
        (0.5, 0.12, 0.36),  # below 1 m/s the trail counts as at 1 m/s
    ],
)
def test_a_turn_is_told_with_half_a_second_of_delay(v, by_speed, lean):
    e = np.zeros(1, ESTIMATE)[0]
    e["v"], e["psi_dot"], e["turn"] = v, 0.4, 0.1
    follow_turn(bicycle(by_speed), e, 0.0, False, 0.5 * HALF)
    assert e["turn"] == pytest.approx(0.5 * (0.1 + 0.4 * lean))


@pytest.mark.parametrize(("held", "constant"), [(True, 0.5), (False, 20.0)])
def test_the_bias_at_rest_is_learnt_soon_in_a_hand_and_late_under_control(held, constant):
    e = np.zeros(1, ESTIMATE)[0]
    e["gyro_bias"], e["rest_bias"] = 0.3, 0.1
    follow_turn(bicycle(), e, 0.0, held, constant * HALF)
    assert e["rest_bias"] == pytest.approx(0.2)


@pytest.mark.parametrize(("held", "rest"), [(True, 0.5 * (0.1 + 0.7)), (False, 0.1)])
def test_what_the_yaw_gyro_reads_at_rest_is_learnt_in_a_hand_alone(held, rest):
    e = np.zeros(1, ESTIMATE)[0]
    e["psi_dot"], e["yaw_bias"], e["rest_yaw"] = 0.4, 0.3, 0.1  # it reads 0.7 rad/s
    follow_turn(bicycle(), e, 0.0, held, 0.5 * HALF)
    assert e["rest_yaw"] == pytest.approx(rest)


def test_what_an_encoder_hides_of_a_turn_is_told_with_the_delay_of_the_turn():
    """A bias of 0.3 rad/s was learnt of a yaw gyro that read 0.1 at rest: at 5 m/s 0.66 rad per rad/s, as above."""
    e = np.zeros(1, ESTIMATE)[0]
    e["v"], e["yaw_bias"], e["rest_yaw"], e["turn_hidden"] = 5.0, 0.3, 0.1, 0.04
    follow_turn(bicycle(), e, 0.0, False, 0.5 * HALF)
    assert e["turn_hidden"] == pytest.approx(0.5 * (0.04 + 0.2 * 0.66))


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("name", ["turn", "turn_sway"])
def test_what_an_encoder_hides_counts_with_the_turn(name, sign):
    e, limit = np.zeros(1, ESTIMATE)[0], 0.5
    e[name] = sign * 0.7 * TURN_SHARE * limit
    e["turn_hidden"] = sign * 0.299 * TURN_SHARE * limit
    assert not leans_too_far(e, limit)
    e["turn_hidden"] = sign * 0.301 * TURN_SHARE * limit
    assert leans_too_far(e, limit)
    e["turn_hidden"] = -e["turn_hidden"]  # an encoder that is off to the other side shows more turn than there is
    assert not leans_too_far(e, limit)
    e[name] = sign * 1.001 * TURN_SHARE * limit  # and excuses none
    assert leans_too_far(e, limit)


def test_the_roll_gyro_counts_from_its_bias_at_rest():
    e = np.zeros(1, ESTIMATE)[0]
    e["gyro_bias"] = e["rest_bias"] = 0.1
    e["sway"] = 0.04
    follow_turn(bicycle(), e, 0.5, False, 0.5 * HALF)
    assert e["sway"] == pytest.approx(0.5 * (0.04 + 0.5 * (0.5 - 0.1)))


def test_turn_and_sway_together_and_the_lean_shown_are_smoothed_over_a_fifth_of_a_second():
    e, long = np.zeros(1, ESTIMATE)[0], 1e6  # s: turn and sway are where they go
    e["psi_dot"], e["v"] = 0.4, 5.0
    follow_turn(bicycle(), e, 0.2, False, long)
    assert (e["turn"], e["sway"]) == pytest.approx((0.264, 0.1))
    e["turn_sway"], e["lean_error"], e["lean_shown"] = 0.1, 0.2, 0.06
    follow_turn(bicycle(), e, 0.2, False, 0.2 * HALF)
    assert e["turn_sway"] == pytest.approx(0.5 * (0.1 + 0.364))
    assert e["lean_shown"] == pytest.approx(0.13)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(
    ("name", "share"), [("phi", 1.0), ("turn", TURN_SHARE), ("turn_sway", TURN_SHARE), ("lean_shown", SHOWN_SHARE)]
)
def test_each_lean_may_be_just_at_its_limit_and_alone_ends_it_beyond(name, share, sign):
    e, limit = np.zeros(1, ESTIMATE)[0], 0.5
    e[name] = sign * share * limit
    assert not leans_too_far(e, limit)
    e[name] = sign * 1.001 * share * limit
    assert leans_too_far(e, limit)


def test_shares_of_the_lean_limit_are_those_of_the_docs():
    assert (SHOWN_SHARE, TURN_SHARE, WEIGHT_SHARE) == (0.96, 0.94, 0.9)


@pytest.mark.parametrize(("phi", "shown"), [(0.99, 0.0), (0.99, -0.01), (0.99, -1.98), (-0.99, 1.98)])
def test_an_accelerometer_that_shows_no_more_than_the_estimate_leaves_the_limit_where_it_is(phi, shown):
    e = np.zeros(1, ESTIMATE)[0]
    e["phi"], e["lean_shown"] = phi * 0.5, shown * 0.5
    assert not leans_too_far(e, 0.5)


def rules(number=2):
    """The part of the observer that says which rules hold."""
    o = bicycle()
    o["rules"] = number
    return o


def test_the_specific_force_is_smoothed_and_at_rest_averaged_in_a_hand_alone():
    _, sample, e = records()
    sample["a_y_meas"], sample["a_z_meas"] = 6.0, -8.0
    follow_weight(rules(), e, sample, True, 0.5 * HALF)
    assert (e["weight"], e["rest_weight"]) == pytest.approx((5.0, 10.0))
    sample["a_z_meas"] = 0.0
    follow_weight(rules(), e, sample, True, 0.5 * HALF)  # half of the time so far
    assert e["rest_weight"] == pytest.approx(8.0)
    e["held_for"] = LEARNT_TIME
    e["gyro_bias"] = 0.4
    follow_weight(rules(), e, sample, True, 0.5)
    assert (e["rest_weight"], e["held_bias"]) == pytest.approx((7.5, 0.1))
    follow_weight(rules(), e, sample, False, 0.5)
    assert (e["rest_weight"], e["held_bias"], e["held_for"]) == pytest.approx((7.5, 0.1, 0.0))


def test_a_log_of_older_rules_has_no_such_force():
    _, sample, e = records()
    sample["a_z_meas"] = -20.0
    follow_weight(rules(1), e, sample, True, 1.0)
    assert e["weight"] == e["rest_weight"] == e["held_bias"] == 0.0
    assert not leans_too_far(e, 0.5)


def test_the_force_of_a_turn_ends_it_at_its_share_of_the_lean_limit():
    e, limit = np.zeros(1, ESTIMATE)[0], 0.5
    e["rest_weight"] = 9.81
    for share, far in ((0.99, False), (1.01, True)):
        e["weight"] = 9.81 / math.cos(share * WEIGHT_SHARE * limit)
        assert leans_too_far(e, limit) == far


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_roll_bias_may_go_from_what_it_was_at_release_to_its_mean_in_a_hand(sign):
    m, sample, e = records()
    e["rest_weight"], m["gyro_bias"] = 9.81, sign * 0.2
    for bias, noticed in ((0.0, NOTHING), (-0.079, NOTHING), (0.279, NOTHING), (-0.081, 1), (0.281, 1)):
        e["gyro_bias"] = sign * bias
        assert bool(look_at_drift(LIMITS, m, sample, e, True, 0.0)) == bool(noticed)
