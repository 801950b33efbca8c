"""Logs of steer-rate bicycles: units that are known, signs of z up, gaps, and a bicycle that they do not name."""

import numpy as np
import pytest

from riderless.experiments.recordings.foreign import read_foreign
from riderless.experiments.recordings.foreign.labs import chalmers
from riderless.models import catalogue
from riderless.models.errors import InputError
from tests.experiments.recordings.chalmers_log import columns, early, ride, write_log

RADIUS = catalogue.load_bicycle("Benchmark").rR
OF_BENCHMARK = {"bicycle": "Benchmark"}


@pytest.fixture(scope="module")
def table():
    return columns(ride(seconds=20.0), RADIUS)


def test_a_log_reads_in_si_and_in_our_signs(tmp_path, table):
    response = read_foreign(write_log(tmp_path / "ride.csv", table), **OF_BENCHMARK)
    assert (response.kind, response.bicycle.name) == ("chalmers", "Benchmark")
    truth = ride(seconds=20.0)
    assert response.dt == pytest.approx(0.01)
    assert response.phi_dot == pytest.approx(truth["phi_dot"] + 0.01, abs=1e-6)  # its gyro's bias
    assert np.corrcoef(response.delta, truth["delta"])[0, 1] > 0.999
    assert np.corrcoef(response.psi_dot, truth["psi_dot"])[0, 1] > 0.999
    assert response.v == pytest.approx(truth["v"], abs=1e-5)
    assert response.remarks == ()


@pytest.mark.parametrize(("rate", "step"), [(10.0, 0.1), (20.0, 0.05), (50.0, 0.02)])
def test_early_sessions_read_and_their_gaps_are_not_free(tmp_path, table, rate, step):
    cut = early(table, rate=rate)
    response = read_foreign(write_log(tmp_path / "early.csv", cut), **OF_BENCHMARK)
    assert response.dt == pytest.approx(step, rel=0.01)
    t = np.asarray(cut["Time (ms)"]) / 1000.0
    lost = np.flatnonzero(np.diff(t) > 1.5 * step)
    for i in lost:
        middle = 0.5 * (t[i] + t[i + 1])
        if t[i + 1] - t[i] > 1.9 * step:
            assert not response.free[np.argmin(np.abs(response.t - (middle - t[0])))]
    assert bool(lost.size) == any("missing" in remark for remark in response.remarks)
    assert response.free.mean() > 0.8


def test_a_log_without_a_bicycle_is_refused_with_what_to_do(tmp_path, table):
    path = write_log(tmp_path / "ride.csv", table)
    with pytest.raises(InputError, match="give --bicycle"):
        read_foreign(path)
    with pytest.raises(InputError, match="give --bicycle"):
        read_foreign(path, preset="chalmers")
    mapping = tmp_path / "ours.toml"
    mapping.write_text('kind = "chalmers"\nbicycle = "Benchmark"\n')
    assert read_foreign(path, mapping).bicycle.name == "Benchmark"


@pytest.mark.parametrize(("factor", "words"), [(RADIUS, "in m/s"), (30 / np.pi, "in rpm"), (3.6 * RADIUS, "in km/h")])
def test_a_wheel_in_another_unit_than_its_header_says_is_named(tmp_path, table, factor, words):
    lying = {**table, "Speed VESC (rad/s)": factor * table["Speed VESC (rad/s)"]}
    path = write_log(tmp_path / "ride.csv", lying)
    response = read_foreign(path, **OF_BENCHMARK, trust=True)
    assert any(f"most likely Speed VESC (rad/s) is {words}" in remark for remark in response.remarks)


def test_gyros_in_degrees_under_a_header_that_says_radians_are_refused(tmp_path, table):
    lying = {**table, **{name: np.degrees(table[name]) for name in chalmers.COLUMNS[:2]}}
    with pytest.raises(InputError, match=r"in degrees/s, not in radians/s|in degrees, not in radians"):
        read_foreign(write_log(tmp_path / "ride.csv", lying), **OF_BENCHMARK)


def test_a_sign_of_z_down_is_refused(tmp_path, table):
    lying = {**table, "Steering Angle encoder(rad)": -table["Steering Angle encoder(rad)"]}
    with pytest.raises(InputError, match="the sign of"):
        read_foreign(write_log(tmp_path / "ride.csv", lying), **OF_BENCHMARK)


def test_rows_while_the_motor_is_off_are_not_free(tmp_path, table):
    off = np.arange(len(table["flag"])) < 300
    path = write_log(tmp_path / "ride.csv", {**table, "steering flag": np.where(off, 0.0, 1.0)})
    response = read_foreign(path, **OF_BENCHMARK)
    assert not response.free[off].any()
    assert response.free[~off].all()


def test_no_theory_is_made_up_for_a_controller_that_the_log_does_not_state(tmp_path, table):
    response = read_foreign(write_log(tmp_path / "ride.csv", table), **OF_BENCHMARK)
    with pytest.raises(InputError, match="steered by rate that names none"):
        _ = response.own_theory
