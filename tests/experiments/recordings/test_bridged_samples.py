"""Samples that are no good now and then are bridged and told with their share; late answers to them are counted."""

from dataclasses import replace

import numpy as np
import pytest

from riderless.experiments.recordings import run_response
from riderless.experiments.recordings.run_response import response_of_run
from riderless.experiments.recordings.runs import sampled_rows
from riderless.experiments.theory.run_theory import instrument_noise
from riderless.hil.logs import log
from riderless.hil.logs.log import read_run
from tests.studies.verdict_calibration.judge import ask_verdict
from tests.studies.verdict_calibration.strata import StudyCampaign
from tests.tools.long_log import write_long_log


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_long_log(tmp_path_factory.mktemp("log") / "run", 25.0, 200.0)


def failing(run, spoilt, of):
    """Run with so many samples of so many that are no good."""
    ticks = np.array(run.ticks[:])
    ticks["valid"][np.arange(len(ticks)) % of < spoilt] = 0
    return replace(run, ticks=ticks)


def told(response):
    return [remark for remark in response.remarks if "missing or no good" in remark]


@pytest.mark.parametrize(
    ("spoilt", "of", "said", "late"), [(1, 20, "5 %", "0.25"), (3, 17, "18 %", "1.8"), (1, 50, "2 %", "0.099")]
)
def test_samples_that_fail_now_and_then_are_told_with_their_share(folder, spoilt, of, said, late):
    (remark,) = told(response_of_run(failing(read_run(folder), spoilt, of)))
    assert f"t: {said} of the samples under control are missing or no good" in remark
    assert f"theory has the torque {late} ms later for them" in remark


@pytest.mark.parametrize(("spoilt", "of"), [(0, 20), (1, 200), (80, 2000)])
def test_single_ones_and_a_long_gap_with_a_remark_of_its_own_are_not(folder, spoilt, of):
    assert told(response_of_run(failing(read_run(folder), spoilt, of))) == []


@pytest.mark.parametrize(("spoilt", "of", "periods"), [(0, 20, 0.0), (1, 20, 1 / 20), (3, 17, (1 + 2 + 3) / 17)])
def test_theory_has_the_torque_later_by_the_mean_age_of_what_is_held(
    folder, monkeypatch, tmp_path, spoilt, of, periods
):
    run = failing(read_run(folder), spoilt, of)
    dt = run.header.rig.dt
    assert response_of_run(run).theory.known_delay == pytest.approx(dt * (1.0 + periods), rel=2e-3)
    saved = run.save(tmp_path / "failing")
    monkeypatch.setattr(log, "LONG_LOG_BYTES", 0)
    monkeypatch.setattr(run_response, "STRETCH_ROWS", 2000)
    long = response_of_run(read_run(saved, everything=False, stored=True))
    assert long.theory.known_delay == pytest.approx(dt * (1.0 + periods), rel=2e-3)


@pytest.mark.parametrize("bicycle", ["Pista", "Gyro_computed"])
def test_a_true_bicycle_is_accepted_though_a_twentieth_of_its_samples_is_missing(bicycle):
    """Before: p 8e-4 and 4e-6."""
    campaign = StudyCampaign(94300, 0, bicycle, "missing 5 %", "lean", 1.0, "single_mode")
    assert ask_verdict(campaign).p > 0.05


@pytest.mark.parametrize(("spoilt", "of"), [(1, 50), (1, 20), (3, 17)])
def test_the_motion_over_a_gap_is_no_noise_of_the_instruments(folder, spoilt, of):
    """Before: the steer's was 1.1 to 3.1 times as large."""
    run = read_run(folder)
    alone = instrument_noise(sampled_rows(run.ticks))
    found = instrument_noise(sampled_rows(failing(run, spoilt, of).ticks))
    assert found == pytest.approx(alone, rel=0.1)


def test_noise_is_told_where_hardly_four_samples_in_a_row_are_left(folder):
    assert np.all(instrument_noise(sampled_rows(failing(read_run(folder), 1, 4).ticks)) > 0.0)


def test_a_long_run_tells_them_once(folder, monkeypatch, tmp_path):
    saved = failing(read_run(folder), 1, 20).save(tmp_path / "failing")
    monkeypatch.setattr(log, "LONG_LOG_BYTES", 0)
    monkeypatch.setattr(run_response, "STRETCH_ROWS", 2000)
    assert len(told(response_of_run(read_run(saved, everything=False, stored=True)))) == 1
