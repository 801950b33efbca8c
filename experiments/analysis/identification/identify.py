"""Output-error identification of a machine's quantities.

From its free responses. The quantities sought are those with which theory's motion comes closest to the measured one,
by least squares over all windows together (`output_error.py`).

The residual is coloured, and runs differ by more than their noise. The covariance is therefore that of least squares
under a noise with the autocovariance seen in each window and channel (a sandwich covariance), or, where that is
larger and there are windows enough, with the scatter of the windows' scores (cluster-robust).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from riderless.experiments.analysis.identification.large_motion import with_large_motion
from riderless.experiments.analysis.identification.output_error import AveragedWindow, Linearisation, linearise
from riderless.experiments.analysis.verdict.candidate import implausible, nearest_possible
from riderless.experiments.dynamics import ROAD_QUANTITIES, Theory, unit_of
from riderless.experiments.notebook import plus_minus, value_table
from riderless.models.array_types import Array
from riderless.models.errors import InputError
from riderless.models.parameters import PARAMETERS

MIN_CLUSTERS = 3  # windows per quantity, from which their scatter tells something
IMPOSSIBLE_PENALTY = 1e3  # times the residual, for values that no bicycle can have
REWEIGHTINGS = 3  # times the channels are weighed anew by their residuals
AT_BOUND = 1e-2  # of a quantity's usual deviation: as near its bound it is at it
FARTHEST_PARAMETER = 30.0  # times a parameter, or SI units, within which the edge of plausible ones is sought
MODEL_ERROR = 0.2  # of what large motion does to an estimate, by which the nonlinear bicycle may be wrong
MOST_EVALUATIONS = 25  # of the search, between two of these
_NO_TORQUE, _NO_STEER = "no torque of the drive is known in them", "the steer was not recorded"
UNTOLD_BECAUSE = {
    "drive_gain": _NO_TORQUE,
    "more_delay": _NO_TORQUE,
    "steer_scale": _NO_STEER,
    "steer_lag": _NO_STEER,
    **dict.fromkeys(ROAD_QUANTITIES, "the speed falls in none of them, and no [resistance] is stated"),
}


@dataclass(frozen=True, repr=False)
class Identification:
    """Values of p quantities with their covariance (p, p), SI, and how well the motion is explained."""

    names: tuple[str, ...]
    values: Array
    covariance: Array
    nominal: Array
    prior: Array  # (p,) standard deviations taken for granted; inf for none
    cost: float  # weighed sum of squares of residual and prior
    cost_before: float  # with nothing moved
    windows: int
    cluster_robust: bool  # does the covariance come from the scatter between windows?
    ok: bool
    status: str
    bounds: Array  # (p, 2) that the search kept to, SI
    scale: Array = field(default_factory=lambda: np.empty(0), repr=False)  # (p,) of the search, SI
    prior_root: Array = field(default_factory=lambda: np.empty((0, 0)), repr=False)  # (p, p), as `prior_root` has it
    weights: tuple[Mapping[str, float], ...] = field(default=(), repr=False)  # std of each window's channels
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
    def at_bounds(self) -> list[str]:
        """Quantities that the search has led to the edge of what is possible."""
        near = np.abs(self.values[:, None] - self.bounds) < AT_BOUND * self.scale[:, None]
        return [self.names[i] for i in np.flatnonzero(near.any(axis=1))]

    @property
    def changes(self) -> dict[str, float]:
        """Values by name."""
        return dict(zip(self.names, map(float, self.values), strict=True))

    @property
    def texts(self) -> dict[str, str]:
        """Each value with its standard deviation and unit, in words."""
        return {
            name: plus_minus(float(value), float(std), unit_of(name))
            for name, value, std in zip(self.names, self.values, self.std, strict=True)
        }

    def __repr__(self) -> str:
        values = ", ".join(f"{name} {text}" for name, text in self.texts.items())
        return f"Identification({values}; {self.windows} windows{'' if self.ok else ', not settled'})"

    def _repr_html_(self) -> str:
        return value_table(
            f"Identified from {self.windows} windows", {**self.texts, "status": self.status or "settled"}
        )


def identify(
    windows: Sequence[AveragedWindow],
    names: Sequence[str],
    prior: Mapping[str, float] | None = None,
    rounds: int = REWEIGHTINGS,
    bounds: Array | None = None,
    large_motion: bool = False,
) -> Identification:
    """Identify the quantities with which theory explains all windows together best.

    Parameters
    ----------
    windows : sequence of AveragedWindow
        Their theories may differ (controller, speed), but not in what the quantities are nominally.
    names : sequence of str
        Parameters of the bicycle or quantities of `riderless.experiments.dynamics.UNCERTAIN_QUANTITIES`.
    prior : mapping of str to float
        Standard deviations [SI] about the nominal values; a quantity without one is free. Those of parameters are
        correlated as the bicycle's are.
    rounds : int
        Times at most that the channels are weighed anew by their residuals.
    bounds : (p, 2) array, optional
        Least and greatest values, SI, as of `possible_bounds`; any by default.
    large_motion : bool
        What the nonlinear bicycle does otherwise is taken out of the windows, and part of its effect left as an error.

    Raises
    ------
    InputError
        Nothing to identify from, a name nobody knows, nominal values that differ, or a quantity without a prior that
        nothing in the windows depends on.
    """
    if not windows or not names:
        raise InputError(f"wanted windows and quantities to identify, found {len(windows)} and {len(names)}")
    from scipy.optimize import least_squares  # a fifth of a second to load, which a report should not pay

    problem = _Problem(windows, names, prior or {}, large_motion)
    x, ok = np.zeros(len(names)), True
    problem.require_told(x)
    method = "trf" if bounds is None else "dogbox"  # "trf" does not leave a bound that it starts from
    bounds = np.tile([-np.inf, np.inf], (len(names), 1)) if bounds is None else bounds
    within = tuple((bounds.T - problem.nominal) / problem.scale)
    for _ in range(rounds):
        problem.weigh_by(x)
        optimum = least_squares(
            problem.residual, x, problem.jacobian, within, method, xtol=1e-6, ftol=1e-8, max_nfev=MOST_EVALUATIONS
        )
        settled = np.allclose(optimum.x, x, atol=1e-3)
        x, ok = optimum.x, bool(optimum.status > 0)
        if settled:
            break
    linearised = problem.at(x)
    covariance, cluster_robust = robust_covariance(linearised, problem.prior_root)
    error = model_error(linearised, problem.prior_root)
    return Identification(
        names=tuple(names),
        values=problem.values(x),
        covariance=covariance + np.outer(error, error),
        nominal=problem.nominal,
        prior=problem.width,
        prior_root=problem.prior_root,
        cost=_squares(linearised) + float(np.sum(problem.off_prior(x) ** 2)),
        cost_before=problem.nominal_cost,
        windows=len(windows),
        cluster_robust=cluster_robust,
        ok=ok,
        status="" if ok else "the search has not settled: too little in these windows tells the quantities apart",
        bounds=bounds,
        scale=problem.scale,
        weights=tuple(problem.stds),
        curves=tuple(window.curves for window in linearised),
        starts=tuple(window.start for window in linearised),
    )


def possible_bounds(theory: Theory, names: Sequence[str]) -> Array:
    """Least and greatest values (p, 2) that quantities can have on a real machine, the others as theory has them, SI.

    A machine's quantities have ranges of their own; a parameter may go as far as the bicycle stays plausible.
    """
    bounds = np.tile([-np.inf, np.inf], (len(names), 1))
    for i, name in enumerate(names):
        nominal, allowed = theory.nominal(name), theory.range(name)
        if name in PARAMETERS:
            far = FARTHEST_PARAMETER * max(abs(nominal), 1.0)
            bounds[i] = [nearest_possible(theory, name, nominal + way, implausible) for way in (-far, far)]
        elif allowed.allows(nominal):
            bounds[i] = allowed.least, allowed.most
    return bounds


class _Problem:
    """Least squares over p quantities, each of which moves ``scale * x`` from its nominal value; the latest x is kept.

    Channels are weighed by ``stds``, which `weigh_by` takes from the residuals at some x.
    """

    def __init__(
        self, windows: Sequence[AveragedWindow], names: Sequence[str], prior: Mapping[str, float], large_motion: bool
    ) -> None:
        self._windows, self._names, self._large_motion = windows, names, large_motion
        self.nominal = np.array([_nominal(windows, name) for name in names])
        self.scale = windows[0].theory.scales(names)
        self.width = np.array([prior.get(name, np.inf) for name in names])
        self.prior_root = prior_root(windows[0].theory, names, self.width)
        self.stds: list[Mapping[str, float]] = [{}] * len(windows)
        self.nominal_cost = np.nan  # under these weights
        self._rows = 0  # of the residual
        self._latest: tuple[Array, list[Linearisation]] | None = None

    def values(self, x: Array) -> Array:
        """Values (p,) of the quantities, SI."""
        return self.nominal + self.scale * x

    def off_prior(self, x: Array) -> Array:
        """Distance (p,) of the quantities from what was known of them before, in its deviations."""
        return np.asarray(self.prior_root @ (x * self.scale))

    def at(self, x: Array) -> list[Linearisation]:
        """Residuals and slopes of each window."""
        if self._latest is None or not np.array_equal(self._latest[0], x):
            self._latest = x.copy(), self._linearised(x)
        return self._latest[1]

    def require_told(self, x: Array) -> None:
        """Refuse quantities without a prior that the residuals do not depend on: any value would do as well."""
        informative = np.any(self.jacobian(x), axis=0)
        untold = [name for name, so in zip(self._names, informative, strict=True) if not so]
        if untold:
            why = [f"{name} ({UNTOLD_BECAUSE.get(name, 'their motion does not depend on it')})" for name in untold]
            raise InputError(
                f"these windows tell nothing of {', '.join(why)}: leave {', '.join(untold)} out, or say what is known "
                "before (--prior usual)"
            )

    def weigh_by(self, x: Array) -> None:
        """Weigh the channels by their residuals at x."""
        linearised, values = self.at(x), dict(zip(self._names, self.values(x), strict=True))
        if self._large_motion:
            pairs = zip(self._windows, linearised, strict=True)
            self._windows = [with_large_motion(window, values, linear.start) for window, linear in pairs]
        self.stds, self._latest = [linear.stds for linear in linearised], None
        self.nominal_cost = _squares(self._linearised(np.zeros(len(x))))
        self._rows = sum(len(linear.residual) for linear in linearised) + len(x)

    def residual(self, x: Array) -> Array:
        """Weighed residuals of all windows and of the prior, one after the other."""
        try:
            return np.concatenate([*(linear.residual for linear in self.at(x)), self.off_prior(x)])
        except InputError:  # a bicycle that cannot be: the search turns round
            return np.full(self._rows, IMPOSSIBLE_PENALTY * np.sqrt(self.nominal_cost / self._rows))

    def jacobian(self, x: Array) -> Array:
        """Slopes of `residual`, (rows, p)."""
        return np.vstack([*(linear.jacobian * self.scale for linear in self.at(x)), self.prior_root * self.scale])

    def _linearised(self, x: Array) -> list[Linearisation]:
        values = dict(zip(self._names, self.values(x), strict=True))
        return [
            linearise(averaged, values, self._names, std)
            for averaged, std in zip(self._windows, self.stds, strict=True)
        ]


def _squares(linearised: Sequence[Linearisation]) -> float:
    """Sum of squares of the residuals."""
    return sum(float(window.residual @ window.residual) for window in linearised)


def prior_root(theory: Theory, names: Sequence[str], width: Array) -> Array:
    """Matrix (p, p) that makes independent unit deviations of quantities whose priors have these widths (p,), SI."""
    known = [name if np.isfinite(std) else "" for name, std in zip(names, width, strict=True)]
    root = np.linalg.inv(np.linalg.cholesky(theory.bicycle.correlation_matrix(known)))
    return np.asarray(root / width)


def robust_covariance(windows: Sequence[Linearisation], prior: Array) -> tuple[Array, bool]:
    """Sandwich covariance (p, p) from coloured residuals, or from the scatter between windows if that is larger.

    ``prior`` is the matrix of `prior_root`.
    """
    p = len(prior)
    known = prior.T @ prior
    inverse = np.linalg.pinv(sum((window.jacobian.T @ window.jacobian for window in windows), known))
    coloured = sum((window.score_covariance() for window in windows), np.zeros((p, p)))
    scores = [window.jacobian.T @ window.residual for window in windows]
    n = len(windows)
    if n >= MIN_CLUSTERS * p:
        apart = np.array(scores) - np.mean(scores, axis=0)
        between = apart.T @ apart * n / (n - 1)
        if np.trace(inverse @ between) > np.trace(inverse @ coloured):
            return inverse @ (between + known) @ inverse, True
    return inverse @ (coloured + known) @ inverse, False


def model_error(windows: Sequence[Linearisation], prior: Array) -> Array:
    """Change (p,) of the estimate by what the nonlinear bicycle may have wrong, as far as it counts in these windows.

    A deviation that more windows like these do not make smaller. ``prior`` is the matrix of `prior_root`.
    """
    information = sum((window.jacobian.T @ window.jacobian for window in windows), prior.T @ prior)
    bent = sum((window.jacobian.T @ window.beyond for window in windows), np.zeros(len(prior)))
    return np.asarray(MODEL_ERROR * np.linalg.pinv(information) @ bent)


def _nominal(windows: Sequence[AveragedWindow], name: str) -> float:
    """Nominal value of a quantity, SI, which all windows have to share."""
    values = {averaged.theory.nominal(name) for averaged in windows}
    if len(values) > 1:
        raise InputError(
            f"wanted windows of one bicycle to identify {name} from, found nominal values "
            f"{', '.join(f'{value:g}' for value in sorted(values))}: take the windows of one bicycle at a time"
        )
    return values.pop()
