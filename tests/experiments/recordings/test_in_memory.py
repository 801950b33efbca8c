"""Responses that a program made: what is not as a Response is to be is refused in a sentence, before a verdict."""

from dataclasses import replace

import numpy as np
import pytest

from riderless.experiments.reports.analyze import analyze
from riderless.models.errors import InputError
from tests.experiments.simulated import recording

GAP = 1.0  # s


@pytest.fixture(scope="module")
def made():
    """Free motion of the Benchmark at 5.4 m/s, 480 rows."""
    return replace(recording(np.full(480, 5.4), noise=0.01, seed=1)[0], phi=None, delta=None, T_delta=None)


def test_lists_and_whole_numbers_are_taken(made):
    whole = replace(made, t=made.t.tolist(), phi_dot=made.phi_dot.tolist(), free=[1] * len(made.t))
    found = analyze(replace(made, free=np.ones(len(made.t), bool))).comparisons
    assert len(found) == 1
    assert [c.fit.re for c in analyze(whole).comparisons] == [c.fit.re for c in found]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda r: {"t": np.where(np.arange(len(r.t)) > 300, r.t + GAP, r.t)}, r"even step, found steps of .* to 1\.0"),
        (lambda r: {"t": r.t**1.05}, "wanted times at an even step"),
        (lambda r: {"t": np.zeros(len(r.t))}, "wanted times at an even step, found steps of 0 to 0 s"),
        (lambda r: {"t": r.t[::-1]}, "wanted times at an even step"),
        (lambda r: {"t": np.where(r.t > 1.0, np.nan, r.t)}, "wanted times at an even step"),
        (lambda r: {"phi_dot": r.phi_dot[:-5]}, r"wanted phi_dot as \(480,\) numbers, one for each time, found .*475"),
        (lambda r: {"v": 5.4}, r"wanted v as \(480,\) numbers"),
        (lambda r: {"free": np.ones(3, bool)}, r"wanted free as \(480,\) numbers"),
        (lambda r: {"psi_dot": np.array(["x"] * len(r.t))}, "wanted psi_dot as"),
        (lambda r: {"t": r.t[:0], "phi_dot": r.t[:0], "v": r.t[:0]}, "wanted at least 50 samples, found 0"),
        (lambda r: {"v": -r.v}, "most likely the sign of v is reversed"),
        (lambda r: {"phi_dot": np.degrees(10.0 * r.phi_dot)}, "most likely phi_dot is in degrees/s"),
    ],
)
def test_what_cannot_be_is_refused(made, change, sentence):
    wrong = replace(made, **({"free": None} | change(made)))
    with pytest.raises(InputError, match=f"^{made.source}: .*{sentence}"):
        analyze(wrong)


def test_who_trusts_it_has_it_analysed(made):
    fast = replace(made, phi_dot=np.degrees(10.0 * made.phi_dot))
    with pytest.raises(InputError, match="say trust"):
        analyze(fast)
    assert analyze(fast, trust=True).responses


def test_results_are_told_apart_and_found_again(made):
    again = analyze([made, made]).comparisons
    assert again.index(again[1]) == 1
    assert len({one.fit for one in again}) == 2
