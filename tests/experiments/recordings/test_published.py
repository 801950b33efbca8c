"""The printed points of Kooijman et al. 2008, figure 7."""

import numpy as np
import pytest

from riderless.experiments.analysis.comparison.coasting import (
    COASTING_STARTS,
    DECELERATIONS,
    RETARDING_FORCES,
    coasting_residuals,
)
from riderless.experiments.recordings.published import figure7
from tests.paths import REFERENCE


def test_the_table_is_the_published_one():
    theirs = np.loadtxt(REFERENCE / "measured_weave_eigenvalues.csv", delimiter=",", skiprows=1)
    ours = figure7()
    assert np.array_equal(theirs, np.column_stack([ours.v_start, ours.v_end, ours.re, ours.im]))


def test_the_26_runs_are_plausible():
    points = figure7()
    assert points.re.shape == (26,)
    assert np.all(points.v_start < points.v_end)
    assert np.all(points.im > 0)
    # run 52, printed in the text: -1.16 +- 5.44i, 5.4 to 4.8 m/s
    i = np.argmin(np.abs(points.re + 1.16) + np.abs(points.im - 5.44))
    assert abs(points.re[i] + 1.16) < 0.005
    assert abs(points.im[i] - 5.44) < 0.005
    assert (round(points.v_start[i], 1), round(points.v_mean[i], 1)) == (4.8, 5.1)


@pytest.mark.parametrize(
    ("by", "re"),
    [
        ("rear rim", (-0.19, -0.13, -0.10)),
        ("air at the frame's centre", (-0.15, -0.07, -0.02)),
        ("1/3 rolling, horizontal axis", (-0.03, 0.12, 0.27)),
        ("2/3 rolling, horizontal axis", (0.10, 0.38, 0.59)),
        ("rolling, leaned axle", (-0.08, 0.04, 0.13)),
    ],
)
def test_what_slowing_down_does_to_the_published_bias(by, re):
    """Means of the real part, of an independent computation: how much and which way depends on what slowed the runs."""
    left = [coasting_residuals(deceleration, by) for deceleration in DECELERATIONS]
    assert [one.n for one in left] == [26, 26, 26]
    assert [one.re_mean for one in left] == pytest.approx(re, abs=0.006)


def test_the_start_of_a_run_matters_less_than_what_slows_it():
    starts = [coasting_residuals(0.23, start=start).re_mean for start in COASTING_STARTS.values()]
    places = [coasting_residuals(0.23, by).re_mean for by in RETARDING_FORCES]
    assert abs(starts[0] - starts[1]) < 0.15 < np.ptp(places)
