"""Reports take most of the time of a short campaign: here only as much of them is written as a test looks at."""

from contextlib import contextmanager

import pytest

from riderless.experiments.campaigns import findings
from riderless.experiments.reports import files


@pytest.fixture(scope="module", autouse=True)
def _no_figure_files():
    """Write pages without figures as files beside them, which the tests of reports have."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "save_figures", lambda *_: [])
        yield


@pytest.fixture(scope="module")
def without_report():
    """Context in which no report is written, for tests that assert the findings alone."""

    @contextmanager
    def context():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(findings, "report_on", lambda folder, *_, **__: folder / "report.html")
            yield

    return context


@pytest.fixture
def _unreported(without_report):
    with without_report():
        yield
