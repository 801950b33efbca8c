"""A model that is a little wrong has intervals that hold, a very wrong one is called so, and no mass is nearly zero."""

from dataclasses import replace

import numpy as np
import pytest

from riderless.experiments.analysis.identification.identify import identify, possible_bounds
from riderless.experiments.analysis.identification.misfit import misfit_of
from riderless.experiments.analysis.identification.output_error import AveragedWindow
from riderless.experiments.datatypes import Response, Segment, Window
from riderless.experiments.feedback_law import FeedbackLaw
from riderless.experiments.reports.identify import IdentificationResult
from riderless.experiments.theories import feedback
from riderless.models import catalogue
from riderless.models.linear.perturbed import Variant
from tests.experiments.simulated import coast

BICYCLE = catalogue.load_bicycle("DelftSbW2024")
THEORY = feedback(BICYCLE, FeedbackLaw(2.0, 6.5))  # of it with no friction in the steer
DT, ROWS = 0.01, 120
TRUTH = {"drive_gain": 1.0, "mB": BICYCLE.mB, "IBxx": BICYCLE.IBxx}


def short_windows(damping):
    """Two windows of 1.2 s at each of three speeds, of a bicycle whose steer axis is damped so much [N m s/rad]."""
    found, t, rng = [], np.arange(ROWS) * DT, np.random.default_rng(1)
    for v in (2.5, 3.5, 4.5):
        A = THEORY.build(Variant(BICYCLE, steer_damping=damping), 0.0).matrix(v)
        for side in (-1.0, 1.0):
            x = coast(lambda _, A=A: A, np.full(ROWS, v), DT, [0.01, -0.02, 0.5 * side, 0.3])
            rate, steer = x[:, [2, 1]].T + [[3e-3], [3e-4]] * rng.standard_normal((2, ROWS))
            response = Response("made", "mapped", t, rate, np.full(ROWS, v), delta=steer, theory=THEORY)
            found.append(AveragedWindow.of(Segment(response, Window("made", 0, ROWS, 0.0, t[-1], v, v, v, "made"))))
    return found


def identified(damping, free):
    windows = short_windows(damping)
    found = identify(windows, free, bounds=possible_bounds(THEORY, free))
    misfit = misfit_of(windows, found)
    return IdentificationResult(replace(found, covariance=found.covariance + misfit.covariance), "Delft", misfit)


FREE = (["drive_gain"], ["mB"], ["drive_gain", "mB"], ["drive_gain", "mB", "IBxx"])


@pytest.mark.parametrize(
    ("damping", "free"),
    [
        (0.0, FREE[2]),
        *((0.5, free) for free in FREE),
        *(pytest.param(0.1, free, marks=pytest.mark.slow) for free in FREE),
    ],
)
def test_whatever_else_is_free_the_truth_is_in_the_interval(damping, free):
    """Gains of 0.64, 0.73 and 0.87 with deviations of 0.006 to 0.03, and a mass of 0 kg, were the answers to 0.5."""
    answer = identified(damping, free)
    found = answer.found
    assert np.all(np.abs(found.values - [TRUTH[name] for name in free]) < 3.0 * found.std)
    assert not answer.misfit.unexplained
    if "mB" in free:
        assert found.changes["mB"] > 4.7  # lighter, and the rear wheel is more than 0.6 of the whole
    assert ("std also counts what noise does not explain" in answer.table()) == (damping > 0.0)


def test_a_bound_and_what_the_answer_depends_on_are_said():
    text = identified(0.5, ["drive_gain", "mB"]).table()
    assert "mB has reached 4.779, the end of what is possible or plausible (4.78 to 103)" in text
    assert "drive_gain depends on what is held: a usual deviation of these moves it, steer_damping by +0.0" in text
    assert "these data hardly tell mB from drive_gain" in identified(0.0, ["drive_gain", "mB"]).table()


def test_a_model_that_cannot_explain_the_windows_is_said_to_be_wrong():
    assert (
        identified(1.5, ["drive_gain", "mB"]).table().startswith("this model cannot explain these windows: it leaves")
    )
    answer = identified(1.5, ["drive_gain", "mB", "steer_damping"])
    assert not answer.misfit.unexplained
    assert answer.found.changes["steer_damping"] == pytest.approx(1.5, abs=0.05)


def test_a_search_leaves_the_bound_that_it_starts_from():
    """Friction is 0 or more, and 0 as theory has it."""
    found = identified(0.3, ["drive_gain", "steer_damping"]).found
    assert found.values == pytest.approx([1.0, 0.3], abs=0.01)
