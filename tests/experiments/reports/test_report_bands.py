"""What makes a band of a report: what uncertain quantities do, among the figures of their bicycle."""

import re
from dataclasses import replace

import numpy as np
import pytest

from riderless.experiments.analysis.comparison.compare import compare
from riderless.experiments.analysis.estimators.uncertainty import fit_window
from riderless.experiments.datatypes import Segment
from riderless.experiments.reports.html import ReportInput, write_report
from riderless.experiments.theories import lean_feedback, open_loop
from riderless.models import catalogue
from tests.experiments.reports.test_html import _no_files  # noqa: F401
from tests.experiments.simulated import recording


@pytest.mark.usefixtures("_no_files")
def test_bands_shares_and_remarks_are_shown(tmp_path):
    response, window = recording(np.full(500, 5.0), bicycle="Balanceassistv1")
    response = replace(response, remarks=("delta: stuck from 1.0 to 2.0 s",))
    segment = Segment(response, window)
    made = [compare(segment, fit_window(segment))]
    html = write_report(tmp_path, ReportInput("bands", [response], made)).read_text(encoding="utf-8")
    assert "What makes the band, Balanceassistv1" in html
    assert "one standard deviation 0.248 1/s and 0.538 rad/s" in html
    assert html.index(">lam<") < html.index(">IHzz<")
    tilt = np.degrees(catalogue.load_bicycle("Balanceassistv1").std["lam"])
    assert f'<td class="text">lam</td><td class="text">deg</td><td>{tilt:.3g}</td>' in html, "angles are read in deg"
    assert "delta: stuck from 1.0 to 2.0 s" in html


@pytest.mark.usefixtures("_no_files")
def test_a_band_stands_among_the_figures_of_its_bicycle(tmp_path):
    cut = [recording(np.full(500, 5.0), bicycle=name, source=name) for name in ("Balanceassistv1", "Rigid")]
    made = [compare(Segment(r, w), fit_window(Segment(r, w))) for r, w in cut]
    html = write_report(tmp_path, ReportInput("two", [r for r, _ in cut], made)).read_text(encoding="utf-8")
    first, second = (html.index(f'<h2 id="bicycle-{i}">') for i in (1, 2))
    bands = [match.start() for match in re.finditer("What makes the band, ", html)]
    assert len(bands) == 2
    assert first < bands[0] < second < bands[1]


@pytest.mark.usefixtures("_no_files")
def test_each_theory_has_its_band_at_its_own_speed(tmp_path):
    """Of a bicycle left alone and steered into the lean the first had a table, at the middle of all speeds."""
    bicycle = catalogue.load_bicycle("Balanceassistv1")
    cut = [
        recording(np.full(500, v), bicycle="Balanceassistv1", source=theory.name, theory=theory)
        for v, theory in ((5.0, open_loop(bicycle)), (6.0, lean_feedback(bicycle, 2.0, 7.0)))
    ]
    made = [compare(Segment(r, w), fit_window(Segment(r, w))) for r, w in cut]
    html = write_report(tmp_path, ReportInput("two", [r for r, _ in cut], made)).read_text(encoding="utf-8")
    told = re.findall(r'<p class="quiet">([^<]*?) at ([\d.]+) m/s: predicted', html)
    assert [v for _, v in told] == ["5.00", "6.00"]
    assert len({name for name, _ in told}) == 2
