"""One window has the same numbers, by the same names, on the page and in the report; so have conditions."""

import numpy as np
import pytest

from riderless.experiments.live.beside import _with_fits
from riderless.experiments.live.fits import _fits_of
from riderless.experiments.live.schema import ConditionRow, LiveCampaign
from riderless.experiments.reports.analyze import analyze
from tests.experiments.analysis.test_condition_speeds import DT, write_log


def test_a_window_of_changing_speed_has_the_reports_numbers(tmp_path):
    """The page gave -1.04 for what the report called -1.15: the fit less its known bias."""
    log, mapping = write_log(tmp_path, np.linspace(6.0, 4.4, 1800), [6.0, 11.0])
    found = _fits_of(log, mapping=mapping)
    for fit, window in zip(found.fits, analyze(log, mapping=mapping).as_json()["windows"], strict=True):
        assert abs(window["bias_re"]) > 0.01
        assert (fit.re, fit.im, fit.u_re, fit.u_im) == tuple(window[n] for n in ("re", "im", "re_std", "im_std"))
        assert (fit.like_re, fit.predicted_re) == (window["like_re"], window["predicted_re"])


def test_conditions_of_a_campaign_are_those_of_the_report(tmp_path):
    """Windows at 4.5 and 5.5 m/s were averaged, because their recordings have one label."""
    v = np.interp(DT * np.arange(3200), [0.0, 15.0, 17.0], [4.5, 4.5, 5.5])
    log, mapping = write_log(tmp_path, v, [2.0, 9.0, 18.0, 25.0])
    planned = LiveCampaign(conditions=[ConditionRow(label="theirs", done=1, planned=2, outcome="success")])
    first, *parts = _with_fits(planned, _fits_of(log, mapping=mapping).fitted).conditions
    pooled = analyze(log, mapping=mapping).summary.pooled
    assert (first.label, first.done, first.planned, first.re) == ("theirs", 1, 2, None)
    assert [one.label for one in parts] == ["theirs at 4.50 m/s", "theirs at 5.50 m/s"]
    assert [(one.label, one.fits, one.re, one.im) for one in parts] == [
        (one.label, one.n, pytest.approx(one.re.mean), pytest.approx(one.im.mean)) for one in pooled
    ]
    (steady,) = _with_fits(planned, _fits_of(log, mapping=mapping).fitted[:2]).conditions
    assert (steady.label, steady.done, steady.fits) == ("theirs", 1, 2)
