"""Frequency responses of the loop and of the plant, measured in a run with an excitation, beside the predicted ones.

The torque played, r, is known exactly and owes nothing to the noise, so every response is a quotient of cross spectra
with it (Welch's method). The loop: from r to an output, S_ry / S_rr. The plant: from the torque commanded, T, to an
output, S_ry / S_rT. The direct S_Ty / S_TT would be drawn towards minus one over the controller, for under
feedback T answers the noise (Soderstrom and Stoica 1989, section 10.3).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import signal

from experiments.excited import Array, Complex, ExcitedLoop, excited_loop
from experiments.recordings import bicycle_of, played_torque, schedule_of
from hil.estimator import Observer
from hil.log import Run
from hil.rig import Rig
from models.errors import InputError

SEGMENT = 10.24  # s of one Welch segment: 0.1 Hz from line to line
TRUSTED = 0.9  # coherence from which a line is worth looking at
MEASURED = {"phi_dot": "phi_dot_meas", "delta": "delta_meas", "T": "T_cmd"}


@dataclass(frozen=True, eq=False)
class Transfer:
    """One frequency response over the lines of the band: measured, its uncertainty, and predicted; complex (m,)."""

    of: str  # "loop" or "plant"
    output: str  # "phi_dot" [rad/s], "delta" [rad], "T" [N m], per N m
    measured: Complex
    predicted: Complex
    std: Array  # of the magnitude, relative, from the coherence
    coherence: Array  # (m,), of the torque played with the output

    def as_json(self) -> dict[str, Any]:
        """Gains, and phases in rad."""
        return {
            "of": self.of,
            "output": self.output,
            "gain": np.abs(self.measured),
            "gain_std": self.std * np.abs(self.measured),
            "phase": np.unwrap(np.angle(self.measured)),
            "coherence": self.coherence,
            "predicted_gain": np.abs(self.predicted),
            "predicted_phase": np.unwrap(np.angle(self.predicted)),
        }


@dataclass(frozen=True, eq=False)
class FrequencyResponse:
    """All responses of one run at the lines ``f`` (m,) [Hz]."""

    source: str
    label: str
    v: float  # m/s, mean while it was played
    f: Array
    responses: tuple[Transfer, ...]

    def named(self, of: str, output: str) -> Transfer:
        """One of them."""
        return next(r for r in self.responses if (r.of, r.output) == (of, output))

    def as_json(self) -> dict[str, Any]:
        """A document of numbers, ready to be drawn."""
        return {
            "source": self.source,
            "label": self.label,
            "v": self.v,
            "f_Hz": self.f,
            "responses": [response.as_json() for response in self.responses],
        }


def frequency_response(run: Run) -> FrequencyResponse:
    """Responses of a run of ours that played an excitation.

    Raises
    ------
    InputError
        When it played none, or too short a one.
    """
    ticks = run.ticks[run.ticks["valid"] == 1]
    rate, settings = float(run.header["rig"]["rate"]), run.header.get("excitation") or {}
    r = played_torque(run, ticks)
    played = np.flatnonzero(r)
    if not len(played):
        raise InputError(
            f"the run {run.folder.name} played no torque: a frequency response wants a sweep or a multisine"
        )
    n = round(SEGMENT * rate)
    part = slice(played[0], min(played[-1] + round(rate), len(ticks)))
    if part.stop - part.start < 2 * n:
        raise InputError(
            f"the run {run.folder.name} played for {(part.stop - part.start) / rate:.1f} s, wanted at least "
            f"{2 * SEGMENT:.0f} s for a frequency response: play longer"
        )
    t = ticks["t"][part]
    even = t[0] + np.arange(round((t[-1] - t[0]) * rate) + 1) / rate
    columns = {"r": np.interp(even, t, r[part])}
    columns |= {name: np.interp(even, t, ticks[column][part]) for name, column in MEASURED.items()}
    columns = {name: signal.detrend(y) for name, y in columns.items()}
    v = float(np.mean(ticks["v_meas"][part]))
    about = {"fs": rate, "window": "hann", "nperseg": n, "noverlap": 3 * n // 4, "detrend": "constant"}
    f, S_rr = signal.welch(columns["r"], **about)
    band = (f >= settings["f_low"]) & (f <= settings["f_high"])
    cross = {name: signal.csd(columns["r"], y, **about)[1][band] for name, y in columns.items()}
    coherence = {name: signal.coherence(columns["r"], y, **about)[1][band] for name, y in columns.items()}
    independent = len(even) / n  # segments that share nothing
    theory = theory_of(run.header, v)
    f = f[band]
    found = []
    for output in MEASURED:
        std = error(coherence[output], independent)
        found.append(
            Transfer("loop", output, cross[output] / S_rr[band], theory.loop(f, output), std, coherence[output])
        )
    for output in ("phi_dot", "delta"):
        std = np.hypot(error(coherence[output], independent), error(coherence["T"], independent))
        plant = theory.plant(f, output)
        found.append(Transfer("plant", output, cross[output] / cross["T"], plant, std, coherence[output]))
    return FrequencyResponse(run.folder.name, run.header.get("label", ""), v, f, tuple(found))


def error(coherence: Array, independent: float) -> Array:
    """Relative standard deviation of a gain from its coherence (Bendat and Piersol 2010, table 9.6)."""
    kept = np.clip(coherence, 1e-12, 1.0)
    return np.sqrt((1.0 - kept) / (2.0 * independent * kept))


def theory_of(header: dict[str, Any], v: float) -> ExcitedLoop:
    """The loop that the header of a run describes, at speed ``v`` [m/s]."""
    rig = header["rig"]
    wired = {name: rig[name] for name in ("rate", "drive_lag", "watchdog", "x_imu", "z_imu")}
    known = Rig(
        bicycle_of(header), command_delay=rig.get("command_delay"), observer=Observer(**rig["observer"]), **wired
    )
    return excited_loop(known, schedule_of(header), v)
