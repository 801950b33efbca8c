"""Experiments with the loop: analysis of recordings, campaigns, reports; and the command line.

`from experiments import analyze` imports what it needs when it is asked for.
"""

from typing import TYPE_CHECKING

from experiments.blas_threads import use_one_blas_thread
from models.lazy_door import lazy

use_one_blas_thread()  # before anything of numpy's is loaded, where that can be

if TYPE_CHECKING:
    from experiments.campaigns.session import CampaignResult, run_campaign
    from experiments.datatypes import Comparison, Fit, Prediction, Rejected, Response, Window
    from experiments.recordings.read import find_recordings, read_recording
    from experiments.reports.analyze import analyze
    from experiments.reports.html import ReportInput, write_report
    from experiments.reports.identify import IdentificationResult, identify_parameters
    from experiments.reports.loop import plot_design
    from experiments.reports.result import AnalysisResult
    from experiments.reports.theory import plot_eigenvalues

__all__ = [
    "AnalysisResult",
    "CampaignResult",
    "Comparison",
    "Fit",
    "IdentificationResult",
    "Prediction",
    "Rejected",
    "ReportInput",
    "Response",
    "Window",
    "analyze",
    "find_recordings",
    "identify_parameters",
    "plot_design",
    "plot_eigenvalues",
    "read_recording",
    "run_campaign",
    "write_report",
]
_PLACES = {
    "experiments.campaigns.session": ("CampaignResult", "run_campaign"),
    "experiments.datatypes": ("Comparison", "Fit", "Prediction", "Rejected", "Response", "Window"),
    "experiments.recordings.read": ("find_recordings", "read_recording"),
    "experiments.reports.analyze": ("analyze",),
    "experiments.reports.html": ("ReportInput", "write_report"),
    "experiments.reports.identify": ("IdentificationResult", "identify_parameters"),
    "experiments.reports.loop": ("plot_design",),
    "experiments.reports.result": ("AnalysisResult",),
    "experiments.reports.theory": ("plot_eigenvalues",),
}
if not TYPE_CHECKING:  # a type checker reads the imports above
    __getattr__, __dir__ = lazy(__name__, {name: module for module, names in _PLACES.items() for name in names})
