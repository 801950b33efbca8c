"""Logged steer torque against its stated law.

The factor between them, and what theory goes by then.
"""

from dataclasses import dataclass, replace

import numpy as np

from riderless.experiments.datatypes import Response
from riderless.experiments.dynamics import ROAD_QUANTITIES
from riderless.experiments.recordings.quality.checked import Recorded
from riderless.experiments.theories import feedback
from riderless.models.array_types import Array
from riderless.models.noise_statistics import STDS_95

LEAST_CORRELATION = 0.95  # of torque and law, below which a factor does not describe the torque
TOLERATED = 0.02  # of the law: drives and rounding make as much
BLOCK = 1.0  # s, over which errors of the torque may hang together
UNRELATED = 0.5  # correlation, and share of the law in the torque, below which another law, or none, was in force
LEAST_BLOCKS = 5
AVERAGED = 0.05  # s; the gyro's noise in the law alone would make the factor smaller than it is
LEAST_TORQUE = 0.05  # N m; a sensor beside a free bar reads as much from the bar's own inertia
LEAST_EXPLAINED = 0.5  # of the torque by lean rate, lean and steer; of a sensor's noise or a push they explain nothing


@dataclass(frozen=True)
class TorqueFactor:
    """Logged torque per torque of the law, with its standard deviation and the correlation of the two."""

    factor: float
    std: float
    correlation: float

    @property
    def differs(self) -> bool:
        """Tell whether the torque follows the law, but with another gain, by more than the interval of 95 %."""
        off = abs(self.factor - 1.0)
        return self.correlation > LEAST_CORRELATION and off > max(TOLERATED, STDS_95 * self.std)

    @property
    def unrelated(self) -> bool:
        """Tell whether the law is not in the torque; noise of the torque alone leaves the factor at 1."""
        return self.correlation < UNRELATED and self.factor + STDS_95 * self.std < UNRELATED


def torque_factor(torque: Array, law: Array, dt: float) -> TorqueFactor | None:
    """Regress logged torque (n,) on the law's (n,), N m, sampled every ``dt`` [s]; None where there is too little.

    The standard deviation is that of blocks of a second, within which errors may hang together.
    """
    return factor_of(block_products(torque, law, dt))


def block_products(torque: Array, law: Array, dt: float) -> Array:
    """Sums (n, 3) of law times torque, law squared and torque squared in blocks of `BLOCK`, of rows that are known."""
    known = np.isfinite(torque) & np.isfinite(law)
    torque, law = torque[known], law[known]
    rows = max(1, round(BLOCK / dt))
    n = len(law) // rows
    torque, law = (series[: n * rows].reshape(n, rows) for series in (torque, law))
    return np.stack([(law * torque).sum(axis=1), (law**2).sum(axis=1), (torque**2).sum(axis=1)], axis=1)


def factor_of(products: Array) -> TorqueFactor | None:
    """Factor between torque and law from their products in n blocks (n, 3); None where there is too little."""
    n = len(products)
    both, energy, torque_energy = products.sum(axis=0)
    if n < LEAST_BLOCKS or not energy or not torque_energy:
        return None
    factor = both / energy
    scores = products[:, 0] - factor * products[:, 1]
    std = float(np.sqrt(n / (n - 1) * (scores @ scores))) / energy
    return TorqueFactor(float(factor), std, float(both / np.sqrt(energy * torque_energy)))


def controlling_torque(response: Response) -> float:
    """Greatest torque [N m] of those that answer the motion while free, as a controller's do; 0 where they do not."""
    if response.T_delta is None:
        return 0.0
    rows = max(1, round(AVERAGED / response.dt))
    free = np.ones(len(response.t)) if response.free is None else response.free.astype(float)
    motion = [y for y in (response.phi_dot, response.phi, response.delta) if y is not None]
    torque, freely, *moved = (_means(y, rows) for y in (response.T_delta, free, *motion))
    known = (freely == 1.0) & np.isfinite(np.array([torque, *moved])).all(axis=0)
    torque, columns = torque[known], np.column_stack([*(y[known] for y in moved), np.ones(int(known.sum()))])
    if len(torque) * AVERAGED < LEAST_BLOCKS * BLOCK:
        return 0.0
    residual = torque - columns @ np.linalg.lstsq(columns, torque, rcond=None)[0]
    reached = float(np.abs(torque).max())
    answers = np.var(residual) < (1.0 - LEAST_EXPLAINED) * np.var(torque)
    return reached if answers and reached > LEAST_TORQUE else 0.0


def go_by_logged_torque(recorded: Recorded) -> Response:
    """Response whose theory has the gain that the logged torque shows, with a remark, where the stated law does not."""
    response = recorded.response
    if recorded.law is None or response.T_delta is None:
        return response
    law, zero = recorded.law, 0.0 * response.t
    if any(getattr(response, name) is None for name in law.needs):
        return response
    phi, delta = (zero if signal is None else signal for signal in (response.phi, response.delta))
    stated = law.torque(response.v, phi, delta, response.phi_dot, np.gradient(delta, response.dt))
    free = np.ones(len(response.t), bool) if response.free is None else response.free
    rows = max(1, round(AVERAGED / response.dt))
    torque, freely = (_means(series, rows) for series in (response.T_delta, free.astype(float)))
    # a logged torque may be the one asked for, or the one that acted
    shifts = {0.0, law.latency + law.drive_lag_s}
    expected = [_means(np.interp(response.t - late, response.t, stated), rows) for late in shifts]
    tried = [torque_factor(torque[freely == 1.0], signal[freely == 1.0], rows * response.dt) for signal in expected]
    usable = [candidate for candidate in tried if candidate is not None]
    ratio = max(usable, key=lambda candidate: candidate.correlation, default=None)
    if ratio is not None and ratio.unrelated:
        why = (
            f"the logged torque is not that of the stated law {law.formula} (correlation "
            f"{ratio.correlation:.2f}), so another law, or none, was in force; state the law that was"
        )
        return replace(response, unpredicted=why)
    if ratio is None or not ratio.differs:
        return response
    remark = (
        f"{recorded.name('T_delta')}: the logged torque is {ratio.factor:.3f} ± {STDS_95 * ratio.std:.3f} of the "
        f"stated law {law.formula}; theory goes by the logged torque"
    )
    theory = response.own_theory
    flown = feedback(theory.bicycle, law.times(ratio.factor), theory.std)
    theory = replace(
        flown,
        linear=theory.linear,
        on_belt=theory.on_belt,
        losses=theory.losses,
        resistance=theory.resistance,
        moved={name: value for name, value in theory.moved.items() if name in ROAD_QUANTITIES},
    )
    return replace(response, theory=theory, remarks=(*response.remarks, remark))


def _means(y: Array, rows: int) -> Array:
    """Means of so many rows each; what is left over at the end is left out."""
    n = len(y) // rows
    return np.asarray(y[: n * rows].reshape(n, rows).mean(axis=1))


# Parts of a recording in which a known torque was added to the controller's: a hand that shook the bars, a drive.


ROUNDED_TORQUE = 1e-3  # N m; less is rounding
LONGEST_PAUSE = 0.3  # s without torque inside one part
SHORTEST_PART = 1.5  # s; less is the knock of a kick that reached the bars
BEFORE, AFTER = 0.3, 1.2  # s beside a part, at rest and while its answer dies away


def played_rows(torque: Array, dt: float) -> list[tuple[int, int]]:
    """First row and one past the last of each part with a torque (n,) [N m] of at least `SHORTEST_PART`."""
    on = np.flatnonzero(np.abs(torque) > ROUNDED_TORQUE)
    if not len(on):
        return []
    breaks = np.flatnonzero(np.diff(on) * dt > LONGEST_PAUSE)
    first, last = on[np.append(0, breaks + 1)], on[np.append(breaks, len(on) - 1)]
    return [(int(a), int(b) + 1) for a, b in zip(first, last, strict=True) if (b - a) * dt >= SHORTEST_PART]


def played_parts(response: Response) -> list[tuple[int, int]]:
    """Rows of each part of a recording with a known torque, with a moment of rest before it and its answer after."""
    if response.T_played is None:
        return []
    before, after = (round(time / response.dt) for time in (BEFORE, AFTER))
    n, end, parts = len(response.t), 0, []
    for a, b in played_rows(response.T_played, response.dt):
        parts.append((max(a - before, end), min(b + after, n)))
        end = parts[-1][1]
    return parts
