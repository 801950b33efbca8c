"""Paths ridden by the loop, in simulated time: their log, its replay, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest

from riderless.hil.design.methods import design
from riderless.hil.guidance.path import Path
from riderless.hil.guidance.points import path_through_points
from riderless.hil.guidance.rideable import RideLimits
from riderless.hil.guidance.route import Route, plan_route
from riderless.hil.guidance.shapes import circle, lane_change, slalom
from riderless.hil.logs.log import read_run
from riderless.hil.loop.law import LOOP_SIGNALS
from riderless.hil.loop.place.route import ON_ROUTE, follow_route
from riderless.hil.loop.place.tracker import new_place
from riderless.hil.loop.states import State
from riderless.hil.rig.file import read_rig
from riderless.hil.rig.fitting import with_emulated_place
from riderless.hil.rig.rig import Rig
from riderless.hil.rig.task import Task
from riderless.hil.runners.emulation import Emulation
from riderless.hil.runners.replay import replay
from riderless.hil.runners.simulated_run import run_lockstep, simulate
from riderless.models import load_bicycle
from riderless.models.errors import InputError
from riderless.models.plant.plant import Scenario, Surroundings
from tests.paths import ROOT

V = 4.0


def points() -> Path:
    x = np.arange(0.0, 60.0, 2.0)
    return path_through_points(np.column_stack([x, 1.0 - np.cos(2 * np.pi * x / 60.0)]))


@pytest.mark.parametrize("path", [circle(-12.0, 0.5), slalom(10.0, 0.4, 3), points()], ids=lambda path: path.name)
def test_a_path_is_ridden_and_its_log_replays(tmp_path, path):
    rig = read_rig(ROOT / "docs" / "rigs" / "rtk.toml")
    route = plan_route(rig.bicycle, path, V, RideLimits())
    seconds = (route.rows[-1][0] - route.rows[0][0]) / V - 1.5  # it begins a second into the straight before it
    gains = design(rig.bicycle, "lane", [V - 0.5, V, V + 0.5])
    scenario = Scenario(speed=((0.0, V),), release_after=0.5, seed=2)
    outcome = run_lockstep(
        tmp_path / "run", rig, gains, scenario, seconds, emulation=Emulation("nonlinear"), task=Task(route=route)
    )
    assert outcome.reason == "success", outcome.cause
    run = read_run(tmp_path / "run")
    assert replay(run).identical
    assert replay(replace(run, header=replace(run.header, content={**run.header.content, "route": None}))).first
    rows = run.ticks[run.ticks["state"] == State.RUNNING]
    table = route.table()
    x, y = rows["x_est"] - rows["x_est"][0], rows["y_est"]
    near = [np.hypot(table[:, 1] - a, table[:, 2] - b).min() for a, b in zip(x[::20], y[::20], strict=True)]
    assert max(near) < 0.25
    turned = table[-1, 3] - table[0, 3]
    assert rows["psi_est"][-1] == pytest.approx(turned, abs=0.2)


def test_a_lane_change_on_a_belt_goes_by_the_wheel(tmp_path):
    bicycle = load_bicycle("Silver")
    rig = with_emulated_place(Rig(bicycle), 3.0)
    route = plan_route(bicycle, lane_change(0.5, 12.0), V, RideLimits())
    run = simulate(
        bicycle,
        design(bicycle, "lane", [V - 0.5, V, V + 0.5]),
        speed=V,
        duration=(route.rows[-1][0] - route.rows[0][0]) / V,
        model="nonlinear",
        surroundings=Surroundings(belt_width=3.0),
        rig=rig,
        route=route,
    )
    assert run.stop.reason == "success", run.stop.cause
    assert run.ticks["y_est"][-400:].mean() == pytest.approx(0.5, abs=0.08)


def test_what_the_law_is_told_is_off_the_path():
    """By geometry: on an arc, beside it, and turned off it."""
    route = plan_route(load_bicycle("Silver"), circle(10.0, 1.0), V, RideLimits()).table()
    i = len(route) // 2
    _, x, y, psi, _, phi, delta, *_ = route[i]
    place, at, signals = new_place(), np.zeros(1, ON_ROUTE)[0], np.zeros(1, LOOP_SIGNALS)[0]
    at["row"] = i - 3
    place["x"], place["y"], place["psi"] = x - 0.2 * np.sin(psi), y + 0.2 * np.cos(psi), psi + 0.03
    follow_route(route, at, place, signals, True)
    assert (signals["y_P"], signals["psi"]) == pytest.approx((0.2, 0.03), abs=2e-3)
    assert (signals["phi"], signals["delta"]) == pytest.approx((-phi, -delta), rel=1e-3)
    assert at["row"] in (i - 1, i)


def test_a_path_that_cannot_be_ridden_is_refused():
    bicycle = load_bicycle("Silver")
    with pytest.raises(InputError, match=r"asks for .* of lean"):
        plan_route(bicycle, circle(4.0), 5.0, RideLimits())
    route, gains = plan_route(bicycle, lane_change(1.0, 10.0), V, RideLimits()), design(bicycle, "lane", [V])
    with pytest.raises(InputError, match=r"leads a wheel 1\.\d\d m from the middle, and the belt's edge"):
        simulate(bicycle, gains, speed=V, rig=with_emulated_place(Rig(bicycle), 2.0), route=route, model="linear")
    round_and_round = plan_route(bicycle, circle(12.0), V, RideLimits())
    with pytest.raises(InputError, match=r"turns by 3\d\d deg off the lane, and a place known across"):
        simulate(bicycle, gains, speed=V, rig=with_emulated_place(Rig(bicycle)), route=round_and_round, model="linear")
    rtk = read_rig(ROOT / "docs" / "rigs" / "rtk.toml")
    with pytest.raises(InputError, match="the linear plant knows small headings only"):
        simulate(bicycle, gains, speed=V, rig=rtk, route=round_and_round, model="linear")
    with pytest.raises(InputError, match="the controller lqr keeps no lane, so it follows no path such as lane change"):
        simulate(bicycle, design(bicycle, "lqr", [V]), speed=V, route=route, model="linear")
    with pytest.raises(InputError, match="lengths that increase"):
        Route("worn", V, ((1.0,) * 10, (1.0,) * 10))
