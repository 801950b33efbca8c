"""Quantities of a machine from its free responses: the ones with which theory's motion comes closest to the measured.

Output error (no noisy derivative is ever taken): the linear motion of a theory, from a start of its own for every
window and at the measured speed, is compared with lean rate, steer and yaw rate, each less its mean. The starts
enter linearly and are solved for (variable projection); only the quantities are searched.

The residual is coloured, and runs differ by more than their noise. The covariance is therefore that of the
least-squares answer to a residual with the autocovariance seen in each window and channel, or, where that is larger
and there are windows enough, to the scatter of what the windows say one by one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import least_squares

from experiments.fits.noise import coloured_covariance
from experiments.free_motion import SPEED_STEP, free_responses
from experiments.nouns import Array, Response, Window
from experiments.prediction import PRIOR_SCALE
from experiments.theory import Theory, theory_for
from hil.sampled_loop import yaw_rate
from models.coordinates import DELTA, DELTA_DOT
from models.errors import InputError

GRAIN = 0.02  # s; a weave of 10 rad/s turns by a fifth of a radian in it
STEP = 1e-3  # of a quantity's usual deviation, for difference quotients
FLOOR = 1e-6  # of a channel's size: a residual is never taken to be smaller
CLUSTERS = 3  # windows per quantity, from which their scatter tells something
IMPOSSIBLE = 1e3  # times the residual, for values that no bicycle can have
STARTS = 4  # unknowns of a window beside the quantities
WEIGHINGS = 3  # times the channels are weighed anew by their residuals


@dataclass(frozen=True)
class Piece:
    """A window, what theory says moves in it, and the measured channels (n,), each less its mean."""

    theory: Theory
    window: Window
    dt: float
    v: Array  # (n,) m/s
    channels: Mapping[str, Array]

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
        return cls(theory or theory_for(response), window, k * response.dt, v, channels)


@dataclass(frozen=True)
class Local:
    """A piece near some values of p quantities: residual (N,) and its derivative (N, p), starts solved for."""

    residual: Array  # weighed, all channels one after the other
    jacobian: Array
    curves: Mapping[str, Array]  # (n,) theory's motion, less its mean
    stds: Mapping[str, float]  # of each channel's residual, the weights of the next

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
        Parameters of the bicycle or quantities of `experiments.theory.QUANTITIES`.
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
    )


def near(
    piece: Piece, values: Mapping[str, float], names: Sequence[str], steps: Array, stds: Mapping[str, float]
) -> Local:
    """A piece's residual at some values, and its derivative by the named quantities in steps of ``steps``."""
    moved = [dict(values)] + [{**values, name: values[name] + step} for name, step in zip(names, steps, strict=True)]
    theories = [piece.theory.move(one) for one in moved]
    outputs = _outputs(piece, theories)  # per channel (1 + p, n, 4 + k)
    outputs = {name: G - G.mean(axis=1, keepdims=True) for name, G in outputs.items()}
    sizes = {name: max(float(np.std(y)), np.finfo(float).tiny) for name, y in piece.channels.items()}
    weights = {name: stds.get(name, size) for name, size in sizes.items()}
    k = next(iter(outputs.values())).shape[-1] - 4
    prior = np.concatenate([np.full(4, 1.0 / (PRIOR_SCALE * sizes["phi_dot"])), np.ones(k)])
    y = np.concatenate([*(piece.channels[name] / weights[name] for name in outputs), np.zeros(4 + k)])
    G = np.concatenate([*(outputs[name][0] / weights[name] for name in outputs), np.diag(prior)])
    q, r = np.linalg.qr(G)
    x = np.linalg.solve(r, q.T @ y)
    residual = y - G @ x
    if len(names):
        moves = np.concatenate([(outputs[name][1:] - outputs[name][0]) @ x / weights[name] for name in outputs], axis=1)
        slopes = np.concatenate([-(moves / steps[:, None]).T, np.zeros((4 + k, len(names)))])
        slopes -= q @ (q.T @ slopes)
    else:
        slopes = np.zeros((len(y), 0))
    curves = {name: G_[0] @ x for name, G_ in outputs.items()}
    left = {name: float(np.std(piece.channels[name] - curves[name])) for name in outputs}
    return Local(residual, slopes, curves, {name: max(left[name], FLOOR * sizes[name]) for name in outputs})


def _outputs(piece: Piece, theories: Sequence[Theory]) -> dict[str, Array]:
    """Channels of the motion from each unit start, for several theories at once; (q, n, 4 + k) each."""
    several = [theory.dynamics() for theory in theories]
    states = free_responses(several, piece.v, piece.dt)
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
