"""First sheet of a printed report: the pictures begin below the answer, not on the next sheet."""

import numpy as np
import pytest

from riderless.experiments.analysis.comparison.compare import compare
from riderless.experiments.analysis.estimators.uncertainty import fit_window
from riderless.experiments.datatypes import Segment
from riderless.experiments.reports.html import ReportInput, write_report
from tests.experiments.reports.browser import printed, words_of
from tests.experiments.reports.test_html import _no_files  # noqa: F401
from tests.experiments.simulated import recording

HEAD = 142.0  # mm above the first bicycle in the default campaign: its answer has six sentences
LINE = 4.8  # mm of a title


@pytest.mark.usefixtures("_no_files")
def test_the_first_pictures_stand_on_the_sheet_of_the_answer(tmp_path):
    response, window = recording(np.full(500, 5.0), bicycle="Balanceassistv1", source="a-long-name-" * 16)
    segment = Segment(response, window)
    made = [compare(segment, fit_window(segment))]

    def first_sheet(lines):
        title = " ".join(["a line of the title"] * 6 * lines)
        (size, found), *_ = printed(write_report(tmp_path / str(lines), ReportInput(title, [response], made)))
        return size, found

    (_, height), found = first_sheet(1)
    words = words_of(found)
    bicycle = found[words.rindex("Balanceassistv1", 0, words.index("Verticalbars"))][1][3]  # top of its heading
    above = (height - bicycle) / 72.0 * 25.4
    _, found = first_sheet(1 + round((HEAD - above) / LINE))
    assert "Measuredminuspredicted." in words_of(found)
