"""Estimates from made-up rows: right within stated tolerances, and as far off as their errors say."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from riderless.firmware_interface.calibration import Calibration
from riderless.hil.commissioning import sensor_calibration as c
from riderless.hil.commissioning.drive_calibration import (
    DRIVE_PARAMETERS,
    Centring,
    fit_drive,
    front_inertia,
    sweep_rows,
)
from riderless.models import catalogue
from tests.hil.commissioning.held import rows_of, swinging_rows

PLAIN = Calibration(wheel_radius=0.3)
OMEGA, INERTIA = 2.0 * math.pi, c.Estimate(0.154, 0.0)
CENTRING = Centring(0.154 * OMEGA**2, 0.7 * OMEGA * 0.154, 100.0)


def mounted(*degrees, **others):
    """A calibration with its sensor turned about z, y and x."""
    matrix = Rotation.from_euler("zyx", degrees, degrees=True).as_matrix()
    return Calibration(wheel_radius=0.3, mounting=tuple(map(tuple, matrix)), **others)


def leant(truth, read_with, seed, lean=0.35):
    """Upright, the way over (1 s), and leaning."""
    rng = np.random.default_rng(seed)
    rate = lean * np.sin(np.pi * np.arange(200) / 200) ** 2 * 2.0
    way = rows_of(200, truth, read_with, rng, np.cumsum(rate) / 200, rate)
    return rows_of(600, truth, read_with, rng), way, rows_of(600, truth, read_with, rng, lean)


def spread(deviations, errors):
    """Root mean square of deviations in units of their errors."""
    return math.sqrt(np.mean(np.square(np.array(deviations) / np.array(errors))))


def test_gyro_bias_in_sensor_axes_whatever_the_rows_were_read_with():
    truth = mounted(90.0, 0.0, 3.0, gyro_offset=(0.02, -0.03, 0.01))
    for read_with in (PLAIN, truth, mounted(10.0, 20.0, 30.0, gyro_offset=(0.1, 0.0, 0.0))):
        found = c.find_gyro_bias(rows_of(1000, truth, read_with, np.random.default_rng(1)), read_with)
        assert found.value == pytest.approx(truth.gyro_offset, abs=3e-4)
        assert found.error.max() < 1.5e-4


def test_errors_of_a_mean_cover_also_what_trembles():
    deviations, errors = [], []
    for seed in range(80):
        rng = np.random.default_rng(seed)
        tremble = np.convolve(rng.normal(size=1100), np.ones(20) / 20, "valid")[:1000]  # a tenth of a second
        found = c.batch_mean(0.01 * tremble + 0.002 * rng.normal(size=1000))
        deviations.append(found.value)
        errors.append(found.error)
    assert 0.75 < spread(deviations, errors) < 1.35


@settings(max_examples=30)
@given(st.tuples(*[st.floats(-180.0, 180.0), st.floats(-80.0, 80.0), st.floats(-180.0, 180.0)]), st.integers(0, 99))
def test_any_mounting_is_found_to_a_third_of_a_degree(degrees, seed):
    truth = mounted(*degrees)
    upright, way, leaning = leant(truth, PLAIN, seed)
    found = c.find_mounting(upright, leaning, PLAIN, way)
    assert c.rotation_angle(found.rotation @ np.array(truth.mounting).T) < math.radians(0.3)
    assert found.lean == pytest.approx(0.35, abs=0.002)
    assert found.lean_by_gyro == pytest.approx(0.35, abs=0.01)
    assert found.gravity == pytest.approx([9.81, 9.81], abs=0.01)
    assert Calibration(wheel_radius=0.3, mounting=tuple(map(tuple, found.rotation.tolist()))), "a rotation"


def test_errors_of_the_mounting_are_what_it_deviates_by():
    truth, deviations, errors = mounted(94.0, -3.0, 5.0), [], []
    for seed in range(60):
        upright, way, leaning = leant(truth, PLAIN, seed, lean=0.25)
        found = c.find_mounting(upright, leaning, PLAIN, way)
        deviations.append(Rotation.from_matrix(found.rotation @ np.array(truth.mounting).T).as_rotvec())
        errors.append(found.error)
    for axis in range(3):
        assert 0.75 < spread(np.array(deviations)[:, axis], np.array(errors)[:, axis]) < 1.35
    assert np.mean(errors, axis=0)[2] > 3.0 * np.mean(errors, axis=0)[0], "a small lean tells little about z"


def test_a_lean_to_the_left_turns_the_sensor_half_way_round():
    upright, way, leaning = leant(PLAIN, PLAIN, 1, lean=-0.35)
    found = c.find_mounting(upright, leaning, PLAIN, way)
    assert found.rotation == pytest.approx(np.diag([-1.0, -1.0, 1.0]), abs=0.01)


def test_two_positions_alike_are_no_mounting():
    rows = rows_of(600, PLAIN, PLAIN, np.random.default_rng(1))
    with pytest.raises(ValueError, match="the same in both"):
        c.find_mounting(rows, rows, PLAIN)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("read_sign", [1, -1])
def test_steer_zero_sign_and_stops(sign, read_sign):
    truth = Calibration(wheel_radius=0.3, steer_sign=sign, steer_offset=0.15)
    read_with = Calibration(wheel_radius=0.3, steer_sign=read_sign, steer_offset=0.04)
    rng = np.random.default_rng(1)
    straight, right, left = (rows_of(400, truth, read_with, rng, steer=delta) for delta in (0.0, 0.8, -0.7))
    found = c.find_steer(straight, right, left, read_with)
    assert (found.sign, found.offset.value) == (sign, pytest.approx(0.15, abs=1e-4))
    assert (found.right, found.left) == (pytest.approx(0.8, abs=1e-3), pytest.approx(-0.7, abs=1e-3))


@pytest.mark.parametrize("sign", [1, -1])
def test_wheel_radius_and_sign_from_a_roll_out(sign):
    truth = Calibration(wheel_radius=0.33, wheel_sign=sign)
    rate = 4.0 * np.sin(np.pi * np.arange(2000) / 2000)
    rows = rows_of(2000, truth, PLAIN, np.random.default_rng(1), wheel=rate)
    distance = 0.33 * float(np.trapezoid(rate, dx=1 / 200))
    found = c.find_wheel(rows, PLAIN, distance)
    assert found.sign == sign
    assert found.radius.value == pytest.approx(0.33, rel=1e-3)
    assert found.radius.error == pytest.approx(0.33 * math.sqrt(2.0) * 0.01 / distance, rel=1e-2)


def test_still_and_held_are_what_they_say():
    rng = np.random.default_rng(1)
    quiet = rows_of(1000, PLAIN, PLAIN, rng)
    assert c.still_rows(quiet, 3.0) is not None
    assert c.held_rows(quiet, 3.0) is not None
    assert c.still_rows(quiet[:300], 3.0) is None, "too short"
    assert c.still_rows(rows_of(1000, PLAIN, PLAIN, rng, noise=30.0), 3.0) is None, "it trembles"
    turning = rows_of(1000, PLAIN, PLAIN, rng, lean=0.005 * np.arange(1000) / 200, lean_rate=0.005)
    assert c.still_rows(turning, 3.0) is None, "it turns too slowly for the gyros, but gravity sees it"
    assert c.held_rows(rows_of(1000, PLAIN, PLAIN, rng, steer=0.01 * np.arange(1000) / 200), 3.0) is None
    holes = quiet.copy()
    holes["valid"][100:] = 0
    assert c.still_rows(holes, 3.0) is None
    assert c.last_rows(holes[:0], 1.0) is None


DRIVES = {
    "light friction": {"gain": 0.9},
    "much friction": {"gain": 0.5, "friction": 0.2},
    "bars that topple": {"stiffness": -0.6},
    "a cable": {"stiffness": 2.0, "bias": 0.1, "damping": 0.2},
    "no friction": {"gain": 1.3, "friction": 0.0, "damping": 0.0},
    "a quick drive": {"transport": 0.002, "lag": 0.005},
    "a coarse encoder": {"gain": 1.1, "count": 2 * math.pi / 2000},
}


@pytest.mark.parametrize("name", DRIVES)
def test_drive_and_friction(name):
    truth = {"gain": 1.0, "damping": 0.05, "friction": 0.05, "stiffness": 0.0, "bias": 0.0, **DRIVES[name]}
    rows = sweep_rows(swinging_rows(CENTRING, amplitude=1.5 if truth["friction"] > 0.1 else 0.9, **DRIVES[name]))
    found = fit_drive(rows, INERTIA, 0.005, CENTRING).found
    assert found["gain"].value == pytest.approx(truth["gain"], rel=0.005)
    for key, tolerance in {"damping": 0.003, "friction": 0.003, "stiffness": 0.03, "bias": 0.002}.items():
        assert found[key].value == pytest.approx(truth[key], abs=tolerance)
    delay = DRIVES[name].get("transport", 0.005) + 0.005
    assert found["delay"].value == pytest.approx(delay, abs=5e-4)


def test_errors_of_the_drive_are_what_it_deviates_by_under_torques_nobody_knows():
    truth = {"gain": 0.9, "damping": 0.05, "friction": 0.05, "stiffness": 0.3, "bias": 0.03, "delay": 0.01}
    known = {name: value for name, value in truth.items() if name != "delay"}
    found = [
        fit_drive(sweep_rows(swinging_rows(CENTRING, **known, breath=0.03, seed=seed)), INERTIA, 0.005, CENTRING)
        for seed in range(24)
    ]
    z = np.array([[(f.found[n].value - truth[n]) / f.found[n].error for n in DRIVE_PARAMETERS] for f in found])
    assert np.all(np.sqrt(np.mean(z**2, axis=0)) < 1.6)
    assert np.mean(np.abs(z) < 2.0) > 0.9
    assert np.sqrt(np.mean(z[:, 0] ** 2)) > 0.4, "nor are they far too large"


def test_a_heavier_front_makes_every_torque_larger():
    rows = sweep_rows(swinging_rows(CENTRING, gain=0.9))
    light = fit_drive(rows, INERTIA, 0.005, CENTRING).found
    heavy = fit_drive(rows, c.Estimate(2.0 * 0.154, 0.0154), 0.005, Centring(*CENTRING)).found
    assert heavy["gain"].value == pytest.approx(2.0 * light["gain"].value, rel=1e-2)
    assert heavy["gain"].error == pytest.approx(0.05 * heavy["gain"].value, rel=0.05)


def test_bars_that_hardly_move_tell_nothing():
    rows = sweep_rows(swinging_rows(CENTRING, amplitude=0.06, friction=0.05))
    with pytest.raises(ValueError, match="the bars moved by"):
        fit_drive(rows, INERTIA, 0.005, CENTRING)
    with pytest.raises(ValueError, match="in 0 samples"):
        fit_drive(rows[:0], INERTIA, 0.005, CENTRING)


def test_inertia_about_the_steer_axis_and_its_error():
    """By hand for a vertical axis: mass times squared distance, and the moments about z."""
    benchmark = catalogue.load_bicycle("Benchmark")
    assert front_inertia(benchmark) == (pytest.approx(0.15389731601), 0.0)
    assert front_inertia(benchmark, 0.05).value == pytest.approx(0.20389731601)
    browser = front_inertia(catalogue.load_bicycle("Browser"))
    assert 0.005 < browser.error / browser.value < 0.1
