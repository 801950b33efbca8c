"""Numbers and figures of the report: digits as printed, envelopes, axes, intervals."""

import numpy as np
import pytest

from experiments.analysis.compare import SampleStatistics
from experiments.reports import eigenvalues
from experiments.reports.html import typeset_number
from experiments.reports.page.window_pictures import PictureAxis, envelope, round_step


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
    at, low, high = envelope(t, y, bins=100)
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
