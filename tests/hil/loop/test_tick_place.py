"""The tick on a machine that senses its place or keeps its speed: what these notice counts, and the law is told."""

import numpy as np
import pytest

from riderless.firmware_interface.devices.link import ROLE_DRIVE, ROLE_SENSORS, ROLE_SPEED
from riderless.hil.loop.excitation import Excitation
from riderless.hil.loop.pace.entry import reach_pace
from riderless.hil.loop.pace.settings import SpeedDrive, speed_corners
from riderless.hil.loop.place.entries import reach_place
from riderless.hil.loop.place.settings import PlaceSettings
from riderless.hil.loop.states import State, Symptom, Verdict
from riderless.models import load_bicycle
from tests.hil.loop.scripted import DT, Scripted

PSI, Y = 0.1, 0.2  # rad, m


def placed(known=True, lost="stop", belt_width=None, excitation=None):
    """A scripted loop that has its sensor of place, at `PSI` and `Y`; nobody holds it."""
    s = Scripted(excitation=excitation)
    s.ticks(3)
    settings = PlaceSettings(lost=lost, belt_width=belt_width, lost_after=1.0)
    s.loop = s.loop._replace(tracking=reach_place(settings.as_record(load_bicycle("Silver"), DT)))
    s.loop.place["known"], s.loop.place["lost"] = known, not known
    s.loop.place["psi"], s.loop.place["y"], s.loop.place["age"] = PSI, Y, 0.0
    return s.running()


def paced(corners=((0.0, 5.0),)):
    """A scripted loop that keeps its speed by a belt, of which nothing is heard."""
    s = Scripted(roles=(ROLE_SENSORS, ROLE_DRIVE, ROLE_SPEED))
    s.ticks(3)
    settings = reach_pace(SpeedDrive(ramp=3.0).as_record(10.0))
    s.loop = s.loop._replace(pace=settings, asked_speeds=speed_corners(corners))
    return s


def held(s):
    """The same machine in CHECK, and turning faster than a machine at rest."""
    return s.into(State.CHECK).turning()


def test_a_lost_place_is_noticed_beside_all_else():
    noticed = int(held(placed(known=False)).tick()["symptoms"])
    assert noticed & Symptom.PLACE_LOST
    assert noticed & Symptom.REST_RATE


def test_a_known_place_is_no_symptom_and_takes_none_away():
    noticed = int(held(placed()).tick()["symptoms"])
    assert not noticed & Symptom.PLACE_LOST
    assert noticed & Symptom.REST_RATE


def test_a_wheel_beyond_the_edge_is_noticed():
    assert not int(placed(belt_width=1.2).tick()["symptoms"]) & Symptom.BELT_EDGE
    assert int(placed(belt_width=0.5).tick()["symptoms"]) & (Symptom.BELT_EDGE | Symptom.OFF_BELT) == (
        Symptom.BELT_EDGE | Symptom.OFF_BELT
    )


@pytest.mark.parametrize("lost", ["stop", "balance"])
def test_under_control_a_machine_may_balance_on_without_its_place(lost):
    s = placed(known=False, lost=lost)
    assert bool(int(s.tick()["symptoms"]) & Symptom.PLACE_LOST) == (lost == "stop")
    assert int(held(s).tick()["symptoms"]) & Symptom.PLACE_LOST


def test_the_law_is_told_the_place_but_while_the_lane_is_held_back():
    s, told = placed(excitation=Excitation(held_back=((0.0, 2 * DT),))), []
    for _ in range(5):
        verdict = int(s.tick()["verdict"])
        told.append(
            (bool(verdict & Verdict.LANE_HELD_BACK), float(s.loop.signals["psi"]), float(s.loop.signals["y_P"]))
        )
        assert abs(s.loop.place["y"]) > 0.1
    assert told[:2] == [(True, 0.0, 0.0)] * 2
    assert [one[0] for one in told[2:]] == [False] * 3
    assert np.array(told[2:])[:, 1:] == pytest.approx(np.tile([PSI, Y], (3, 1)), abs=0.02)


def test_a_belt_that_is_not_heard_is_noticed_beside_all_else():
    noticed = int(held(paced()).tick()["symptoms"])
    assert noticed & Symptom.SPEED_DRIVE
    assert noticed & Symptom.REST_RATE


def test_a_belt_is_judged_by_nobody_while_the_machine_is_off():
    s = paced().into(State.DISARMED)
    assert not int(s.tick()["symptoms"]) & Symptom.SPEED_DRIVE


def test_the_speed_asked_follows_its_corners_over_the_time_under_control():
    s = paced(corners=((0.0, 5.0), (1.0, 6.0))).running()
    s.loop.pacing["age"], s.loop.pacing["reported"] = 0.0, 5.0
    s.ticks(40)  # with the sample before them it came under control
    assert float(s.loop.pacing["asked"]) == pytest.approx(5.0 + 40 * DT, abs=1e-6)
