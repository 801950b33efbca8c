"""The printed points of Kooijman et al. 2008, figure 7."""

import numpy as np
import pytest

from riderless.experiments.analysis.comparison.coasting import COASTING_STARTS, coasting_residuals
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


@pytest.mark.parametrize(("deceleration", "re"), [(0.15, -0.11), (0.23, 0.00), (0.35, 0.20)])
def test_what_slowing_down_does_to_the_published_bias(deceleration, re):
    """Two independent computations gave about these for the mean of the real part; the start of a run is not known."""
    left = coasting_residuals(deceleration)
    assert left.n == 26
    assert left.re_mean == pytest.approx(re, abs=0.03)
    assert abs(left.im_mean) < 0.1


def test_the_start_of_a_run_matters_less_than_its_slowing():
    starts = [coasting_residuals(0.23, start).re_mean for start in COASTING_STARTS.values()]
    assert abs(starts[0] - starts[1]) < 0.1 < coasting_residuals(0.35).re_mean - coasting_residuals(0.15).re_mean
