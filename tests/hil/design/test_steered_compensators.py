"""Controllers with states of their own for drives that obey a steer rate or angle."""

import numpy as np
import pytest

from riderless.hil.controllers.compiled import read_law
from riderless.hil.controllers.lti import LTIController
from riderless.hil.controllers.registry import controller_from_text, read_controller
from riderless.hil.controllers.timing import LoopTiming
from riderless.hil.design.closed_loop import SampledLoop
from riderless.hil.design.compensators.methods import design_compensator
from riderless.hil.design.compensators.yaw_rate import closed_design
from riderless.hil.design.methods import design
from riderless.hil.design.steered.sampled_steer import sampled_steer
from riderless.hil.loop.states import State
from riderless.hil.rig.fitting import emulated_rig, require_fitting
from riderless.hil.rig.rig import Rig
from riderless.hil.rig.stable import require_stable
from riderless.hil.runners.replay import replay
from riderless.hil.runners.simulated_run import simulate
from riderless.models.catalogue import load_bicycle
from riderless.models.errors import InputError
from riderless.models.linear.prescribed_steer import InnerLoop
from riderless.models.plant.plant import Kick

RATE = InnerLoop(kind="rate", bandwidth=50.0, damping=1.0)
DRIVES = {"rate": RATE, "lag": InnerLoop(kind="rate", bandwidth=80.0), "angle": InnerLoop(kind="angle", damping=1.0)}
TIMING = LoopTiming(drive_lag=0.0)
CHALMERS = """
from numba import njit

LAW = {
    "inputs": ["phi", "phi_dot"],
    "states": ["sum"],
    "settings": {"kp": 9.0, "kd": 2.0, "ki": 1.0},
    "speeds": [3.0, 7.0],
}


@njit
def step(settings, state, signals, reference, out):
    kp, kd, ki = settings
    out.T_req = kp * signals.phi + kd * signals.phi_dot + state[0]
    if signals.steered > 0.0:
        state[0] += ki * signals.dt * signals.phi + 0.1 * signals.T_cut
"""


@pytest.mark.parametrize("kind", DRIVES)
@pytest.mark.parametrize(("name", "v"), [("Rigid", 4.0), ("Fisher", 6.5)])
def test_the_loop_of_an_lqg_has_the_poles_of_regulator_and_filter(kind, name, v):
    """Separation principle: eig(F - G K) under the LQR of such a drive, and eig((I - L H) F) of the filter."""
    bicycle, drive = load_bicycle(name), DRIVES[kind]
    model = sampled_steer(bicycle, v, TIMING, drive, stiff=True)
    made = design_compensator(bicycle, "lqg", (v,), drive=drive)
    regulator = model.closed_loop(design(bicycle, "lqr", (v,), drive=drive).K[0])
    filtering = np.linalg.eigvals(made.A[0])
    found = np.linalg.eigvals(closed_design(made.linearised(v), bicycle, v, model)[0])
    assert np.abs(filtering).max() < 1.0
    wanted = list(np.concatenate([regulator, filtering, np.zeros(len(found) - 2 * len(model.F))]))
    for z in found:
        nearest = min(range(len(wanted)), key=lambda i: abs(wanted[i] - z))
        assert abs(wanted.pop(nearest) - z) < 2e-4
    assert wanted == []


@pytest.mark.parametrize("kind", DRIVES)
@pytest.mark.parametrize("inner", ["lqr", "lqg"])
def test_the_whole_loop_is_stable_and_turns_as_fast_as_it_is_asked_to(kind, inner):
    rig = Rig(load_bicycle("Silver"), drive=DRIVES[kind])
    made = design_compensator(rig.bicycle, "yaw_rate", (3.0, 4.5, 6.0), rig.timing, drive=rig.drive, inner=inner)
    require_stable(rig, made)
    for v in (3.0, 4.5, 6.0):
        loop = SampledLoop.of_rig(rig, made)
        law, W, e = made.linearised(v), loop.matrix(v), loop.input_vector(v)
        asked = law.D[-1] * e
        asked[[loop.states.index(f"{name}_law") for name in made.states]] += law.B[:, -1]
        row = loop.states.index("psi_dot_est")
        assert np.linalg.solve(np.eye(len(W)) - W, asked)[row] == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("kind", ["rate", "angle"])
def test_such_a_controller_flies_and_is_replayed_bit_for_bit(kind):
    bicycle = load_bicycle("Silver")
    made = design_compensator(bicycle, "lqg", (4.0, 5.0), drive=DRIVES[kind])
    kicks = [Kick(t=1.0, impulse=4.0), Kick(t=2.5, impulse=-4.0)]
    run = simulate(bicycle, made, speed=4.5, kicks=kicks, model="nonlinear", duration=4.0)
    assert run.stop.reason == "success"
    assert np.degrees(np.abs(run.ticks["phi_est"][run.ticks["state"] == State.RUNNING]).max()) < 8.0
    kept = run.header.schedule
    assert isinstance(kept, LTIController)
    assert kept.drive == DRIVES[kind]
    assert np.array_equal(kept.A, made.A)
    again = replay(run)
    assert again.identical
    assert again.commands > 700


def test_a_law_in_python_commands_what_the_drive_of_the_rig_obeys(tmp_path):
    """Near upright it is the state space that its three numbers say; the same file commands a torque elsewhere."""
    (tmp_path / "law.py").write_text(CHALMERS, encoding="utf-8")
    bicycle, timing = load_bicycle("Silver"), LoopTiming()
    made = read_controller(tmp_path / "law.py", bicycle, timing, RATE)
    assert made.drive == RATE
    assert emulated_rig(bicycle, made).drive == RATE
    found = made.linearised(5.0)
    np.testing.assert_allclose(np.concatenate([found.C, found.D, found.B[0]]), [1.0, 9.0, 2.0, 0.005, 0.0], atol=1e-9)
    text = made.to_toml()
    assert controller_from_text(text).drive == RATE
    assert read_law(tmp_path / "law.py", bicycle, timing).drive is None
    (tmp_path / "own.py").write_text(
        CHALMERS.replace('"speeds"', '"drive": {"kind": "angle", "damping": 1.0}, "speeds"'), encoding="utf-8"
    )
    assert read_law(tmp_path / "own.py", bicycle, timing).drive == InnerLoop(kind="angle", damping=1.0)


def test_files_of_another_kind_of_drive_are_refused(tmp_path):
    bicycle = load_bicycle("Silver")
    made = design_compensator(bicycle, "lqg", (4.0, 5.0), drive=RATE)
    with pytest.raises(InputError, match=r"command a steer rate \[rad/s\] but the drive obeys a torque"):
        require_fitting(Rig(bicycle), made)
    other = Rig(bicycle, drive=InnerLoop(kind="rate", bandwidth=80.0, damping=1.0))
    with pytest.raises(InputError, match="a rate drive of 50 rad/s and damping 1, not for a rate drive of 80 rad/s"):
        require_fitting(other, made)
    text = made.to_toml()
    assert "riderless steer state space 1" in text, "who knows a torque only does not fly it"
    with pytest.raises(InputError, match="wants format = 'riderless steer state space 1'"):
        LTIController.from_text(text.replace("riderless steer state space 1", "riderless state space 1"))
    with pytest.raises(InputError, match=r"under a drive that obeys a steer rate is one of .*, found 'T'"):
        LTIController.from_text(text.replace('"u_prev"', '"T"'))
