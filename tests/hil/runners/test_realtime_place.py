"""A lane kept in real time: our node and a distance sensor behind two pseudo-terminals."""

import numpy as np
import pytest

from experiments.emulation.spawn import start_twin
from hil.design.methods import design
from hil.logs.log import read_run
from hil.loop.states import State
from hil.rig.file import read_rig
from hil.runners import session
from hil.runners.emulation import Emulation
from hil.runners.replay import replay
from models.plant.plant import Surroundings
from tests.hil.machine import scenario
from tests.paths import ROOT

pytestmark = pytest.mark.realtime


def test_a_lane_is_kept_behind_two_ports(tmp_path):
    rig = read_rig(ROOT / "docs" / "rigs" / "lane.toml")
    gains = design(rig.bicycle, "lane", (4.5, 5.0, 5.5), rig.timing)
    belt = Emulation("nonlinear", Surroundings(belt_width=rig.place.belt_width))
    for n in range(3):  # a machine that was busy for a moment is tried again
        with start_twin(rig, scenario(kicks=(0.5,)), belt) as twin:
            outcome = session.run_realtime(tmp_path / str(n), rig, gains, twin.paths, 5.0)
        if outcome.reason != "fault":
            break
    assert outcome.reason == "success", outcome.cause
    run = read_run(tmp_path / str(n))
    rows = run.ticks[run.ticks["state"] == State.RUNNING]
    assert np.abs(rows["y_est"]).max() > 0.03, "the kick moved it"
    assert np.abs(rows["y_est"][-40:]).max() < 0.1, "and it came back"
    assert np.median(rows["place_age"]) < 0.02
    assert replay(run).identical
