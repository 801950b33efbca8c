"""Heading and place from gyro and fixes, against motion computed here."""

import numpy as np
import pytest

from riderless.firmware_interface.devices.link import LINK_STATE, ROLE_PLACE
from riderless.firmware_interface.messages import FIX_Y, SAMPLE
from riderless.hil.loop.law import LOOP_SIGNALS
from riderless.hil.loop.observer import ESTIMATE
from riderless.hil.loop.place.settings import PlaceSettings
from riderless.hil.loop.place.tracker import MOST_BIAS, new_place, tell_place, track_place
from riderless.hil.loop.states import Symptom
from riderless.models import load_bicycle
from riderless.models.errors import InputError

DT, V = 0.005, 4.0
LOST, EDGE, OFF = int(Symptom.PLACE_LOST), int(Symptom.BELT_EDGE), int(Symptom.OFF_BELT)


class Ride:
    """Bicycle that winds along a lane, seen by a gyro with a bias and by fixes that are late."""

    def __init__(self, late=0.08, every=20, bias=0.01, y0=0.0, askew=0.0, **settings):
        self.o = PlaceSettings(**{"z": -0.5, **settings}).as_record(load_bicycle("Silver"), DT)
        self.p, self.links = new_place(), np.zeros(1, LINK_STATE)
        self.links[0]["role"] = ROLE_PLACE
        self.e, self.sample = np.zeros(1, ESTIMATE)[0], np.zeros(1, SAMPLE)[0]
        self.late, self.every, self.bias, self.y0, self.askew = late, every, bias, y0, askew
        self.k, self.on, self.t0 = 0, 0, 2.0
        self.rows = []

    def truth(self, t):
        """Place, heading, yaw rate and lean at ``t``: y'' = v psi_dot as small angles have it."""
        s = max(t - self.t0, 0.0)
        psi, psi_dot = 0.05 * np.sin(2.0 * s), 0.1 * np.cos(2.0 * s) * (s > 0)
        y = self.y0 + V * (0.025 * (1.0 - np.cos(2.0 * s)) + self.askew * s)
        return y, psi + self.askew * (s > 0), psi_dot, 0.03 * np.sin(3.0 * s)

    def go(self, seconds, say=lambda t, y: y, held=False):
        """Ride on; ``say`` makes a fix [m] of its time and the place of what the sensor sees, None: none."""
        for _ in range(round(seconds / DT)):
            t = self.k * DT
            y, psi, psi_dot, phi = self.truth(t)
            self.e["t"], self.e["v"], self.e["phi"] = t, V, phi
            self.e["psi_dot"] = psi_dot + self.bias
            if self.k % self.every == 0:
                then = t - self.late
                y_then, _, _, phi_then = self.truth(then)
                seen = say(then, y_then + 0.5 * np.sin(phi_then))
                if seen is not None:
                    fix = self.links[0]["fix"]
                    fix["seq"] += 1
                    fix["has"], fix["y_mm"], fix["age_us"] = FIX_Y, round(1e3 * seen), round(1e6 * self.late)
            self.on = track_place(self.o, self.p, self.links, self.e, self.sample, True, held, DT)
            self.rows.append((t, self.p["y"] - y, self.p["psi"] - psi))
            self.k += 1
        return np.array(self.rows)


def started(**how):
    ride = Ride(**how)
    ride.go(2.0, held=True)
    assert ride.on == 0
    return ride


@pytest.mark.parametrize(("late", "every"), [(0.0, 1), (0.005, 2), (0.08, 20), (0.2, 40)])
def test_place_and_heading_are_those_of_the_bicycle_however_late_and_seldom_the_fixes(late, every):
    ride = started(late=late, every=every)
    rows = ride.go(12.0)
    after = rows[rows[:, 0] > 8.0]
    assert np.abs(after[:, 1]).max() < 0.004
    assert np.abs(after[:, 2]).max() < 0.004
    assert ride.p["bias"] == pytest.approx(0.01, abs=0.002)  # what was left of the gyro's


@pytest.mark.parametrize("reads", [-0.02, 0.09])
def test_a_bias_of_the_pitch_gyro_turns_no_heading_however_the_bicycle_leans(reads):
    """It was integrated with the lean: a part of the loop under lane gains that no theory has."""
    rides = [Ride(), Ride()]
    for ride, bias in zip(rides, (0.0, reads), strict=True):
        chance = np.random.default_rng(3)
        for held, seconds in ((True, 3.0), (False, 4.0)):
            for _ in range(round(seconds / DT)):
                ride.sample["theta_dot_meas"] = bias + 0.003 * chance.standard_normal()
                ride.go(DT, held=held)
    without, with_bias = (np.array(ride.rows) for ride in rides)
    assert np.abs(with_bias - without).max() < 1e-12
    assert rides[1].p["pitch_bias"] == pytest.approx(reads, abs=0.0006)


def test_a_pitch_gyro_that_lies_in_hand_is_believed_no_farther_than_any_bias():
    ride = Ride()
    ride.sample["theta_dot_meas"] = 30.0
    ride.go(1.0, held=True)
    assert ride.p["pitch_bias"] == MOST_BIAS


def test_a_delay_that_nobody_knows_of_is_seen_as_an_error():
    ride = started(late=0.08)
    ride.o["delay"] = 0.2  # more than there is
    rows = ride.go(12.0)
    assert np.abs(rows[rows[:, 0] > 8.0, 1]).max() > 0.01  # so the test above can fail


@pytest.mark.parametrize("askew", [-0.06, 0.06])  # 0.24 m/s sideways
def test_a_bicycle_that_is_let_go_askew_is_no_sensor_that_drifts(askew):
    ride = started(every=2, late=0.005, askew=askew)
    for _ in range(40):
        ride.go(0.5)
        assert ride.on == 0
    rows = ride.go(0.5)
    assert np.abs(rows[-100:, 2]).max() < 0.004


@pytest.mark.parametrize(("rate", "found"), [(0.02, 0), (0.1, LOST), (-0.4, LOST)])
def test_fixes_that_drift_beyond_what_gyro_and_speed_can_tell_are_lost(rate, found):
    ride = started(every=2, late=0.005)
    ride.go(12.0)
    began = ride.k * DT
    ride.go(2.0, say=lambda t, y: y + rate * max(t - began, 0.0))
    assert ride.on == found
    ride.go(2.0, held=True)
    assert ride.on == 0  # in a person's hands it begins anew


def test_before_its_first_fixes_the_place_is_lost():
    ride = Ride()
    ride.go(0.5, say=lambda t, y: None, held=True)
    assert ride.on == LOST


def test_outliers_move_nothing():
    ride = started(every=2, late=0.005)
    rng = np.random.default_rng(1)
    rows = ride.go(6.0, say=lambda t, y: y + (1.0 if rng.random() < 0.1 else 0.0))
    assert np.abs(rows[:, 1]).max() < 0.02
    assert ride.on == 0


@pytest.mark.parametrize(
    ("say", "within"),
    [
        (lambda t, y: None, 0.35),  # silent
        (lambda t, y: 0.05, 1.0),  # frozen
        (lambda t, y: y + 0.5, 0.35),  # jumped
        (lambda t, y: y + 0.4 * np.random.default_rng(round(1e3 * t)).normal(), 1.0),  # noisy beyond use
    ],
)
def test_a_sensor_that_fails_is_a_place_lost_in_time(say, within):
    ride = started(every=2, late=0.005)
    ride.go(2.0)
    assert ride.on == 0
    steps = 0
    while ride.on != LOST and steps < 400:
        ride.go(DT, say=say)
        steps += 1
    assert steps * DT <= within + 0.01


def test_balancing_on_without_a_place_is_no_symptom_but_under_way_only():
    ride = started(lost="balance", every=2, late=0.005)
    ride.go(2.0, say=lambda t, y: None)
    assert ride.on == 0
    assert ride.p["lost"]
    ride.go(0.1, say=lambda t, y: None, held=True)
    assert ride.on == LOST


def test_a_place_that_was_lost_is_found_again_where_the_fixes_agree():
    ride = started(every=2, late=0.005, lost="balance")
    ride.go(1.0, say=lambda t, y: None)
    assert ride.p["lost"]
    ride.p["y"] += 1.0  # it has gone astray meanwhile
    rows = ride.go(3.0)
    assert not ride.p["lost"]
    assert abs(rows[-1, 1]) < 0.02


@pytest.mark.parametrize(("y0", "beyond"), [(0.3, False), (0.58, True), (-0.58, True)])
def test_near_the_edge_of_the_belt_it_says_so(y0, beyond):
    ride = Ride(y0=y0, belt_width=1.2, margin=0.05, every=2, late=0.005)
    ride.t0 = 1e9  # it stands there
    ride.go(1.0, held=True)
    assert ride.on == (EDGE if beyond else 0)


def test_the_front_wheel_is_on_the_belt_as_well():
    ride = started(belt_width=1.2, margin=0.05, every=2, late=0.005)
    ride.t0 = 1e9
    ride.p["psi"], ride.p["y"] = 0.2, 0.4  # m, and the front wheel 0.2 m farther
    ride.p["target"] = 0.4
    ride.go(DT, say=lambda t, y: None)
    assert ride.on == EDGE | OFF


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"lost": "hope"}, "lost"),
        ({"gate": 0.0}, "gate"),
        ({"belt_width": 0.05}, "belt_width"),
        ({"delay": 2.0}, "delay"),
        ({"bandwidth": float("nan")}, "bandwidth"),
    ],
)
def test_settings_without_meaning_are_refused(wrong, says):
    with pytest.raises(InputError, match=says):
        PlaceSettings(**wrong)


@pytest.mark.parametrize(("lost", "told"), [(0, (0.1, 0.2)), (1, (0.0, 0.0))])
def test_the_law_is_told_the_middle_of_the_lane_where_the_place_is_lost(lost, told):
    place, signals = new_place(), np.zeros(1, LOOP_SIGNALS)[0]
    place["psi"], place["y"], place["lost"] = 0.1, 0.2, lost
    signals["psi"] = signals["y_P"] = 7.0
    tell_place(place, signals)
    assert (signals["psi"], signals["y_P"]) == told
