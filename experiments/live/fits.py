"""Fits of a recording for a page: each window's eigenvalue with its uncertainty, beside the prediction.

They take seconds of a processor, so they are made in a process of their own, which lets everybody else go first.
"""

import os
import signal
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import suppress
from math import hypot, isfinite
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from experiments.analysis.analyze import analyze_responses
from experiments.datatypes import AGREEMENT, Comparison, Response
from experiments.live.schema import LiveFit, ShownWindow
from experiments.recordings.read import is_run, read_recording
from experiments.recordings.runs import run_of
from models.errors import InputError

_NICE = 19


def new_fitter() -> ProcessPoolExecutor:
    """Process for fits, behind all others in the line for a processor."""
    return ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=_go_last)


def ask_fits(fitter: ProcessPoolExecutor, path: Path, **how: Any) -> "Future[FoundFits]":
    """Ask for the fits of a recording, finished or not."""
    return fitter.submit(fits_of, path, **how)


class FoundFits:
    """Fits and windows of a recording until ``t_end`` [s]; times are counted from its first row."""

    def __init__(self, fits: list[LiveFit], windows: list[ShownWindow], t_end: float = 0.0) -> None:
        self.fits, self.windows, self.t_end = fits, windows, t_end


def fits_of(path: Path, **how: Any) -> FoundFits:
    """Fit every window of a recording at ``path``; nothing where it holds none yet.

    Parameters
    ----------
    path : Path
        Run folder, log, or file of others.
    **how
        As `read_recording` takes it: mapping, preset, bicycle, trust.
    """
    try:
        response = read_recording(path, **how)
        analysis = analyze_responses([response])
    except (InputError, ValueError, np.linalg.LinAlgError):
        return FoundFits([], [])
    shift = time_shift(path, response)
    windows = [
        ShownWindow(
            t_start=c.window.t_start + shift, t_end=c.window.t_end + shift, speed=c.window.v_mean, text=_said(c)
        )
        for c in analysis.comparisons
    ]
    windows += [
        ShownWindow(t_start=r.t_start + shift, t_end=r.t_end + shift, text=r.reason, rejected=True)
        for r in analysis.rejected
    ]
    fits = [fit_message(c, shift) for c in analysis.comparisons]
    return FoundFits(fits, windows, float(response.t[-1]) + shift)


def time_shift(path: Path, response: Response) -> float:
    """Seconds to add to a response's times so that they count from the recording's first row."""
    if not is_run(path):
        return -float(response.t[0])
    ticks: Any = run_of(path).ticks
    rows = ticks[: min(len(ticks), 100_000)]
    offset = np.asarray(rows["host_offset"])[np.asarray(rows["valid"]) == 1]
    return float(np.median(offset) - rows["t_host"][0]) if len(offset) else -float(response.t[0])


def fit_message(c: Comparison, shift: float) -> LiveFit:
    """Message of one window's comparison: the eigenvalue at its mean speed, the fit's known bias taken away."""
    u_re, u_im = c.prediction.difference_std
    corrected = c.corrected if isfinite(c.corrected.real) else c.fit.eigenvalue
    return LiveFit(
        t_start=c.window.t_start + shift,
        t_end=c.window.t_end + shift,
        speed=c.window.v_mean,
        mode=c.prediction.mode,
        re=corrected.real,
        im=corrected.imag,
        u_re=u_re,
        u_im=u_im,
        predicted_re=c.prediction.frozen.real,
        predicted_im=c.prediction.frozen.imag,
        z=hypot(c.z_re, c.z_im) if isfinite(c.z_re) and isfinite(c.z_im) else None,
        condition=c.label,
    )


def _said(c: Comparison) -> str:
    """Say in a few words how a window compares."""
    verdict = "agrees" if c.agrees else f"differs by more than {AGREEMENT:g} standard deviations"
    return f"{c.prediction.mode}, {verdict} (z {c.z_re:+.1f}, {c.z_im:+.1f})"


def _go_last() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the program that asked
    with suppress(OSError):
        os.nice(_NICE)
