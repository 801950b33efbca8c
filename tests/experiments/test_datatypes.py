"""Results show themselves in one line, and in a small table in a notebook."""

from dataclasses import replace

import numpy as np
import pytest

from riderless.experiments.analysis.estimators import ESTIMATORS, estimate
from riderless.experiments.analysis.frequency_response.goodness_of_fit import ResponseGoodness
from riderless.experiments.analysis.frequency_response.response import FrequencyResponse, Transfer
from riderless.experiments.analysis.identification.identify import Identification
from riderless.experiments.analysis.verdict.conditions import ConditionMeans
from riderless.experiments.analysis.verdict.goodness_of_fit import GoodnessOfFit
from riderless.experiments.analysis.windows.cut import make_window
from riderless.experiments.analysis.windows.find import find_windows
from riderless.experiments.datatypes import Comparison, Fit, Prediction, Segment
from riderless.experiments.notebook import eigenvalue_with_unit, plus_minus, value_table
from riderless.experiments.theories import open_loop
from riderless.models import catalogue
from tests.experiments.synthetic import kicked

RESPONSE = replace(kicked(), bicycle=catalogue.load_bicycle("Silver"), label="Silver 5.0 m/s")
WINDOW = find_windows(RESPONSE)[0][0]
FIT = estimate(RESPONSE.t[WINDOW.rows], RESPONSE.phi_dot[WINDOW.rows])
PREDICTION = Prediction("weave", complex(-1.1, 5.3), complex(-1.21, 5.38), (0.02, 0.03))
COMPARISON = Comparison(Segment(RESPONSE, WINDOW), FIT, PREDICTION, 0.4, -1.2, "Silver 5.0 m/s")
THEORY = open_loop(catalogue.load_bicycle("Balanceassistv1"))
MEANS = ConditionMeans("Silver 5.0 m/s", 5.0, 3, complex(0.1, -0.2), complex(0.05, 0.1))
GOODNESS = GoodnessOfFit("Silver", 3.1, 2, 0.21, 0.1 + 0.1j, (MEANS,), ())
IDENTIFIED = Identification(
    names=("drive_gain", "more_delay"),
    values=np.array([0.9, 0.004]),
    covariance=np.diag([0.01**2, 0.001**2]),
    nominal=np.array([1.0, 0.0]),
    prior=np.array([np.inf, np.inf]),
    cost=10.0,
    cost_before=20.0,
    windows=4,
    cluster_robust=False,
    ok=True,
    status="",
    bounds=np.array([[0.1, 3.0], [-0.01, 0.1]]),
    curves=({"phi_dot": np.zeros(1000)},),
)
MANY = np.ones(300)
TRANSFER = Transfer("loop", "phi_dot", MANY * 1j, MANY * 1j, 0.02 * MANY, 0.98 * MANY)
RESPONSES = FrequencyResponse(
    source="run7",
    label="",
    bicycle="Silver",
    v=5.0,
    f=np.linspace(0.3, 6.0, 300),
    responses=(TRANSFER,),
    theory=None,
    lines=None,
    slopes={},
    move=None,
)
FREQUENCY = ResponseGoodness("loop", 0, 84, 0.0, 0, 1.0, *[float("nan")] * 7, None)
SHOWN = [
    (RESPONSE, ["synthetic", "2800 samples", "phi_dot"]),
    (WINDOW, ["synthetic", "5.00 m/s", "rows"]),
    (FIT, ["single_mode", "±", "1/s", "rad/s"]),
    (Fit.refused("era", "too few rows"), ["era", "refused", "too few rows"]),
    (PREDICTION, ["weave", "-1.1 ± 5.3i 1/s"]),
    (COMPARISON, ["Silver 5.0 m/s", "-1.21 ± 5.38i", "z +0.4, -1.2"]),
    (THEORY, ["open loop"]),
    (THEORY.move({"drive_gain": 0.9}), ["drive_gain = 0.9"]),
    (THEORY.dynamics(), ["open loop", "4 states", "continuous"]),
    (GOODNESS, ["Silver", "chi-square 3.1"]),
    (IDENTIFIED, ["drive_gain 0.9 ± 0.01", "more_delay 0.004 ± 0.001 s", "4 windows"]),
    (RESPONSES, ["run7", "Silver", "300 lines", "0.30 to 6.00 Hz"]),
    (FREQUENCY, ["loop", "nothing can be said"]),
]


@pytest.mark.parametrize(("shown", "words"), SHOWN, ids=lambda value: type(value).__name__)
def test_repr_is_one_line_with_what_matters(shown, words):
    text = repr(shown)
    assert "\n" not in text
    assert len(text) < 250
    assert "array(" not in text
    assert all(word in text for word in words), text


@pytest.mark.parametrize("shown", [shown for shown, _ in SHOWN], ids=lambda value: type(value).__name__)
def test_a_notebook_shows_a_small_table(shown):
    html = shown._repr_html_()
    assert html.startswith("<table>")
    assert html.count("<table") == html.count("</table>") == 1
    assert len(html) < 2500
    assert "array(" not in html


def test_an_angle_that_theory_is_uncertain_of_is_shown_in_deg():
    pitched = replace(open_loop(catalogue.load_bicycle("Benchmark")), std={"imu_pitch": np.radians(0.3)})
    assert "<tr><th>imu_pitch</th><td>0 ± 0.3 deg</td></tr>" in pitched._repr_html_()


def test_what_comes_from_outside_is_escaped():
    page = replace(RESPONSE, source="<script>alert(1)</script>")._repr_html_()
    assert "<script>" not in page
    assert value_table("a & b", {"<i>": "1 < 2"}) == (
        "<table><caption>a &amp; b</caption><tr><th>&lt;i&gt;</th><td>1 &lt; 2</td></tr></table>"
    )


def test_numbers_in_words():
    assert plus_minus(-1.16042, 0.0312, "1/s") == "-1.16 ± 0.031 1/s"
    assert plus_minus(2.0, float("nan")) == "2"
    assert eigenvalue_with_unit(complex(-1.16, 5.44)) == "-1.16 ± 5.44i 1/s"
    assert eigenvalue_with_unit(complex(3.712, 0.0)) == "3.712 1/s"


def test_a_window_knows_its_rows_and_its_duration():
    window = make_window(RESPONSE, 100, 301)
    assert len(RESPONSE.t[window.rows]) == 201
    assert window.duration == pytest.approx(1.0)
    assert RESPONSE.channels == ("phi_dot", "v")


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_refused_fit_is_made_alike(name):
    fit = estimate(np.arange(5) * 0.1, np.ones(5), name)
    assert not fit.ok
    assert fit.status
    assert repr(fit) == repr(Fit.refused(name, fit.status))
    assert np.isnan([fit.re, fit.im, fit.dof, *fit.covariance.ravel()]).all()
