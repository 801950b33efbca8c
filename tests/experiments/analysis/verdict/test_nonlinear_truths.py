"""Dead band, hysteresis and tyres of the emulated machine are named with their size, and not taken for one another."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2

from riderless.experiments.analysis.verdict.candidate import indistinguishable
from riderless.experiments.analysis.verdict.simulated_motion import RiddenMotion
from riderless.experiments.datatypes import Segment
from riderless.experiments.theories import lean_feedback
from riderless.hil.runners.emulation import Emulation
from riderless.models.plant.environment import Surroundings
from riderless.models.plant.side_slip import SideSlip
from riderless.models.plant.steer_drive import SteerDrive
from riderless.models.plant.tyres import FrontTyre
from tests.experiments.analysis.verdict.test_goodness_of_fit import lockstep
from tests.experiments.analysis.verdict.test_nonlinear_causes import ELEMENTS, SILVER, motion_of

TRUTHS = {
    "dead_band": (0.05, "N m", Emulation(drive=SteerDrive(dead_band=0.05))),
    "hysteresis": (0.05, "N m", Emulation(drive=SteerDrive(hysteresis=0.05))),
    "tyre_twisting": (2.0, "N m^2", Emulation(tyre=FrontTyre(twisting=2.0))),
    "tyre_trail": (0.01, "m", Emulation(tyre=FrontTyre(trail=0.01))),
    "tyre_slip": (0.05, "rad", Emulation(slip=SideSlip(compliance=0.05))),
}
SENSOR_KNOWN = {"imu_pitch": 0.0}  # two conditions do not tell a dead band from slip where it may be pitched


def named(tmp_path, name, speeds):
    size, unit, emulation = TRUTHS[name]
    found = lockstep(tmp_path, emulation, speeds, SENSOR_KNOWN).verdicts[0]
    assert not found.explained
    best = found.causes[0]
    assert best.name == name
    assert best.moved == pytest.approx(size, rel=0.1)
    assert best.chi2_left < chi2.isf(0.01, found.dof - 1)
    assert not set(TRUTHS) & {cause.name for cause in indistinguishable(found.causes)}
    assert f"with {name.replace('_', ' ')} at {best.moved:.4g} {unit} instead of 0" in found.sentence
    assert "unexplained" not in found.sentence


@pytest.mark.parametrize("name", ["hysteresis", "tyre_slip"])  # the slow test below has all of them
def test_what_the_steer_hides_is_named_and_measured(tmp_path, name):
    named(tmp_path, name, ("5.0", "3.0"))


@pytest.mark.slow
@pytest.mark.parametrize("name", list(TRUTHS))
def test_it_is_told_from_the_others_in_more_conditions(tmp_path, name):
    """Before, the start ran away with a trail: 0.005 m was named, with chi-square 84 left, and frame inertia beside."""
    named(tmp_path, name, ("3.8", "5.0", "3.0", "5.6"))


@pytest.mark.slow
@pytest.mark.parametrize(("drive", "name"), [({"delay": 0.02}, "more_delay"), ({"gain": 0.9}, "drive_gain")])
def test_a_linear_drive_is_not_taken_for_what_no_linear_theory_has(tmp_path, drive, name):
    found = lockstep(tmp_path, Emulation(drive=SteerDrive(**drive)), ("3.8", "5.0", "3.0", "5.6")).verdicts[0]
    assert found.causes[0].name == name
    assert not set(ELEMENTS) & {cause.name for cause in indistinguishable(found.causes)}


@pytest.mark.parametrize(
    ("name", "size"), [("tyre_trail", 0.03), ("tyre_twisting", 4.0), ("tyre_slip", 0.03), ("coulomb_friction", 0.02)]
)
def test_the_start_that_fits_best_is_found(name, size):
    """A motion made with the part is met to 0.002; with corrections one by one the start with a tyre ran away."""
    motion = motion_of(lean_feedback(SILVER, 2.0, 6.5), 6.0)
    x0 = np.zeros(len(motion.start.x))
    x0[:4] = 0.02, 0.01, 0.4, -0.3
    ridden = motion.machine.ride(x0, ((ELEMENTS[name], size),))
    response = replace(motion.segment.response, phi_dot=ridden[:, 0], delta=ridden[:, 1])
    again = RiddenMotion.of(Segment(response, motion.segment.window))
    y = ridden[motion.segment.window.rows, 0]
    found = again.lean_rate(((ELEMENTS[name], size),))
    assert np.std(y - found) < 2e-3 * np.std(y)


@pytest.mark.slow
@pytest.mark.parametrize("stop", [0.06, 0.1, 0.15])
def test_a_steer_stop_is_taken_for_no_other_part(tmp_path, stop):
    """Windows in which it is met are left out, and what happens before a window is part of its start."""
    found = lockstep(tmp_path, Emulation(surroundings=Surroundings(steer_stops=stop)), ("3.8", "5.0", "3.0", "5.6"))
    (verdict,) = found.verdicts
    assert verdict.explained is not False
    assert verdict.causes == ()
