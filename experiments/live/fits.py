"""Fits of a recording for a page.

Each window's eigenvalue with its uncertainty, beside the predictions. They take seconds of a processor, so they are
made in a process of their own, which lets everybody else go first.
"""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from math import hypot, isfinite
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from riderless.experiments.analysis.analyze import analyze_responses
from riderless.experiments.analysis.comparison.condition_means import FittedWindow
from riderless.experiments.datatypes import AGREEMENT, Comparison, Response
from riderless.experiments.live.schema import LiveFit, ShownWindow
from riderless.experiments.recordings.read import is_run, read_recording
from riderless.experiments.recordings.runs import run_of
from riderless.firmware_interface.child_processes import end_with_parent, new_worker_pool
from riderless.hil.controllers.law_file import LawFile, know_named, named_laws
from riderless.models.errors import InputError

SAME_WINDOW = 0.5  # s between the beginnings of a window in two fits of a recording that grows
_NICE = 19


def new_fitter() -> ProcessPoolExecutor:
    """Process for fits, behind all others in the line for a processor."""
    return new_worker_pool(1, _begin_fitter)


class FoundFits(NamedTuple):
    """Fits and windows of a recording until ``t_end`` [s]; times are counted from its first row."""

    fits: list[LiveFit]
    windows: list[ShownWindow]
    t_end: float = 0.0
    fitted: Sequence[FittedWindow] = ()  # of each of the fits


class ToldFits:
    """Memory of the fits of a recording that pages were told."""

    def __init__(self) -> None:
        self._begins: list[float] = []  # s, of their windows

    def is_new(self, fit: LiveFit) -> bool:
        """Tell whether a fit was not told before, and remember it: more rows may move its window a little."""
        begins = fit.t_start or 0.0
        if any(abs(begins - begin) < SAME_WINDOW for begin in self._begins):
            return False
        self._begins.append(begins)
        return True


class Fitter:
    """Fitter of one recording at a time, in a process of its own.

    When that dies, or a fit fails as no fit should, there are no more fits; whoever asks for them goes on without.

    Parameters
    ----------
    say : callable
        Is told in a sentence that there are no more fits, and why.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self._pool, self._say = new_fitter(), say
        self._asked: Future[FoundFits] | None = None
        self._failed = False

    def __enter__(self) -> "Fitter":
        return self

    def __exit__(self, *how: object) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)  # a fit under way is not waited for

    @property
    def free(self) -> bool:
        """Can fits be asked for?"""
        return self._asked is None and not self._failed

    def ask(self, path: Path, **how: Any) -> None:
        """Ask for the fits of a recording, finished or not, as `_fits_of` takes it."""
        with self._going_on():
            self._asked = self._pool.submit(_fits_with, named_laws(), path, **how)

    def found(self) -> FoundFits | None:
        """Fits that were asked for, once; None as long as they are not there."""
        if self._asked is None or not self._asked.done():
            return None
        pending, self._asked = self._asked, None
        with self._going_on():
            return pending.result()
        return None

    def cancel(self) -> None:
        """Cancel the pending fits: their recording is not shown any more."""
        if self._asked is not None:
            self._asked.cancel()
        self._asked = None

    @contextmanager
    def _going_on(self) -> Iterator[None]:
        try:
            yield
        except Exception as failure:  # whatever it is, the page shows the machine and must not end
            self._failed = True
            died = isinstance(failure, BrokenProcessPool)
            reason = "that their process has died" if died else f"{type(failure).__name__}: {failure}"
            self._say(f"no more fits: wanted those of the log so far, found {reason}; riderless analyze fits it later")


def _fits_with(laws: tuple[LawFile, ...], path: Path, **how: Any) -> FoundFits:
    """Fit as `_fits_of` does, with the laws that a person named in the process that asks."""
    know_named(laws)
    return _fits_of(path, **how)


def _fits_of(path: Path, **how: Any) -> FoundFits:
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
    shift = _time_shift(path, response)
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
    fits = [_fit_message(c, shift) for c in analysis.comparisons]
    fitted = [FittedWindow(c.label, c.window, c.fit) for c in analysis.comparisons]
    return FoundFits(fits, windows, float(response.t[-1]) + shift, fitted)


def _time_shift(path: Path, response: Response) -> float:
    """Seconds to add to a response's times so that they count from the recording's first row."""
    if not is_run(path):
        return -float(response.t[0])
    ticks: Any = run_of(path).ticks
    rows = ticks[: min(len(ticks), 100_000)]
    offset = np.asarray(rows["host_offset"])[np.asarray(rows["valid"]) == 1]
    return float(np.median(offset) - rows["t_host"][0]) if len(offset) else -float(response.t[0])


def _fit_message(c: Comparison, shift: float) -> LiveFit:
    """Message of one window's comparison, with the numbers of the report."""
    return LiveFit(
        t_start=c.window.t_start + shift,
        t_end=c.window.t_end + shift,
        speed=c.window.v_mean,
        mode=c.prediction.mode,
        re=c.fit.re,
        im=c.fit.im,
        u_re=c.fit.re_std,
        u_im=c.fit.im_std,
        like_re=c.prediction.like.real,
        like_im=c.prediction.like.imag,
        predicted_re=c.prediction.frozen.real,
        predicted_im=c.prediction.frozen.imag,
        z=hypot(c.z_re, c.z_im) if isfinite(c.z_re) and isfinite(c.z_im) else None,
        condition=c.label,
    )


def _said(c: Comparison) -> str:
    """Say in a few words how a window compares."""
    verdict = "agrees" if c.agrees else f"differs by more than {AGREEMENT:g} standard deviations"
    return f"{c.prediction.mode}, {verdict} (z {c.z_re:+.1f}, {c.z_im:+.1f})"


def _begin_fitter() -> None:
    end_with_parent()
    if sys.platform != "win32":
        with suppress(OSError):
            os.nice(_NICE)
