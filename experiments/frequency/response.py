"""Frequency responses of the loop and of the plant, measured in a run with an excitation, beside the predicted ones.

The torque played, r, is known exactly and owes nothing to the noise, so every response is a quotient with it
(`experiments.frequency.spectral_lines`). The loop: from r to an output. The plant: from the torque commanded, T, to an
output,
as the quotient of two responses of the loop. The direct one, from T to an output, would be drawn towards minus one over
the controller, for under feedback T answers the noise (Soderstrom and Stoica 1989, section 10.3).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from experiments.dynamics import Array, Complex, Theory
from experiments.frequency.spectral_lines import Lines, lines
from experiments.recordings.runs import bicycle_of, played_torque, run_of, schedule_of, theory_of
from experiments.theory.excited_loop import ExcitedLoop, excited_loop
from hil.logs.log import RUN_FILE, Run
from hil.loop.excitation import Excitation
from hil.loop.observer import Observer
from hil.loop.states import State
from hil.rig.rig import Rig
from models.errors import InputError
from models.linear.perturbed import Variant

SHORTEST = 20.0  # s of torque, below which the lines lie too far apart
TAIL = 2.0  # s after it, in which the answer dies away
TRUSTED = 0.9  # coherence from which a line is worth looking at
PLAYED = ("sweep", "multisine", "steps")  # excitations that tell a frequency response
RESPONSE_CHANNELS = {"phi_dot": "phi_dot_meas", "delta": "delta_meas", "T": "T_cmd"}
SHOWN = ("phi_dot", "delta")  # outputs in which loop and plant are judged
STEP = 1e-3  # of a standard deviation: how far a quantity is moved for a slope


@dataclass(frozen=True, eq=False)
class Transfer:
    """One frequency response over the lines of the band: measured, its uncertainty, and predicted; complex (m,)."""

    of: str  # "loop" or "plant"
    output: str  # "phi_dot" [rad/s], "delta" [rad], "T" [N m], per N m
    measured: Complex
    predicted: Complex
    std: Array  # of the magnitude, relative; as much of the phase [rad]
    coherence: Array  # (m,), of the torque played with the output; of the plant, the lesser of output and torque

    def as_json(self) -> dict[str, Any]:
        """Gains, and phases in rad."""
        predicted = np.unwrap(np.angle(self.predicted))
        return {
            "of": self.of,
            "output": self.output,
            "gain": np.abs(self.measured),
            "gain_std": self.std * np.abs(self.measured),
            "phase": predicted + np.angle(self.measured / self.predicted),
            "phase_std": self.std,
            "coherence": self.coherence,
            "predicted_gain": np.abs(self.predicted),
            "predicted_phase": predicted,
        }


@dataclass(frozen=True, eq=False)
class FrequencyResponse:
    """All responses of one run at the lines ``f`` (m,) [Hz].

    Attributes
    ----------
    v : float
        m/s, mean while it was played.
    theory : ExcitedLoop
        That predicts them.
    lines : Lines
        Measured over predicted of the loop's outputs, in the order of `RESPONSE_CHANNELS`, with covariances.
    slopes : mapping of str to (Complex, Complex)
        What one standard deviation of an uncertain quantity does to the logarithm of the predicted responses of loop
        and plant, (m, 2) each, in the order of `SHOWN`.
    move : callable
        The theory with some of these quantities so many standard deviations away; raises InputError where no bicycle
        can be so.
    """

    source: str
    label: str
    bicycle: str
    v: float
    f: Array
    responses: tuple[Transfer, ...]
    theory: ExcitedLoop
    lines: Lines
    slopes: Mapping[str, tuple[Complex, Complex]]
    move: Callable[[Mapping[str, float]], ExcitedLoop]

    def named(self, of: str, output: str) -> Transfer:
        """One of them."""
        return next(r for r in self.responses if (r.of, r.output) == (of, output))

    def ratios(self, of: str) -> tuple[Complex, Complex]:
        """Measured over predicted of the outputs in `SHOWN`, (m, 2), and E[d d^H] of their errors, (m, 2, 2)."""
        return ratios(self.lines, of)

    def as_json(self) -> dict[str, Any]:
        """A document of numbers, ready to be drawn."""
        return {
            "source": self.source,
            "label": self.label,
            "bicycle": self.bicycle,
            "v": self.v,
            "f_Hz": self.f,
            "bins_per_line": self.lines.bins,
            "responses": [response.as_json() for response in self.responses],
        }


def plays(header: Mapping[str, Any]) -> bool:
    """Does the header of a run speak of a torque that tells a frequency response?"""
    settings = header.get("excitation") or {}
    return settings.get("kind") in PLAYED and not settings.get("releases")


def frequency_response(run: Run) -> FrequencyResponse:
    """Responses of a run of ours that played an excitation.

    Raises
    ------
    InputError
        When it played none, or too short a one, or theory says that its loop is not stable.
    """
    if not plays(run.header):
        raise InputError(
            f"the run {run.folder.name} played no torque: a frequency response wants a sweep or a multisine"
        )
    rate, settings = float(run.header["rig"]["rate"]), Excitation(**run.header["excitation"])
    r, outputs, v, steer_age = _played_part(run, settings, rate)
    build = theory_at(run.header, v, steer_age)
    theory = build()
    if not theory.stable:
        raise InputError(
            f"theory has the loop of the run {run.folder.name} unstable at {v:.2f} m/s, so that it predicts no "
            "frequency response: choose another speed or controller"
        )
    answer = theory.answer(r)
    band = settings.f_low, settings.f_high
    found = lines(r, outputs, np.array([answer[name] for name in RESPONSE_CHANNELS]), rate, band)
    whole = theory_of(run.header, bicycle_of(run.header), run.ticks)
    move = _mover(whole, build)
    return FrequencyResponse(
        run.folder.name,
        run.header.get("label", ""),
        whole.bicycle.name,
        v,
        found.f,
        _transfers(found, theory),
        theory,
        found,
        _slopes(whole.uncertain, move, found.f),
        move,
    )


def add_response(path: Path, found: list[FrequencyResponse], unusable: list[str]) -> None:
    """Add the response of a run of ours that played a torque to ``found``, or to ``unusable`` why it has none."""
    run = run_of(path)
    if path.is_file() and path.name != RUN_FILE:
        run = replace(run, folder=path)  # an exported one lies among others, and has a name of its own
    if not plays(run.header):
        return
    try:
        found.append(frequency_response(run))
    except InputError as error:
        unusable.append(str(error))


def _played_part(run: Run, settings: Excitation, rate: float) -> tuple[Array, Array, float, float]:
    """Torque played (n,) and outputs (3, n) on an even grid, mean speed [m/s] and age of the steer angle [s].

    Whole periods of a torque that repeats itself; of any other all of it, and its answer's end.
    """
    ticks = run.ticks[(run.ticks["valid"] == 1) & (run.ticks["state"] == State.RUNNING)]
    ticks = ticks[np.append(True, np.diff(ticks["t"]) > 0)] if len(ticks) else ticks
    r = played_torque(run, ticks)
    rows = np.flatnonzero(r)
    length = (rows[-1] - rows[0] + 1) / rate if len(rows) else 0.0
    if length < SHORTEST:
        raise InputError(
            f"the run {run.folder.name} played for {length:.1f} s, wanted at least {SHORTEST:.0f} s for a frequency "
            "response: play longer"
        )
    t = ticks["t"][rows[0] :]
    end = min(ticks["t"][rows[-1]] + TAIL, t[-1])
    n = round((end - t[0]) * rate) + 1
    if settings.periods > 1:
        period = settings.duration / settings.periods
        n = round(np.floor((length + 2.0 / rate) / period) * period * rate)
    even = t[0] + np.arange(n) / rate
    r, *outputs = (
        np.interp(even, t, y[rows[0] :]) for y in (r, *(ticks[column] for column in RESPONSE_CHANNELS.values()))
    )
    v = np.interp(even, t, ticks["v_meas"][rows[0] :])
    return r, np.array(outputs), float(np.mean(v)), float(np.median(ticks["steer_age"]))


def ratios(found: Lines, of: str) -> tuple[Complex, Complex]:
    """`FrequencyResponse.ratios` of the loop's lines."""
    g, covariance = found.ratio, found.covariance
    if of == "loop":
        return g[:, :2], covariance[:, :2, :2]
    q = g[:, :2] / g[:, 2:]
    J = np.zeros((len(g), 2, 3), complex)
    J[:, 0, 0] = J[:, 1, 1] = 1.0 / g[:, 2]
    J[:, :, 2] = -q / g[:, 2:]
    return q, J @ covariance @ J.conj().swapaxes(1, 2)


def _transfers(found: Lines, theory: ExcitedLoop) -> tuple[Transfer, ...]:
    """The three responses of the loop, and the two of the plant."""
    transfers, f = [], found.f
    for i, output in enumerate(RESPONSE_CHANNELS):
        predicted, coherence = theory.loop(f, output), found.coherence[:, i]
        std = error(coherence, found.bins)
        transfers.append(Transfer("loop", output, found.ratio[:, i] * predicted, predicted, std, coherence))
    q, covariance = ratios(found, "plant")
    for i, output in enumerate(SHOWN):
        predicted = theory.plant(f, output)
        std = np.sqrt(0.5 * covariance[:, i, i].real) / np.abs(q[:, i])
        coherence = np.minimum(found.coherence[:, i], found.coherence[:, 2])
        transfers.append(Transfer("plant", output, q[:, i] * predicted, predicted, std, coherence))
    return tuple(transfers)


def error(coherence: Array, independent: float) -> Array:
    """Relative standard deviation of a gain from its coherence (Bendat and Piersol 2010, table 9.6)."""
    kept = np.clip(coherence, 1e-12, 1.0)
    return np.sqrt((1.0 - kept) / (2.0 * independent * kept))


def theory_at(header: Mapping[str, Any], v: float, steer_age: float = 0.0) -> Callable[..., ExcitedLoop]:
    """The loop that the header of a run describes, at speed ``v`` [m/s], of a real machine and with more delay.

    Returns
    -------
    callable
        Takes ``real`` and ``more_delay`` of `excited_loop`, by default as designed.
    """
    rig = header["rig"]
    wired = {name: rig[name] for name in ("rate", "drive_lag", "watchdog", "x_imu", "z_imu")}
    observer = Observer(**rig["observer"])
    known = Rig(bicycle_of(dict(header)), command_delay=rig.get("command_delay"), observer=observer, **wired)
    schedule = schedule_of(dict(header))

    def build(real: Variant | None = None, more_delay: float = 0.0) -> ExcitedLoop:
        return excited_loop(known, schedule, v, steer_age, real, more_delay)

    return build


def _mover(whole: Theory, build: Callable[..., ExcitedLoop]) -> Callable[[Mapping[str, float]], ExcitedLoop]:
    """The loop with some quantities so many of their standard deviations away."""

    def move(deviations: Mapping[str, float]) -> ExcitedLoop:
        changes = {name: whole.nominal(name) + many * whole.uncertain[name] for name, many in deviations.items()}
        return build(*whole.variant(changes))

    return move


def _slopes(
    names: Iterable[str], move: Callable[[Mapping[str, float]], ExcitedLoop], f: Array
) -> dict[str, tuple[Complex, Complex]]:
    """What one standard deviation of each quantity does to the logarithms of loop and plant, (m, 2) each."""
    slopes = {}
    for name in names:
        up, down = (move({name: sign * STEP}) for sign in (1.0, -1.0))
        loop, plant = (np.log(ratio_of(up, down, of, f)) / (2.0 * STEP) for of in ("loop", "plant"))
        slopes[name] = np.asarray(loop, complex), np.asarray(plant, complex)
    return slopes


def ratio_of(one: ExcitedLoop, other: ExcitedLoop, of: str, f: Array) -> Complex:
    """Predictions of one theory over those of another, (m, 2), in the order of `SHOWN`."""
    return np.array([getattr(one, of)(f, output) / getattr(other, of)(f, output) for output in SHOWN], complex).T
