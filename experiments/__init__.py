"""Experiments with the loop: analysis of recordings, campaigns, reports; and the command line.

`from experiments import analyze` imports what it needs when it is asked for.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

# Matrices here are small. On a busy machine OpenBLAS's threads wait for one another: an exponential of four by four
# takes 37 ms instead of 0.07. Counts if numpy is not loaded yet; who has set it keeps his.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

if TYPE_CHECKING:
    from experiments.datatypes import Comparison, Fit, Prediction, Rejected, Response, Window
    from experiments.recordings.read import find_recordings, read_recording
    from experiments.reports.analyze import analyze
    from experiments.reports.html import ReportInput, write_report
    from experiments.reports.identify import IdentificationResult, identify_parameters
    from experiments.reports.result import AnalysisResult
    from experiments.reports.theory import plot_eigenvalues

__all__ = [
    "AnalysisResult",
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
    "plot_eigenvalues",
    "read_recording",
    "write_report",
]
_HOMES = {
    "AnalysisResult": "reports.result",
    "Comparison": "datatypes",
    "Fit": "datatypes",
    "IdentificationResult": "reports.identify",
    "Prediction": "datatypes",
    "Rejected": "datatypes",
    "ReportInput": "reports.html",
    "Response": "datatypes",
    "Window": "datatypes",
    "analyze": "reports.analyze",
    "find_recordings": "recordings.read",
    "identify_parameters": "reports.identify",
    "plot_eigenvalues": "reports.theory",
    "read_recording": "recordings.read",
    "write_report": "reports.html",
}


if not TYPE_CHECKING:  # a type checker reads the imports above

    def __getattr__(name: str) -> Any:
        """Import a name of `__all__` from the file that defines it (PEP 562)."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        """Names of the door, for completion."""
        return sorted({*globals(), *__all__})
