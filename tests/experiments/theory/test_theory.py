"""Theory as a function of all that is uncertain, and the bands that follow."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import expm

from riderless.experiments.dynamics import MACHINE_QUANTITIES, usual_std
from riderless.experiments.feedback_law import FeedbackLaw
from riderless.experiments.theories import feedback, fixed, lean_feedback, open_loop
from riderless.experiments.theory.modes import kicked_mode
from riderless.experiments.theory.uncertainty_bands import eigenvalue_band, eigenvalue_derivatives, monte_carlo
from riderless.hil.design.closed_loop import SampledLoop
from riderless.hil.design.methods import design
from riderless.hil.design.sampled_plant import LoopTiming
from riderless.hil.loop.observer import Observer
from riderless.models import catalogue
from riderless.models.coordinates import PHI_DOT
from riderless.models.errors import InputError
from riderless.models.linear.perturbed import Variant
from riderless.models.linear.whipple import input_matrix, system_matrix
from tests.experiments.simulated import sampled_lean_feedback

BALANCE = catalogue.load_bicycle("Balanceassistv1")
SILVER = catalogue.load_bicycle("Silver")
HARDWARE = {"observer": Observer(), "dt": 0.005, "drive_lag": 0.005, "x_imu": 0.3, "z_imu": -0.5}


def test_published_uncertainty_of_balanceassist_at_5_m_s():
    """The published set gives about -0.60 +- 0.25 1/s and 7.35 +- 0.52 rad/s."""
    drawn = monte_carlo(open_loop(BALANCE), 5.0, 4000, seed=3)
    assert np.isfinite(drawn).all()
    assert drawn.real.mean() == pytest.approx(-0.60, abs=0.025)
    assert drawn.imag.mean() == pytest.approx(7.35, abs=0.015)
    assert drawn.real.std() == pytest.approx(0.25, abs=0.01)
    assert drawn.imag.std() == pytest.approx(0.52, abs=0.015)


@pytest.mark.parametrize("v", [4.0, 5.0, 7.0])
def test_linear_band_agrees_with_monte_carlo_where_it_should(v):
    theory = open_loop(BALANCE)
    linear, drawn = eigenvalue_band(theory, v), monte_carlo(theory, v, 1500, seed=1)
    assert linear.linear
    assert linear.re_std == pytest.approx(drawn.real.std(), rel=0.08)
    assert linear.im_std == pytest.approx(drawn.imag.std(), rel=0.08)
    correlation = linear.covariance[0, 1] / (linear.re_std * linear.im_std)
    assert correlation == pytest.approx(np.corrcoef(drawn.real, drawn.imag)[0, 1], abs=0.1)


def test_shares_are_ranked_and_add_up():
    one = eigenvalue_band(open_loop(BALANCE), 5.0)
    sizes = [abs(share.change) for share in one.contributions]
    assert sizes == sorted(sizes, reverse=True)
    assert one.contributions[0].name == "lam"
    assert sum(share.change.real**2 for share in one.contributions) == pytest.approx(one.re_std**2)


def test_a_band_near_a_double_root_says_that_it_is_not_linear():
    v = 1.02 * _double_root()
    assert not eigenvalue_band(open_loop(BALANCE), v).linear


def _double_root():
    from riderless.models.linear.modes import critical_speeds

    return critical_speeds(BALANCE).double_root


@pytest.mark.parametrize("v", [2.0, 5.0])  # growing and dying
def test_a_motion_has_the_same_eigenvalues_however_it_is_sampled(v):
    dynamics = open_loop(SILVER).dynamics()
    waits = np.zeros((5, 5))
    waits[:4, :4] = expm(system_matrix(SILVER, v) * 0.01)
    in_steps = replace(dynamics, matrix=lambda v: waits, dt=0.01)
    found = in_steps.eigenvalues(v)
    assert np.isneginf(found[-1].real)  # of the state that is gone after a sample
    assert np.sort_complex(found[:-1]) == pytest.approx(np.sort_complex(dynamics.eigenvalues(v)), rel=1e-9)
    assert in_steps.growth(v) == pytest.approx(dynamics.growth(v), rel=1e-9)
    assert (dynamics.growth(v) > 0.0) == (v == 2.0)


@pytest.mark.parametrize("name", ["lam", "IHzz", "c", "drive_gain", "speed_scale", "more_delay", "steer_damping"])
@pytest.mark.parametrize("theory", ["lean", "sampled"])
def test_slopes_are_difference_quotients_of_the_eigenvalue(name, theory):
    theory = lean_feedback(BALANCE, 2.0, 6.5) if theory == "lean" else sampled(BALANCE)
    step = 0.02 * theory.usual(name)
    up, down = (kicked_mode(theory.dynamics({name: theory.nominal(name) + sign * step}), 4.0) for sign in (1, -1))
    (slope,) = eigenvalue_derivatives(theory, 4.0, [name])
    assert slope == pytest.approx((up - down) / (2 * step), rel=2e-3, abs=1e-6)


def sampled(bicycle):
    """The whole loop of a run under LQR, as a theory."""
    from riderless.experiments.datatypes import Dynamics
    from riderless.experiments.dynamics import Theory

    schedule = design(bicycle, "lqr", (3.0, 4.0, 5.0), LoopTiming())

    def build(real, more_delay):
        loop = SampledLoop(bicycle, schedule, **HARDWARE, real=real, more_delay=more_delay)
        return Dynamics("loop", loop.states, loop.matrix, loop.output, loop.embed, loop.dt)

    return Theory("loop", bicycle, build)


def test_the_gain_of_the_drive_acts_on_the_feedback_only():
    A, b = system_matrix(SILVER, 4.0), input_matrix(SILVER)[:, 1]
    weak = lean_feedback(SILVER, 2.0, 6.5).dynamics({"drive_gain": 0.8}).matrix(4.0)
    expected = np.array(A)
    expected[:, PHI_DOT] += 0.8 * 2.0 * 2.5 * b
    assert weak == pytest.approx(expected, abs=1e-12)


def test_a_delay_of_continuous_feedback_is_that_of_a_sampled_loop():
    """A loop sampled every 2 ms obeys 3 ms late on average: a hold of one period and one sample of delay."""
    dt = 0.002
    exact = kicked_mode(sampled_lean_feedback(BALANCE, dt=dt), 4.0)
    late = kicked_mode(lean_feedback(BALANCE, 2.0, 6.5).dynamics({"more_delay": 1.5 * dt}), 4.0)
    none = kicked_mode(lean_feedback(BALANCE, 2.0, 6.5).dynamics(), 4.0)
    assert abs(late - exact) < 2e-3 * abs(none - exact)


def held_and_late(bicycle, law, v, step=1e-3):
    """Weave of a loop whose held commands wait in a queue and go through a lag: a map over one period, by hand."""
    A, b = system_matrix(bicycle, v), input_matrix(bicycle)[:, 1]
    lag, waiting, hold = law.drive_lag_s, round(law.delay_s / step), round(1.0 / law.rate_hz / step)
    plant = np.zeros((6, 6))  # four states, the drive's torque, and its command
    plant[:4, :4], plant[:4, 4] = A, b
    plant[4, 4:] = -1.0 / lag, 1.0 / lag
    F = expm(plant * step)
    whole = np.eye(6 + waiting)  # then the commands under way, the newest last
    for k in range(hold):
        one = np.eye(6 + waiting)
        row = np.zeros(6 + waiting)
        if k == 0:
            row[:4] = law.torque(v, *np.eye(4))
        else:
            row[-1] = 1.0
        one[5] = 0.0
        one[5, 6] = 1.0  # the oldest command is obeyed
        one[6:-1] = np.eye(6 + waiting)[7:]
        one[-1] = row
        moved = np.eye(6 + waiting)
        moved[:6, :6] = F
        whole = moved @ one @ whole
    z = np.linalg.eigvals(whole)
    s = np.log(z[np.abs(z) > 1e-6].astype(complex)) / (hold * step)
    return s[(s.imag > 1.0) & (s.real > -8.0)]


@pytest.mark.parametrize(
    ("name", "v", "law"),
    [
        ("DelftSbW2024", 4.0, FeedbackLaw(2.0, 6.5, delay_s=0.015, rate_hz=100.0, drive_lag_s=0.008)),
        ("Silver", 3.5, FeedbackLaw(1.5, 7.0, delay_s=0.023, rate_hz=50.0, drive_lag_s=0.004)),
        ("Benchmark", 3.8, FeedbackLaw(gains=(2.0, -1.0, 8.0, -1.0), delay_s=0.010, rate_hz=200.0, drive_lag_s=0.01)),
    ],
)
def test_a_law_that_is_held_late_and_slow_has_the_eigenvalue_of_its_sampled_loop(name, v, law):
    """To first order in the delay, as before, the first is 0.35 1/s off."""
    bicycle = catalogue.load_bicycle(name)
    mode = kicked_mode(feedback(bicycle, law).dynamics(), v)
    assert np.abs(held_and_late(bicycle, law, v) - mode).min() < 0.01 * abs(mode)
    at_once = kicked_mode(feedback(bicycle, replace(law, delay_s=0.0, rate_hz=0.0, drive_lag_s=0.0)).dynamics(), v)
    assert abs(at_once - mode) > 0.1


@pytest.mark.parametrize("more", [0.002, 0.005, 0.0123, 0.02])
def test_a_long_delay_of_the_sampled_loop_is_that_of_a_loop_sampled_more_often(more):
    """The same gains in a loop whose drive obeys later: its map, stepped by hand with a queue of commands."""
    schedule = design(SILVER, "lqr", (4.0, 5.0, 6.0), LoopTiming())
    late = SampledLoop(SILVER, schedule, **HARDWARE, more_delay=more)
    prompt = SampledLoop(SILVER, schedule, **HARDWARE)
    F, v = prompt.matrix(5.0), 5.0
    z = np.zeros(len(late.states))
    z[:13] = prompt.embed(v) @ [0.02, -0.01, 0.3, 0.1]
    z[13:] = z[5]
    queue, x = [z[5]] * 9, z[:13].copy()
    drive = SampledLoop(SILVER, schedule, **HARDWARE)
    whole, part = divmod(0.005 + more, 0.005)
    whole, part = (int(whole), part) if part > 1e-9 else (int(whole) - 1, 0.005)
    from riderless.hil.design.sampled_plant import sample

    A, b = drive.real.system(v)
    old = sample(A, b, LoopTiming(1 / part, 0, 0.005))
    new = sample(A, b, LoopTiming(1 / (0.005 - part), 0, 0.005)) if part < 0.005 - 1e-9 else None
    for _ in range(60):
        after = F @ x  # observer and next command do not care when the drive obeys
        queue.append(after[5])
        plant = old.F @ x[:5] + old.G * queue[-2 - whole]
        if new is not None:
            plant = new.F @ plant + new.G * queue[-1 - whole]
        x = np.concatenate([plant, after[5:]])
        z = late.matrix(v) @ z
        assert z[:13] == pytest.approx(x, abs=1e-9)


def test_a_theory_can_be_moved_and_names_are_checked():
    theory = open_loop(SILVER).move({"c": 0.07, "steer_damping": 0.2})
    assert (theory.nominal("c"), theory.nominal("w")) == (0.07, SILVER.w)
    moved = Variant(catalogue.load_bicycle("Silver").__class__(**{**vars(SILVER), "c": 0.07}), steer_damping=0.2)
    assert theory.dynamics().matrix(4.0) == pytest.approx(moved.system(4.0)[0])
    heavy = open_loop(SILVER).variant({"fork_inertia": 1.1})[0].bicycle
    assert (heavy.IHzz, heavy.IHxz, heavy.IBxx) == (1.1 * SILVER.IHzz, 1.1 * SILVER.IHxz, SILVER.IBxx)
    with pytest.raises(InputError, match="found 'trail'"):
        theory.dynamics({"trail": 0.1})


def test_usual_deviations_are_the_catalogues_and_causes_have_one():
    assert usual_std()["lam"] == np.median(
        [b.std["lam"] for b in map(catalogue.load_bicycle, catalogue.bicycle_names()) if b.std]
    )
    theory = open_loop(SILVER)
    assert all(np.isfinite(theory.usual(name)) and theory.usual(name) > 0 for name in theory.causes)
    assert set(MACHINE_QUANTITIES) < set(theory.causes)


def test_fixed_dynamics_have_no_band():
    theory = fixed(SILVER, sampled_lean_feedback(SILVER))
    assert eigenvalue_band(theory, 4.0).covariance == pytest.approx(np.zeros((2, 2)))


def test_correlations_narrow_the_band_and_draws_have_them():
    bicycle = catalogue.load_bicycle("Browser")
    theory, apart = open_loop(bicycle), open_loop(replace(bicycle, correlations={}))
    linear = eigenvalue_band(theory, 5.0)
    assert (linear.re_std, linear.im_std) == pytest.approx((0.0188627633, 0.0635502180), rel=1e-4)  # independently
    one = eigenvalue_band(apart, 5.0)
    assert (one.re_std, one.im_std) == pytest.approx((0.0216195545, 0.0910181873), rel=1e-4)
    drawn = monte_carlo(theory, 5.0, 1500, seed=1)
    assert np.std(drawn.imag) == pytest.approx(linear.im_std, rel=0.06)
    assert theory.spread @ theory.spread.T == pytest.approx(
        bicycle.covariance(list(theory.uncertain)), rel=1e-9, abs=1e-18
    )
