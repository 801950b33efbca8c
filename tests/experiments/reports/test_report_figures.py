"""Numbers and figures of the report: digits as printed, envelopes, axes, intervals."""

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from riderless.experiments.analysis.comparison.compare import SampleStatistics
from riderless.experiments.datatypes import Fit
from riderless.experiments.reports import eigenvalues, loop
from riderless.experiments.reports.eigenvalues import plane_figure
from riderless.experiments.reports.html import typeset_number
from riderless.experiments.reports.page.window_pictures import PictureAxis, min_max, round_step


@pytest.mark.parametrize(
    ("value", "sign", "text"),
    [
        (-1.164, False, "−1.16"),
        (0.5, True, "+0.50"),
        (-0.001, True, "0.00"),
        (np.nan, False, "–"),
        (np.inf, False, "∞"),
    ],
)
def test_numbers_as_printed(value, sign, text):
    assert typeset_number(value, 2, sign) == text


def test_an_envelope_keeps_every_peak():
    t = np.linspace(0.0, 10.0, 100_001)
    y = np.sin(40 * t)
    y[54_321] = 7.0
    at, low, high = min_max(t, y, bins=100)
    assert len(at) == 100
    assert high.max() == 7.0
    assert low.min() == y.min()


@pytest.mark.parametrize(("least", "step"), [(0.021, 0.05), (0.1, 0.1), (3.0, 5.0), (60.0, 100.0), (0.0051, 0.01)])
def test_axes_step_in_round_numbers(least, step):
    assert round_step(least) == pytest.approx(step)


def test_ticks_are_written_with_the_digits_they_need():
    texts = [text for _, text in PictureAxis(-0.26, 0.31, 0.0, 100.0).ticks]
    assert texts == ["\u22120.2", "0.0", "0.2"]
    assert [place for place, _ in PictureAxis(0.0, 10.0, 50.0, 0.0).ticks] == [50.0, 40.0, 30.0, 20.0, 10.0, 0.0]


def test_confidence_interval_of_a_mean_is_students():
    # Student's t for 4 degrees of freedom, 95 % two-sided: 2.776 (any table)
    spread = SampleStatistics.of([1.0, 2.0, 3.0, 4.0, 5.0])
    assert eigenvalues.half_width(spread) == pytest.approx(2.776 * np.sqrt(2.5 / 5), abs=5e-4)


def measured(values, stds):
    """A series of windows at 5 m/s with these eigenvalues, and the standard deviations of both of their parts."""
    window = SimpleNamespace(v_mean=5.0, v_start=5.0, v_end=5.0)
    fits = [
        Fit("", value.real, value.imag, std**2 * np.eye(2), 1.0, 0.0, True, "")
        for value, std in zip(values, stds, strict=True)
    ]
    prediction = SimpleNamespace(like=-1.0 + 4.0j)
    return eigenvalues.Series("", [SimpleNamespace(window=window, fit=fit, prediction=prediction) for fit in fits])


def test_bars_are_whole_unless_they_are_longer_than_all_else():
    """Of a report's first figure, bars of four windows ended at the frame."""
    series = measured([-2.0 + 8.0j, -3.0 + 9.0j, -2.5 + 8.5j], [0.2, 0.4, 30.0])
    re, im = eigenvalues.eigenvalue_figure([series]).axes
    (left, right), (low, high) = (getattr(plane_figure([series]).axes[0], f"get_{axis}lim")() for axis in "xy")
    longest = eigenvalues.BAR_STDS * 0.4
    for lower, upper in (re.get_ylim(), (left, right)):
        assert lower < -3.0 - longest
        assert upper >= 0.0
        assert upper - lower < 6.0  # 30 would need 120, and nothing else could be seen
    for lower, upper in (im.get_ylim(), (low, high)):
        assert upper > 9.0 + longest
        assert upper - lower < 12.0


def test_windows_without_an_uncertainty_have_no_bars_to_show():
    re, im = eigenvalues.eigenvalue_figure([measured([-1.0 + 4.0j], [np.nan])]).axes
    assert re.get_ylim()[0] == pytest.approx(-1.12)
    assert im.get_ylim()[1] == pytest.approx(4.12)


def test_many_runs_share_one_histogram():
    times = {f"run-{i}": (np.full(10, 1e-4), np.full(10, 1e-5)) for i in range(9)}
    assert "all 9 runs" in eigenvalues.to_svg(loop.timing_figure(times), "timing")


def test_importing_the_report_does_not_import_the_plotting_library():
    code = "import sys, riderless.experiments.reports.html; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
