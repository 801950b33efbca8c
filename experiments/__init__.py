"""Experiments with the loop: analysis of recordings, campaigns, reports; and the command line.

`from experiments import analyze` imports what it needs when it is asked for.
"""

import os
from typing import TYPE_CHECKING

from models.lazy_door import lazy

# Matrices here are small. On a busy machine OpenBLAS's threads wait for one another: an exponential of four by four
# takes 37 ms instead of 0.07. Counts if numpy is not loaded yet; who has set it keeps his.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

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
