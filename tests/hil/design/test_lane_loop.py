"""Whole sampled loop with heading and place: its modes, against motion in the loop itself."""

import numpy as np
import pytest

from riderless.experiments.analysis.identification.identifiability import emulated_loop
from riderless.hil.controllers.registry import controller_from_text
from riderless.hil.design.lane import LaneKeeping, hold_lane_back, lane_loop, lane_mode
from riderless.hil.design.methods import design
from riderless.hil.design.sampled_plant import LANE_GAIN_STATES
from riderless.hil.design.schedule import GainSchedule
from riderless.hil.loop.states import State
from riderless.hil.rig.fitting import emulated_rig
from riderless.hil.runners.simulated_run import simulate
from riderless.models import load_bicycle
from riderless.models.errors import InputError
from riderless.models.linear.prescribed_steer import InnerLoop
from riderless.models.plant.plant import Kick

RELEASED = 0.5  # s after the drive was enabled


@pytest.mark.parametrize(
    ("name", "drive"),
    [
        ("Silver", None),
        ("Pista", None),
        ("DelftSbW2024", None),
        ("Silver", InnerLoop(kind="rate", bandwidth=50.0, damping=1.0)),
        ("Pista", InnerLoop(kind="rate", bandwidth=80.0)),
        ("Benchmark", InnerLoop(kind="angle", bandwidth=50.0, damping=1.0)),
    ],
    ids=str,
)
def test_the_loop_moves_as_it_is_predicted_to(name, drive):
    bicycle, v = load_bicycle(name), 4.0
    gains = design(bicycle, "lane", [v], drive=drive)
    loop = emulated_loop(gains)
    kicked, quiet = (
        run.ticks[run.ticks["state"] == State.RUNNING]
        for run in (
            simulate(bicycle, gains, speed=v, kicks=kicks, duration=7.0, noise=0.05, model="linear")
            for kicks in ([Kick(1.0, impulse=2.0, duration=0.05)], [])
        )
    )  # the accelerometer's bias leans both for good
    moved = {name: kicked[name] - quiet[name] for name in kicked.dtype.names if name.endswith("_est")}
    begin = round((RELEASED + 1.0 + 0.05 + 0.2) / gains.loop.dt)
    x = loop.embed(v) @ [moved[f"{q}_est"][begin] for q in ("phi", "delta", "phi_dot", "delta_dot")]
    for tracked, true, column in (("psi_place", "psi", "psi_est"), ("y_place", "y_P", "y_est")):
        x[[loop.states.index(tracked), loop.states.index(true)]] = moved[column][begin]
    x[loop.states.index("psi_dot_place")] = x[loop.states.index("psi_dot_est")]
    M, path = loop.matrix(v), []
    for _ in range(800):
        path.append(x)
        x = M @ x
    for state, column in (("phi_est", "phi_est"), ("psi_place", "psi_est"), ("y_place", "y_est")):
        measured = moved[column][begin : begin + 800]
        off = np.abs(np.array(path)[:, loop.states.index(state)] - measured).max()
        assert off < 0.1 * np.abs(measured).max(), column


def test_the_lane_mode_is_among_the_eigenvalues_and_is_the_designs():
    bicycle = load_bicycle("Silver")
    gains = design(bicycle, "lane", [4.0])
    lane = next(s for s in gains.closed_loop[0] if s.imag > 0)  # the slowest pair
    assert lane.real == pytest.approx(-1.42, abs=0.05)
    whole = emulated_loop(gains).eigenvalues(4.0)
    assert np.abs(whole - lane).min() < 0.15
    assert (whole.real < 0).all()


def test_without_place_there_is_no_such_mode():
    gains = design(load_bicycle("Silver"), "lqr", [4.0])
    loop = emulated_loop(gains)
    assert "y_P" not in loop.states
    assert len(loop.states) == 13


def test_the_file_of_gains_has_two_more_columns_and_reads_back():
    gains = design(load_bicycle("Silver"), "lane", [3.0, 4.0], weights={"y_P": 0.2})
    again = GainSchedule.from_toml(gains.to_toml())
    assert again.K.tolist() == gains.K.tolist()
    assert again.gain_states == LANE_GAIN_STATES
    assert again.inputs[-2:] == ("psi", "y_P")
    assert 'format = "riderless lane schedule 1"' in gains.to_toml()
    assert 'format = "riderless gain schedule 1"' in design(load_bicycle("Silver"), "lqr", [4.0]).to_toml()


def test_the_file_of_gains_for_another_drive_has_a_format_of_its_own():
    drive = InnerLoop(kind="rate", bandwidth=50.0, damping=1.0)
    gains = design(load_bicycle("Silver"), "lane", [3.0, 4.0], drive=drive)
    again = controller_from_text(gains.to_toml())
    assert isinstance(again, GainSchedule)
    assert again.drive == drive
    assert again.keeps_lane
    assert again.K.tolist() == gains.K.tolist()
    assert 'format = "riderless steer lane schedule 1"' in gains.to_toml()
    left = hold_lane_back(again)
    assert left.drive == drive
    assert left.K.tolist() == gains.K[:, :6].tolist()


def test_a_rig_for_such_gains_has_a_sensor():
    bicycle = load_bicycle("Silver")
    assert emulated_rig(bicycle, design(bicycle, "lane", [4.0])).place is not None
    assert emulated_rig(bicycle, design(bicycle, "lqr", [4.0])).place is None


def test_an_unknown_weight_is_refused():
    with pytest.raises(InputError, match="weights of a lane are"):
        LaneKeeping({"x": 1.0})


@pytest.mark.parametrize("name", ["Benchmark", "Fisher"])
def test_the_gain_margins_are_where_the_loop_loses_its_stability(name):
    bicycle, v = load_bicycle(name), 4.0
    gains = design(bicycle, "lane", [v])
    model, (least, most) = lane_loop(bicycle, v, gains.loop), gains.margins[0].gain
    of_bicycle = np.array([state not in ("T_drive", "u_prev") for state in LANE_GAIN_STATES])
    for factor, stable in ((1.02 * least, True), (0.98 * least, False), (0.98 * most, True), (1.02 * most, False)):
        K = np.where(of_bicycle, factor, 1.0) * gains.K[0]
        assert (np.abs(model.closed_loop(K)).max() < 1.0) == stable


@pytest.mark.parametrize("name", ["Silver", "Benchmark", "Pista"])
@pytest.mark.parametrize("v", [2.5, 4.0, 7.0])
def test_the_lane_mode_is_the_one_that_y_shows_last(name, v):
    bicycle = load_bicycle(name)
    gains = design(bicycle, "lane", [v])
    model = lane_loop(bicycle, v, gains.loop)
    mode = lane_mode(model, gains.K[0])
    x, ys = np.zeros(len(model.F)), []
    x[model.states.index("y_P")] = 0.1  # put beside its lane
    for _ in range(2400):
        ys.append(x[model.states.index("y_P")])
        x = (model.F - np.outer(model.G, model.narrow(gains.K[0]))) @ x
    late = np.array(ys[1200::20])
    rows = np.column_stack([late[:-2], late[1:-1]])
    a, b = np.linalg.lstsq(rows, late[2:], rcond=None)[0]  # y[k+2] = b y[k+1] + a y[k]: one pair is left
    seen = np.log(np.roots([1.0, -b, -a]).astype(complex)) / (20 * model.dt)
    assert np.abs(seen - mode).min() < 0.02 * abs(mode)
    assert f"{mode.real:.2f}" in gains.notes[0]
