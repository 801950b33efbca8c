"""Eigenvalues of a campaign while it goes on: a quick fit of every window, for the live table only."""

from pathlib import Path

import numpy as np

from riderless.experiments.analysis.estimators import estimate
from riderless.experiments.analysis.windows.find import find_windows
from riderless.experiments.recordings.read import read_recording
from riderless.experiments.reports.text import eigenvalue_text
from riderless.models.errors import InputError


class SoFar:
    """Mean eigenvalue of the windows of each condition's runs."""

    def __init__(self) -> None:
        self._found: dict[str, list[complex]] = {}

    def add(self, folder: Path) -> None:
        """Take a run that has ended well; one without windows adds nothing."""
        try:
            response = read_recording(folder)
            windows, _ = find_windows(response)
        except InputError:
            return
        for window in windows:
            part = slice(window.start, window.stop)
            fit = estimate(response.t[part] - response.t[part][0], response.phi_dot[part])
            if fit.ok:
                self._found.setdefault(response.label, []).append(complex(fit.re, fit.im))

    def of(self, label: str) -> tuple[str, int]:
        """Mean eigenvalue as text, and the number of its windows; a dash where there is none."""
        found = self._found.get(label, [])
        return (eigenvalue_text(complex(np.mean(found))) if found else "-"), len(found)
