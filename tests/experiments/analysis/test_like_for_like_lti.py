"""A controller with states, flown in lockstep: its log is read, replayed and explained by its own theory."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from riderless.experiments.analysis.analyze import analyze_responses
from riderless.experiments.recordings.read import read_recording
from riderless.experiments.reports import files
from riderless.experiments.reports.gather import report_on
from riderless.hil.design.compensators.methods import design_compensator
from riderless.hil.logs.log import read_run
from riderless.hil.rig.rig import Rig
from riderless.hil.runners.replay import replay
from riderless.hil.runners.simulated_run import run_lockstep
from riderless.models.catalogue import load_bicycle
from riderless.models.plant.plant import Kick, Scenario

SPEEDS = (4.0, 5.0, 6.0)


GENTLE = {"inner": "poles", "options": {"zeta": 0.2}, "bandwidth": 0.1}
RIDES = [  # bicycle, speed [m/s], kicks [N s], seed, design
    ("Rigid", 4.6, 10.0, 11, "yaw_rate", GENTLE),
    ("Stratos_computed", 5.8, 3.5, 13, "lqg", {}),
    ("Fisher", 5.4, 3.5, 12, "yaw_rate", GENTLE),
    ("Fisher", 5.6, 3.5, 14, "yaw_rate", {"inner": "lqg"}),
]
SLOW = [pytest.param(ride, marks=pytest.mark.slow) for ride in RIDES[2:]]


@pytest.fixture(scope="module", params=[*RIDES[:2], *SLOW], ids=lambda ride: f"{ride[0]}-{ride[4]}-{ride[3]}")
def flown(request, tmp_path_factory):
    """A controller with states in simulated time; six kicks."""
    name, v, impulse, seed, method, options = request.param
    rig = Rig(load_bicycle(name))
    made = design_compensator(rig.bicycle, method, SPEEDS, rig.timing, **options)
    kicks = tuple(Kick(1.0 + 3.2 * i, impulse * (-1) ** i) for i in range(6))
    folder = tmp_path_factory.mktemp("lti") / name
    scenario = Scenario(speed=((0.0, v),), kicks=kicks, seed=seed)
    outcome = run_lockstep(folder, rig, made, scenario, 20.0)
    assert outcome.reason == "success"
    return folder, made


def test_the_header_rebuilds_the_controller_and_the_replay_is_bit_identical(flown):
    folder, made = flown
    run = read_run(folder)
    again = run.header.schedule
    assert again.method == made.method
    for name in ("A", "B", "C", "D", "anti_windup"):
        assert_array_equal(getattr(again, name), getattr(made, name))
    result = replay(run)
    assert result.identical, result.sentence
    assert result.commands > 3900


def test_the_measured_motion_is_that_of_its_own_theory(flown):
    folder, _ = flown
    analysis = analyze_responses([read_recording(folder)])
    assert len(analysis.comparisons) >= 5
    z = np.array([[c.z_re, c.z_im] for c in analysis.comparisons])
    assert np.abs(z).max() < 3.0, z


@pytest.mark.parametrize("flown", RIDES[:1], indirect=True, ids=["first"])
def test_a_report_of_it_is_written_without_gains_to_draw(flown, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "save_figures", lambda *_: [])
    folder, _ = flown
    page = report_on(tmp_path / "report", "A ride", analyze_responses([read_recording(folder)]), runs=[folder])
    assert read_run(folder).header.controller in page.read_text(encoding="utf-8")
