"""Experiments with the loop.

Analysis of recordings, campaigns, reports, and the command line. `from experiments import analyze` imports what it
needs when it is asked for.
"""

from typing import TYPE_CHECKING

from riderless import lazy
from riderless.experiments.blas_threads import use_one_blas_thread

use_one_blas_thread()  # before anything of numpy's is loaded, where that can be

if TYPE_CHECKING:
    from riderless.experiments.analysis.identification.loop_margins import LoopMargins as LoopMargins
    from riderless.experiments.campaigns.session import CampaignResult as CampaignResult
    from riderless.experiments.campaigns.session import run_campaign as run_campaign
    from riderless.experiments.datatypes import Comparison as Comparison
    from riderless.experiments.datatypes import Fit as Fit
    from riderless.experiments.datatypes import Prediction as Prediction
    from riderless.experiments.datatypes import Rejected as Rejected
    from riderless.experiments.datatypes import Response as Response
    from riderless.experiments.datatypes import Window as Window
    from riderless.experiments.emulation.certify import Certification as Certification
    from riderless.experiments.emulation.certify import certify as certify
    from riderless.experiments.emulation.environment import BicycleEnv as BicycleEnv
    from riderless.experiments.emulation.environment import BicycleVectorEnv as BicycleVectorEnv
    from riderless.experiments.emulation.margins import margins as margins
    from riderless.experiments.recordings.foreign.frame import read_frame as read_frame
    from riderless.experiments.recordings.read import find_recordings as find_recordings
    from riderless.experiments.recordings.read import read_recording as read_recording
    from riderless.experiments.reports.analyze import analyze as analyze
    from riderless.experiments.reports.bode import plot_frequency_response as plot_frequency_response
    from riderless.experiments.reports.html import ReportInput as ReportInput
    from riderless.experiments.reports.html import write_report as write_report
    from riderless.experiments.reports.identify import IdentificationResult as IdentificationResult
    from riderless.experiments.reports.identify import identify_parameters as identify_parameters
    from riderless.experiments.reports.loop import plot_design as plot_design
    from riderless.experiments.reports.loop import plot_loop as plot_loop
    from riderless.experiments.reports.loop import plot_margins as plot_margins
    from riderless.experiments.reports.notebook_plots import plot_fits as plot_fits
    from riderless.experiments.reports.notebook_plots import plot_identification as plot_identification
    from riderless.experiments.reports.notebook_plots import plot_run as plot_run
    from riderless.experiments.reports.notebook_plots import plot_window as plot_window
    from riderless.experiments.reports.result import AnalysisResult as AnalysisResult
    from riderless.experiments.reports.theory import plot_eigenvalues as plot_eigenvalues

if not TYPE_CHECKING:  # a type checker reads the imports above
    __getattr__, __dir__ = lazy(__name__, __file__)
