"""A bicycle that coasts: its speed waves as it leans, and like for like goes through the speed that was measured."""

from dataclasses import replace

import numpy as np
import pytest

from riderless.experiments.analysis.identification.initial_state import (
    estimate_initial_state,
    leaves_more,
    machine_in,
    nonlinear_initial_state,
)
from riderless.experiments.analysis.windows.cut import make_window, measured_speed
from riderless.experiments.datatypes import Response, Segment
from riderless.experiments.reports.analyze import analyze
from riderless.experiments.theories import open_loop
from riderless.models.catalogue import load_bicycle
from riderless.models.linear.whipple import canonical_matrices
from riderless.models.nonlinear.simulation import initial_state, simulate_nonlinear

RATE, STEP = 100, 10  # Hz, and steps of 1 ms between samples
PUSHED = 0.2  # rad/s of lean rate, by each kick


def coasting(name, v, seed, duration=18.0):
    """Log of lean rate and speed, of a nonlinear bicycle that nothing drives and somebody pushes three times."""
    bicycle, chance = load_bicycle(name), np.random.default_rng(seed)
    t = np.arange(round(1000 * duration)) * 1e-3
    torque = np.zeros((len(t), 3))
    for i, begin in enumerate((2.0, 7.0, 12.0)):
        torque[(t >= begin) & (t < begin + 0.15), 0] = (-1) ** i * PUSHED * canonical_matrices(bicycle).M[0, 0] / 0.15
    ridden = simulate_nonlinear(bicycle, *initial_state(bicycle, v=v), duration, 1e-3, torque=torque)
    rows = slice(0, len(t), STEP)
    pitch = ridden.to_frame()["theta"].to_numpy()[rows] - bicycle.lam
    rates = {name: ridden.to_frame()[name].to_numpy()[rows] for name in ("phi", "phi_dot", "psi_dot", "theta_R_dot")}
    gyro = rates["phi_dot"] * np.cos(pitch) - rates["psi_dot"] * np.cos(rates["phi"]) * np.sin(pitch)
    speed = -rates["theta_R_dot"] * bicycle.rR
    return Response(
        source=f"{name} {seed}",
        kind="mapped",
        t=t[rows],
        phi_dot=gyro + 0.003 * chance.standard_normal(len(gyro)),
        v=speed + 0.01 * chance.standard_normal(len(speed)),
        bicycle=bicycle,
        theory=open_loop(bicycle),
    )


@pytest.mark.parametrize(("name", "v"), [("Benchmark", 5.4), ("Rigid", 5.6), ("Silver", 5.2)])
def test_the_right_bicycle_explains_what_coasts(name, v):
    """Through a straight line for the speed z was up to 4.3, 5.1 and 1.1."""
    result = analyze(coasting(name, v, seed=41))
    assert len(result.comparisons) == 3
    assert result.verdicts[0].p > 0.1
    assert np.abs([(c.z_re, c.z_im) for c in result.comparisons]).max() < 2.5


def speeds(told, dt=0.01):
    """Recording of speeds, and a window in it."""
    t = dt * np.arange(len(told))
    response = Response("speeds", "mapped", t, np.zeros(len(t)), told)
    return response, make_window(response, 100, 500)


def test_a_speed_that_is_a_line_stays_one():
    noise = 0.01 * np.random.default_rng(5).standard_normal(600)
    response, window = speeds(5.0 - 0.05 * 0.01 * np.arange(600) + noise)
    v, misread = measured_speed(Segment(response, window))
    assert np.array_equal(v, np.linspace(window.v_start, window.v_end, 400))
    assert misread is None


def test_a_speed_that_waves_is_followed_and_its_noise_is_not():
    t, chance = 0.01 * np.arange(600), np.random.default_rng(6)
    true = 5.0 - 0.05 * t + 0.03 * np.sin(6.0 * t)
    v, _ = measured_speed(Segment(*speeds(true + 0.01 * chance.standard_normal(600))))
    assert np.std(v - true[100:500]) < 0.006


def test_a_sensor_slower_than_the_rows_gives_a_line():
    """Its noise is drawn on from value to value, and nothing in the rows tells that from a motion."""
    told = np.interp(0.01 * np.arange(600), 0.25 * np.arange(25), 5.0 + 0.05 * np.random.default_rng(7).normal(size=25))
    response, window = speeds(told)
    assert np.array_equal(measured_speed(Segment(response, window))[0], np.linspace(window.v_start, window.v_end, 400))


@pytest.mark.parametrize("lean", [0.6, -0.6])
def test_a_search_that_begins_far_away_comes_back(lean):
    """Where the lean rate alone was measured, the linear start may lean by more than a bicycle can."""
    response = coasting("Benchmark", 5.4, seed=41)
    window = make_window(response, 240, 640)
    dynamics = response.theory.dynamics()
    near = estimate_initial_state(Segment(response, window), dynamics)
    far = replace(near, x=near.x + np.array([lean, 0.0, 0.0, 0.0]))
    found = nonlinear_initial_state(Segment(response, window), machine_in(Segment(response, window), dynamics), far)
    assert not leaves_more(Segment(response, window), found, near)
    assert abs(found.x[0]) < 0.3
