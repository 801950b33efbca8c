"""What is foretold on paper, beside a bicycle that was emulated, kicked by its drive, logged and read again."""

import numpy as np
import pytest

from riderless.experiments.analysis.identification.forced_windows import kicked_windows
from riderless.experiments.experiment_design.choice import window_information
from riderless.experiments.experiment_design.paper_windows import (
    PaperKick,
    Sensors,
    kick_amplitude,
    paper_theory,
    paper_window,
)
from riderless.experiments.recordings.run_response import response_of_run
from riderless.experiments.reports.identify import identify_parameters
from riderless.hil.design.methods import design
from riderless.hil.logs.log import read_run
from riderless.hil.loop.excitation import Excitation
from riderless.hil.rig.rig import Rig
from riderless.hil.rig.task import Task
from riderless.hil.runners.emulation import Emulation
from riderless.hil.runners.simulated_run import run_lockstep
from riderless.models import catalogue
from riderless.models.plant.plant import Scenario
from riderless.models.plant.steer_drive import SteerDrive

V, SPACING, KICK = 4.5, 4.0, PaperKick("drive", 0.3, 0.2)
FREE = ("drive_gain", "steer_damping")


@pytest.fixture(scope="module")
def machine():
    rig = Rig(catalogue.load_bicycle("Silver"))
    return rig, design(rig.bicycle, "lqr", [4.0, 4.25, 4.5, 4.75, 5.0], rig.timing, weights={"T_delta": 0.03})


@pytest.fixture(scope="module")
def weak(machine, tmp_path_factory):
    """Run of a bicycle that kicks itself three times, with a drive that makes nine tenths of what it is told."""
    rig, gains = machine
    kicks = Excitation("kicks", kick_amplitude(rig, gains, V, KICK), 3 * SPACING, 0.1, 2.5, delay=1.0, periods=3)
    folder = tmp_path_factory.mktemp("kicks") / "run"
    weak_drive, scenario = Emulation(drive=SteerDrive(gain=0.9)), Scenario(speed=((0.0, V),), release_after=0.5, seed=3)
    run_lockstep(folder, rig, gains, scenario, 14.0, "weak", None, weak_drive, Task(kicks))
    return read_run(folder)


def test_the_kicks_are_in_the_recording_as_they_were_played(weak):
    response = response_of_run(weak)
    on = np.abs(response.T_played) > 0.0
    assert not response.free[on].any()
    sides = [np.sign(response.T_played[i + 5]) for i in np.flatnonzero(~on[:-1] & on[1:])]
    assert sides == [1.0, -1.0, 1.0]
    # the command is the law's and the kick's: without the kick it is small where the kick begins, from rest
    first = np.flatnonzero(on)[0]
    rows = slice(first, first + 8)
    assert np.abs(response.T_delta[rows] - response.T_played[rows]).max() < 0.1 * np.abs(response.T_played[on]).max()


def test_the_windows_of_a_drives_kicks_begin_before_them(weak):
    response = response_of_run(weak)
    found = kicked_windows(response)
    assert len(found) == 3
    begins = response.t[np.flatnonzero(np.diff((np.abs(response.T_played) > 0.0).astype(int)) > 0) + 1]
    assert [one.window.t_start for one in found] == pytest.approx(begins - 0.1, abs=0.006)


def test_a_weak_drive_shows_in_how_far_its_kicks_throw_the_bicycle(weak):
    found = identify_parameters(weak, FREE).found
    gain, damping = found.values
    assert gain == pytest.approx(0.9, abs=4 * found.std[0])
    assert damping == pytest.approx(0.0, abs=4 * found.std[1])
    assert found.std[0] < 0.001  # windows that begin when the kick is over know it to 0.002


def test_what_is_foretold_is_what_is_measured(machine, weak):
    rig, gains = machine
    theory = paper_theory(rig, gains, Sensors()).move({"drive_gain": 0.9})
    paper = 3.0 * window_information(paper_window(theory, V, SPACING, KICK, kick_amplitude(rig, gains, V, KICK)), FREE)
    there = {"drive_gain": 0.9, "steer_damping": 0.0}
    measured = sum(window_information(one, FREE, there) for one in kicked_windows(response_of_run(weak)))
    foretold, found = (np.sqrt(np.diag(np.linalg.inv(one))) for one in (paper, measured))
    assert foretold == pytest.approx(found, rel=0.1)


def test_half_the_noise_is_half_the_deviation(machine):
    rig, gains = machine
    stds = []
    for share in (1.0, 0.5):
        sensors = Sensors(gyro=0.003 * share, steer_step=1e-3 * share, accel=0.03 * share, wheel=0.02 * share)
        window = paper_window(paper_theory(rig, gains, sensors), V, SPACING, KICK, 1.0, sensors)
        stds.append(np.sqrt(np.diag(np.linalg.inv(window_information(window, FREE)))))
    assert stds[1] == pytest.approx(0.5 * stds[0], rel=0.03)


def test_a_delay_is_sought_beside_a_known_torque(machine):
    """A delay beyond one sample gives the loop one state more."""
    rig, gains = machine
    window = paper_window(paper_theory(rig, gains, Sensors()), V, SPACING, KICK, 1.0)
    told = window_information(window, ("drive_gain", "more_delay"))
    assert np.linalg.eigvalsh(told).min() > 0.0
