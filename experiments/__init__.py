"""Experiments with the loop.

Analysis of recordings, campaigns, reports, and the command line. `from experiments import analyze` imports what it
needs when it is asked for.
"""

from typing import TYPE_CHECKING

from riderless import lazy
from riderless.experiments.blas_threads import use_one_blas_thread

use_one_blas_thread()  # before anything of numpy's is loaded, where that can be

if TYPE_CHECKING:
    from riderless.experiments.analysis.identification.loop_margins import LoopMargins
    from riderless.experiments.campaigns.session import CampaignResult, run_campaign
    from riderless.experiments.datatypes import Comparison, Fit, Prediction, Rejected, Response, Window
    from riderless.experiments.emulation.margins import margins
    from riderless.experiments.recordings.foreign.frame import read_frame
    from riderless.experiments.recordings.read import find_recordings, read_recording
    from riderless.experiments.reports.analyze import analyze
    from riderless.experiments.reports.html import ReportInput, write_report
    from riderless.experiments.reports.identify import IdentificationResult, identify_parameters
    from riderless.experiments.reports.loop import plot_design, plot_margins
    from riderless.experiments.reports.notebook_plots import plot_run, plot_window
    from riderless.experiments.reports.result import AnalysisResult
    from riderless.experiments.reports.theory import plot_eigenvalues

__all__ = [
    "AnalysisResult",
    "CampaignResult",
    "Comparison",
    "Fit",
    "IdentificationResult",
    "LoopMargins",
    "Prediction",
    "Rejected",
    "ReportInput",
    "Response",
    "Window",
    "analyze",
    "find_recordings",
    "identify_parameters",
    "margins",
    "plot_design",
    "plot_eigenvalues",
    "plot_margins",
    "plot_run",
    "plot_window",
    "read_frame",
    "read_recording",
    "run_campaign",
    "write_report",
]

if not TYPE_CHECKING:  # a type checker reads the imports above
    __getattr__, __dir__ = lazy(__name__, __file__)
