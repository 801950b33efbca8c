"""Quantities recovered from simulated motion: an independent integrator, known changes, noise of known size."""

from dataclasses import replace

import numpy as np
import pytest

from riderless.experiments.analysis.identification.four_state import FREE_COEFFICIENTS, fit
from riderless.experiments.analysis.identification.identify import identify
from riderless.experiments.analysis.identification.initial_state import estimate_initial_state
from riderless.experiments.analysis.identification.output_error import AveragedWindow
from riderless.experiments.datatypes import Response, Segment, Window
from riderless.experiments.theories import lean_feedback, open_loop
from riderless.experiments.theory.modes import dominant_mode
from riderless.models import catalogue
from riderless.models.errors import InputError
from riderless.models.linear.perturbed import Variant
from tests.experiments.simulated import DT, by_acceleration, coast, quadratic

BICYCLE = catalogue.load_bicycle("Balanceassistv1")
NOISE = {"phi_dot": 0.003, "delta": 0.0005, "psi_dot": 0.003}  # rad/s, rad, rad/s


def motion(v, real=None, seconds=2.0, seed=0, noise=1.0, theory=None, fall=0.0, feedback=None):
    """A kicked variant of the bicycle, by Runge-Kutta steps: recording and window."""
    real = real or Variant(BICYCLE)
    rng = np.random.default_rng(seed)
    n = round(seconds / DT)
    speed = v + fall * (0.5 - np.arange(n) / n)
    A = quadratic(feedback or (lambda s: real.system(s)[0]))
    x = coast(A, speed, DT, [0.01, -0.02, 0.5 * (-1) ** seed, 0.3], by_acceleration(real.bicycle))
    turn = np.cos(real.bicycle.lam) / real.bicycle.w
    clean = {
        "phi_dot": x[:, 2] + 0.02,
        "delta": x[:, 1] - 0.01,
        "psi_dot": turn * (real.speed_scale * speed * x[:, 1] + real.bicycle.c * x[:, 3]),
    }
    pitch, lean_rate = real.imu_pitch, clean["phi_dot"]
    clean["phi_dot"] = np.cos(pitch) * lean_rate - np.sin(pitch) * clean["psi_dot"]
    clean["psi_dot"] = np.cos(pitch) * clean["psi_dot"] + np.sin(pitch) * lean_rate
    seen = {name: y + noise * NOISE[name] * rng.standard_normal(n) for name, y in clean.items()}
    source = f"{v}-{seed}"
    t = np.arange(n) * DT
    response = Response(
        source, "made", t, v=speed, bicycle=BICYCLE, theory=theory or open_loop(BICYCLE), label=f"{v:g} m/s", **seen
    )
    half = 0.5 * fall * (n - 1) / n
    middle = float(speed.mean())
    return response, Window(source, 0, n, 0.0, float(t[-1]), middle, middle + half, middle - half, "made")


def predicted(theory, response, window):
    """What the joint fit should find, were this theory right: its eigenvalue, for the falling speed is in the fit."""
    dynamics = theory.dynamics()
    start = estimate_initial_state(Segment(response, window), dynamics)
    return dominant_mode(dynamics, window.v_mean, start.x, window.t_end - window.t_start).eigenvalue


def pieces(real, speeds=(3.5, 5.0, 6.5), repeats=3, offset=0, **options):
    return [
        AveragedWindow.of(Segment(*motion(v, real, seed=offset + 10 * i + k, **options)))
        for i, v in enumerate(speeds)
        for k in range(repeats)
    ]


@pytest.mark.parametrize(
    "truth",
    [
        {"steer_damping": 0.3},
        {"steer_stiffness": 0.8, "speed_scale": 1.02},
        {"fork_inertia": 1.1},
        {"imu_pitch": 0.02, "steer_damping": 0.3},
        {"c": 0.05, "IHzz": 0.07},
        {"K2_delta_delta": 0.9, "C1_delta_phi": -0.5, "M_phi_delta": 0.48},
    ],
)
def test_without_noise_the_truth_is_found(truth):
    real = open_loop(BICYCLE).variant(truth)[0]
    found = identify(pieces(real, noise=0.0, repeats=1), list(truth))
    assert found.ok
    assert found.values == pytest.approx(list(truth.values()), rel=2e-4)
    assert found.cost < 1e-3 * found.cost_before


def test_noise_scatters_the_answer_by_what_it_says():
    truth = {"steer_damping": 0.3, "speed_scale": 1.01}
    real = Variant(BICYCLE, **truth)
    z = []
    for seed in range(24):
        own = [AveragedWindow.of(Segment(*motion(v, real, seed=100 * seed + i))) for i, v in enumerate((4.0, 5.5))]
        found = identify(own, list(truth))
        z.append((found.values - list(truth.values())) / found.std)
    rms = np.sqrt(np.mean(np.square(z), axis=0))
    assert (rms > 0.65).all()  # chi-square, 24 draws: 0.72 to 1.28 in 19 of 20
    assert (rms < 1.4).all()


def test_a_falling_speed_is_part_of_the_model():
    real = Variant(BICYCLE, steer_damping=0.3)
    found = identify(pieces(real, noise=0.0, repeats=1, fall=0.8), ["steer_damping"])
    assert found.values == pytest.approx([0.3], rel=2e-3)


def test_a_prior_holds_what_the_data_do_not_tell_and_is_in_the_answer():
    own = pieces(None, repeats=1)
    free = identify(own, ["IHzz", "steer_inertia"])
    assert free.confounded(0.8)[0][:2] == ("steer_inertia", "IHzz")  # a rotor on the steer axis is nearly the same
    assert free.confounded(0.8)[0][2] < 0
    held = identify(own, ["IHzz", "steer_inertia"], {"IHzz": 0.0033, "steer_inertia": 1e-6})
    assert held.std[1] == pytest.approx(1e-6, rel=0.01)
    assert held.std[0] < free.std[0]


def test_steer_scale_and_lag_are_told_from_the_bicycle():
    made = []
    for i, v in enumerate((4.0, 5.5)):
        response, window = motion(v, seed=i, noise=0.0)
        late = np.interp(response.t - 0.01, response.t, response.delta)
        made.append(AveragedWindow.of(Segment(replace(response, delta=0.9 * late, psi_dot=None), window)))
    found = identify(made, ["steer_scale", "steer_lag"])
    assert found.values == pytest.approx([0.9, 0.01], rel=0.05)


def test_nothing_and_two_bicycles_are_refused():
    with pytest.raises(InputError, match="found 0 and 1"):
        identify([], ["c"])
    response, window = motion(5.0)
    other = replace(response, theory=open_loop(catalogue.load_bicycle("Silver")))
    with pytest.raises(InputError, match="one bicycle to identify c from, found nominal values"):
        identify([AveragedWindow.of(Segment(recorded, window)) for recorded in (response, other)], ["c"])


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("drive_gain", "no torque of the drive is known in them"),
        ("more_delay", "no torque of the drive is known in them"),
        ("steer_scale", "the steer was not recorded"),
        ("steer_lag", "the steer was not recorded"),
        ("IByy", "their motion does not depend on it"),
    ],
)
def test_what_the_windows_tell_nothing_of_is_refused_unless_a_prior_holds_it(name, why):
    """No torque, no steer: the search left such a quantity anywhere, with a standard deviation of 0."""
    response, window = motion(5.0)
    uncontrolled = [AveragedWindow.of(Segment(replace(response, delta=None), window))]
    with pytest.raises(InputError, match=rf"tell nothing of {name} \({why}\): leave {name} out"):
        identify(uncontrolled, ["steer_damping", name])
    held = identify(uncontrolled, ["steer_damping", name], {name: 0.02})
    assert held.values[1] == pytest.approx(held.nominal[1], abs=1e-9)
    assert held.std[1] == pytest.approx(0.02)


@pytest.mark.parametrize("v", [3.5, 5.0, 7.0])
@pytest.mark.parametrize("seconds", [0.5, 1.0, 2.0])
def test_joint_fit_finds_the_eigenvalue_of_a_bicycle_that_is_not_the_model(v, seconds):
    """Half a second is less than a period of 1 to 2 s; friction and a spring that theory knows nothing of."""
    real = Variant(BICYCLE, steer_damping=0.25, steer_stiffness=0.6)
    response, window = motion(v, real, seconds)
    found = fit(Segment(response, window))
    truth = predicted(open_loop(BICYCLE).move({"steer_damping": 0.25, "steer_stiffness": 0.6}), response, window)
    assert found.ok, found.status
    assert abs(found.re - truth.real) < 4 * found.re_std + 1e-3
    assert abs(found.im - truth.imag) < 4 * found.im_std + 1e-3
    assert found.re_std < 0.5


def test_joint_fit_under_feedback_and_nearly_over_damped():
    strong = lean_feedback(BICYCLE, 4.0, 6.5)
    response, window = motion(3.0, theory=strong, feedback=strong.dynamics().matrix, seconds=1.5)
    truth = predicted(response.own_theory, response, window)
    found = fit(Segment(response, window))
    assert found.ok, found.status
    assert abs(complex(found.re, found.im) - truth) < 4 * np.hypot(found.re_std, found.im_std) + 1e-3


def test_joint_fit_says_why_it_cannot_answer():
    response, window = motion(5.0)
    alone = fit(Segment(replace(response, delta=None, psi_dot=None), window))
    assert not alone.ok
    assert "neither steer nor yaw rate" in alone.status
    short = fit(Segment(response, replace(window, stop=40)))
    assert not short.ok
    assert "too few rows" in short.status
    noise = replace(response, phi_dot=np.random.default_rng(0).standard_normal(len(response.t)))
    assert not fit(Segment(noise, window)).ok
    assert set(fit(Segment(response, window)).coefficients) == set(FREE_COEFFICIENTS)
