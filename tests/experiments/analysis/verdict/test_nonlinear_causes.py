"""Dry friction and its like are named by simulation, where every linear quantity leaves the data unexplained."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.stats import chi2

from riderless.experiments.analysis.verdict.simulated_motion import MachineSteps, RiddenMotion, _tyre_rows
from riderless.experiments.analysis.verdict.steer_elements import STEER_ELEMENTS
from riderless.experiments.datatypes import Segment
from riderless.experiments.theories import lean_feedback, open_loop
from riderless.experiments.theory.free_response import simulate_free_response
from riderless.hil.runners.emulation import Emulation
from riderless.models import catalogue
from riderless.models.linear.perturbed import Variant
from riderless.models.linear.whipple import input_matrix, system_matrix, totals
from riderless.models.plant.plant import Plant, Scenario
from riderless.models.plant.side_slip import SideSlip
from riderless.models.plant.steer_drive import SteerDrive
from tests.experiments.analysis.verdict.test_goodness_of_fit import lockstep
from tests.experiments.simulated import recording

ELEMENTS = {element.name: element for element in STEER_ELEMENTS}
SILVER = catalogue.load_bicycle("Silver")


@pytest.mark.parametrize("coulomb", [0.02, pytest.param(0.1, marks=pytest.mark.slow)])
def test_dry_friction_is_named_and_measured(tmp_path, coulomb):
    """Named frame or fork inertia before, with chi-square in the hundreds left and no word of it."""
    found = lockstep(tmp_path, Emulation(drive=SteerDrive(coulomb=coulomb)), ("5.0", "3.0")).verdicts[0]
    assert not found.explained
    best = found.causes[0]
    assert best.name == "coulomb_friction"
    assert best.moved == pytest.approx(coulomb, rel=0.1)
    assert best.chi2_left < chi2.isf(0.01, found.dof - 1)
    assert f"with coulomb friction at {best.moved:.4g} N m instead of 0" in found.sentence
    assert "unexplained" not in found.sentence


def motion_of(theory, v=5.0):
    moved = simulate_free_response(theory, v, duration=2.0)
    response, window = recording(moved.v, bicycle="Silver")
    return RiddenMotion.of(Segment(replace(response, theory=theory, phi_dot=moved.phi_dot, delta=moved.delta), window))


def test_friction_agrees_with_another_route():
    """Against an event-free integration with friction as a steep tanh, by a library's solver."""
    motion, coulomb, v = motion_of(open_loop(SILVER)), 0.02, 5.0
    x0 = np.array([0.02, 0.01, 0.4, -0.3])
    A = system_matrix(SILVER, v)
    b = input_matrix(SILVER)[:, 1]
    t = np.arange(motion.segment.window.stop) * motion.segment.dt
    smooth = solve_ivp(
        lambda _, x: A @ x - coulomb * np.tanh(x[3] / 1e-3) * b, (0.0, t[-1]), x0, "LSODA", t, rtol=1e-8, atol=1e-10
    ).y
    ours = motion.machine.ride(x0, ((ELEMENTS["coulomb_friction"], coulomb),))
    without = motion.machine.ride(x0)
    effect = np.abs(smooth[2] - without[:, 0]).max()
    assert effect > 0.02
    assert np.abs(ours[:, 0] - smooth[2]).max() < 0.05 * effect


def test_a_stop_holds_the_handlebar():
    motion = motion_of(open_loop(SILVER))
    free = motion.machine.ride(motion.start.x)
    limit = 0.5 * np.abs(free[:, 1]).max()
    held = motion.machine.ride(motion.start.x, ((ELEMENTS["steer_stop"], 1.0 / limit),))
    begun = np.abs(held[:, 1]) <= limit
    assert np.abs(held[int(np.argmax(begun)) :, 1]).max() < 1.1 * limit


def test_side_force_is_what_yaw_needs_in_a_steady_turn():
    """The front wheel carries the share xT / w of the centripetal force, but for gyroscopic moments."""
    v = 3.0
    real = Variant(SILVER)
    _mass, _damping, stiffness = real.matrices(v)
    delta = 0.05
    phi = -stiffness[0, 1] * delta / stiffness[0, 0]
    torque = stiffness[1] @ [phi, delta]
    rows, of_torque = _tyre_rows(real, v)
    curvature, side = rows @ [phi, delta, 0.0, 0.0] + of_torque * torque
    t = totals(SILVER)
    assert curvature == pytest.approx(delta * np.cos(SILVER.lam) / SILVER.w, rel=1e-6)
    assert side == pytest.approx(t.mT * t.xT / SILVER.w * v**2 * curvature * np.cos(SILVER.lam), rel=0.05)


@pytest.mark.parametrize("compliance", [0.02, 0.1])
def test_tyres_slip_as_the_emulated_ones(compliance):
    """The plant's agree with a library's integration of four degrees of freedom (`test_side_slip.py`)."""
    motion, v, x0 = motion_of(open_loop(SILVER)), 5.0, (0.02, 0.01, 0.4, -0.3)
    ours = motion.machine.ride(np.array(x0), ((ELEMENTS["tyre_slip"], compliance),))
    without = motion.machine.ride(np.array(x0))
    plant = Plant(SILVER, Scenario(speed=((0.0, v),), x0=x0, held=False), slip=SideSlip(compliance=compliance))
    found = [plant.state]
    for _ in range(len(ours) - 1):
        plant.advance(0.0, False, motion.segment.dt)
        found.append(plant.state)
    truth = np.array(found)[:, [2, 1]]
    effect = np.abs(truth - without).max(axis=0)
    assert (effect > 0.003).all()
    assert (np.abs(ours - truth)[40:].max(axis=0) < 0.03 * effect).all()  # but for the ringing at the start


def test_a_drive_that_does_not_exist_has_no_dead_band():
    assert not motion_of(open_loop(SILVER)).suits(ELEMENTS["dead_band"])
    assert motion_of(lean_feedback(SILVER, 2.0, 6.5)).suits(ELEMENTS["dead_band"])
    assert MachineSteps.of(motion_of(open_loop(SILVER)).segment) is not None
