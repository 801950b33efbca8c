"""Frequency responses of loop and plant.

Measured in a run with an excitation, beside the predicted ones. The torque played, r, is known exactly and owes nothing
to the noise, so every response is a quotient with it
(`riderless.experiments.analysis.frequency_response.spectral_lines`). The loop: from r to an output. The plant: from the
torque commanded, T, to an output, as the quotient of two responses of the loop. The direct one, from T to an output,
would be drawn towards minus one over the controller, for under feedback T answers the noise (Soderstrom and Stoica
1989, section 10.3).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from riderless.experiments.analysis.frequency_response.spectral_lines import SpectralLines, measure_lines
from riderless.experiments.dynamics import Theory
from riderless.experiments.notebook import value_table
from riderless.experiments.recordings.quality.bursts import answered_one_of, arrivals, mean_lateness
from riderless.experiments.recordings.runs import played_torque
from riderless.experiments.theory.excited_loop import ExcitedLoop, excited_loop
from riderless.experiments.theory.run_theory import bridged_samples, slower_rig, theory_of
from riderless.hil.logs.header import RunHeader
from riderless.hil.logs.log import Run
from riderless.hil.logs.stored_rows import whole_columns
from riderless.hil.loop.excitation import Excitation
from riderless.hil.loop.states import State
from riderless.models.array_types import Array, ComplexArray
from riderless.models.errors import InputError
from riderless.models.linear.prescribed_steer import COMMAND_UNITS

MIN_PLAYED = 20.0  # s of torque, below which the lines lie too far apart
DECAY_TIME = 2.0  # s after it, in which the answer dies away
TRUSTED = 0.9  # coherence from which a line is worth looking at
TELLING_KINDS = ("sweep", "multisine", "steps")  # excitations that tell a frequency response
RESPONSE_CHANNELS = {"phi_dot": "phi_dot_meas", "delta": "delta_meas", "T": "T_cmd"}
JUDGED_OUTPUTS = ("phi_dot", "delta")  # outputs in which loop and plant are judged
JUDGED_COLUMNS, TORQUE_COLUMN = (
    slice(len(JUDGED_OUTPUTS)),
    len(JUDGED_OUTPUTS),
)  # columns of what is measured, and that of the torque
SLOPE_STEP = 1e-3  # of a standard deviation: how far a quantity is moved for a slope


@dataclass(frozen=True, eq=False, repr=False)
class Transfer:
    """One frequency response over the lines of the band: measured, its uncertainty, and predicted; complex (m,)."""

    of: str  # "loop" or "plant"
    output: str  # "phi_dot" [rad/s], "delta" [rad], "T" the command, per unit of the command
    measured: ComplexArray
    predicted: ComplexArray
    std: Array  # of the magnitude, relative; as much of the phase [rad]
    coherence: Array  # (m,), of the torque played with the output; of the plant, the lesser of output and torque

    @property
    def summary(self) -> str:
        """Middle error and coherence in words."""
        return f"{100.0 * float(np.median(self.std)):.2g} % of gain, coherence {float(np.median(self.coherence)):.3f}"

    def __repr__(self) -> str:
        return f"Transfer({self.of}, {self.output}, {len(self.measured)} lines, {self.summary})"

    def as_json(self) -> dict[str, Any]:
        """Document of gains, and phases in rad."""
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


@dataclass(frozen=True, eq=False, repr=False)
class FrequencyResponse:
    """All responses of one run at the lines ``f`` (m,) [Hz].

    Attributes
    ----------
    v : float
        m/s, mean while it was played.
    theory : ExcitedLoop
        That predicts them.
    lines : SpectralLines
        Measured over predicted of the loop's outputs, in the order of `RESPONSE_CHANNELS`, with covariances.
    slopes : mapping of str to (ComplexArray, ComplexArray)
        Change of the logarithms of the predicted responses of loop and plant by one standard deviation of an uncertain
        quantity, (m, 2) each, in the order of `JUDGED_OUTPUTS`.
    move : callable
        Theory with some of these quantities so many standard deviations away; raises InputError where no bicycle
        can be so.
    unit : str
        Of the command: N m, or rad/s or rad of a drive that obeys a steer rate or angle.
    correlation : (k, k), optional
        Of the uncertain quantities, in the order of ``slopes``; none where they are independent.
    """

    source: str
    label: str
    bicycle: str
    v: float
    f: Array
    responses: tuple[Transfer, ...]
    theory: ExcitedLoop
    lines: SpectralLines
    slopes: Mapping[str, tuple[ComplexArray, ComplexArray]]
    move: Callable[[Mapping[str, float]], ExcitedLoop]
    unit: str = COMMAND_UNITS["torque"]
    correlation: Array | None = None

    def named(self, of: str, output: str) -> Transfer:
        """Response of the "loop" or the "plant" at one output."""
        return next(r for r in self.responses if (r.of, r.output) == (of, output))

    def ratios(self, of: str) -> tuple[ComplexArray, ComplexArray]:
        """Measured over predicted `JUDGED_OUTPUTS`, (m, 2), and E[d d^H] of their errors d, (m, 2, 2)."""
        return ratios(self.lines, of)

    def as_json(self) -> dict[str, Any]:
        """Document of numbers, ready to be drawn."""
        return {
            "source": self.source,
            "label": self.label,
            "bicycle": self.bicycle,
            "v": self.v,
            "command_unit": self.unit,
            "f_Hz": self.f,
            "bins_per_line": self.lines.bins,
            "responses": [response.as_json() for response in self.responses],
        }

    def __repr__(self) -> str:
        return (
            f"FrequencyResponse({self.source!r}, {self.bicycle}, {self.v:.2f} m/s, {len(self.f)} lines "
            f"from {self.f[0]:.2f} to {self.f[-1]:.2f} Hz)"
        )

    def _repr_html_(self) -> str:
        rows = {f"{transfer.of}, {transfer.output}": transfer.summary for transfer in self.responses}
        title = f"Frequency response of {self.source}, {self.bicycle} at {self.v:.2f} m/s, {len(self.f)} lines"
        return value_table(title, rows)


def plays(header: RunHeader) -> bool:
    """Did a run play a torque that gives a frequency response? After its header."""
    played = header.excitation
    return played.kind in TELLING_KINDS and not (played.releases or played.held_back)


_PLAYED_COLUMNS = ("k", "t", "valid", "state", "v_meas", "steer_age", "seq", "samples_lost")


def frequency_response(run: Run) -> FrequencyResponse:
    """Measure the frequency responses of a run of ours that played an excitation.

    Raises
    ------
    InputError
        When it played none, or too short a one, or theory says that its loop is not stable.
    """
    if not plays(run.header):
        raise InputError(
            f"the run {run.folder.name} played no torque: a frequency response wants a sweep or a multisine"
        )
    r, outputs, v, steer_age, held, one_of = _played_part(run, run.header.excitation)
    whole = theory_of(run.header, run.header.bicycle, run.ticks)
    rig, schedule = slower_rig(run.header.rig, one_of), run.header.schedule

    def excited(moved: Theory) -> ExcitedLoop:
        real, more_delay = moved.variant({})
        return excited_loop(rig, schedule, v, steer_age=steer_age, real=real, more_delay=held + more_delay)

    move = mover(whole, excited)
    theory = move({})
    if not theory.stable:
        raise InputError(
            f"theory has the loop of the run {run.folder.name} unstable at {v:.2f} m/s, so that it predicts no "
            "frequency response: choose another speed or controller"
        )
    predicted = theory.response(r)
    band, rate = (run.header.excitation.f_low, run.header.excitation.f_high), run.header.rig.rate / one_of
    lines = measure_lines(r, outputs, np.array([predicted[name] for name in RESPONSE_CHANNELS]), rate, band)
    return FrequencyResponse(
        run.folder.name,
        run.header.label,
        whole.bicycle.name,
        v,
        lines.f,
        transfers(lines, theory),
        theory,
        lines,
        predicted_slopes(whole.uncertain, move, lines.f),
        move,
        COMMAND_UNITS[run.header.drive_kind],
        whole.correlation,
    )


def add_response(run: Run, responses: list[FrequencyResponse], unusable: list[str]) -> None:
    """Add the response of a run that played a torque to ``responses``, or the reason for none to ``unusable``."""
    if not plays(run.header):
        return
    try:
        responses.append(frequency_response(run))
    except InputError as error:
        unusable.append(str(error))


def _played_part(run: Run, settings: Excitation) -> tuple[Array, Array, float, float, float, float]:
    """Torque played (n,) and outputs (3, n) on an even grid; mean speed [m/s], age of the steer angle and lateness [s].

    Whole periods of a torque that repeats itself; of any other all of it, and its answer's end. The last is how many
    samples there were for each that was answered (`answered_one_of`): the grid has the pace of the loop.
    """
    ticks = whole_columns(run.ticks, (*_PLAYED_COLUMNS, *RESPONSE_CHANNELS.values()))
    came = arrivals(ticks)
    one_of = answered_one_of(run.header, came)
    rate = run.header.rig.rate / one_of
    ticks = ticks[(ticks["valid"] == 1) & (ticks["state"] == State.RUNNING)]
    ticks = ticks[np.append(True, np.diff(ticks["t"]) > 0)] if len(ticks) else ticks
    r = played_torque(run, ticks)
    rows = np.flatnonzero(r)
    length = (rows[-1] - rows[0] + 1) / rate if len(rows) else 0.0
    if length < MIN_PLAYED:
        raise InputError(
            f"the run {run.folder.name} played for {length:.1f} s, wanted at least {MIN_PLAYED:.0f} s for a frequency "
            "response: play longer"
        )
    t = ticks["t"][rows[0] :]
    end = min(ticks["t"][rows[-1]] + DECAY_TIME, t[-1])
    n = round((end - t[0]) * rate) + 1
    if settings.periods > 1:
        period = settings.duration / settings.periods
        n = round(np.floor((length + 2.0 / rate) / period) * period * rate)
    even = t[0] + np.arange(n) / rate
    r, *outputs = (
        np.interp(even, t, y[rows[0] :]) for y in (r, *(ticks[column] for column in RESPONSE_CHANNELS.values()))
    )
    v = np.interp(even, t, ticks["v_meas"][rows[0] :])
    held = mean_lateness(run, came, bridged_samples(ticks, run.header.rig.rate), one_of)
    return r, np.array(outputs), float(np.mean(v)), float(np.median(ticks["steer_age"])), held, one_of


def ratios(lines: SpectralLines, system: str) -> tuple[ComplexArray, ComplexArray]:
    """`FrequencyResponse.ratios` of the loop's lines."""
    g, covariance = lines.ratio, lines.covariance
    if system == "loop":
        return g[:, JUDGED_COLUMNS], covariance[:, JUDGED_COLUMNS, JUDGED_COLUMNS]
    torque = g[:, TORQUE_COLUMN, None]
    q = g[:, JUDGED_COLUMNS] / torque
    J = np.zeros((len(g), len(JUDGED_OUTPUTS), len(RESPONSE_CHANNELS)), complex)  # of q by g
    J[:, JUDGED_COLUMNS, JUDGED_COLUMNS] = np.eye(len(JUDGED_OUTPUTS)) / torque[..., None]
    J[:, :, TORQUE_COLUMN] = -q / torque
    return q, J @ covariance @ J.conj().swapaxes(1, 2)


def transfers(lines: SpectralLines, theory: ExcitedLoop) -> tuple[Transfer, ...]:
    """Responses of the loop, three of them, and of the plant, two."""
    transfers, f = [], lines.f
    for i, output in enumerate(RESPONSE_CHANNELS):
        predicted, coherence = theory.loop(f, output), lines.coherence[:, i]
        std = relative_std(coherence, lines.bins)
        transfers.append(Transfer("loop", output, lines.ratio[:, i] * predicted, predicted, std, coherence))
    q, covariance = ratios(lines, "plant")
    for i, output in enumerate(JUDGED_OUTPUTS):
        predicted = theory.plant(f, output)
        std = np.sqrt(0.5 * covariance[:, i, i].real) / np.abs(q[:, i])
        coherence = np.minimum(lines.coherence[:, i], lines.coherence[:, TORQUE_COLUMN])
        transfers.append(Transfer("plant", output, q[:, i] * predicted, predicted, std, coherence))
    return tuple(transfers)


def relative_std(coherence: Array, independent: float) -> Array:
    """Relative standard deviation of a gain from its coherence (Bendat and Piersol 2010, table 9.6)."""
    kept = np.clip(coherence, 1e-12, 1.0)
    return np.sqrt((1.0 - kept) / (2.0 * independent * kept))


def mover(whole: Theory, excited: Callable[[Theory], ExcitedLoop]) -> Callable[[Mapping[str, float]], ExcitedLoop]:
    """Mover of the excited loop of a theory: it takes how many standard deviations away each quantity is to be."""

    def move(deviations: Mapping[str, float]) -> ExcitedLoop:
        changes = {name: whole.nominal(name) + many * whole.uncertain[name] for name, many in deviations.items()}
        return excited(whole.move(changes))

    return move


def predicted_slopes(
    names: Iterable[str], move: Callable[[Mapping[str, float]], ExcitedLoop], f: Array
) -> dict[str, tuple[ComplexArray, ComplexArray]]:
    """Change of the logarithms of loop and plant, (m, 2) each, by one standard deviation of each quantity."""
    slopes = {}
    for name in names:
        up, down = (move({name: sign * SLOPE_STEP}) for sign in (1.0, -1.0))
        loop, plant = (
            np.log(predicted_ratio(up, down, system, f)) / (2.0 * SLOPE_STEP) for system in ("loop", "plant")
        )
        slopes[name] = np.asarray(loop, complex), np.asarray(plant, complex)
    return slopes


def predicted_ratio(loop: ExcitedLoop, other: ExcitedLoop, system: str, f: Array) -> ComplexArray:
    """Predictions of one theory over those of another, (m, 2), in the order of `JUDGED_OUTPUTS`.

    Parameters
    ----------
    loop, other : ExcitedLoop
    system : str
        "loop" or "plant".
    f : (m,)
        Frequencies [Hz].
    """
    return np.array(
        [getattr(loop, system)(f, output) / getattr(other, system)(f, output) for output in JUDGED_OUTPUTS], complex
    ).T
