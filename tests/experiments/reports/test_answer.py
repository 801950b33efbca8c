"""One answer: the verdict on all windows comes first, and the count of single windows never speaks against it."""

from dataclasses import replace

import numpy as np
import pytest

from riderless.experiments.analysis.comparison.compare import compare
from riderless.experiments.analysis.estimators import estimate
from riderless.experiments.analysis.power.power import Detectable
from riderless.experiments.analysis.verdict.conditions import ConditionMeans
from riderless.experiments.analysis.verdict.goodness_of_fit import GoodnessOfFit
from riderless.experiments.datatypes import Segment
from riderless.experiments.reports.answer import NOTHING_COMPARED, answer_of
from tests.experiments.reports.test_html import _no_files  # noqa: F401
from tests.experiments.simulated import recording

MEANS = ConditionMeans("Silver off", 5.0, 6, 0.1 + 0.1j, 1.0 + 1.0j)


def verdict(p, bicycle="Silver", between=0.2 + 0.1j, chi2=1.0, dof=2):
    return GoodnessOfFit(bicycle, chi2, dof, p, between, (MEANS,), ())


def windows(far, n=6, bicycle="Silver"):
    """Recordings and their windows, the first ``far`` of which lie ten of their own deviations away."""
    cut = [
        recording(np.full(480, 5.4), noise=0.01, seed=i, source=f"{bicycle}-{i}", label=bicycle, bicycle=bicycle)
        for i in range(n)
    ]
    made = [compare(Segment(r, w), estimate(r.t, r.phi_dot)) for r, w in cut]
    made = [replace(c, z_re=10.0 if i < far else 0.1, z_im=0.1) for i, c in enumerate(made)]
    return [r for r, _ in cut], made


def test_windows_that_disagree_alone_do_not_contradict_the_whole():
    answer = answer_of([verdict(1.0)], *windows(far=4))
    assert answer.explained
    assert answer.headline.startswith("the model of Silver explains 6 windows in 1 condition (")
    assert answer.details == (
        "taken alone, 2 of 6 windows lie within 3 standard deviations of the prediction; 4 of 6 lie farther out, and "
        "the joint test allows for that: windows scatter by 0.2 1/s and 0.1 rad/s beyond their noise",
    )


def test_where_all_agree_nothing_has_to_be_explained_away():
    (detail,) = answer_of([verdict(0.6)], *windows(far=0)).details
    assert detail == "taken alone, 6 of 6 windows lie within 3 standard deviations of the prediction"


def test_windows_that_agree_alone_do_not_save_a_model():
    answer = answer_of([verdict(1e-4, chi2=30.0)], *windows(far=0))
    assert answer.explained is False
    assert "does not explain" in answer.headline
    assert answer.details[0].endswith("; together they show what one window is too uncertain to show")


def test_a_campaign_that_a_drive_half_as_strong_would_pass_says_nothing():
    weak = replace(verdict(0.6), driven=True, power=(Detectable("drive_gain", 1.1),))
    answer = answer_of([weak], *windows(far=0))
    assert answer.explained is None
    assert answer.headline.startswith("6 windows in 1 condition cannot tell whether the model of Silver is right")
    assert answer.details[0] == "smallest deviations detectable with 90 % power: drive gain 110 %"
    assert answer_of([replace(weak, power=(Detectable("drive_gain", 0.3),))]).explained
    assert answer_of([replace(weak, driven=False)]).explained, "without a drive nothing is asked of one"


def test_several_bicycles_have_one_headline():
    silver, benchmark = windows(far=0), windows(far=1, bicycle="Benchmark")
    both = ([*silver[0], *benchmark[0]], [*silver[1], *benchmark[1]])
    good, bad = verdict(0.5), verdict(1e-5, "Benchmark")
    answer = answer_of([bad, good], *both)
    assert answer.headline == "theory does not explain these data of Benchmark; it explains those of Silver"
    assert answer.explained is False
    assert [text.split(" taken")[0] for text in answer.details[2:]] == ["Silver:", "Benchmark:"]
    assert answer_of([verdict(0.2, "Benchmark"), good], *both).headline == (
        "theory explains these data of Benchmark and Silver"
    )


def test_without_windows_there_is_no_verdict():
    assert answer_of([]).headline == NOTHING_COMPARED
    assert answer_of([]).explained is None


def test_a_chi_square_of_nothing_explains_nothing():
    answer = answer_of([verdict(1.0, chi2=0.0, dof=0)])
    assert answer.explained is None
    assert "nothing can be said of the model of Silver" in answer.headline


@pytest.mark.usefixtures("_no_files")
@pytest.mark.parametrize("far", [0, 3, 6])
def test_one_voice_in_text_and_page(far, tmp_path):
    from riderless.experiments.analysis.analyze import Analysis
    from riderless.experiments.reports.result import AnalysisResult

    responses, comparisons = windows(far)
    result = AnalysisResult(analysis=Analysis(tuple(responses), tuple(comparisons), ()))
    first = result.table().splitlines()[0]
    assert first == result.answer.headline
    page = result.write_report(tmp_path).read_text(encoding="utf-8")
    assert page.index(first[1:]) < page.index("taken alone")
    assert page.split("<script")[0].count(first[1:]) == 1
    assert "agree with theory" not in page
