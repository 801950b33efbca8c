"""Place in the whole loop, in simulated time: it keeps its lane, and what its sensor does wrong ends as promised."""

from dataclasses import replace

import numpy as np
import pytest

from riderless.firmware_interface.twins.place.sensor import PlaceFault
from riderless.hil.design.methods import design
from riderless.hil.logs.log import read_run
from riderless.hil.loop.place.settings import PlaceSettings
from riderless.hil.loop.states import Cause, State
from riderless.hil.loop.tick_record import TICK, YOUNGER_COLUMNS
from riderless.hil.rig.fitting import with_emulated_place
from riderless.hil.rig.rig import Rig, RigPort
from riderless.hil.runners.emulation import Emulation
from riderless.hil.runners.replay import replay
from riderless.hil.runners.simulated_run import run_lockstep, simulate
from riderless.models import load_bicycle
from riderless.models.errors import InputError
from riderless.models.linear.whipple import canonical_matrices
from riderless.models.plant.plant import Kick, Scenario, Surroundings

KICK, HEIGHT = 0.35, 0.8  # rad/s of lean, m above the ground
WIDTH = 1.2  # m


def kicks(bicycle, seed, seconds, every=4.0):
    """Kicks to random sides."""
    rng, strength = np.random.default_rng(seed), KICK * canonical_matrices(bicycle).M[0, 0] / HEIGHT
    return tuple(
        Kick(1.0 + t, impulse=float(strength * rng.choice([-1, 1]))) for t in np.arange(0.0, seconds - 2.0, every)
    )


def ride(folder, name, v, method="lane", faults=(), seconds=14.0, seed=1, model="nonlinear", **settings):
    """Ride on a belt with edges; its outcome and its run."""
    bicycle = load_bicycle(name)
    rig = with_emulated_place(Rig(bicycle), WIDTH)
    rig = replace(rig, place=replace(rig.place, **settings))
    outcome = run_lockstep(
        folder,
        rig,
        design(bicycle, method, [v - 0.5, v, v + 0.5]),
        Scenario(speed=((0.0, v),), kicks=kicks(bicycle, seed, seconds), release_after=0.5, seed=seed),
        seconds,
        emulation=Emulation(model, Surroundings(belt_width=WIDTH), place_faults=faults),
    )
    return outcome, read_run(folder)


def running(run):
    return run.ticks[run.ticks["state"] == State.RUNNING]


@pytest.mark.parametrize(("name", "v"), [("Silver", 2.5), ("Benchmark", 4.5), ("Pista", 3.5), ("Rigid", 6.0)])
def test_it_keeps_its_lane_on_a_belt_with_edges(tmp_path, name, v):
    outcome, run = ride(tmp_path / "run", name, v)
    assert outcome.reason == "success"
    assert [m for m in run.markers if m.kind == "fall"] == []
    rows = running(run)
    assert np.abs(rows["y_est"]).max() > 0.08  # it was kicked
    front = rows["y_est"] + load_bicycle(name).w * rows["psi_est"]
    assert max(np.abs(rows["y_est"]).max(), np.abs(front).max()) < 0.55
    assert np.abs(rows["y_est"][-1]) < 0.15


@pytest.mark.parametrize("name", ["Silver", "Benchmark"])
def test_without_place_in_its_gains_it_comes_to_the_edge_and_is_stopped(tmp_path, name):
    outcome, run = ride(tmp_path / "run", name, 4.0, method="lqr")
    assert (outcome.reason, Cause(int(run.ticks["cause"][-1]))) == ("fault", Cause.BELT_EDGE)
    assert "edge of the belt" in outcome.cause


def test_a_machine_without_place_falls_off_and_the_run_ends(tmp_path):
    bicycle = load_bicycle("Silver")
    run = simulate(
        bicycle,
        design(bicycle, "lqr", [4.0]),
        speed=4.0,
        kicks=kicks(bicycle, 1, 14.0),
        duration=14.0,
        surroundings=Surroundings(belt_width=2.0),
        model="linear",
    )
    assert run.stop.reason == "fault"
    assert run.stop.cause.startswith("a wheel left the belt ")
    seconds = float(run.stop.cause.split()[5])
    assert 1.0 < seconds < 4.2  # after the first kick, at 1 s
    assert running(run)["t"][-1] - running(run)["t"][0] < seconds + 1.0  # and not on to the 14 s


def test_a_run_with_place_replays_to_the_last_bit(tmp_path):
    _, run = ride(tmp_path / "run", "Silver", 4.0, seconds=5.0)
    assert replay(run).identical
    assert np.isfinite(running(run)["y_meas"]).all()
    rows = run.ticks.copy()
    rows["psi_est"][600] += 1e-12
    assert "psi_est" in replay(replace(run, ticks=rows)).sentence


def test_a_run_of_before_has_no_such_columns_and_replays(tmp_path):
    bicycle = load_bicycle("Silver")
    run = simulate(bicycle, design(bicycle, "lqr", [4.0]), speed=4.0, duration=1.0, model="linear")
    assert np.isnan(run.ticks["y_est"]).all()
    younger = {column.name for column in YOUNGER_COLUMNS}
    old = np.dtype([(name, TICK[name]) for name in TICK.names if name not in younger], align=True)
    rows = np.zeros(len(run.ticks), old)
    for name in old.names:
        rows[name] = run.ticks[name]
    before = replace(run, ticks=rows)
    assert replay(before).identical
    rows["T_cmd"][500] += 1.0
    assert "T_cmd" in replay(before).sentence


PROMISES = {  # fault from 4 s on -> cause, and s within which the torque is gone
    "silent": (PlaceFault("silent", 4.0, 99.0), Cause.PLACE_LOST, 0.6),
    "frozen": (PlaceFault("frozen", 4.0, 99.0), Cause.PLACE_LOST, 1.5),
    "outliers": (PlaceFault("outliers", 4.0, 99.0, 0.6), Cause.PLACE_LOST, 1.0),
    "late": (PlaceFault("late", 4.0, 99.0, 0.35), Cause.PLACE_LOST, 0.6),
    "noisy": (PlaceFault("noisy", 4.0, 99.0, 150.0), Cause.PLACE_LOST, 1.0),
}
RIDDEN = {  # what it rides through
    "silent for a moment": PlaceFault("silent", 4.0, 4.2),
    "some outliers": PlaceFault("outliers", 4.0, 99.0, 0.1),
    "ten times the noise": PlaceFault("noisy", 4.0, 99.0, 10.0),
    "late by 0.1 s": PlaceFault("late", 4.0, 99.0, 0.1),
    "drift of 2 cm/s": PlaceFault("drift", 4.0, 9.0, 0.02),
}


@pytest.mark.parametrize("kind", PROMISES)
def test_a_sensor_of_place_that_fails_ramps_down_in_time(tmp_path, kind):
    fault, cause, within = PROMISES[kind]
    outcome, run = ride(tmp_path / "run", "Fisher", 4.0, faults=(fault,))
    assert outcome.reason == "fault"
    assert Cause(int(run.ticks["cause"][-1])) == cause
    torque = run.ticks["t"][run.ticks["T_cmd"] != 0.0]
    assert torque[-1] < 4.0 + within


CONTRADICTED = {  # by gyro and speed, with all wheels on the belt
    "wrong sign": (PlaceFault("scale", 14.0, 99.0, -0.5),),
    "a quarter of the way": (PlaceFault("scale", 14.0, 99.0, 0.25),),
    "drift of 10 cm/s": (PlaceFault("drift", 14.0, 99.0, 0.1),),
    "drift of 40 cm/s to the left": (PlaceFault("drift", 14.0, 99.0, -0.4),),
    "four steps of 14 cm": tuple(PlaceFault("jump", 14.0 + i, 15.0 + i if i < 3 else 99.0, 0.14 * i) for i in range(4)),
}


@pytest.mark.parametrize("kind", CONTRADICTED)
@pytest.mark.parametrize(("name", "v"), [("Silver", 3.0), ("Fisher", 6.0)])
def test_fixes_that_move_as_the_bicycle_does_not_end_the_ride_on_the_belt(tmp_path, kind, name, v):
    outcome, run = ride(tmp_path / "run", name, v, faults=CONTRADICTED[kind], seconds=24.0)
    assert outcome.reason == "fault"
    near_edge = {Cause.BELT_EDGE} if "steps" in kind else set()  # where a kick has brought it when the place jumps
    assert Cause(int(run.ticks["cause"][-1])) in {Cause.PLACE_LOST, *near_edge}
    torque = run.ticks["t"][run.ticks["T_cmd"] != 0.0]
    assert all(marker.t > torque[-1] for marker in run.markers if marker.kind == "fall")


@pytest.mark.parametrize("kind", RIDDEN)
def test_it_rides_through_less(tmp_path, kind):
    outcome, run = ride(tmp_path / "run", "Fisher", 4.0, faults=(RIDDEN[kind],))
    assert outcome.reason == "success"
    assert [m for m in run.markers if m.kind == "fall"] == []


def test_where_the_rig_says_so_it_balances_on_without_its_place(tmp_path):
    _, run = ride(
        tmp_path / "run",
        "Silver",
        4.0,
        faults=(PlaceFault("silent", 2.0, 99.0),),
        seconds=4.5,
        lost="balance",
    )
    rows = running(run)
    after = rows[rows["place_age"] > 0.4]
    assert len(after) > 200  # it was under control all the while, a kick at 1 s and place lost at 2.3 s
    assert np.abs(after["phi_est"]).max() < 0.2


def test_gains_that_keep_a_lane_want_a_sensor_of_place(tmp_path):
    bicycle = load_bicycle("Silver")
    with pytest.raises(InputError, match="no sensor of place"):
        simulate(bicycle, design(bicycle, "lane", [4.0]), rig=Rig(bicycle), model="linear")


@pytest.mark.parametrize(
    ("ports", "place", "says"),
    [
        ((RigPort(), RigPort(device="distance", carries=("place",))), None, r"no \[place\]"),
        ((RigPort(),), PlaceSettings(), "no port that carries it"),
        ((RigPort(), *(RigPort(device="distance", carries=("place",)),) * 2), PlaceSettings(), "one sensor of place"),
        ((RigPort(), RigPort(device="vesc", carries=("place",))), PlaceSettings(), "can carry"),
    ],
)
def test_a_rig_has_its_sensor_and_its_settings_or_neither(ports, place, says):
    with pytest.raises(InputError, match=says):
        Rig(load_bicycle("Silver"), ports=ports, place=place)
