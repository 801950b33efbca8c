"""Frequency responses of others' recordings from a known torque: twins of the Delft logs, and the logs themselves."""

from dataclasses import replace

import numpy as np
import pytest

from riderless.experiments.analysis.frequency_response.goodness_of_fit import goodness
from riderless.experiments.analysis.frequency_response.recordings import recorded_response
from riderless.experiments.feedback_law import FeedbackLaw
from riderless.experiments.recordings.foreign import delft
from riderless.experiments.recordings.read import read_recording
from riderless.experiments.recordings.torque_law import played_parts
from riderless.experiments.reports.analyze import analyze
from riderless.experiments.theories import feedback
from riderless.models.errors import InputError
from riderless.models.linear.perturbed import Variant
from tests.experiments.recordings.shaken_log import BICYCLE, kicked, shaken, written
from tests.paths import SHARED

DELFT = SHARED / "data" / "delft_bode"


@pytest.mark.parametrize("f", [1.2, 2.4])
def test_a_true_bicycle_agrees(f):
    judged = [goodness(recorded_response(delft.recorded(shaken(f, seed=seed)).response), "loop") for seed in range(4)]
    assert sum(one.lines for one in judged) >= 5
    assert sum(one.chi2 for one in judged) == pytest.approx(sum(one.dof for one in judged), rel=0.9)
    assert min(one.p for one in judged) > 1e-4


def test_a_scaled_and_late_steer_shows_between_steer_and_lean_rate():
    """The quotient of two noisy outputs, by the torque as the instrument, is that of the lean equation."""
    q = []
    for seed in range(4):
        found = recorded_response(delft.recorded(shaken(2.0, seed=seed, scale=0.86, lag=0.010)).response)
        trusted = np.all(found.lines.coherence[:, :2] > 0.9, axis=1)
        lean, steer = found.lines.ratio[trusted, :2].T
        q += list(lean / steer * np.exp(2j * np.pi * found.f[trusted] * 0.01))
    assert abs(np.mean(q)) == pytest.approx(1.0 / 0.86, rel=0.02)
    assert np.degrees(np.angle(np.mean(q))) == pytest.approx(0.0, abs=2.0)


def test_friction_of_the_steer_is_rejected():
    found = recorded_response(delft.recorded(shaken(2.0, real=Variant(BICYCLE, steer_damping=0.4))).response)
    judged = goodness(found, "loop")
    assert judged.lines > 0
    assert judged.p < 1e-3


def test_analyze_of_a_packed_log_shows_the_response(tmp_path):
    result = analyze(written(shaken(2.0), tmp_path))
    assert [one.source for one in result.frequency_responses] == ["own_2Hz.log.gz"]


def test_a_late_law_has_a_response_too():
    """Its delay has states of its own, on which the sensors look as on none."""
    response = delft.recorded(shaken(2.0)).response
    prompt, late = (
        recorded_response(replace(response, theory=feedback(BICYCLE, FeedbackLaw(2.0, 6.5, delay_s=delay))))
        for delay in (0.0, 0.002)
    )
    assert late.theory.loop(late.f, "delta") == pytest.approx(prompt.theory.loop(prompt.f, "delta"), rel=0.05)


def test_kicks_are_no_known_torque():
    response = delft.recorded(kicked()).response
    assert played_parts(response) == []
    with pytest.raises(InputError, match=r"known torque for 0\.0 s"):
        recorded_response(response)


def test_a_hand_that_the_program_did_not_pass_on_is_no_input():
    """Where the fork's command is the law's alone, the transducer's reading is noise of the hand."""
    log = shaken(2.0)
    assert np.abs(log.columns["hand_torque"][:250]).max() > 0.0
    torque = delft.recorded(log).response.T_played
    assert np.abs(torque[:250]).max() == 0.0


@pytest.mark.skipif(not DELFT.exists(), reason="the logs of the shaken Delft bicycle are others', beside the checkout")
def test_the_real_logs_disagree_with_theory_as_the_quick_fits_said():
    found = [recorded_response(read_recording(path)) for path in sorted(DELFT.glob("*.gz"))]
    assert len(found) == 9
    q = [
        ratio[0] / ratio[1] * np.exp(2j * np.pi * f * 0.011)
        for one in found
        for f, ratio, seen in zip(one.f, one.lines.ratio, one.lines.coherence, strict=True)
        if min(seen[:2]) > 0.9
    ]
    assert len(q) >= 8
    assert 1.0 / abs(np.mean(q)) == pytest.approx(0.85, abs=0.04)  # another method: the README has 0.864
    assert np.degrees(np.angle(np.mean(q))) == pytest.approx(0.0, abs=3.0)
