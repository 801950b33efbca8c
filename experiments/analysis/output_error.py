"""Quantities of a machine from its free responses: the ones with which theory's motion comes closest to the measured.

Output error (no noisy derivative is ever taken): the linear motion of a theory, from a start of its own for every
window and at the measured speed, is compared with lean rate, steer and yaw rate. The starts, and an offset of every
channel, enter linearly and are solved for (variable projection); only the quantities are searched.

Where theory knows the noise of the sensors, the motion that a controller makes of it is predicted from row to row and
taken out, in the residual and in what the residual says of each quantity (`experiments.theory.kalman`). Gains and
observer go by the speed that was read, noise and all, the bicycle by the true one, which is known as well as the mean
of so many readings.

The residual is coloured, and runs differ by more than their noise. The covariance is therefore that of the
least-squares answer to a residual with the autocovariance seen in each window and channel, or, where that is larger
and there are windows enough, to the scatter of what the windows say one by one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.optimize import least_squares

from experiments.analysis.estimators.coloured_noise import coloured_covariance
from experiments.analysis.prediction import PRIOR_SCALE
from experiments.datatypes import Array, Response, Window
from experiments.dynamics import Theory
from experiments.theory.free_response import SPEED_STEP, free_responses
from experiments.theory.kalman import Innovations, innovations
from experiments.theory.theory import theory_for
from hil.design.closed_loop import yaw_rate
from models.coordinates import DELTA, DELTA_DOT, PHI_DOT
from models.errors import InputError

GRAIN = 0.02  # s; a weave of 10 rad/s turns by a fifth of a radian in it
STEP = 1e-3  # of a quantity's usual deviation, for difference quotients
FLOOR = 1e-6  # of a channel's size: a residual is never taken to be smaller
CLUSTERS = 3  # windows per quantity, from which their scatter tells something
IMPOSSIBLE = 1e3  # times the residual, for values that no bicycle can have
STARTS = 4  # unknowns of a window beside the quantities
LEAST_NOISE = 1e-4  # of a channel's size, in its readings and nowhere else
SLOWEST = 0.01  # m/s; at rest the speed's error does nothing
SPEED_SHARE = 1e-3  # of the speed, for the difference quotient by its error
FREE_OFFSET = 1e-9  # weight of what is known of a channel's offset, in its size: nothing
WEIGHINGS = 3  # times the channels are weighed anew by their residuals


@dataclass(frozen=True)
class Piece:
    """A window, what theory says moves in it, and the measured channels (n,), each less its mean."""

    theory: Theory
    window: Window
    dt: float
    v: Array  # (n,) m/s
    channels: Mapping[str, Array]
    misread: Array | None = None  # (n,) m/s, by which the controller went by another speed
    v_std: float = 0.0  # m/s, of the mean speed, from the noise of the wheel

    @classmethod
    def of(cls, response: Response, window: Window, theory: Theory | None = None) -> "Piece":
        """The rows of a window, averaged over `GRAIN`: lean rate, and steer and yaw rate where measured in SI.

        Averages of a few samples keep what noise leaves to learn; they shrink every channel of a motion alike.
        """
        k = max(1, round(GRAIN / response.dt))
        n = (window.stop - window.start) // k
        rows = slice(window.start, window.start + n * k)
        found = {"phi_dot": response.phi_dot}
        if response.phi_dot_unit == "rad/s":
            found |= {name: y for name in ("delta", "psi_dot") if (y := getattr(response, name)) is not None}
        means = {name: y[rows].reshape(n, k).mean(axis=1) for name, y in found.items()}
        channels = {name: y - y.mean() for name, y in means.items() if np.ptp(y) > 0.0}
        fall, v = window.v_start - window.v_end, np.full(n, window.v_mean)
        if abs(fall) > SPEED_STEP:
            v += 0.5 * fall * np.linspace(1.0, -1.0, n)
        measured = response.v[rows].reshape(n, k).mean(axis=1)
        v_std = float(np.std(measured - np.polyval(np.polyfit(np.arange(n), measured, 1), np.arange(n)))) / n**0.5
        misread = None if response.v_read is None else response.v_read[rows].reshape(n, k).mean(axis=1) - v
        return cls(theory or theory_for(response), window, k * response.dt, v, channels, misread, v_std)

    @cached_property
    def sizes(self) -> dict[str, float]:
        """Standard deviation of each channel."""
        return {name: max(float(np.std(y)), np.finfo(float).tiny) for name, y in self.channels.items()}

    @cached_property
    def filter(self) -> Innovations | None:
        """What takes the motion out that a controller makes of its sensors' noise, as theory has the loop."""
        v = self.window.v_mean
        rows = {"phi_dot": np.eye(4)[PHI_DOT], "delta": np.eye(4)[DELTA]}
        rows["psi_dot"] = yaw_rate(self.theory.variant({})[0], v)
        least = {name: LEAST_NOISE * size for name, size in self.sizes.items()}
        shown = {name: rows[name] for name in self.channels}
        return innovations(self.theory.dynamics(), shown, least, v, self.dt, len(self.v))

    def whitened(self, columns: Mapping[str, Array]) -> dict[str, Array]:
        """Each channel's k columns (n, k) as innovations; as they are where theory knows of no noise."""
        if self.filter is None:
            return dict(columns)
        left = self.filter.of(np.stack([columns[name] for name in self.channels], axis=1))
        return {name: left[:, i] for i, name in enumerate(self.channels)}


@dataclass(frozen=True)
class Local:
    """A piece near some values of p quantities: residual (N,) and its derivative (N, p), starts solved for."""

    residual: Array  # weighed, all channels one after the other, as innovations where there is a filter
    jacobian: Array
    curves: Mapping[str, Array]  # (n,) theory's motion, about the channel's offset
    stds: Mapping[str, float]  # of each channel's residual, or of its innovations: the weights of the next
    start: Array  # (4 + k + c,) states, hidden starts and offsets solved for

    def coloured(self) -> Array:
        """Covariance (p, p) of jacobian' residual, from each channel's noise as coloured as its residual says."""
        p = self.jacobian.shape[1]
        total, first = np.zeros((p, p)), 0
        for curve in self.curves.values():
            rows = slice(first, first + len(curve))
            first = rows.stop
            total += coloured_covariance(self.jacobian[rows].T, self.residual[rows], p + STARTS)
        return total


@dataclass(frozen=True)
class Identified:
    """Values of p quantities with their covariance (p, p), SI, and how well the motion is explained."""

    names: tuple[str, ...]
    values: Array
    covariance: Array
    nominal: Array
    prior: Array  # (p,) standard deviations taken for granted; inf for none
    cost: float  # weighed sum of squares of residual and prior
    cost_before: float  # with nothing moved
    windows: int
    by_clusters: bool  # does the covariance come from the scatter between windows?
    ok: bool
    status: str
    curves: tuple[Mapping[str, Array], ...] = field(default=(), repr=False)
    starts: tuple[Array, ...] = field(default=(), repr=False)

    @property
    def std(self) -> Array:
        """Standard deviations (p,)."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def correlation(self) -> Array:
        """Correlations (p, p); 1 or -1 beside the diagonal means that two quantities cannot be told apart."""
        return self.covariance / np.outer(self.std, self.std)

    def confounded(self, limit: float = 0.9) -> list[tuple[str, str, float]]:
        """Pairs that these data cannot tell apart: correlation beyond the limit, the worst first."""
        c, p = self.correlation, len(self.names)
        pairs = [(self.names[i], self.names[j], float(c[i, j])) for i in range(p) for j in range(i)]
        return sorted((pair for pair in pairs if abs(pair[2]) > limit), key=lambda pair: -abs(pair[2]))

    @property
    def changes(self) -> dict[str, float]:
        """The values by name."""
        return dict(zip(self.names, map(float, self.values), strict=True))


def identify(
    pieces: Sequence[Piece], names: Sequence[str], prior: Mapping[str, float] | None = None, rounds: int = WEIGHINGS
) -> Identified:
    """Values of the named quantities that best explain all pieces together.

    Parameters
    ----------
    pieces : sequence of Piece
        Their theories may differ (controller, speed), but not in what the quantities are nominally.
    names : sequence of str
        Parameters of the bicycle or quantities of `experiments.dynamics.QUANTITIES`.
    prior : mapping of str to float
        Standard deviations [SI] about the nominal values; a quantity without one is free.

    Raises
    ------
    InputError
        Nothing to identify from, a name nobody knows, or nominal values that differ.
    """
    if not pieces or not names:
        raise InputError(f"wanted windows and quantities to identify, found {len(pieces)} and {len(names)}")
    nominal = np.array([_nominal(pieces, name) for name in names])
    scale = np.array([_scale(pieces[0].theory, name) for name in names])
    width = np.array([(prior or {}).get(name, np.inf) for name in names])
    stds: list[Mapping[str, float]] = [{}] * len(pieces)

    def local(x: Array) -> list[Local]:
        values = nominal + scale * x
        return [
            near(piece, dict(zip(names, values, strict=True)), names, STEP * scale, std)
            for piece, std in zip(pieces, stds, strict=True)
        ]

    latest: tuple[Array, list[Local]] | None = None

    def at(x: Array) -> list[Local]:
        nonlocal latest
        if latest is None or not np.array_equal(latest[0], x):
            latest = x.copy(), local(x)
        return latest[1]

    x, ok, before = np.zeros(len(names)), True, np.nan
    for _ in range(rounds):
        stds = [one.stds for one in at(x)]
        latest = None
        before = sum(float(one.residual @ one.residual) for one in local(np.zeros(len(names))))

        def residual(x: Array, before: float = before, origin: Array = x) -> Array:
            try:
                return np.concatenate([*(one.residual for one in at(x)), x * scale / width])
            except InputError:  # a bicycle that cannot be: the search turns round
                rows = sum(len(one.residual) for one in at(origin)) + len(x)
                return np.full(rows, IMPOSSIBLE * np.sqrt(before / rows))

        found = least_squares(
            residual,
            x,
            lambda x: np.vstack([*(one.jacobian * scale for one in at(x)), np.diag(scale / width)]),
            method="trf",
            xtol=1e-6,
            ftol=1e-8,
            max_nfev=25,
        )
        settled = np.allclose(found.x, x, atol=1e-3)
        x, ok = found.x, bool(found.status > 0)
        if settled:
            break
    pieces_near = at(x)
    covariance, by_clusters = _covariance(pieces_near, width)
    cost = sum(float(one.residual @ one.residual) for one in pieces_near) + float(np.sum((x * scale / width) ** 2))
    return Identified(
        names=tuple(names),
        values=nominal + scale * x,
        covariance=covariance,
        nominal=nominal,
        prior=width,
        cost=cost,
        cost_before=before,
        windows=len(pieces),
        by_clusters=by_clusters,
        ok=ok,
        status="" if ok else "the search has not settled: too little in these windows tells the quantities apart",
        curves=tuple(one.curves for one in pieces_near),
        starts=tuple(one.start for one in pieces_near),
    )


def near(
    piece: Piece, values: Mapping[str, float], names: Sequence[str], steps: Array, stds: Mapping[str, float]
) -> Local:
    """A piece's residual at some values, and its derivative by the named quantities in steps of ``steps``."""
    scale = values.get("speed_scale", piece.theory.nominal("speed_scale"))
    tried = [(name, values[name] + step) for name, step in zip(names, steps, strict=True)]
    tried.append(("speed_scale", scale * (1.0 + SPEED_SHARE)))
    theories = [piece.theory.move({**values, **change}) for change in [{}, *({name: to} for name, to in tried)]]
    outputs = _outputs(piece, theories)  # per channel (2 + p, n, 4 + k)
    if not all(np.isfinite(G).all() for G in outputs.values()):
        raise InputError("wanted a motion that stays finite, found one that does not: take other values")
    sizes, channels = piece.sizes, list(outputs)
    k = next(iter(outputs.values())).shape[-1] - 4
    offsets = np.eye(len(channels))
    shown = {
        name: np.column_stack([y, outputs[name][0], np.tile(sizes[name] * offset, (len(y), 1))])
        for (name, y), offset in zip(piece.channels.items(), offsets, strict=True)
    }
    white, unit = piece.whitened(shown), dict.fromkeys(channels, 1.0) if piece.filter else sizes
    weights = {name: stds.get(name, unit[name]) for name in channels}
    prior = np.diag([*[1.0 / (PRIOR_SCALE * sizes["phi_dot"])] * 4, *[1.0] * k, *[FREE_OFFSET] * len(channels)])
    known = np.column_stack([np.zeros(len(prior)), prior])
    rows = np.vstack([*(white[name] / weights[name] for name in channels), known])
    y, G = rows[:, 0], rows[:, 1:]
    x = np.linalg.lstsq(G, y, rcond=None)[0]
    # What each quantity moves, and at the end what one standard deviation of the mean speed does: one more unknown.
    moves = {name: ((G_[1:] - G_[0]) @ x[: 4 + k]).T for name, G_ in outputs.items()}
    for name in channels:
        moves[name][:, -1] *= piece.v_std / (SPEED_SHARE * max(float(piece.v.mean()), SLOWEST))
    moved = np.vstack([columns / weights[name] for name, columns in piece.whitened(moves).items()])
    moved = np.vstack([moved, np.zeros((len(prior) + 1, moved.shape[1]))])
    y = np.append(y, 0.0)
    G = np.column_stack([np.vstack([G, np.zeros(G.shape[1])]), moved[:, -1]])
    G[-1, -1] = 1.0
    q, r = np.linalg.qr(G)
    x = np.linalg.solve(r, q.T @ y)
    slopes = -moved[:, :-1] / steps
    slopes -= q @ (q.T @ slopes)
    shown = {name: np.column_stack([columns, moves[name][:, -1]]) for name, columns in shown.items()}
    curves = {name: columns[:, 1:] @ x for name, columns in shown.items()}
    left = piece.whitened({name: columns[:, :1] - curves[name][:, None] for name, columns in shown.items()})
    stds = {name: max(float(np.std(left[name])), FLOOR * unit[name]) for name in channels}
    return Local(y - G @ x, slopes, curves, stds, x[:-1])


def _outputs(piece: Piece, theories: Sequence[Theory]) -> dict[str, Array]:
    """Channels of the motion from each unit start, for several theories at once; (q, n, 4 + k) each."""
    several = [theory.dynamics() for theory in theories]
    states = free_responses(several, piece.v, piece.dt, piece.misread)
    found = {"phi_dot": np.einsum("m,qnmj->qnj", _wide(several[0].output, states.shape[2]), states)}
    scale, lag = (np.array([theory.nominal(name) for theory in theories]) for name in ("steer_scale", "steer_lag"))
    later = states[:, :, DELTA] - lag[:, None, None] * states[:, :, DELTA_DOT]
    found["delta"] = scale[:, None, None] * later
    rows = np.zeros((len(theories), 2, 4))
    for row, theory in zip(rows, theories, strict=True):
        real = theory.variant({})[0]
        row[:] = yaw_rate(real, 0.0), yaw_rate(real, 1.0) - yaw_rate(real, 0.0)
    still, per_speed = (np.einsum("qm,qnmj->qnj", rows[:, i], states[:, :, :4]) for i in (0, 1))
    found["psi_dot"] = still + piece.v[:, None] * per_speed
    return {name: found[name] for name in piece.channels}


def _wide(row: Array, m: int) -> Array:
    return np.pad(row, (0, m - len(row)))


def _covariance(pieces: Sequence[Local], width: Array) -> tuple[Array, bool]:
    """Covariance (p, p) of the answer to coloured residuals, or to the scatter between windows if that is larger."""
    p = len(width)
    known = np.diag(width**-2.0)
    inverse = np.linalg.pinv(sum((one.jacobian.T @ one.jacobian for one in pieces), known))
    coloured = sum((one.coloured() for one in pieces), np.zeros((p, p)))
    scores = [one.jacobian.T @ one.residual for one in pieces]
    n = len(pieces)
    if n >= CLUSTERS * p:
        apart = np.array(scores) - np.mean(scores, axis=0)
        between = apart.T @ apart * n / (n - 1)
        if np.trace(inverse @ between) > np.trace(inverse @ coloured):
            return inverse @ (between + known) @ inverse, True
    return inverse @ (coloured + known) @ inverse, False


def _nominal(pieces: Sequence[Piece], name: str) -> float:
    values = {piece.theory.nominal(name) for piece in pieces}
    if len(values) > 1:
        raise InputError(
            f"wanted windows of one bicycle to identify {name} from, found nominal values "
            f"{', '.join(f'{value:g}' for value in sorted(values))}: take the windows of one bicycle at a time"
        )
    return values.pop()


def _scale(theory: Theory, name: str) -> float:
    usual = theory.usual(name)
    return usual if np.isfinite(usual) else 1.0
