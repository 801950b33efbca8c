"""Intervals of joint fit and identification under a controller: a small part of the study, and its page."""

from dataclasses import replace

import numpy as np
import pytest

from riderless.experiments.analysis.analyze import analyze_responses
from riderless.experiments.analysis.identification.four_state import fit
from riderless.experiments.analysis.identification.output_error import AveragedWindow, linearise
from riderless.experiments.analysis.verdict.goodness_of_fit import verdicts
from riderless.experiments.analysis.windows.find import find_windows
from riderless.experiments.datatypes import Segment
from riderless.experiments.theory.modes import kicked_mode
from riderless.hil.rig.rig import Rig
from riderless.hil.runners.emulation import Emulation, emulated_plant
from riderless.models import catalogue
from riderless.models.plant.plant import Scenario
from riderless.models.plant.steer_drive import SteerDrive
from tests.experiments.analysis.verdict.test_goodness_of_fit import lockstep
from tests.studies import interval_coverage_loop
from tests.studies.interval_coverage_loop import (
    NOISE_FACTORS,
    STUDY_LOOPS,
    WIDE_PRIORS,
    LoopSetting,
    ask_identification,
    ask_joint_fit,
    emulated_responses,
    loop_settings,
)

LEAN, LQR = LoopSetting("DelftSbW2024", 5.0, 3.0), LoopSetting("Benchmark", 7.0, 1.0)


@pytest.fixture(scope="module")
def rough():
    """One run of ten kicks under the lean-rate law, with three times the usual noise."""
    return next(emulated_responses(LEAN, 10, 5))


def test_the_emulated_instruments_are_as_noisy_as_they_are_told():
    rig, scenario = Rig(catalogue.load_bicycle("Benchmark")), Scenario()
    once, thrice = (emulated_plant(rig, scenario, Emulation(noise=level)) for level in (1.0, 3.0))
    assert thrice.p[0]["instruments"]["noise"] == pytest.approx(3.0 * once.p[0]["instruments"]["noise"])


@pytest.mark.slow
@pytest.mark.parametrize("cell", [LEAN, LQR])
def test_intervals_hold_the_truth_in_closed_loop(cell):
    found = [one for one in ask_joint_fit((cell, 10, 3)) if one.ok]
    z = np.array([one.error / one.std for one in found])
    assert len(z) >= 9
    assert np.mean([one.inside for one in found]) >= 0.85  # of 20: 17 and more, 98 % of all draws
    assert 0.65 < np.sqrt(np.mean(z**2)) < 1.4  # and not by being wide


def test_what_is_left_of_the_readings_is_white_noise_of_the_instruments(rough):
    """Levels and colour are those that the log itself tells of: no quantity is fitted here."""
    stds, lag = [], []
    for window in find_windows(rough)[0]:
        piece = AveragedWindow.of(Segment(rough, window))
        here = linearise(piece, {})
        stds.append(list(here.stds.values()))
        left = here.residual[: 3 * len(piece.v)].reshape(3, -1)
        lag.append([y[1:] @ y[:-1] / (y @ y) for y in left])
    assert np.mean(stds, axis=0) == pytest.approx([1.0] * 3, abs=0.08)
    assert np.mean(lag, axis=0) == pytest.approx([0.0] * 3, abs=0.08)


@pytest.mark.slow
def test_the_speed_that_the_controller_read_is_part_of_the_motion(rough):
    """Near 6.5 m/s the lean-rate law's gain hangs on the noise of the wheel."""
    window = find_windows(rough)[0][0]
    assert rough.v_read is not None
    assert np.std(rough.v_read[window.start : window.stop]) < 0.5 * np.std(rough.v[window.start : window.stop])
    truth = kicked_mode(rough.own_theory.dynamics(), LEAN.v)
    other = replace(rough, v_read=rough.v_read + 0.2)  # as if it had gone by another speed, and so less gain
    fits = [fit(one, window) for one in (rough, other)]
    errors = [abs(complex(one.re, one.im) - truth) for one in fits]
    assert errors[1] > 5 * errors[0]


@pytest.mark.slow
def test_identification_says_how_well_it_knows():
    found = [ask_identification((LoopSetting("DelftSbW2024", 0.0, 1.0), 40 + k)) for k in range(2)]
    z = np.array([one.error / one.std for one in found])
    assert np.isfinite(z).all()
    assert (np.abs(z) < 3.5).all()
    assert (found[0].std < 0.2 * np.array(list(WIDE_PRIORS.values()))).all()  # the data tell, not the prior


@pytest.mark.slow
def test_the_verdict_by_joint_fits_accepts_the_truth_and_rejects_a_weak_drive(tmp_path):
    def p(name, emulation=Emulation()):
        responses = lockstep(tmp_path / name, emulation, ("3.8",)).responses
        found = analyze_responses(responses, estimator="four_state")
        return verdicts(found.responses, found.comparisons, causes=False)[0].p

    assert p("true") > 0.01
    assert p("weak", Emulation(drive=SteerDrive(gain=0.9))) < 1e-6


def test_the_tables_count_what_was_found():
    held = [
        interval_coverage_loop.LoopAnswer(True, np.array([0.1, -0.3]), np.array([0.1, 0.1]), 5.0),
        interval_coverage_loop.LoopAnswer(True, np.array([0.1, 0.1]), np.array([0.1, 0.1]), 7.0),
        interval_coverage_loop.LoopAnswer(False, np.array([9.0, 9.0]), np.array([0.1, 0.1]), 9.0),
    ]
    assert interval_coverage_loop.coverage_cells(held) == ["3", "1", "0.15 / 0.3", "0.1 / 0.1", "100 / 50", "7"]
    assert len(loop_settings()) == len(NOISE_FACTORS) * sum(len(speeds) for _, speeds in STUDY_LOOPS.values())


@pytest.mark.slow
def test_the_table_of_the_page():
    """Every loop, speed and noise: 88 to 100 % of either part, and nine tenths or more of all together."""
    kicks, everything = 24, []
    for cell in loop_settings():
        found = [one for one in ask_joint_fit((cell, kicks, 1)) if one.ok]
        assert len(found) >= 0.9 * (kicks - 1), cell
        assert (np.mean([one.inside for one in found], axis=0) > 0.8).all(), cell
        everything += found
    assert (np.mean([one.inside for one in everything], axis=0) > 0.9).all()
    assert (np.mean([one.inside for one in everything], axis=0) < 0.99).all()
