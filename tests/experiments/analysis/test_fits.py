"""Estimators against responses whose eigenvalue is known, and against published fits."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riderless.experiments.analysis.estimators import ESTIMATORS, estimate
from riderless.experiments.analysis.estimators.uncertainty import fit_window
from riderless.experiments.analysis.windows.cut import make_window
from riderless.experiments.datatypes import Response, Segment, Window
from riderless.experiments.recordings import foreign
from riderless.models.errors import InputError
from tests.experiments.synthetic import coloured, damped

KICKS_WITHIN_ONE_CYCLE = 4  # of the authors' windows, at 1.5 and 2.0 m/s


@settings(max_examples=25, deadline=None, derandomize=True)
@given(d=st.floats(-4.0, 1.5), w=st.floats(2.5, 12.0), c1=st.floats(-0.2, 0.2), phase=st.floats(0.0, 6.2))
def test_noise_free_response_gives_its_eigenvalue(d, w, c1, phase):
    t = 3.0 + np.arange(0.0, 3.0, 0.005)
    fit = estimate(t, damped(t - t[0], d, w, c1, phase=phase))
    assert fit.ok, fit.status
    assert (fit.re, fit.im) == pytest.approx((d, w), abs=1e-5)
    assert fit.coefficients["c1"] == pytest.approx(c1, abs=1e-5)
    assert fit.r2 == pytest.approx(1.0, abs=1e-8)


def test_the_unit_of_the_signal_does_not_enter_the_eigenvalue():
    t = np.arange(0.0, 2.6, 0.005)
    y = damped(t, -1.2, 5.4, 0.1) + coloured(np.random.default_rng(0), len(t), 0.01, 0.3)
    a, b = estimate(t, y), estimate(t, 2.5 + 1000.0 * y)
    assert (a.re, a.im) == pytest.approx((b.re, b.im), abs=1e-4)
    assert np.allclose(a.covariance, b.covariance, rtol=1e-3, atol=0)


def test_bias_quantisation_and_noise_move_it_by_little():
    t = np.arange(0.0, 2.6, 0.005)
    noise = np.random.default_rng(2).normal(0.0, 0.01, len(t))
    y = np.round((damped(t, -1.16, 5.44, -0.08) + noise) / 0.0022) * 0.0022  # a 12-bit gyro of 1 LSB = 2.2 mrad/s
    fit = estimate(t, y)
    assert fit.ok
    assert abs(fit.re + 1.16) < 4 * fit.re_std < 0.2
    assert abs(fit.im - 5.44) < 4 * fit.im_std < 0.2


@pytest.mark.parametrize("lag_1", [0.0, 0.44])
def test_the_covariance_tells_the_scatter(lag_1):
    """Over 200 windows the errors in units of their own standard deviation have a spread near one."""
    rng, t, d, w = np.random.default_rng(7), np.arange(0.0, 2.0, 0.01), -1.5, 6.0
    z = []
    for _ in range(200):
        fit = estimate(t, damped(t, d, w, 0.02, phase=rng.uniform(0, 6)) + coloured(rng, len(t), 0.015, lag_1))
        assert fit.ok, fit.status
        z.append(((fit.re - d) / fit.re_std, (fit.im - w) / fit.im_std))
    assert np.all(np.std(z, axis=0) > 0.7)
    assert np.all(np.std(z, axis=0) < 1.3)
    assert np.all(np.abs(np.mean(z, axis=0)) < 0.3)


@pytest.mark.parametrize("lag_1", [0.0, 0.7])
def test_the_whole_uncertainty_of_a_window_is_on_the_safe_side(lag_1):
    rng, t, d, w = np.random.default_rng(11), np.arange(0.0, 2.0, 0.01), -1.5, 6.0
    z = []
    for _ in range(60):
        y = damped(t, d, w, 0.02, phase=rng.uniform(0, 6)) + coloured(rng, len(t), 0.015, lag_1)
        fit = fit_window(Segment(response_of(t, y), whole(t)))
        assert fit.ok, fit.status
        z.append(((fit.re - d) / fit.re_std, (fit.im - w) / fit.im_std))
    assert np.all(np.std(z, axis=0) > 0.5)
    assert np.all(np.std(z, axis=0) < 1.3)


def test_a_second_mode_widens_the_uncertainty():
    """A caster transient moves the fit with the start of the window; one clean mode does not."""
    t = np.arange(0.0, 2.0, 0.005)
    clean = damped(t, -1.5, 6.0)
    mixed = clean + 0.2 * np.exp(-6.0 * t)
    assert fit_window(Segment(response_of(t, clean), whole(t))).re_std < 1e-6
    fit = fit_window(Segment(response_of(t, mixed), whole(t)))
    assert fit.re_std > 2 * estimate(t, mixed).re_std
    assert abs(fit.re + 1.5) < 3 * fit.re_std


@pytest.mark.parametrize(
    ("y", "word"),
    [
        (lambda t: damped(t, -0.5, 2.0), "less than one"),
        (lambda t: damped(t, -12.0, 4.0), "over-damped"),
        (lambda t: np.random.default_rng(1).normal(size=len(t)), "noisy"),
        (lambda t: 0.1 * t, "not identifiable"),
        (lambda t: np.ones_like(t), "never changes"),
    ],
)
def test_what_a_window_cannot_tell_is_refused(y, word):
    t = np.arange(0.0, 2.0, 0.01)
    fit = estimate(t, y(t))
    assert not fit.ok
    assert word in fit.status


def test_too_few_rows_are_refused_and_bad_arguments_raise():
    assert not estimate(np.arange(5) * 0.1, np.ones(5)).ok
    t = np.arange(0.0, 1.0, 0.01)
    with pytest.raises(InputError, match="single_mode"):
        estimate(t, t, "two_modes")
    with pytest.raises(InputError, match="not finite"):
        estimate(t, np.where(t > 0.5, np.nan, 1.0))


def test_run_52_over_the_papers_window(shared):
    """Kooijman et al. 2008, figure 5: -1.16 +- 5.44i over 9.9 <= t <= 12.5 s."""
    response = foreign.read_foreign(shared / "data/kooijman2008/run52.csv")
    inside = np.flatnonzero((response.t >= 9.9) & (response.t <= 12.5))
    fit = fit_window(Segment(response, make_window(response, inside[0], inside[-1] + 1, "paper")))
    assert fit.ok
    assert fit.re == pytest.approx(-1.16, abs=0.005)
    assert fit.im == pytest.approx(5.44, abs=0.005)


def test_the_delft_authors_windows_give_their_reference_fits(shared):
    folder = shared / "data/delft_treadmill"
    table = json.loads((folder / "author_windows.json").read_text())["windows"]
    refused = 0
    for row in table:
        y = foreign.read_foreign(folder / row["file"]).phi_dot[row["start"] : row["stop"]]
        fit = estimate(0.01 * np.arange(len(y)), y)
        assert (fit.re, fit.im) == pytest.approx((row["sigma"], row["omega"]), abs=1e-3), row
        assert fit.r2 == pytest.approx(row["r2"], abs=1e-6)
        refused += not fit.ok
    assert len(table) == 42
    assert refused == KICKS_WITHIN_ONE_CYCLE


def test_a_falling_bicycle_shows_its_larger_real_eigenvalue():
    """At rest: 3.712 measured by Kooijman et al. 2008 (section 4), beside a decaying one."""
    t = np.arange(0.0, 0.8, 0.005)
    y = 0.01 + 0.05 * np.exp(3.712 * t) + 0.04 * np.exp(-3.6 * t)
    fit = estimate(t, y, "real_mode")
    assert fit.ok, fit.status
    assert fit.re == pytest.approx(3.712, abs=1e-3)
    assert fit.coefficients["b"] == pytest.approx(-3.6, abs=1e-2)
    assert fit.im == 0.0


def test_real_mode_scatter_and_refusals():
    t, rng = np.arange(0.0, 1.0, 0.005), np.random.default_rng(3)
    z = []
    for _ in range(60):
        fit = estimate(t, 0.02 + 0.05 * np.exp(3.5 * t) + coloured(rng, len(t), 0.01, 0.44), "real_mode")
        assert fit.ok, fit.status
        z.append((fit.re - 3.5) / fit.re_std)
    assert 0.5 < np.std(z) < 1.4
    assert not estimate(t, 0.1 * t, "real_mode").ok
    assert not estimate(t, np.ones_like(t), "real_mode").ok
    assert not estimate(t, rng.normal(size=len(t)), "real_mode").ok
    assert set(ESTIMATORS) == {"single_mode", "several_modes", "real_mode", "log_decrement", "era"}


def response_of(t, y):
    return Response("synthetic", "riderless", t, y, np.full(len(t), 5.0))


def whole(t):
    return Window("synthetic", 0, len(t), t[0], t[-1], 5.0, 5.0, 5.0, "all of it")
