"""A lane kept by each sensor of place, in simulated time: what it does wrong is not followed, or ends as promised."""

from dataclasses import replace

import numpy as np
import pytest

from riderless.firmware_interface.twins.place.sensor import PlaceFault
from riderless.hil.design.methods import design
from riderless.hil.logs.log import read_run
from riderless.hil.loop.states import Cause, State
from riderless.hil.rig.file import read_rig
from riderless.hil.runners.emulation import Emulation
from riderless.hil.runners.replay import replay
from riderless.hil.runners.simulated_run import run_lockstep
from riderless.models.plant.plant import Kick, Scenario, Surroundings
from tests.paths import ROOT

V = 4.0  # m/s


def rig_with(sensor):
    """The rig of the docs with this sensor."""
    rig = read_rig(ROOT / "docs" / "rigs" / ("camera.toml" if sensor == "camera" else "rtk.toml"))
    if sensor != "nmea":
        return rig
    return replace(rig, ports=tuple(replace(p, device="nmea" if p.device == "ubx" else p.device) for p in rig.ports))


def ride(folder, sensor, seconds=12.0, faults=(), kicks=(), seed=1, **place):
    rig = rig_with(sensor)
    rig = replace(rig, place=replace(rig.place, **place))
    outcome = run_lockstep(
        folder,
        rig,
        design(rig.bicycle, "lane", [V - 0.5, V, V + 0.5]),
        Scenario(speed=((0.0, V),), kicks=kicks, release_after=1.5, seed=seed),
        seconds,
        emulation=Emulation("nonlinear", Surroundings(belt_width=rig.place.belt_width), place_faults=faults),
    )
    return outcome, read_run(folder)


def running(run):
    return run.ticks[run.ticks["state"] == State.RUNNING]


@pytest.mark.parametrize("sensor", ["nmea", "ubx", "camera"])
def test_a_lane_is_kept_for_a_minute(tmp_path, sensor):
    kicks = tuple(Kick(t, impulse=4.0 * (-1) ** k) for k, t in enumerate(np.arange(6.0, 56.0, 12.0)))
    outcome, run = ride(tmp_path / "run", sensor, 60.0, kicks=kicks)
    assert outcome.reason == "success", outcome.cause
    rows = running(run)
    assert 0.05 < np.abs(rows["y_est"]).max() < 0.55  # it was kicked
    assert np.median(np.abs(rows["y_est"])) < 0.08
    gone = rows["x_est"][-1] - rows["x_est"][0]
    assert gone == pytest.approx(V * 60.0, rel=0.005)
    assert replay(run).identical


@pytest.mark.parametrize("sensor", ["ubx", "camera"])
@pytest.mark.parametrize("kind", ["silent", "float", "frozen", "jump"])
def test_a_place_that_is_lost_ramps_down(tmp_path, sensor, kind):
    outcome, run = ride(tmp_path / "run", sensor, faults=(PlaceFault(kind, 4.0, 99.0, 1.0),))
    assert outcome.reason == "fault"
    assert Cause(int(run.ticks["cause"][-1])) == Cause.PLACE_LOST
    # on a belt nothing but y shows a picture that stands still, once the bicycle has moved sideways
    within = 4.5 if (sensor, kind) == ("camera", "frozen") else 1.6
    assert run.ticks["t"][run.ticks["T_cmd"] != 0.0][-1] < 4.0 + within


@pytest.mark.parametrize("sensor", ["nmea", "camera"])
def test_outliers_and_a_jump_for_a_moment_are_not_followed(tmp_path, sensor):
    faults = (PlaceFault("outliers", 3.0, 99.0, 0.1), PlaceFault("jump", 5.0, 5.03, 1.0))
    outcome, run = ride(tmp_path / "run", sensor, faults=faults, lost_after=0.8)
    assert outcome.reason == "success", outcome.cause
    assert np.abs(running(run)["y_est"]).max() < 0.15  # a metre, if it followed
    assert np.nanmax(np.abs(running(run)["y_meas"])) < 0.4


def test_where_the_rig_says_so_it_balances_on(tmp_path):
    _, run = ride(tmp_path / "run", "ubx", 6.0, faults=(PlaceFault("silent", 3.0, 99.0),), lost="balance")
    rows = running(run)
    after = rows[rows["place_age"] > 0.7]
    assert len(after) > 300
    assert np.abs(after["phi_est"]).max() < 0.2
