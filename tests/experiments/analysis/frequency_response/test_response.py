"""Frequency responses from runs with a torque played, against closed forms and other routes."""

import control
import numpy as np
import pytest

from riderless.experiments.analysis.frequency_response.response import MIN_PLAYED, frequency_response, relative_std
from riderless.experiments.campaigns.protocols import sine_sweep
from riderless.experiments.campaigns.protocols.plan_inputs import NamedController, PlanInputs
from riderless.experiments.theory.excited_loop import amplitude_within_limits, crest_factor, excited_loop
from riderless.hil.design.methods import design
from riderless.hil.logs.log import read_run
from riderless.hil.loop.excitation import Excitation
from riderless.hil.rig.rig import Rig
from riderless.hil.rig.task import Task
from riderless.hil.runners.simulated_run import run_lockstep
from riderless.models import catalogue
from riderless.models.errors import InputError
from riderless.models.linear.perturbed import Variant
from riderless.models.linear.whipple import canonical_matrices
from riderless.models.plant.plant import Scenario

BENCHMARK = catalogue.load_bicycle("Benchmark")
V = 4.0  # m/s, below the weave speed: the plant alone is unstable


def continuous_plant(f, v=V):
    """T to phi_dot and delta of drive and bicycle: (M s^2 + v C1 s + g K0 + v^2 K2)^-1, lag, one sample and hold."""
    m = canonical_matrices(BENCHMARK)
    found = []
    for s in 2j * np.pi * f:
        z = np.linalg.inv(m.M * s * s + v * m.C1 * s + BENCHMARK.g * m.K0 + v * v * m.K2) @ [0.0, 1.0]
        hold = (1.0 - np.exp(-0.005 * s)) / (0.005 * s)
        found.append(np.array([s * z[0], z[1]]) * np.exp(-0.005 * s) * hold / (1.0 + 0.005 * s))
    return np.array(found).T


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    bench = PlanInputs((BENCHMARK,), (NamedController("lqr", "lqr", {}),), seed=(3,))
    settings = sine_sweep.Settings(kind="sine_sweep", speeds_m_s=(V,), duration_s=80.0, share_of_limits=0.2)
    (c,) = sine_sweep.plan(settings, bench)
    folder = tmp_path_factory.mktemp("sweep") / "run"
    outcome = run_lockstep(folder, c.rig, c.schedule, c.scenario, c.duration, c.label, None, c.emulation, c.task)
    assert outcome.reason == "success"
    return frequency_response(read_run(folder))


def test_the_plant_is_found_under_feedback(measured):
    phi_dot, delta = continuous_plant(measured.f)
    for name, truth in (("phi_dot", phi_dot), ("delta", delta)):
        one = measured.named("plant", name)
        # below 0.5 Hz the response of ten seconds is not yet resolved
        seen = (one.coherence > 0.95) & (measured.f > 0.5) & (measured.f < 4.5)
        assert seen.sum() >= 15
        ratio = one.measured[seen] / truth[seen]
        assert np.abs(np.abs(ratio) - 1.0).max() < 0.1
        assert np.abs(np.median(np.abs(ratio)) - 1.0) < 0.02
        assert np.abs(np.degrees(np.angle(ratio))).max() < 6.0
        assert one.predicted == pytest.approx(truth, rel=2e-3), "two routes to the prediction"


def test_the_loop_is_as_predicted(measured):
    assert measured.v == pytest.approx(V, abs=0.01)
    for name in ("phi_dot", "delta", "T"):
        one = measured.named("loop", name)
        seen = (one.coherence > 0.95) & (measured.f > 0.5) & (measured.f < 4.5)
        ratio = one.measured[seen] / one.predicted[seen]
        assert np.median(np.abs(np.abs(ratio) - 1.0)) < 0.03
    whole = measured.as_json()
    assert len(whole["responses"]) == 5
    assert all(len(r["gain"]) == len(whole["f_Hz"]) == len(r["coherence"]) for r in whole["responses"])


def test_transfer_agrees_with_python_control():
    rig = Rig(BENCHMARK)
    loop = excited_loop(rig, design(BENCHMARK, "lqr", (V,), rig.timing), V)
    f = np.array([0.3, 1.0, 4.0])
    for C, D, found in (
        (np.eye(13)[2], 0.0, loop.loop(f, "phi_dot")),
        (np.eye(13)[1], 0.0, loop.loop(f, "delta")),
        (loop.w, 1.0, loop.loop(f, "T")),
    ):
        system = control.ss(loop.W, loop.B[:, None], C[None, :], [[D]], loop.dt)
        assert found == pytest.approx(system(np.exp(2j * np.pi * f * loop.dt)), rel=1e-9)


@pytest.mark.parametrize("delay", [None, 0.002])
def test_the_answer_of_the_loop_is_that_of_the_plant_to_the_torque(delay):
    """Whatever the feedback, phi_dot = G T: two matrices must agree, also if a drive obeys at once."""
    rig = Rig(BENCHMARK, command_delay=delay)
    loop = excited_loop(rig, design(BENCHMARK, "lqr", (V,), rig.timing), V)
    f = np.array([0.3, 1.0, 4.0])
    for output in ("phi_dot", "delta"):
        assert loop.loop(f, output) == pytest.approx(loop.plant(f, output) * loop.loop(f, "T"), rel=1e-9)


@pytest.mark.parametrize(
    ("other", "output", "factor"),
    [
        ({"real": Variant(BENCHMARK, drive_gain=0.9)}, "phi_dot", lambda f: 0.9 + 0.0 * f),
        ({"more_delay": 0.02}, "phi_dot", lambda f: np.exp(-2j * np.pi * f * 0.02)),
        ({"more_delay": 0.003}, "delta", lambda f: np.exp(-2j * np.pi * f * 0.003)),
        ({"steer_age": 0.005}, "delta", lambda f: np.exp(-2j * np.pi * f * 0.005)),
        ({"steer_age": 0.005}, "phi_dot", lambda f: 1.0 + 0.0 * f),
    ],
)
def test_the_plant_of_another_machine(other, output, factor):
    """A weak drive is a factor, a late one or an old steer angle a turn of the phase, whatever the controller."""
    rig = Rig(BENCHMARK)
    gains = design(BENCHMARK, "lqr", (V,), rig.timing)
    f = np.array([0.3, 1.0, 3.0])
    there = excited_loop(rig, gains, V, **other)
    ratio = there.plant(f, output) / excited_loop(rig, gains, V).plant(f, output)
    assert ratio == pytest.approx(factor(f), rel=5e-4)
    assert there.loop(f, output) == pytest.approx(there.plant(f, output) * there.loop(f, "T"), rel=1e-9)


def test_a_drive_that_obeys_at_once_is_ahead_of_one_that_waits():
    """Obeyed 2 ms after the sample instead of 5: three milliseconds of phase."""
    gains = design(BENCHMARK, "lqr", (V,), Rig(BENCHMARK).timing)
    f = np.array([0.3, 1.0, 3.0])
    early, usual = (excited_loop(Rig(BENCHMARK, command_delay=d), gains, V).plant(f, "delta") for d in (0.002, None))
    assert early / usual == pytest.approx(np.exp(2j * np.pi * f * 0.003), rel=5e-4)


def test_the_answer_in_time_is_the_response_in_frequency():
    """A sine from rest, long after the beginning: amplitude and phase are those of the response."""
    rig = Rig(BENCHMARK)
    loop = excited_loop(rig, design(BENCHMARK, "lqr", (V,), rig.timing), V)
    t = 0.005 * np.arange(8000)
    seen = loop.response(np.cos(2 * np.pi * t))
    for output in ("phi_dot", "delta", "T"):
        late = 2.0 * np.mean((seen[output] * np.exp(-2j * np.pi * t))[-1000:])
        assert late == pytest.approx(loop.loop(np.array([1.0]), output)[0], rel=1e-6)


@pytest.mark.parametrize("kind", ["sweep", "multisine"])
def test_an_amplitude_within_limits_is_met_by_the_machine(tmp_path, kind):
    """What theory allows for a tenth of the limits, the emulated machine does: the nearest limit is reached."""
    rig = Rig(BENCHMARK)
    gains = design(BENCHMARK, "lqr", (4.5, 5.0, 5.5), rig.timing)
    signal = Excitation(kind, 0.0, 20.0, 0.3, 4.0, delay=1.5)
    amplitude = amplitude_within_limits(rig, gains, 5.0, signal, 0.1)
    played = Excitation(kind, amplitude, 20.0, 0.3, 4.0, delay=1.5)
    run_lockstep(tmp_path / "run", rig, gains, Scenario(speed=((0.0, 5.0),)), 23.0, task=Task(played))
    rows = read_run(tmp_path / "run").ticks[500:]
    shares = [np.abs(rows["phi_est"]).max() / 0.52, np.abs(rows["delta_est"]).max() / 0.79]
    shares += [np.abs(rows["T_cmd"]).max() / 7.0]
    assert max(shares) == pytest.approx(0.1, rel=0.1)


def test_no_amplitude_is_small_enough_for_a_loop_that_falls():
    rig = Rig(BENCHMARK)
    off = design(BENCHMARK, "off", (3.0,), rig.timing)
    with pytest.raises(InputError, match="does not balance Benchmark at 3 m/s"):
        amplitude_within_limits(rig, off, 3.0, Excitation("sweep", 0.0, 20.0), 0.1)


def test_crest_factors():
    t = np.arange(20000) / 20000
    assert crest_factor(np.sin(2 * np.pi * 7 * t)) == pytest.approx(np.sqrt(2.0), rel=1e-4)
    assert crest_factor(np.where(t < 0.5, 1.0, -1.0)) == 1.0
    assert crest_factor(Excitation("multisine", 1.0, 20.0, 0.2, 4.0).samples(200.0)) < 2.0  # Schroeder: about 1.7


def test_the_error_of_a_gain_is_that_of_bendat_and_piersol():
    """Table 9.6: sqrt(1 - g2) / (sqrt(g2) sqrt(2 n)); 0.9 over 20 averages gives 5.3 %."""
    assert relative_std(np.array([0.9, 1.0]), 20.0) == pytest.approx([0.0527, 0.0], abs=1e-4)


def test_a_run_that_played_nothing_or_too_little_says_so(tmp_path):
    rig = Rig(BENCHMARK)
    gains = design(BENCHMARK, "lqr", (5.0,), rig.timing)
    for name, excitation, words in (
        ("none", Excitation(), "played no torque"),
        ("short", Excitation("sweep", 0.2, 4.0), f"wanted at least {MIN_PLAYED:.0f} s"),
    ):
        run_lockstep(tmp_path / name, rig, gains, Scenario(), 6.0, task=Task(excitation))
        with pytest.raises(InputError, match=words):
            frequency_response(read_run(tmp_path / name))
