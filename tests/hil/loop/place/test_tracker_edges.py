"""The tracker step by step: each correction, gate and limit by numbers worked out here."""

import math

import numpy as np
import pytest

from riderless.firmware_interface.messages import FIX_X
from riderless.hil.loop.place import tracker
from riderless.hil.loop.place.tracker import PAST, fill_place, move_on, new_place, shift_place, third_order_gains
from riderless.hil.loop.tick_record import TICK
from tests.hil.loop.place.still import DT, LN2, NOTHING, Still, V, settings


def test_gains_where_half_is_forgotten_between_two_fixes():
    T = 0.5 * LN2
    assert third_order_gains(2.0, T, V) == pytest.approx((0.875, 0.5625 / (T * V), -0.125 / (T * T * V)))
    assert third_order_gains(2.0, T, 0.1) == pytest.approx((0.875, 0.5625 / (T * 0.5), -0.125 / (T * T * 0.5)))


def moving(t=1.02, plane=0, held=False, **how):
    """One step of 0.02 s from (2, 3) m and 0.1 rad, lean 0.3 rad."""
    o, p = settings(x=0.3, z=-0.5, **how), new_place()
    p["t"], p["psi"], p["psi_dot"], p["bias"], p["x"], p["y"], p["plane"] = 1.0, 0.1, 0.2, 0.05, 2.0, 3.0, plane
    p["target"], p["along"], p["moved"], p["head"], p["filled"] = 2.9, 2.2, 0.01, PAST - 1, PAST
    move_on(o, p, t, V, 0.5, 0.3, 0.4, held)
    return p


@pytest.mark.parametrize(("t", "h"), [(1.02, 0.02), (1.19, 0.19), (1.2, DT), (1.0, DT), (0.9, DT)])
def test_a_step_goes_along_the_heading_half_way_and_a_clock_that_leaps_is_one_period(t, h):
    p = moving(t if t != 1.2 else 1.2 + 1e-12)
    psi_dot = 0.5 * math.cos(0.3) + 0.4 * math.sin(0.3) - 0.05
    turned = h * (psi_dot + 0.2) / 2
    assert p["psi"] == pytest.approx(0.1 + turned, abs=1e-9)
    assert p["psi_dot"] == pytest.approx(psi_dot)
    moved = h * V * np.array([math.cos(0.1 + turned / 2), math.sin(0.1 + turned / 2)])
    assert (p["x"], p["y"]) == pytest.approx((2.0 + moved[0], 3.0 + moved[1]), abs=1e-9)
    assert p["bias"] == 0.05


def test_a_step_of_just_a_fifth_of_a_second_is_a_leap_and_each_sample_is_one_more_of_the_past():
    o, p = settings(), new_place()
    p["filled"], p["head"] = 3, 3
    move_on(o, p, 0.2, V, 0.0, 0.0, 0.0, False)
    assert p["x"] == pytest.approx(V * DT)
    assert (p["filled"], p["head"]) == (4, 4)


def test_nobody_knows_a_new_place():
    p = new_place()
    assert (p["age"], p["known"], p["filled"]) == (np.inf, 0, 0)
    assert np.isnan(p["y_meas"])


@pytest.mark.parametrize("plane", [0, 1])
def test_what_the_sensor_sees_is_on_the_leaning_frame_and_remembered(plane):
    p = moving(plane=plane)
    c, s, up = math.cos(p["psi"]), math.sin(p["psi"]), 0.5 * math.sin(0.3)  # 0.5 m up, leaning to the right
    target, along = p["y"] + 0.3 * s + up * c, p["x"] + 0.3 * c - up * s
    assert (p["target"], p["along"]) == pytest.approx((target, along))
    last = [p[name][PAST - 1] for name in ("past_t", "past_target", "past_psi", "past_along")]
    assert last == pytest.approx([1.02, target, p["psi"], along])
    assert (p["head"], p["filled"], p["t"]) == (0, PAST, 1.02)
    assert p["moved"] == pytest.approx(0.01 + (along - 2.2 if plane else target - 2.9))


def test_how_far_it_has_moved_is_told_by_the_gyro_alone_whatever_fixes_make_of_the_heading():
    """A bicycle turns away from the number that its sensor tells again and again."""
    corrected, alone = Still(), Still()
    for w in (corrected, alone):
        w.hear(0.05)
        for _ in range(60):
            move_on(w.o, w.p, w["t"] + DT, V, 0.2, 0.0, 0.0, False)
            if w is corrected:
                w.hear(0.05, sigma=1.0)  # m, so that it is taken
    assert corrected["agree"] == 8 + 60
    assert abs(alone["psi"] - corrected["psi"]) > 0.04
    assert corrected["moved"] == pytest.approx(alone["moved"], rel=0.02)
    assert alone["moved"] > 0.1


@pytest.mark.parametrize("plane", [0, 1])
def test_in_a_hand_it_points_along_the_lane(plane):
    p = moving(plane=plane, held=True)
    assert (p["psi"], p["bias"], p["y"]) == (0.0, 0.0, 3.0)
    assert p["x"] == pytest.approx(2.0 + 0.02 * V if plane else 0.0)


def test_in_a_hand_the_pitch_gyro_is_averaged_over_two_seconds_at_most():
    o, p = settings(), new_place()
    p["t"], p["rested"] = 1.0, 60.0
    move_on(o, p, 1.0 + DT, V, 0.0, 0.0, 0.08, True)
    assert (p["rested"], p["pitch_bias"]) == (2.0, pytest.approx(0.08 * DT / 2.0))


@pytest.mark.parametrize("sensed", [True, False])
def test_a_row_tells_heading_and_place_where_a_place_is_sensed(sensed):
    o, p, row = settings(), new_place(), np.zeros(1, TICK)[0]
    o["on"] = sensed
    p["psi"], p["x"], p["y"], p["y_meas"], p["age"] = 0.1, 2.0, 0.3, 0.31, 0.02
    fill_place(o, p, row)
    told = [float(row[name]) for name in ("psi_est", "x_est", "y_est", "y_meas", "place_age")]
    assert told == ([0.1, 2.0, 0.3, 0.31, 0.02] if sensed else pytest.approx([math.nan] * 5, nan_ok=True))


@pytest.mark.parametrize("head", [4, 2])  # in one piece, and round the end of the ring
@pytest.mark.parametrize(
    ("t", "was"),
    [
        (7.0, (0, 9.0, 0.4, 7.0)),
        (6.0, (0, 9.0, 0.4, 7.0)),
        (5.0, (1, 6.5, 0.3, 5.0)),
        (4.0, (1, 4.0, 0.2, 3.0)),
        (0.5, (3, 0.25, 0.025, 0.5)),
        (0.0, (3, 0.0, 0.0, 0.0)),
        (-0.1, (-1, 0.0, 0.0, 0.0)),
    ],
)
def test_how_it_was_is_found_between_two_samples(head, t, was):
    p = new_place()
    at = (np.arange(4) + head - 4) % PAST
    p["past_t"][at], p["past_target"][at] = [0, 2, 4, 6], [0, 1, 4, 9]
    p["past_psi"][at], p["past_along"][at] = [0, 0.1, 0.2, 0.4], [0, 2, 3, 7]
    p["head"], p["filled"] = head, 4
    assert tracker._past_at(p, t) == pytest.approx(was)


@pytest.mark.parametrize(("heading", "c", "d"), [(0.0, 1.0, 0.0), (math.asin(0.6), 0.8, 0.6)])
@pytest.mark.parametrize("t", [1.0, 2.0])
def test_a_correction_of_then_is_carried_on_to_now(t, heading, c, d):
    """Place 0.1 m, heading 0.02 rad, bias 0.01 rad/s, way 0.07 m; s later the heading has 0.02 - 0.01 s."""
    o, p = settings(x=0.3), new_place()
    p["past_t"][:3], p["head"], p["filled"], p["t"] = [1.0, 1.5, 2.0], 3, 3, 2.0
    p["past_psi"][:4], p["past_target"][:4], p["past_along"][:4] = 0.25, 0.5, 0.75
    p["psi"], p["y"], p["target"], p["x"], p["along"], p["bias"] = 0.25, 0.5, 0.5, 0.75, 0.75, 0.125
    shift_place(o, p, 2 if t == 1.0 else 0, t, V, 0.1, 0.02, 0.01, 0.07, heading)

    def after(s, x):
        across = 0.1 + V * (0.02 * s - 0.005 * s**2) + x * (0.02 - 0.01 * s)
        return 0.27 - 0.01 * s, 0.5 + across * c + 0.07 * d, 0.75 + 0.07 * c - across * d

    assert (p["psi"], p["y"], p["x"]) == pytest.approx(after(2.0 - t, 0.0))
    assert (p["psi"], p["target"], p["along"]) == pytest.approx(after(2.0 - t, 0.3))
    assert p["bias"] == 0.135
    ring = np.array([p["past_psi"], p["past_target"], p["past_along"]])[:, :4].T
    still = (0.25, 0.5, 0.75)
    wanted = [still, after(0.5, 0.3), after(1.0, 0.3), still] if t == 1.0 else [still] * 4
    if t == 2.0:
        wanted[2] = after(0.0, 0.3)
    np.testing.assert_allclose(ring, wanted, atol=1e-12)
    assert not p["past_psi"][4:].any()


def test_a_fix_moves_place_heading_and_bias_by_their_shares():
    w, T = Still(x=0.0), 0.25 * LN2
    w.p["doubts"] = 0.2
    assert w.hear(0.1) == NOTHING
    a = math.sqrt(0.5)
    assert w["y"] == pytest.approx((1 - a**3) * 0.1)
    assert w["psi"] == pytest.approx(1.5 * (1 - a) ** 2 * (1 + a) * 0.1 / (T * V))
    assert w["bias"] == pytest.approx(-((1 - a) ** 3) * 0.1 / (T**2 * V))
    assert (w["t_fix"], w["y_meas"], w["agree"], w["age"]) == (w["t"], pytest.approx(0.1), 8, 0.0)
    assert w["doubts"] == pytest.approx(0.19)
    assert w["x"] == 0.0


@pytest.mark.parametrize(("since", "T"), [(10.0, 0.3), (0.0, 1e-3)])
def test_the_time_between_fixes_counts_within_bounds(since, T):
    w = Still()
    w.p["t_fix"] = w["t"] - since
    w.hear(0.1)
    assert w["y"] == pytest.approx((1.0 - math.exp(-6.0 * T)) * 0.1, rel=1e-6)


@pytest.mark.parametrize(("delay", "age"), [(0.03, 0.0), (0.0, 0.03), (0.02, 0.01)])
def test_a_late_fix_is_of_when_it_was_taken(delay, age):
    w = Still(delay=delay)
    w.p["past_target"][:6] = 0.08  # so it was until 0.04 s ago
    w.p["past_target"][6] = 0.05
    w.hear(0.05, age=age)
    assert (w["y"], w["psi"]) == pytest.approx((0.0, 0.0), abs=1e-12)
    assert w["t_fix"] == pytest.approx(w["t"] - 0.03)
    assert w["y_meas"] == pytest.approx(0.05)


def test_a_fix_older_than_what_is_remembered_and_one_without_y_tell_nothing():
    w = Still()
    w.hear(0.1, age=0.2)
    w.hear(0.1, has=FIX_X)
    assert (w["y"], w["agree"], w["age"]) == (0.0, 7, 0.1)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(("known", "held", "gated"), [(1, 0, 1), (0, 0, 1), (1, 1, 1), (0, 1, 0)])
def test_farther_than_the_gate_is_an_outlier_except_before_the_first_fix_in_a_hand(known, held, gated, sign):
    w = Still(known=known, held=held, gate=0.25)
    w.p["agree"] = 7
    w.hear(sign * 0.25)
    assert w["y"] != 0.0, "just at the gate"
    w = Still(known=known, held=held, gate=0.25)
    w.p["agree"], w.p["doubts"] = 7, 0.2
    w.hear(sign * 0.251)
    assert (w["y"] == 0.0) is bool(gated)
    assert w["doubts"] == pytest.approx(0.24 if gated else 0.19)


def test_in_a_hand_the_first_fix_is_believed_and_the_next_ones_smoothed():
    w = Still(known=False, held=True)
    w.hear(2.0)
    assert (w["y"], w["psi"], w["bias"], w["known"]) == (2.0, 0.0, 0.0, 0)
    w.p["t_fix"] -= LN2 / 8.0
    w.hear(2.1)
    assert w["y"] == pytest.approx(2.05)
    for n in range(3, 6):
        assert w["known"] == 0
        assert w["age"] == 0.1
        w.hear(2.1 + 0.001 * n)
    assert (w["known"], w["age"], w["agree"]) == (1, 0.0, 5)


@pytest.mark.parametrize(("moved", "sigma", "taken"), [(0.02, 0.0, 1), (0.021, 0.0, 0), (-0.021, 0.0, 0)])
@pytest.mark.parametrize("more", [0.0, 0.04])
def test_the_same_number_again_though_it_has_moved_is_no_fix(moved, sigma, taken, more):
    w = Still()
    w.hear(0.05)
    assert w["moved"] == 0.0
    moved += math.copysign(more, moved)
    sigma = 0.0 if not more else 0.01  # 6 sigma: 0.06 m
    w.p["moved"] = moved
    w.hear(0.05, sigma=sigma)
    assert w["agree"] == 8 + taken
    w.p["moved"] = 5.0
    w.hear(0.051)
    assert (w["agree"], w["moved"]) == (9 + taken, 0.0)


@pytest.mark.parametrize("more", [0.0, 0.1])
@pytest.mark.parametrize(
    ("psi", "turned"),
    [(0.3, 0.3), (0.3 + 4 * math.pi, 0.3), (-0.3, -0.3), (0.36, 0.0), (-0.36, 0.0), (0.34, 0.34), (0.35, 0.0)],
)
def test_a_heading_that_the_sensor_tells_is_followed_unless_it_is_far_off(psi, turned, more):
    w = Still()
    w.p["psi"] = more
    w.p["past_psi"][:10] = more
    w.hear(0.0, psi=psi + more)
    assert w["psi"] == pytest.approx(more + (1.0 - math.sqrt(0.5)) * turned, abs=2e-6)


def test_of_a_sensor_of_the_plane_both_numbers_come_again_where_it_is_frozen():
    w = Still()
    w.hear(0.05, x=0.02)
    for x, taken in ((0.03, 1), (0.03, 0)):
        w.p["moved"], agree = 5.0, w["agree"]
        w.hear(0.05, x=x)
        assert w["agree"] == agree + taken
    belt = Still(belt_width=3.0)  # on which x tells nothing
    belt.hear(0.05, x=0.02)
    belt.p["moved"] = 5.0
    belt.hear(0.05, x=0.03)
    assert belt["agree"] == 8


def test_in_the_plane_the_difference_across_and_along_the_heading_counts():
    w = Still()
    w.p["psi"] = math.asin(0.6)
    w.p["past_psi"][:10] = w["psi"]
    w.p["past_along"][:10] = w.p["past_target"][:10] = -1.0
    w.hear(-0.95, x=-0.98)
    across, along, a = 0.05 * 0.8 - 0.02 * 0.6, 0.02 * 0.8 + 0.05 * 0.6, math.sqrt(0.5)
    d_y, d_along = (1 - a**3) * across, (1 - a) * along
    assert (w["y"], w["x"]) == pytest.approx((d_y * 0.8 + d_along * 0.6, d_along * 0.8 - d_y * 0.6))
    belt = Still(belt_width=3.0)
    belt.hear(0.05, x=0.02)
    assert (belt["plane"], belt["x"]) == (0, 0.0)


def test_a_sensor_of_the_plane_is_far_off_along_the_way_too():
    w = Still(gate=0.25)
    w.hear(0.0, x=0.3)
    assert (w["x"], w["doubts"]) == (0.0, 0.05)
