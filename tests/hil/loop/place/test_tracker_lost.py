"""When a place counts as lost, at an edge or found again; and what the law is told then."""

import math

import numpy as np
import pytest

from riderless.firmware_interface.devices.link import ROLE_DRIVE, ROLE_PLACE
from riderless.firmware_interface.messages import FIX_Y
from riderless.hil.loop.place.tracker import farthest_wheel, new_place, tell_place
from tests.hil.loop.place.still import DT, EDGE, LOST, NOTHING, OFF, Still, V


@pytest.mark.parametrize(("held", "lost", "on"), [(0, "stop", LOST), (0, "balance", NOTHING), (1, "balance", LOST)])
@pytest.mark.parametrize(
    ("name", "at", "beyond"), [("age", 0.25, 0.26), ("bias", -0.1, -0.101), ("doubts", 0.35, 0.36)]
)
def test_when_a_place_is_lost(held, lost, on, name, at, beyond):
    for value, told in ((at, 0), (beyond, 1)):
        w = Still(held=held, lost=lost, lost_after=0.25)
        w.p[name] = value
        assert w.tick() == (on if told else NOTHING)
        assert w["lost"] == told
        if name == "age":
            assert (w["known"], w["agree"]) == ((0, 0) if told else (1, 7))


def test_a_place_ages_by_the_time_of_ticks():
    w = Still()
    w.tick(0.05)
    assert w["age"] == pytest.approx(0.15)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_either_wheel_at_the_edge_and_not_where_the_place_is_lost(sign):
    w = Still(belt_width=1.1, margin=0.05)
    for y, psi, on in (
        (0.5, 0.0, NOTHING),
        (0.501, 0.0, EDGE),
        (0.0, 0.4, NOTHING),
        (0.31, 0.2, EDGE),
        (0.2, 0.4, EDGE | OFF),
        (0.6, -0.9, EDGE | OFF),
    ):
        w.p["y"], w.p["psi"] = sign * y, sign * psi
        assert w.tick() == on
    w.p["bias"] = 0.2
    assert w.tick() == LOST


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(
    ("late", "turning", "farthest"),
    [
        (0.0, 0.5, 0.5),  # 0.2 m and 0.5 sin(psi) of a wheelbase of 0.5 m, where sin(psi) = 0.6
        (0.05, 0.0, 0.74),  # twice 0.05 s at 4 m/s sin(psi) sideways more
        (0.05, 0.5, 0.76),  # and the front turns outwards at 0.5 rad/s: 0.5 * 0.8 * 0.5 * 0.1 m
        (0.05, -10.0, 0.5),  # it turns back so fast that it is farther out now; 0.44 m is the rear
    ],
)
def test_a_wheel_counts_where_it_may_be_by_fixes_older_than_they_tell(late, turning, farthest, sign):
    w = Still(belt_width=1.1, margin=0.05)
    w.o["w"] = 0.5
    w.p["y"], w.p["psi"], w.p["psi_dot"] = sign * 0.2, sign * math.asin(0.6), sign * turning
    w.p["late"] = late
    assert farthest_wheel(w.o, w.p, V) == pytest.approx(farthest)
    w.p["psi"] = -w["psi"]  # the rear goes inwards: it is farther out now than it will be, but for the front
    w.p["astray"] = -0.03  # to either side
    w.p["late"] = 0.005
    assert farthest_wheel(w.o, w.p, V) == pytest.approx(0.2 + 2 * 0.03)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(
    ("y", "angle", "gone", "on"),
    [
        (0.5, 0.0, 0.035, NOTHING),
        (0.54, 0.0, 0.035, EDGE),
        (0.56, 0.0, 0.035, EDGE | OFF),
        (0.545, -0.01, 0.035, EDGE),  # on its way back
        (0.545, 0.04, 0.035, EDGE | OFF),  # 0.55 m is passed in 0.035 s at 4 m/s sin(0.04)
        (0.545, 0.03, 0.035, EDGE),
        (0.545, 0.03, 0.11, EDGE | OFF),  # of a slow drive
    ],
)
def test_a_wheel_beyond_the_edge_when_the_torque_is_gone_is_off_the_belt(y, angle, gone, on, sign):
    w = Still(belt_width=1.1, margin=0.05)
    w.o["w"], w.o["torque_gone"] = 0.0, gone  # both wheels at one place
    w.p["y"], w.p["psi"] = sign * y, sign * angle
    assert w.tick() == on
    w.p["late"], w.p["astray"] = 0.5, 0.5  # what may be ramps down, and cuts nothing
    assert w.tick() & OFF == on & OFF


@pytest.mark.parametrize(
    ("late", "turning", "farthest"),
    [
        (0.1, -8.0, 0.68),  # the rear: 0.2 + 0.2 * 2.4 m; the front is at 0.5 + 0.2 * (2.4 - 3.2) m
        (0.05, -40.0, 0.86),  # the front, beyond the other edge: 0.5 + 0.1 * (2.4 - 16) m
    ],
)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_any_wheel_on_any_side_may_be_the_farthest_in_a_while(late, turning, farthest, sign):
    w = Still(belt_width=1.1, margin=0.05)
    w.o["w"] = 0.5
    w.p["y"], w.p["psi"], w.p["psi_dot"], w.p["late"] = sign * 0.2, sign * math.asin(0.6), sign * turning, late
    assert farthest_wheel(w.o, w.p, V) == pytest.approx(farthest)


def test_a_long_pause_between_fixes_may_make_them_late_and_is_remembered():
    w = Still()
    w.p["t_heard"], w.p["pause"] = w["t"] - 0.25, 0.0625
    w.hear(0.01)
    assert (w["late"], w["pause"]) == (0.0, pytest.approx(0.071875)), "four times the usual is none"
    for pause, usual, late in ((0.17, 0.04, 0.13), (0.2, 0.04, 0.16), (0.18, 0.04, 0.16), (5.0, 0.2, 0.8)):
        w.p["t_heard"], w.p["pause"] = w["t"] - pause, usual
        w.hear(0.01)
        assert w["late"] == pytest.approx(late)
        assert w["t_heard"] == w["t"]


def test_what_is_late_counts_from_when_the_place_is_known():
    w = Still(known=False)
    w.p["late"], w.p["pause"], w.p["t_heard"] = 0.2, 0.01, w["t"] - 0.1
    w.hear(0.0)
    assert w["late"] == 0.0


def test_a_fix_is_heard_at_the_time_of_which_it_tells():
    w = Still(delay=0.01)
    w.hear(0.0, age=0.02)
    assert w["t_heard"] == pytest.approx(w["t"] - 0.03)
    w.p["moved"] = 5.0
    w.p["t_heard"] = 0.0
    w.hear(0.0)
    assert w["t_heard"] == pytest.approx(w["t"] - 0.01), "one that is frozen as well"


@pytest.mark.parametrize("held", [False, True])
def test_what_fixes_have_against_the_place_is_averaged_over_half_a_second_but_in_a_hand(held):
    w = Still(held=held)
    w.p["astray"], w.p["t_fix"] = 0.02, w["t"] - 0.2
    w.hear(-0.04)
    kept = math.exp(-0.4)
    assert w["astray"] == pytest.approx(0.02 * kept - (0.0 if held else 0.04 * (1.0 - kept)))
    w.hear(1.0)  # an outlier
    assert w["astray"] == pytest.approx(0.02 * kept - (0.0 if held else 0.04 * (1.0 - kept)))


def test_only_a_new_fix_of_a_device_that_carries_a_place_counts():
    w = Still()
    w.hear(0.05)
    y = w["y"]
    w.p["moved"] = 0.0
    w.tick()
    assert (w["y"], w["agree"]) == (y, 8)
    w.links["role"] = ROLE_DRIVE
    w.hear(0.06)
    assert (w["y"], w["agree"]) == (y, 8)
    w.links["role"] = ROLE_DRIVE, ROLE_PLACE
    w.links[1]["fix"]["has"] = 0
    w.tick()
    assert (w["agree"], w["seq"]) == (8, 1)
    w.links[1]["fix"]["has"] = FIX_Y
    w.tick()
    assert (w["agree"], w["seq"]) == (9, 2)
    for filled, taken in ((0, 0), (1, 1)):
        fresh = Still()
        fresh.p["filled"] = filled
        fresh.hear(0.05)
        assert (fresh["agree"], fresh["seq"]) == (7 + taken, 1)


def test_a_sample_moves_it_before_the_fix_is_compared():
    w = Still()
    w.e["t"], w.e["psi_dot"], w.e["phi"], w.sample["theta_dot_meas"] = w["t"] + DT, 0.4, 0.1, 0.3
    assert w.tick(DT, fresh=True) == NOTHING
    turned = 0.5 * DT * (0.4 * math.cos(0.1) + 0.3 * math.sin(0.1))
    assert w["psi"] == pytest.approx(turned)
    assert w["x"] == pytest.approx(DT * V * math.cos(0.5 * turned))


@pytest.mark.parametrize("plane", [0, 1])
def test_a_lost_place_is_found_where_five_fixes_agree_however_far(plane):
    w = Still(known=False, gate=0.15, lost="balance")
    w.p["psi"] = math.asin(0.6)
    w.p["past_psi"][:10], w.p["bias"] = w["psi"], 0.05
    w.p["past_target"][:10] = w.p["target"] = 0.2  # where it was thought to be
    w.p["past_along"][:10] = w.p["along"] = 0.3
    w.p["x"], w.p["y"] = 0.4, 0.5
    for n in range(6):  # the first agrees with nothing yet
        assert (w["known"], w["agree"], w["y"]) == (0, max(n - 1, 0), 0.5)
        w.hear(5.0 + 0.01 * n, x=7.0 + n if plane else None)
    assert (w["known"], w["agree"]) == (1, 5)
    assert (w["bias"], w["age"], w["psi"]) == (0.0, 0.0, pytest.approx(math.asin(0.6)))
    assert (w["y"] - 0.3, w["target"]) == pytest.approx((5.0 + 0.01 * n,) * 2)
    assert (w["x"] - 0.1, w["along"]) == pytest.approx((7.0 + n,) * 2 if plane else (0.3, 0.3))
    assert w.p["past_target"][:10] == pytest.approx(5.0 + 0.01 * n)
    assert not w.p["past_target"][10:].any()
    assert w.p["past_along"][:10] == pytest.approx(7.0 + n if plane else 0.3)


def test_fixes_that_agree_with_nobody_find_nothing():
    w = Still(known=False, gate=0.25)
    for n in range(30):
        w.hear(5.0 + n % 2)
        assert w["agree"] == 0
    w.hear(9.0, x=1.0)
    for n in range(1, 30):
        w.hear(9.0 + 0.001 * n, x=1.0 + 3.0 * (n % 2))
        assert w["agree"] == 0
    for n in range(2, 30):
        w.hear(9.0 + 0.25 * n)
        assert w["agree"] == 0, "just at the gate"


def test_on_a_belt_fixes_agree_by_their_y_alone():
    w = Still(known=False, belt_width=19.0, lost="balance")
    for n in range(6):
        w.hear(5.0, x=10.0 * n)
    assert w["known"] == 1


def test_a_place_that_is_known_is_not_taken_elsewhere():
    w = Still(gate=0.15)
    for n in range(5):
        w.hear(0.9 + 0.01 * n)
    assert (w["y"], w["agree"], w["known"]) == (0.0, 0, 1)
    assert (w["refused"], w["refused_x"]) == pytest.approx((0.94, 0.0))


@pytest.mark.parametrize(("lost", "told"), [(0, (0.2, 1.5)), (1, (0.0, 0.0))])
def test_the_law_is_told_the_middle_of_the_lane_where_the_place_is_lost(lost, told):
    p, signals = new_place(), np.zeros(1, np.dtype([("psi", "f8"), ("y_P", "f8")]))[0]
    p["psi"], p["y"], p["lost"] = 0.2, 1.5, lost
    signals["psi"] = signals["y_P"] = 9.0
    tell_place(p, signals)
    assert (signals["psi"], signals["y_P"]) == told
