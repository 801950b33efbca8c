"""Frequency responses of foreign recordings.

A known torque that was added to the controller's serves as the input. Nothing was played on purpose, but what was added
is a measured channel (``Response.T_played``), known as the controller knew it, and it owes nothing to the noise of the
other sensors. It serves as the instrument: each output, the torque commanded too, is set against it, and a response
between two measured outputs, such as from steer to lean rate, is the quotient of theirs. So errors in both channels and
the feedback between them leave no bias, where a direct quotient has one (errors in variables; Soderstrom and Stoica
1989, section 8). The parts with a torque are laid end to end; the beginning of each is from rest, in the recording and
in theory, and noise shows in the lines as everywhere else
(`riderless.experiments.analysis.frequency_response.spectral_lines`).
"""

import numpy as np

from riderless.experiments.analysis.frequency_response.response import (
    RESPONSE_CHANNELS,
    FrequencyResponse,
    mover,
    predicted_slopes,
    transfers,
)
from riderless.experiments.analysis.frequency_response.spectral_lines import measure_lines
from riderless.experiments.datatypes import Response
from riderless.experiments.dynamics import Theory
from riderless.experiments.recordings.torque_law import played_parts
from riderless.experiments.theory.excited_loop import OUTPUT_ROWS, ExcitedLoop
from riderless.experiments.theory.free_response import row_map
from riderless.hil.design.closed_loop import MEASURED_CHANNELS
from riderless.models.array_types import Array
from riderless.models.coordinates import DELTA, DELTA_DOT, PHI_DOT
from riderless.models.errors import InputError

MIN_SHAKEN = 8.0  # s with a torque, all parts together, below which the lines lie too far apart
PLAYED_SHARE = 0.05  # of the largest power of the torque, from which a frequency was played


def recorded_response(response: Response) -> FrequencyResponse:
    """Measure the frequency responses of a recording with a known torque beside the controller's.

    Raises
    ------
    InputError
        It has no such torque, or too little of it, no steer in rad, or a theory without an input.
    """
    parts = played_parts(response)
    seconds = sum(b - a for a, b in parts) * response.dt
    if seconds < MIN_SHAKEN:
        raise InputError(
            f"{response.source} has a known torque for {seconds:.1f} s, wanted at least {MIN_SHAKEN:.0f} s for a "
            "frequency response: record longer"
        )
    if response.delta is None or response.T_delta is None or response.T_played is None:
        raise InputError(
            f"{response.source} has no steer angle or no torque commanded: a frequency response wants both; map them"
        )
    theory = response.own_theory
    v = float(np.mean(np.concatenate([response.v[a:b] for a, b in parts])))
    move = mover(theory, lambda moved: _sampled_theory(moved, v, response.dt))
    predicting = move({})
    measured = {"phi_dot": response.phi_dot, "delta": response.delta, "T": response.T_delta}
    rows = [_end_to_end(measured[name], parts) for name in RESPONSE_CHANNELS]
    simulated = [predicting.response(response.T_played[a:b]) for a, b in parts]
    predicted = [_joined([channels[name] for channels in simulated]) for name in RESPONSE_CHANNELS]
    played = _end_to_end(response.T_played, parts)
    rate = 1.0 / response.dt
    lines = measure_lines(played, np.array(rows), np.array(predicted), rate, _band(played, rate))
    if not len(lines.f):
        raise InputError(
            f"the known torque of {response.source} fills too narrow a band for a frequency response: record longer"
        )
    return FrequencyResponse(
        response.source,
        response.label,
        theory.bicycle.name,
        v,
        lines.f,
        transfers(lines, predicting),
        predicting,
        lines,
        predicted_slopes(theory.uncertain, move, lines.f),
        move,
        correlation=theory.correlation,
    )


def add_recorded(response: Response, responses: list[FrequencyResponse], unusable: list[str]) -> None:
    """Add the response of a recording with a known torque to ``responses``, or to ``unusable`` the reason for none."""
    if not played_parts(response):
        return
    try:
        responses.append(recorded_response(response))
    except InputError as error:
        unusable.append(str(error))


def _sampled_theory(theory: Theory, v: float, dt: float) -> ExcitedLoop:
    """Theory at speed ``v`` [m/s] with a torque that is held for ``dt`` [s] from row to row.

    Raises
    ------
    InputError
        The theory knows no torque on the steer axis.
    """
    dynamics = theory.dynamics()
    if dynamics.steer_torque is None or dynamics.feedback is None or dynamics.dt is not None:
        raise InputError(f"the theory {theory.name} says nothing of a torque on the steer axis")
    W, on_steer, _ = row_map(dynamics, v, dt)
    H = np.zeros((len(MEASURED_CHANNELS), len(dynamics.states)))
    H[OUTPUT_ROWS["phi_dot"], PHI_DOT] = 1.0
    scale, lag = theory.nominal("steer_scale"), theory.nominal("steer_lag")
    H[OUTPUT_ROWS["delta"], [DELTA, DELTA_DOT]] = scale, -scale * lag
    B = theory.nominal("drive_gain") * on_steer
    return ExcitedLoop(W, B, dynamics.feedback(v), H, dt)


def _end_to_end(y: Array, parts: list[tuple[int, int]]) -> Array:
    """Parts of a column laid end to end, each less its mean."""
    return _joined([y[a:b] for a, b in parts])


def _joined(pieces: list[Array]) -> Array:
    return np.concatenate([piece - piece.mean() for piece in pieces])


def _band(played: Array, rate: float) -> tuple[float, float]:
    """Lowest and highest frequency [Hz] that the torque holds."""
    power = np.abs(np.fft.rfft(played)) ** 2
    smooth = np.convolve(power, np.ones(5) / 5.0, mode="same")
    rows = np.flatnonzero(smooth > PLAYED_SHARE * smooth.max())
    return float(rows[0] * rate / len(played)), float(rows[-1] * rate / len(played))
