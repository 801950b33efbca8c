"""States of a controller, found again by a replay: they obey its own matrices, fed with the columns of the log."""

import json
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from typer.testing import CliRunner

import riderless as rl
from riderless.experiments.cli import app
from riderless.hil.design.compensators.methods import design_compensator
from riderless.hil.loop.states import State
from riderless.hil.runners.replay import replay, with_law_states
from riderless.models.errors import InputError
from riderless.models.plant.plant import Kick

SILVER, V = rl.load_bicycle("Silver"), 5.0


@pytest.fixture(scope="module")
def ride():
    law = design_compensator(SILVER, "lqg", (V,))  # of one speed: its matrices are the same at any reading
    return law, rl.simulate(SILVER, law, speed=V, duration=2.0, kicks=[Kick(0.5, 3.0)], model="linear")


def test_they_obey_the_matrices_from_tick_to_tick(ride):
    law, run = ride
    more = with_law_states(run)
    names = [f"law_{name}" for name in law.states]
    assert list(more.ticks.dtype.names) == [*run.ticks.dtype.names, *names]
    assert all(np.array_equal(more.ticks[name], run.ticks[name], equal_nan=True) for name in run.ticks.dtype.names)
    steered = np.flatnonzero((run.ticks["state"] == State.RUNNING) & (run.ticks["valid"] == 1))[2:]
    x = np.column_stack([more.ticks[name] for name in names])
    told = np.column_stack([run.ticks["phi_dot_est"], run.ticks["delta_meas"], np.roll(run.ticks["T_cmd"], 1)])
    assert law.inputs == ("phi_dot", "delta_meas", "u_prev")
    before, s = x[steered - 1], told[steered]
    assert np.abs(before[:, 0]).max() > 0.01
    assert_allclose(x[steered], before @ law.A[0].T + s @ law.B[0].T, atol=1e-12)
    assert_allclose(run.ticks["T_req"][steered], before @ law.C[0] + s @ law.D[0], atol=1e-12)


def test_the_command_writes_them_with_what_they_are(ride, tmp_path):
    law, run = ride
    folder = run.save(tmp_path / "run").parent
    arguments = ["export", str(folder), "--to", "csv", "-o", str(tmp_path / "a.csv"), "--law-states", "--json"]
    said = json.loads(CliRunner().invoke(app, arguments).stdout)
    assert said["rows"] == len(run.ticks)
    assert (tmp_path / "a.csv").read_text().splitlines()[0].endswith(",".join(f"law_{name}" for name in law.states))
    columns = json.loads((tmp_path / "a.header.json").read_text())["columns"]
    assert columns["law_phi_filter"]["meaning"] == "state phi_filter of the controller, after the tick"
    assert replay(rl.read_run(folder)).identical, "the log is as it was"


def test_gains_have_none_and_a_log_that_differs_gives_none(ride):
    _, run = ride
    gains = rl.design(SILVER, "lqr", (4.0, 5.0))
    with pytest.raises(InputError, match="has no states: leave --law-states out"):
        with_law_states(rl.simulate(SILVER, gains, speed=4.5, duration=0.5, model="linear"))
    ticks = run.ticks.copy()
    ticks["T_req"][300] += 1e-9
    with pytest.raises(InputError, match="follow from a replay, which differs here"):
        with_law_states(replace(run, ticks=ticks))
