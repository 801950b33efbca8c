"""The study of the intervals: its truth, its draws, a small grid of it, and its page."""

import numpy as np
import pytest

from riderless.models import catalogue
from riderless.models.errors import InputError
from riderless.models.linear.whipple import system_matrix
from tests.studies import interval_coverage_page
from tests.studies.interval_coverage import (
    COLOURED_NOISE,
    GYRO_QUANTUM,
    OSCILLATING_ESTIMATORS,
    ROUGH_RECORDING,
    STUDIED_ESTIMATORS,
    WHITE_NOISE,
    StudyWindow,
    ask_estimators,
    ask_of_emulated_runs,
    draw_response,
    study_grid,
)
from tests.studies.interval_coverage_loop import LoopSetting
from tests.tools.tables import write_tables

QUICK = {name: STUDIED_ESTIMATORS[name] for name in ("single_mode", "single_mode, blocks")}


def test_the_words_that_seed_the_draws_stay_as_they_were():
    """Whatever a class is called: with other words every published number would be drawn anew."""
    setting = StudyWindow("uncontrolled", 5.5, WHITE_NOISE, 0.01, 2.0)
    assert setting.draw_key == "Setting(machine='uncontrolled', v=5.5, kind='white', noise=0.01, cycles=2.0)"
    assert LoopSetting("Benchmark", 7.0, 1.0).draw_key == "Cell(bicycle='Benchmark', v=7.0, noise=1.0)"


def test_the_truth_is_the_weave_eigenvalue_of_the_model():
    setting = StudyWindow("uncontrolled", 5.5, WHITE_NOISE, 0.01, 2.0)
    values = np.linalg.eigvals(system_matrix(catalogue.load_bicycle("Silver"), 5.5))
    weave = values[values.imag > 0.1]
    assert len(weave) == 1
    assert setting.truth == pytest.approx(weave[0], abs=1e-9)
    assert setting.length == pytest.approx(2 * 2 * np.pi / weave[0].imag)


def test_a_draw_is_what_its_setting_says():
    setting = StudyWindow("steered", 3.5, WHITE_NOISE, 0.01, 4.0)
    noisy, clean, window = draw_response(setting, np.random.default_rng(1))
    assert noisy.t[window.start] == pytest.approx(0.3)
    assert window.t_end - window.t_start == pytest.approx(setting.length, abs=0.01)
    assert window.v_mean == pytest.approx(3.5)
    assert np.std(noisy.phi_dot - clean.phi_dot) == pytest.approx(0.01, rel=0.15)
    rough, _, window = draw_response(StudyWindow("steered", 3.5, ROUGH_RECORDING, 0.01, 4.0), np.random.default_rng(1))
    assert np.allclose(rough.phi_dot / GYRO_QUANTUM, np.round(rough.phi_dot / GYRO_QUANTUM), atol=1e-9)
    assert window.v_mean == pytest.approx(3.5, abs=0.01)
    assert window.deceleration != 0.0


def test_coloured_noise_has_the_colour_that_was_asked_for():
    residual = np.concatenate(
        [
            (lambda noisy, clean, _: noisy.phi_dot - clean.phi_dot - np.mean(noisy.phi_dot - clean.phi_dot))(
                *draw_response(StudyWindow("steered", 3.5, COLOURED_NOISE, 0.01, 4.0), np.random.default_rng(k))
            )
            for k in range(20)
        ]
    )
    assert residual[1:] @ residual[:-1] / (residual @ residual) == pytest.approx(0.44, abs=0.05)


def test_a_setting_has_its_own_draws_whatever_else_is_studied():
    setting = StudyWindow("uncontrolled", 5.5, WHITE_NOISE, 0.01, 1.6)
    both, one = (
        ask_estimators((setting, 2, 5), QUICK),
        ask_estimators((setting, 2, 5), {"single_mode": STUDIED_ESTIMATORS["single_mode"]}),
    )
    assert [a.error for a in both if a.estimator == "single_mode"] == [a.error for a in one]
    assert [a.error for a in one] != [
        a.error for a in ask_estimators((setting, 2, 6), QUICK) if a.estimator == "single_mode"
    ]


@pytest.fixture(scope="module")
def small():
    """96 windows: slow growth apart, both machines, quiet and loud, short and long."""
    grid = study_grid(
        {"uncontrolled": (4.5, 5.5), "steered": (3.5,)}, (COLOURED_NOISE, ROUGH_RECORDING), (0.003, 0.01), (1.6, 2.5)
    )
    return [a for setting in grid for a in ask_estimators((setting, 4, 11), QUICK)]


def test_intervals_hold_the_truth_on_a_small_grid(small):
    mine = [a for a in small if a.estimator == "single_mode" and a.ok]
    assert len(mine) > 85
    assert np.all(np.mean([a.held for a in mine], axis=0) > 0.88)
    assert np.all(np.mean([a.held_like for a in mine], axis=0) > 0.88)
    # and not by being wide: half of an interval is no more than 4 times the middle error
    assert np.median([a.half for a in mine]) < 4 * np.median(np.abs([(a.error.real, a.error.imag) for a in mine]))


def test_noise_alone_by_blocks_is_too_sure_of_itself(small):
    """What published single-window errors are like: the form of the fit and the cut are left out."""
    mine = [a for a in small if a.estimator == "single_mode, blocks" and a.ok]
    assert np.all(np.mean([a.held for a in mine], axis=0) < 0.85)


@pytest.mark.slow
def test_an_emulated_run_is_asked_the_same():
    answers = next(ask_of_emulated_runs(4, ("single_mode",)))
    assert len(answers) == 3
    for a in answers:
        assert a.ok
        assert abs(a.error) < 0.1
        assert all(np.isfinite(a.half_noise))


def test_the_tables_are_written_to_a_file(small, tmp_path):
    page = tmp_path / "page.md"
    for _ in range(2):  # a second time changes nothing
        write_tables(page, interval_coverage_page.coverage_tables(small, small, 11))
    text = page.read_text()
    assert text.startswith("## overview\n\n")
    assert text.count("| single_mode |") >= 2
    assert text.count("96 windows in 24 settings, seed 11") == 1
    with pytest.raises(InputError, match="cannot be written"):
        write_tables(tmp_path / "nowhere" / "page.md", {"a": "b"})


def test_shares_are_counted_by_hand(small):
    mine = [a for a in small if a.ok and a.estimator == "single_mode" and a.setting.noise == 0.01]
    inside = sum(abs(a.error.real) <= a.half[0] for a in mine), sum(abs(a.error.imag) <= a.half[1] for a in mine)
    expected = " / ".join(f"{100 * n / len(mine):.0f}" for n in inside)
    assert interval_coverage_page.held_share(mine) == expected
    assert set(OSCILLATING_ESTIMATORS) <= set(STUDIED_ESTIMATORS)
