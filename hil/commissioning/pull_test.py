"""Pull test of a steer drive.

The torque commanded against what a spring balance at the handlebar shows.

A drive's command is not its torque. Against the balance the drive stands still, and dry friction takes the side of
whoever does not move the other. Where the drive has to overcome it the balance has ``gain (T - dead_band) - friction``,
where a person overcomes drive and friction together ``gain (T - dead_band) + friction``, nothing below zero. Hysteresis
makes T less on the way up and more on the way down, an offset less to one side and more to the other. So all branches
are hinges ``max(0, slope (T - onset))``; half the distance of the onsets of drive and person is friction, their middle
the dead band, half of what the onsets move by on the way down is hysteresis, and half of what the dead bands of the two
sides differ by the offset.

Hinges are fitted by least absolute deviations and then by Tukey's biweight, for such tables are written by hand: a
misprint or a jump of the balance costs its own row. Standard errors are the larger of two: scatter between the tables
(turning left and right, another arm), and a jackknife that leaves out blocks of `PULL_BLOCK` rows at once, for what
sticks does so over some rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student
from scipy.stats import theilslopes

from riderless.hil.commissioning.pull_table import PullTable
from riderless.hil.commissioning.sensor_calibration import Estimate
from riderless.models.array_types import Array
from riderless.models.errors import InputError
from riderless.models.noise_statistics import robust_deviation, weighted_median

PULL_QUANTITIES = {
    "gain": "",
    "offset": "N m",
    "dead_band": "N m",
    "hysteresis": "N m",
    "friction": "N m",
    "break_away": "N m",
    "widening": "N m",
}
PULL_BLOCK = 4  # rows
LEAST_FALLING_ROWS = 4  # rows on the way down, where the drive pushes, that tell hysteresis
LEAST_LINE_ROWS = 4  # rows of a column that show something
MOST_SLOPE_SPREAD = 1.0  # of a slope, by its own 95 % interval: a column that jumps (digits left out) is no line
_SHOWS = 0.1  # of the greatest reading
_ONSETS, _REFINED = 121, 41  # onsets that are tried, and again around the best
_BIWEIGHT = 4.685  # standard deviations beyond which a reading has no weight: 95 % as sharp as least squares
_LEAST_SCALE = 1e-3  # N m
_ROUNDS, _SETTLED = 30, 1e-7
_PUSH_SLOPE, _PUSH_ONSET, _PULL_SLOPE, _PULL_ONSET, _LAG = range(5)  # of a table's fit

_Rows = NDArray[np.bool_]  # (n,), whether each row of a table counts


@dataclass(frozen=True)
class PullEstimate:
    """Properties of a drive from its pull test.

    Attributes
    ----------
    found : mapping of name to Estimate
        Those of `PULL_QUANTITIES` that the tables tell: ``gain`` [N m made per N m commanded], ``offset`` [N m
        commanded that the drive adds itself], ``dead_band`` [N m commanded that make none], ``hysteresis`` [N m
        commanded by which what arrives lags behind on its way up and down], ``friction`` [N m], ``break_away`` [N m
        commanded at which the balance first shows something] and ``widening`` [N m between the branches of drive and
        person at the greatest command, beyond twice the friction]. An offset wants tables to both sides, else it
        counts as dead band; hysteresis wants rows on the way down, else it counts as dead band too.
    freedom : int
        Degrees of freedom behind the errors.
    residual : float
        Median size of what is not explained [N m].
    left_out : tuple of str
        Tables one of whose columns is no line: digits were lost, or the drive hardly pushed.
    """

    found: dict[str, Estimate]
    freedom: int
    residual: float
    left_out: tuple[str, ...] = ()

    def interval(self, name: str, level: float = 0.95) -> tuple[float, float]:
        """Confidence interval of a quantity."""
        value, error = self.found[name]
        reach = float(student.ppf(0.5 + 0.5 * level, self.freedom)) * error
        return value - reach, value + reach

    def tells(self, name: str) -> bool:
        """Is a quantity told, and apart from that of a drive that loses nothing?"""
        if name not in self.found:
            return False
        low, high = self.interval(name)
        return not low <= 0.0 <= high


class _Hinge(NamedTuple):
    slope: float
    onset: float  # N m commanded

    def at(self, command: Array) -> Array:
        return np.maximum(0.0, self.slope * (command - self.onset))


def fit_pull_test(tables: Sequence[PullTable]) -> PullEstimate:
    """Fit gain, offset, dead band, hysteresis, friction and break-away to one or more tables.

    Raises
    ------
    InputError
        When there is none, or none that is a line.
    """
    if not tables:
        raise InputError("a pull test wants a table or more, found none")
    left_out = tuple(table.name for table in tables if not _is_line(table))
    tables = [table for table in tables if _is_line(table)]
    if not tables:
        raise InputError(
            f"the balance of the pull test {', '.join(left_out)} shows no torque that grows with the command: pull "
            "further, and write every digit"
        )
    fits = [_TableFit.of(table) for table in tables]
    most = min(float(table.command.max()) for table in tables)
    sides = np.array([table.side for table in tables])
    names = ("gain", "dead_band", "friction", "break_away", "widening", "hysteresis")
    each = np.array([_quantities(fit.best, most) for fit in fits])
    within = np.array([fit.variances(most) for fit in fits])
    n = len(tables)
    freedom = n - 1 if n > 1 else fits[0].blocks - 1
    estimates: dict[str, Estimate] = {}
    for i, name in enumerate(names):
        finite = np.isfinite(each[:, i])
        if finite.any():
            estimates[name] = _pooled(each[finite, i], within[finite, i])
    if len(set(sides.tolist())) == 2:
        i = names.index("dead_band")
        halves = [_pooled(each[sides == side, i], within[sides == side, i]) for side in (-1, 1)]
        error = 0.5 * float(np.hypot(halves[0].error, halves[1].error))
        estimates["dead_band"] = Estimate(0.5 * (halves[0].value + halves[1].value), error)
        estimates["offset"] = Estimate(0.5 * (halves[0].value - halves[1].value), error)
        freedom = n - 2 if n > 2 else min(fit.blocks for fit in fits) - 1
    residuals = np.concatenate([np.abs(residual) for fit in fits for residual in fit.left()])
    ordered = {name: estimates[name] for name in PULL_QUANTITIES if name in estimates}
    return PullEstimate(ordered, freedom, float(np.median(residuals)), left_out)


def _is_line(table: PullTable) -> bool:
    """Tell whether both columns grow with the command, by the slopes of all pairs of rows (Theil and Sen)."""
    for shown in (table.overcoming[: table.rising], table.yielding[: table.rising]):
        rows = shown > _SHOWS * shown.max()
        if np.count_nonzero(rows) < LEAST_LINE_ROWS:
            return False
        slope, _, low, high = theilslopes(shown[rows], table.command[: table.rising][rows])
        if not high - low < MOST_SLOPE_SPREAD * slope:
            return False
    return True


def _pooled(values: Array, variances: Array) -> Estimate:
    """Mean of tables, and the larger of the errors by their scatter and by their own."""
    n = len(values)
    between = float(np.var(values, ddof=1)) / n if n > 1 else 0.0
    return Estimate(float(values.mean()), float(np.sqrt(max(between, float(variances.mean()) / n))))


def _quantities(best: Array, most: float) -> Array:
    """Gain, dead band, friction, break-away, widening and hysteresis of one table's fit, the last nan if not told."""
    push, pull = _Hinge(best[_PUSH_SLOPE], best[_PUSH_ONSET]), _Hinge(best[_PULL_SLOPE], best[_PULL_ONSET])
    gain = 0.5 * (push.slope + pull.slope)
    lag = 0.5 * best[_LAG]
    friction = 0.5 * gain * (push.onset - pull.onset)
    width = pull.slope * (most - pull.onset) - push.slope * (most - push.onset)
    middle = 0.5 * (push.onset + pull.onset) - (lag if np.isfinite(lag) else 0.0)
    return np.array([gain, middle, friction, push.onset, width - 2.0 * friction, lag])


class _TableFit:
    """Hinges of one table, and those of the same table without some of its rows."""

    def __init__(self, table: PullTable, best: Array, push: _Rows, pull: _Rows, lags: bool) -> None:
        self.table, self.best = table, best
        self._push, self._pull, self._lags = push, pull, lags  # rows that count, on either branch
        self.blocks = -(-len(table.command) // PULL_BLOCK)

    @classmethod
    def of(cls, table: PullTable) -> "_TableFit":
        """Fit a table."""
        up = np.arange(len(table.command)) < table.rising
        drive = _first_hinge(table.command[up], table.overcoming[up], 0.0)
        pushes = table.command >= drive.onset
        person = _first_hinge(table.command[up & pushes], table.yielding[up & pushes], -float(table.command.max()))
        lags = int(np.sum(~up & pushes)) >= LEAST_FALLING_ROWS
        first = np.array([drive.slope, drive.onset, person.slope, person.onset, 0.0 if lags else np.nan])
        push, pull = up | (pushes & lags), pushes & (up | lags)
        made = cls(table, first, push, pull, lags)
        if lags:
            made.best[_LAG] = made._first_lag()
        made.best = made._settled(np.ones(len(table.command), bool), _ROUNDS)
        return made

    def _first_lag(self) -> float:
        """Command by which the falling branch lies before the rising one: the median of its rows."""
        falling = np.arange(len(self.table.command)) >= self.table.rising
        leads = []
        for shown, slope, onset, rows in self._branches():
            rows = rows & falling & (shown < 0.98 * shown.max())
            leads.append(shown[rows] / slope + onset - self.table.command[rows])
        return max(float(np.median(np.concatenate(leads))), 0.0)

    def _branches(self) -> tuple[tuple[Array, float, float, _Rows], ...]:
        b = self.best
        return (
            (self.table.overcoming, b[_PUSH_SLOPE], b[_PUSH_ONSET], self._push),
            (self.table.yielding, b[_PULL_SLOPE], b[_PULL_ONSET], self._pull),
        )

    def _shown(self, best: Array) -> tuple[Array, Array, list[_Rows]]:
        """Both branches at each row (2, n), what changes them by each number of a fit (2, n, 5), and what counts."""
        command, n = self.table.command, len(self.table.command)
        falling = np.arange(n) >= self.table.rising
        shown, slopes = np.zeros((2, n)), np.zeros((2, n, len(best)))
        for i, (slope, onset) in enumerate(((_PUSH_SLOPE, _PUSH_ONSET), (_PULL_SLOPE, _PULL_ONSET))):
            reach = command - best[onset]
            if self._lags:  # held where it was until the command has fallen by the whole lag
                top = command.max() - best[onset]
                lagging = falling & (reach + best[_LAG] < top)
                reach = np.where(falling, np.minimum(reach + best[_LAG], top), reach)
                slopes[i, lagging, _LAG] = best[slope]
            open_ = reach > 0.0
            shown[i] = np.where(open_, best[slope] * reach, 0.0)
            slopes[i, :, slope] = reach
            slopes[i, :, onset] = -best[slope]
            slopes[i] *= open_[:, None]
        return shown, slopes, [self._push, self._pull]

    def left(self, best: Array | None = None) -> list[Array]:
        """Readings less the fit, of the rows of either branch that count."""
        shown, _, counts = self._shown(self.best if best is None else best)
        measured = (self.table.overcoming, self.table.yielding)
        return [(y - fitted)[rows] for y, fitted, rows in zip(measured, shown, counts, strict=True)]

    def _settled(self, kept: _Rows, rounds: int) -> Array:
        """Fit (5,) by Tukey's biweight from the present one, with the rows that are kept."""
        best = self.best.copy()
        free = np.isfinite(best)
        scales = [max(float(robust_deviation(r)), _LEAST_SCALE) for r in self.left()]
        for _ in range(rounds):
            shown, slopes, counts = self._shown(best)
            H, g = np.zeros((5, 5)), np.zeros(5)
            for i, measured in enumerate((self.table.overcoming, self.table.yielding)):
                rows = counts[i] & kept
                residual, J = (measured - shown[i])[rows], slopes[i][rows]
                weight = np.maximum(1.0 - (residual / (_BIWEIGHT * scales[i])) ** 2, 0.0) ** 2 / scales[i] ** 2
                H, g = H + (weight[:, None] * J).T @ J, g + J.T @ (weight * residual)
            H, g = H[np.ix_(free, free)], g[free]
            step = np.linalg.lstsq(H, g, rcond=1e-10)[0]
            best[free] += step
            best[_PUSH_ONSET] = max(best[_PUSH_ONSET], 0.0)  # a balance shows nothing where nothing is commanded
            if np.abs(step).max() < _SETTLED:
                break
        if not (np.isfinite(best[free]).all() and best[_PUSH_SLOPE] > 0.0 and best[_PULL_SLOPE] > 0.0):
            return self.best
        return best

    def variances(self, most: float) -> Array:
        """Variances of `_quantities` from leaving out blocks of rows."""
        rows, n = np.arange(len(self.table.command)), self.blocks
        kept = [~np.isin(rows, rows[i : i + PULL_BLOCK]) for i in range(0, len(rows), PULL_BLOCK)]
        each = np.array([_quantities(self._settled(k, _ROUNDS), most) for k in kept])
        return (n - 1) / n * np.sum((each - each.mean(axis=0)) ** 2, axis=0)


def _first_hinge(command: Array, torque: Array, least: float) -> _Hinge:
    """Hinge of least absolute deviations, its onset from ``least`` [N m] to four fifths of the commands."""
    low, high = least, command[0] + 0.8 * (command[-1] - command[0])
    best = _best_onset(command, torque, np.linspace(low, high, _ONSETS))
    step = (high - low) / (_ONSETS - 1)
    onset = _best_onset(command, torque, np.linspace(max(low, best - step), min(high, best + step), _REFINED))
    slope = _slope(command, torque, onset)
    if slope <= 0.0:
        raise InputError(
            f"the balance shows no torque that grows with the command up to {command[-1]:g} N m: pull further"
        )
    return _Hinge(slope, onset)


def _best_onset(command: Array, torque: Array, onsets: Array) -> float:
    def deviation(onset: float) -> float:
        return float(np.sum(np.abs(torque - _Hinge(_slope(command, torque, onset), onset).at(command))))

    return float(min(onsets, key=deviation))


def _slope(command: Array, torque: Array, onset: float) -> float:
    """Slope of least absolute deviations beyond an onset: the median of the quotients, weighted with their divisors."""
    reach = command - onset
    beyond = reach > 0.0
    return weighted_median(torque[beyond] / reach[beyond], reach[beyond])
