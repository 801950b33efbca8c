"""Power of the verdict: what is said to be seen is seen as often as is said."""

import numpy as np
import pytest
from scipy.stats import chi2

from riderless.experiments.analysis.comparison.compare import windows_by_bicycle
from riderless.experiments.analysis.power.power import (
    POWER_QUANTITIES,
    Detectable,
    detectable,
    like_for_like_slopes,
    power_sentence,
    power_table,
)
from riderless.experiments.analysis.verdict.candidate import CandidateCause
from riderless.experiments.analysis.verdict.goodness_of_fit import SIGNIFICANCE, verdicts
from riderless.experiments.analysis.verdict.leftover import Leftover
from riderless.experiments.analysis.verdict.wording import measure_next
from riderless.experiments.reports.answer import answer_of
from riderless.hil.runners.emulation import Emulation
from riderless.models.plant.steer_drive import SteerDrive
from tests.experiments.analysis.verdict.test_goodness_of_fit import lockstep


def test_a_deviation_is_seen_as_often_as_is_said():
    """Drawn, not computed: 4000 campaigns of three conditions with the deviation that is to be seen in 90 %."""
    rng = np.random.default_rng(3)
    root = rng.standard_normal((6, 6))
    covariance, slopes = root @ root.T + 0.1 * np.eye(6), rng.standard_normal((6, 2))
    for size, slope in zip(detectable(covariance, slopes, 0.01), slopes.T, strict=True):
        residual = rng.multivariate_normal(size * slope, covariance, 4000)
        found = np.einsum("ni,ni->n", residual, np.linalg.solve(covariance, residual.T).T)
        assert np.mean(found > chi2.isf(0.01, 6)) == pytest.approx(0.9, abs=0.02)


def test_what_no_condition_feels_is_never_seen():
    assert np.isinf(detectable(np.eye(2), np.zeros((2, 1)), 0.01)[0])
    assert power_sentence([Detectable("drive_gain", np.inf)]) == ""


@pytest.mark.parametrize(
    ("size", "phrase"),
    [
        (("fork_inertia", 1.06), "fork inertia 110 %"),
        (("more_delay", 0.00834), "more delay 8.3 ms"),
        (("steer_damping", 0.0391), "steer damping 0.039 N m s/rad"),
    ],
)
def test_sizes_are_read_in_two_digits(size, phrase):
    """A verdict said 1.1e+02 %."""
    assert Detectable(*size).phrase == phrase


def test_the_table_knows_what_a_campaign_sees(tmp_path):
    """Predicted from the true campaign alone; then the drive is made weaker by that and a quarter of it, or stronger.

    At the size that a small error's effect foretold, half of this, one such drive was taken for the true one (p 0.98).
    The sensor is known to sit exactly: one that may be pitched hides the drive from two conditions.
    """
    known = {"imu_pitch": 0.0}
    analysis = lockstep(tmp_path / "true", speeds=("5.0", "3.0"), std=known)
    verdict = analysis.verdicts[0]
    assert verdict.explained
    sizes = {one.name: one.deviation for one in verdict.power}
    assert 0.005 < sizes["drive_gain"] < 0.1
    for share, seen in ((1.0, True), (-1.0, True), (0.25, False)):
        drive = SteerDrive(gain=1.0 - share * sizes["drive_gain"])
        again = lockstep(tmp_path / str(share), Emulation(drive=drive), ("5.0", "3.0"), known)
        assert (verdicts(again.responses, again.comparisons, causes=False)[0].p < SIGNIFICANCE) == seen
    (group,) = windows_by_bicycle(analysis.comparisons).values()
    slopes = like_for_like_slopes(group, ["drive_gain"])
    assert slopes.shape == (verdict.dof, 1)
    said = answer_of(analysis.verdicts, analysis.responses, analysis.comparisons).details[0]
    assert said.startswith("smallest deviations detectable with 90 % power: drive gain ")
    assert "more delay " in said
    assert "ms" in said


def test_tried_and_foretold_sizes_agree_where_effects_are_in_proportion(tmp_path):
    """Two routes at 5 m/s, where the start of a window explains little of either: slopes, and deviations put in."""
    analysis = lockstep(tmp_path, speeds=("5.0",), std={"imu_pitch": 0.0})
    group = analysis.comparisons
    covariance, slopes = Leftover(group).covariance, like_for_like_slopes(group, POWER_QUANTITIES)
    assert slopes.shape == (2, len(POWER_QUANTITIES))
    tried = [one.deviation for one in power_table(group, covariance, SIGNIFICANCE)]
    assert tried == pytest.approx(detectable(covariance, slopes, SIGNIFICANCE), rel=0.1)


def test_what_to_measure_next_goes_with_the_cause():
    friction = CandidateCause("coulomb_friction", 0.0, 0.05, 1.0, False, float("nan"), 1.0, unit="N m")
    assert "pull the bars slowly with a spring balance" in measure_next([friction])
    fork = CandidateCause("IHzz", 0.1, 0.2, 1.0, False, 1.0, 2.0)
    assert "measure IHzz at rest again" in measure_next([fork])
    assert measure_next([]) == ""
