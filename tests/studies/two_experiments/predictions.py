"""Frequency responses and eigenvalues predicted for logs that nobody here has seen, with bands.

The bicycle is the one identified from kicks and shaken handle. Its dry friction enters by its describing function: at
a steer rate of amplitude a it takes out of the motion what a damper of 4 T / (pi a) would (Gelb and Vander Velde 1968).
The amplitude is solved for. A band joins the identification's covariance and what these models left unexplained in the
logs that were seen, line by line.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from riderless.experiments.analysis.frequency_response.response import JUDGED_OUTPUTS
from riderless.experiments.analysis.identification.identify import Identification
from riderless.experiments.dynamics import Dynamics, Theory
from riderless.experiments.recordings.foreign.delft import DELFT_LAW
from riderless.experiments.theories import lean_feedback
from riderless.models.array_types import Array, ComplexArray
from riderless.models.coordinates import DELTA, DELTA_DOT, PHI, PHI_DOT
from riderless.models.noise_statistics import STDS_95
from riderless.models.parameters import Bicycle

POSTERIOR_DRAWS, SEED = 200, 14
BALANCES = 12  # of amplitude and damping, each half of the way
LEAST_RATE = 0.02  # rad/s of steer, below which dry friction holds it
# Model matching as the public program of that bicycle has it (teensy/src/main.cpp, calc_mm_sil_control): torque per
# lean, steer [v^0, v^2], lean rate [v], steer rate [v], and per hand torque, which the other law passes on whole.
MATCHING: dict[str, Any] = {"phi": 0.211492437333, "delta": (0.24058007042, -0.0864766087461), "phi_dot": 0.20410815964,
            "delta_dot": 0.00383946633565, "hand": 0.944830638808}  # fmt: skip


@dataclass(frozen=True)
class Band:
    """Prediction with its 95 % band: complex responses (m,) with relative errors, by output."""

    f: Array  # Hz
    gain: dict[str, Array]
    low: dict[str, Array]
    high: dict[str, Array]
    phase: dict[str, Array]  # deg
    phase_half: dict[str, Array]  # deg, half the band


def responses(theory: Theory, v: float, f: Array, torque: float, matching: bool = False) -> dict[str, ComplexArray]:
    """Responses (m,) of what the sensors show per N m of hand torque, at an amplitude ``torque`` [N m] of it.

    Parameters
    ----------
    theory : Theory
    v : float
        Speed [m/s].
    f : (m,)
        Hz.
    torque : float
    matching : bool
        Under the law of model matching on top of steering into the lean.
    """
    shown: dict[str, list[complex]] = {name: [] for name in JUDGED_OUTPUTS}
    A, b = loop(theory, v, matching)
    axis, dry = theory.dynamics().steer_torque, max(theory.nominal("steer_dry_friction"), 0.0)
    damper = np.outer(axis(v), np.eye(4)[DELTA_DOT]) if axis is not None else np.zeros((4, 4))
    scale, lag = theory.nominal("steer_scale"), theory.nominal("steer_lag")
    for one in f:
        x = _balanced(A, b, damper, 2j * np.pi * one, torque, dry)
        shown["phi_dot"].append(x[PHI_DOT])
        shown["delta"].append(scale * (x[DELTA] - lag * x[DELTA_DOT]))
    return {name: np.array(values) for name, values in shown.items()}


def _balanced(A: Array, b: Array, damper: Array, s: complex, torque: float, dry: float) -> ComplexArray:
    """State (4,) per N m of hand torque at s, with the damper that dry friction is at the steer rate that follows.

    Parameters
    ----------
    A, b : (4, 4), (4,)
        Of `loop`.
    damper : (4, 4)
        Change of A by a damper of 1 N m s/rad, its sign reversed.
    s : complex
        2 pi i f [rad/s].
    torque : float
        Amplitude of the hand torque [N m].
    dry : float
        Dry friction [N m].
    """
    rate, x = 0.3, np.zeros(4, complex)
    for _ in range(BALANCES if dry else 1):
        equal = 4.0 * dry / (np.pi * max(rate, LEAST_RATE))
        x = np.linalg.solve(s * np.eye(4) - A + equal * damper, b)
        rate = 0.5 * (rate + torque * abs(x[DELTA_DOT]))
    return np.asarray(x, complex)


def loop(theory: Theory, v: float, matching: bool = False) -> tuple[Array, Array]:
    """System matrix (4, 4) and response (4,) of the state's rate to a hand torque of 1 N m, under the law in force."""
    dynamics: Dynamics = theory.dynamics()
    if dynamics.steer_torque is None:
        raise AssertionError("a theory of four states has a torque")
    gain = theory.nominal("drive_gain")
    A, b = dynamics.matrix(v), gain * dynamics.steer_torque(v)
    if not matching:
        return A, b
    hand, scale = MATCHING["hand"], theory.nominal("steer_scale")
    row = np.zeros(4)
    row[PHI], row[PHI_DOT] = MATCHING["phi"], MATCHING["phi_dot"] * v
    row[DELTA] = scale * (MATCHING["delta"][0] + MATCHING["delta"][1] * v**2)
    row[DELTA_DOT] = scale * MATCHING["delta_dot"] * v
    row[PHI_DOT] += (hand - 1.0) * DELFT_LAW[0] * (DELFT_LAW[1] - v)  # the law itself is passed on as the hand is
    return A + np.outer(b, row), hand * b


def drawn(bicycle: Bicycle, found: Identification) -> Iterator[Theory]:
    """Theories with quantities drawn from what was identified; the first is the best one."""
    theory, rng = lean_feedback(bicycle, *DELFT_LAW), np.random.default_rng(SEED)
    yield theory.move(found.changes)
    for values in rng.multivariate_normal(found.values, found.covariance, POSTERIOR_DRAWS):
        yield theory.move(dict(zip(found.names, map(float, values), strict=True)))


def band(theories: list[Theory], unexplained: float, of: Callable[[Theory], dict[str, ComplexArray]], f: Array) -> Band:
    """Band of 95 % over theories, joined with a relative error that no parameter explained.

    Parameters
    ----------
    theories : list of Theory
        The best first.
    unexplained : float
        Standard deviation, relative; as much of the phase [rad].
    of : callable
        Responses of a theory.
    f : (m,)
        Hz.
    """
    best, *others = [of(theory) for theory in theories]
    gain, low, high, phase, half = {}, {}, {}, {}, {}
    for name in JUDGED_OUTPUTS:
        logs = np.array([np.log(one[name] / best[name]) for one in others])
        error = STDS_95 * np.hypot(np.std(logs.real, axis=0), unexplained)
        gain[name] = np.abs(best[name])
        low[name], high[name] = gain[name] * np.exp(-error), gain[name] * np.exp(error)
        phase[name] = np.degrees(np.angle(best[name]))
        half[name] = np.degrees(STDS_95 * np.hypot(np.std(logs.imag, axis=0), unexplained))
    return Band(f, gain, low, high, phase, half)
