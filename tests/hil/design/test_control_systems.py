"""python-control systems of a loop: their names, and the same numbers by python-control's own ways."""

from dataclasses import replace
from types import SimpleNamespace

import control
import numpy as np
import pytest

from riderless.hil.controllers.lti import LTIController
from riderless.hil.design.closed_loop import LoopHardware, SampledLoop
from riderless.hil.design.control_systems import control_systems
from riderless.hil.design.methods import design
from riderless.hil.design.sampled_plant import LoopTiming
from riderless.hil.design.whole_margins import whole_margins
from riderless.hil.loop.excitation import Excitation
from riderless.hil.loop.states import State
from riderless.hil.rig.rig import Rig
from riderless.hil.runners.simulated_run import simulate
from riderless.models.catalogue import load_bicycle
from riderless.models.coordinates import STATES
from riderless.models.errors import InputError
from riderless.models.linear.prescribed_steer import InnerLoop
from riderless.models.linear.whipple import state_space

SILVER = load_bicycle("Silver")
RIG = Rig(SILVER)
GAINS = design(SILVER, "lqr", (4.0, 5.0), RIG.timing)
V = 4.5
MADE = control_systems(RIG, GAINS, V)


def test_every_signal_has_its_name():
    for name, system in MADE._asdict().items():
        signals = [*system.state_labels, *system.input_labels, *system.output_labels]
        assert not any("[" in signal for signal in signals), f"{name}: {signals}"
    assert MADE.plant.state_labels == [*STATES, "T_drive", "u_prev"]
    assert MADE.controller.input_labels == ["phi", "delta", "phi_dot", "delta_dot", "T", "u_prev"]
    assert MADE.controller.output_labels == MADE.plant.input_labels == ["T_delta_cmd"]
    assert MADE.closed_loop.input_labels[0] == "added"
    assert [system.dt for system in MADE] == [0, 0.005, 0.005, 0.005, 0.005, 0]


@pytest.mark.parametrize("omega", [0.3, 3.0, 20.0, 100.0])
def test_the_plant_is_what_python_control_samples(omega):
    """Lag and bicycle in series, held over a sample, a sample late."""
    lag = control.ss([[-200.0]], [[200.0]], [[1.0]], [[0.0]])
    steer = state_space(SILVER, V)[:, 1]
    held = control.c2d(control.series(lag, steer), 0.005)
    z = np.exp(0.005j * omega)
    ours = MADE.plant(z)[:4].ravel()
    np.testing.assert_allclose(ours, held(z).ravel() / z, rtol=1e-8)


def test_the_loop_gain_closes_on_the_poles_of_the_whole_loop_and_has_its_margins():
    closed = control.feedback(MADE.loop_gain, 1).poles()
    for pole in MADE.closed_loop.poles():
        assert np.min(np.abs(closed - pole)) < 1e-6
    ours = whole_margins(SampledLoop.of_rig(RIG, GAINS), V)
    omega = np.geomspace(0.1, 600.0, 1500)
    gain, phase, *_ = control.stability_margins(control.frd(MADE.loop_gain, omega))
    assert gain == pytest.approx(ours.gain[1], rel=0.01)
    assert phase == pytest.approx(np.degrees(ours.phase), rel=0.01)


def test_plant_and_controller_joined_have_the_poles_of_the_design():
    made = control_systems(RIG, GAINS, 4.0)
    joined = control.feedback(made.plant, made.controller, sign=1)  # u = -K z: the controller has the sign already
    designed = np.exp(0.005 * GAINS.closed_loop[0][np.isfinite(GAINS.closed_loop[0])])
    for pole in designed:
        assert np.min(np.abs(joined.poles() - pole)) < 1e-7


@pytest.mark.parametrize("method", ["lqr", "poles", "lane"])
def test_without_sampling_is_the_limit_of_fast_sampling(method):
    gains = design(SILVER, method, (V,), RIG.timing)
    continuous = control_systems(RIG, gains, V).without_sampling
    quick = LoopTiming(20_000.0, 1, RIG.timing.drive_lag)
    names = [name for name, value in vars(LoopHardware).items() if isinstance(value, property)]
    quick_rig = SimpleNamespace(
        **{name: getattr(RIG, name) for name in names} | {"dt": quick.dt, "command_delay": None}
    )
    made = control_systems(quick_rig, replace(gains, loop=quick), V)
    inputs = [{"T": "T_drive"}.get(name, name) for name in made.controller.input_labels]
    z = control.feedback(made.plant[inputs, :], made.controller, sign=1).poles()
    s = np.log(z[np.abs(z) > 0.5]) * 20_000.0
    for pole in continuous.poles():
        assert np.min(np.abs(s - pole)) < 3e-3 * max(1.0, abs(pole))


def test_the_whole_loop_answers_an_added_torque_as_a_simulated_run_does():
    """The run goes through frames, observer, supervisor and the emulated machine."""
    played = Excitation("multisine", 1.0, 4.0, 0.3, 4.0, seed=3, delay=2.0)  # when the hand has let go
    run = simulate(SILVER, GAINS, speed=V, duration=6.5, noise=0.2, excitation=played, model="linear")
    ticks = run.ticks[np.argmax(run.ticks["state"] == State.RUNNING) + 400 :]
    added = played.samples(200.0)[400:]
    n = len(added)
    answer = control.forced_response(MADE.closed_loop[:, 0], np.arange(n) * 0.005, added)
    delta = np.asarray(answer.outputs).reshape(len(answer.output_labels), n)[
        answer.output_labels.index("delta_meas_read")
    ]
    measured = ticks["delta_meas"][:n]
    assert np.ptp(measured) > 0.03
    misses = [np.std(measured[lag:] - delta[: n - lag]) for lag in (0, 1, 2)]  # a tick reads the sample before
    assert min(misses) < 0.02 * np.std(measured)


def test_another_kind_of_drive_and_of_controller():
    angle = InnerLoop(kind="rate", bandwidth=50.0)
    rig = Rig(SILVER, drive=angle)
    made = control_systems(rig, design(SILVER, "lqr", (V,), rig.timing, drive=angle), V)
    assert made.plant.input_labels == ["delta_dot_cmd"]
    assert made.without_sampling is None
    law = LTIController(
        method="constant",
        bicycle=SILVER,
        loop=RIG.timing,
        v=np.array([V]),
        A=np.full((1, 1, 1), 0.5),
        B=np.full((1, 1, 1), 0.1),
        C=np.full((1, 1), 0.1),
        D=np.full((1, 1), -5.0),
        inputs=("phi_dot",),
    )
    made = control_systems(RIG, law, V)
    assert made.loop_gain.input_labels == ["T_delta_cmd"]
    assert made.controller.state_labels == ["x1"]
    assert made.closed_loop.state_labels[-1] == "x1_law"
    with pytest.raises(InputError, match="0 m/s or more, found -1"):
        control_systems(RIG, GAINS, -1.0)
    with pytest.raises(InputError, match="a drive with a lag, found 0 s"):
        control_systems(Rig(SILVER, drive_lag=0.0), GAINS, V)


def test_a_controller_of_another_rate_is_refused():
    silver = load_bicycle("Silver")
    with pytest.raises(InputError, match="designed for 200 Hz and the rig runs at 100 Hz"):
        control_systems(Rig(silver, rate=100.0), design(silver, "lqr", [4.0, 5.0]), 4.5)
