"""The walk of a log as a whole: which estimator, which window, what becomes of each part."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import expm

from riderless.experiments.analysis.analyze import analyze_responses, given_window, suitable
from riderless.experiments.datatypes import Response, Segment
from riderless.experiments.theories import open_loop
from riderless.models import catalogue
from riderless.models.errors import InputError
from riderless.models.linear.whipple import system_matrix

DT = 0.005


def falling(v, x0, seconds, noise=1e-3):
    """Lean rate of a Silver bicycle let go at one speed, by the matrix exponential."""
    silver = catalogue.load_bicycle("Silver")
    step, x, rows = expm(system_matrix(silver, v) * DT), np.array(x0, float), []
    for _ in range(round(seconds / DT)):
        rows.append(x[2])
        x = step @ x
    t = DT * np.arange(len(rows))
    seen = np.array(rows) + noise * np.random.default_rng(1).standard_normal(len(rows))
    return Response("made", "riderless", t, seen, np.full(len(t), v), bicycle=silver, theory=open_loop(silver))


def test_at_rest_the_real_form_finds_how_fast_it_falls():
    # Kooijman, Schwab, Meijaard (2008): at rest 3.667 1/s predicted, 3.712 and 3.586 measured
    response = falling(0.0, (0.002, 0.0, 0.00733, 0.0), 0.9)
    window = given_window(response, 0.0, 0.895)
    assert suitable(Segment(response, window)) == "real_mode"
    (comparison,) = analyze_responses([response], (0.0, 0.895)).comparisons
    assert comparison.fit.im == 0.0
    assert 3.4 < comparison.fit.re < 4.1  # between the two unstable eigenvalues 3.667 and 4.049 and the noise
    assert comparison.prediction.frozen.imag == 0.0
    assert abs(comparison.z_re) < 4
    assert comparison.z_im == 0.0


def test_a_rolling_bicycle_gets_the_oscillating_form():
    response = falling(5.0, (0.0, 0.0, 0.4, 0.0), 2.5)
    assert suitable(Segment(response, given_window(response, 0.3, 2.4))) == "single_mode"
    (comparison,) = analyze_responses([response], (0.3, 2.4)).comparisons
    # linear reference of Silver at 5 m/s, computed independently: -1.06817 +- 5.00723i
    assert comparison.prediction.frozen == pytest.approx(-1.0681695800825892 + 5.007229169988942j, abs=1e-9)
    assert comparison.agrees


def test_an_estimator_can_be_asked_for_and_a_wrong_one_is_told():
    response = falling(5.0, (0.0, 0.0, 0.4, 0.0), 2.5)
    (comparison,) = analyze_responses([response], (0.3, 2.4), "single_mode").comparisons
    assert comparison.fit.estimator == "single_mode"
    with pytest.raises(InputError, match="single_mode"):
        analyze_responses([response], (0.3, 2.4), "crystal ball")


@pytest.mark.parametrize("given", [(2.0, 1.0), (10.0, 12.0), (1.0, 1.01)])
def test_a_window_outside_the_recording_is_told(given):
    with pytest.raises(InputError, match="made"):
        analyze_responses([falling(5.0, (0.0, 0.0, 0.4, 0.0), 2.5)], given)


def test_what_cannot_be_used_is_rejected_with_its_reason():
    response = falling(5.0, (0.0, 0.0, 0.4, 0.0), 2.5)
    analysis = analyze_responses([response], (0.3, 0.9))  # half a cycle
    assert analysis.comparisons == ()
    assert "cycle" in analysis.rejected[0].reason


@pytest.mark.parametrize(("t_start", "t_end"), [(0.3, 3.0), (-0.2, 2.0)])
def test_a_window_beyond_the_recording_says_that_it_was_cut(t_start, t_end):
    response = falling(5.0, (0.0, 0.0, 0.4, 0.0), 2.5)
    window = given_window(response, t_start, t_end)
    assert (window.t_start, window.t_end) == pytest.approx((max(t_start, 0.0), min(t_end, 2.495)))
    said = f"given by a person as {t_start:g} to {t_end:g} s, which the recording does not hold all of"
    assert window.rule == said
    assert given_window(response, 0.0, 2.5).rule == "given by a person"  # as windows are printed, to 0.01 s


def test_a_given_window_across_what_is_not_free_says_so():
    response = falling(5.0, (0.0, 0.0, 0.4, 0.0), 2.5)
    marked = replace(response, free=(response.t < 1.0) | (response.t > 1.2))
    assert given_window(marked, 0.3, 0.9).rule == "given by a person"
    said = given_window(marked, 0.3, 2.0).rule
    assert said == "given by a person; not free, says the recording, from 1.00 to 1.20 s"
