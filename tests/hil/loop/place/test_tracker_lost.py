"""When a place counts as lost, at an edge or found again; and what the law is told then."""

import math

import numpy as np
import pytest

from firmware_interface.devices.link import ROLE_DRIVE, ROLE_PLACE
from firmware_interface.messages import FIX_Y
from hil.loop.place.tracker import new_place, tell_place
from tests.hil.loop.place.still import DT, EDGE, LOST, NOTHING, Still, V


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
        (0.2, 0.4, EDGE),
        (0.6, -0.9, EDGE),
    ):
        w.p["y"], w.p["psi"] = sign * y, sign * psi
        assert w.tick() == on
    w.p["bias"] = 0.2
    assert w.tick() == LOST


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
