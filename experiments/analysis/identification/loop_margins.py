"""Judgement of a closed loop over speed.

Eigenvalues, margins, sensitivity, measurability and linearity.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from riderless.experiments.analysis.identification.identifiability import WeaveMeasurability
from riderless.hil.design.closed_loop import SampledLoop
from riderless.hil.design.margins import MARGIN_HEADS, Margins
from riderless.hil.design.whole_margins import SensitivityPeak
from riderless.models.tables import data_frame, html_table


@dataclass(frozen=True, repr=False)
class SpeedMargins:
    """Judgement at one speed.

    Attributes
    ----------
    v : float
        Speed [m/s].
    eigenvalues : (n,) complex
        Of the whole sampled loop, in continuous terms [1/s].
    margins : Margins
        In gain, phase and delay.
    sensitivity : SensitivityPeak
        Largest |1 / (1 + L)|.
    weave : WeaveMeasurability
        After kicks by hand.
    nonlinearity : float
        Difference between the law and its linearisation after a kick by hand, per largest command.
    """

    v: float
    eigenvalues: np.ndarray
    margins: Margins
    sensitivity: SensitivityPeak
    weave: WeaveMeasurability
    nonlinearity: float


@dataclass(frozen=True, repr=False)
class LoopMargins:
    """Judgement of a whole sampled loop, broken where its command enters the drive.

    Attributes
    ----------
    loop : SampledLoop
        Bicycle, drive, delay, instruments, observer and controller.
    rows : tuple of SpeedMargins
        One for each speed.
    """

    loop: SampledLoop
    rows: tuple[SpeedMargins, ...]

    def __iter__(self) -> Iterator[SpeedMargins]:
        return iter(self.rows)

    @property
    def title(self) -> str:
        """Bicycle, controller and rate."""
        return f"{self.loop.bicycle.name}, {self.loop.schedule.method}, {1.0 / self.loop.dt:g} Hz"

    def __repr__(self) -> str:
        speeds = ", ".join(f"{row.v:g} m/s: {row.margins!r}" for row in self.rows[:3])
        return f"<LoopMargins: {self.title}; {speeds}{' ...' if len(self.rows) > 3 else ''}>"

    def _repr_html_(self) -> str:
        heads = ["v m/s", "slowest 1/s", *MARGIN_HEADS, "peak sensitivity", "weave measurable"]
        rows = [
            [
                f"{row.v:g}",
                f"{row.eigenvalues.real.max():.2f}",
                *row.margins.as_text(),
                f"{row.sensitivity.value:.2f}",
                str(row.weave),
            ]
            for row in self.rows
        ]
        return html_table(self.title, heads, rows)

    def to_frame(self) -> Any:
        """Rows as a pandas DataFrame, SI units; raises InputError where pandas is not installed."""
        return data_frame(
            {
                "v": [row.v for row in self.rows],
                "slowest_pole": [row.eigenvalues.real.max() for row in self.rows],
                "gain_margin_down": [row.margins.gain[0] for row in self.rows],
                "gain_margin_up": [row.margins.gain[1] for row in self.rows],
                "phase_margin": [row.margins.phase for row in self.rows],
                "delay_margin": [row.margins.delay for row in self.rows],
                "sensitivity_peak": [row.sensitivity.value for row in self.rows],
                "weave_measurable": [row.weave.measurable for row in self.rows],
                "nonlinearity": [row.nonlinearity for row in self.rows],
            },
            units={"v": "m/s", "slowest_pole": "1/s", "phase_margin": "rad", "delay_margin": "s"},
        )
