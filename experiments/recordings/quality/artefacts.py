"""Missing samples, jumps and saturations.

They are found in every kind of recording, named, and not free. Missing values and a spike of a few samples are bridged
by a straight line, so that one bad sample does not spoil its surroundings. Where that takes longer than a missing row
may, or hides a spike, the recording is not free.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from riderless.experiments.recordings.quality.checked import BESIDE_SIGNALS, RESPONSE_SIGNALS, Recorded, takes_too_long
from riderless.models.array_types import Array, RowSpans, true_spans
from riderless.models.errors import InputError
from riderless.models.noise_statistics import robust_deviation

SAME_LEVEL = 1e-9  # of the range
QUANTISED_BELOW = 0.2  # levels by rows, under which a signal is quantised
ROUGHNESS_ROWS = 20_000  # rows that show how rough a signal is
USUAL_STEP = 0.1  # quantile of the changes from row to row: one step of rounded readings, a few of them interpolated
ONE_STEP = 1.5  # steps: less is one


@dataclass(frozen=True)
class _FlawRules:
    """Thresholds of flaws; each number with its reason."""

    margin: float = 0.05  # s kept away on either side: half the time the search for kicks smooths over
    mostly: float = 0.5  # of the values missing: the column was not recorded
    spike: int = 3  # rows at most; a longer excursion may be motion
    above: float = 12.0  # times the usual roughness of the signal
    of_range: float = 0.5  # of its usual range (1 % to 99 %): a spike under this does little harm
    clipped: int = 3  # rows in a row at the greatest value, and ...
    overshoot: float = 16.0  # ... least steps that the motion would have gone on: a quantised turning point has 4
    again: int = 2  # times at that value: friction may hold a steer once where it turns
    stuck: float = 0.1  # s of the very same reading of a gyro while the bicycle moves
    held: float = 0.3  # of the readings repeat anyway: a column sampled slower than its rows cannot be stuck
    moving: float = 0.3  # m/s
    named: int = 5  # of one kind in one column by name


# What one sample cannot change by: (least step, and rate) in SI. No bicycle leans at 20 or steers at 60 rad/s or
# brakes at 2 g; a wheel's speed from few pulses has steps of a few tenths. Rates have no limit: a blow on the
# frame of a real one changed its lean rate by 2.5 rad/s from one sample to the next.
LARGEST_STEPS = {"phi": (0.1, 20.0), "delta": (0.2, 60.0), "v": (1.0, 20.0)}
GYRO_SIGNALS = ("phi_dot", "psi_dot")


def mend_flaws(recorded: Recorded) -> Recorded:
    """Name the flaws of a recording in `Response.remarks`, bridge those that can be, and mark them not free.

    Raises
    ------
    InputError
        Most of the lean rate or of the speed is missing, or there is no row at all.
    """
    rules = _FlawRules()
    n = len(recorded.response.t)
    if not n:
        raise InputError(f"{recorded.response.source} holds no row: it ended before the first one; name another")
    used = np.zeros(n, bool)
    for quantity in (*RESPONSE_SIGNALS, *BESIDE_SIGNALS):
        values = recorded.signal(quantity)
        if values is None:
            continue
        lost = ~np.isfinite(values)
        if lost.mean() > rules.mostly:
            recorded = _without(recorded, quantity, float(lost.mean()))
            continue
        serves = quantity not in BESIDE_SIGNALS
        if lost.any():
            long = _long_gaps(lost, recorded.response.dt)
            recorded, values = _bridged(recorded, quantity, values, lost, long, rules)
            used |= _widen_mask(long, recorded, rules) & serves
        for what, finder in FLAW_FINDERS.items():
            # what a machine does before it runs or after it fell concerns nobody
            spans = [span for span in finder(recorded, quantity, values, rules) if _concerns(recorded, *span)]
            if not spans:
                continue
            bad = _mask(spans, n)
            recorded = recorded.remarked(*_sentences(recorded, quantity, what, spans, values, rules))
            if what == "spike":
                recorded, values = _filled(recorded, quantity, values, bad)
            used |= _widen_mask(bad, recorded, rules) & serves
    if used.any():
        free = recorded.response.free
        recorded = replace(recorded, response=replace(recorded.response, free=~used if free is None else free & ~used))
    return recorded


def _find_spikes(recorded: Recorded, quantity: str, values: Array, rules: _FlawRules) -> RowSpans:
    """Find excursions of one to three rows, far above roughness and a good part of the range, that come back."""
    padded = np.pad(values, 3, mode="edge")

    def off(rows: NDArray[np.intp]) -> Array:
        near = padded[rows[:, None] + np.arange(7)]
        return np.abs(values[rows] - np.median(near, axis=1))

    some = np.arange(0, len(values), max(1, len(values) // ROUGHNESS_ROWS))
    roughness = off(some)
    rough = float(robust_deviation(roughness[roughness > 0])) if (roughness > 0).any() else 0.0
    usual = float(np.ptp(np.percentile(values[some], (1.0, 99.0))))
    limit = max(rules.above * rough, rules.of_range * usual)
    leaps = np.abs(np.diff(values, prepend=values[0])) > 0.4 * limit  # three rows rise in two steps at most
    if usual == 0.0 or not leaps.any():
        return []
    suspects = np.flatnonzero(_convolved(leaps, 2 * rules.spike + 1) > 0.5)
    outside = np.zeros(len(values), bool)
    outside[suspects] = off(suspects) > limit
    return [(a, b) for a, b in true_spans(outside) if b - a <= rules.spike]


def _find_jumps(recorded: Recorded, quantity: str, values: Array, rules: _FlawRules) -> RowSpans:
    """Find changes from one row to the next that no bicycle can make."""
    if quantity not in LARGEST_STEPS or len(values) < 2:
        return []
    least, rate = LARGEST_STEPS[quantity]
    limit = max(least, rate * recorded.response.dt)
    return [(int(i), int(i) + 2) for i in np.flatnonzero(np.abs(np.diff(values)) > limit)]


def _find_saturation(recorded: Recorded, quantity: str, values: Array, rules: _FlawRules) -> RowSpans:
    """Find rows in a row at the greatest or least value, though the motion was on its way beyond it."""
    if quantity == "v":
        return []
    spans: RowSpans = []
    same = SAME_LEVEL * float(np.ptp(values))  # between two readings of one level, after interpolation
    for limit in (values.max(), values.min()) if same else ():
        there = [(a, b) for a, b in true_spans(np.abs(values - limit) <= same) if b - a >= rules.clipped]
        if there and np.mean(np.diff(values) == 0.0) > rules.held:  # as many new readings as else rows
            changes = np.flatnonzero(np.diff(values))
            usual = np.median(np.diff(changes)) if len(changes) > 1 else np.inf
            there = [(a, b) for a, b in there if b - a >= rules.clipped * usual]
        least = rules.overshoot * _quantum(values, same) if there else 0.0
        sure = [span for span in there if _overshoot(values, *span) > least]
        if len(sure) >= (1 if quantity in GYRO_SIGNALS else rules.again):
            spans += there
    return sorted(spans)


def _quantum(values: Array, same: float) -> float:
    """Step between the levels of a quantised signal, else the least that a signal moves by."""
    levels = np.unique(np.rint(values / same))
    if len(levels) < QUANTISED_BELOW * len(values):
        return float(np.median(np.diff(levels))) * same
    moves = np.abs(np.diff(values))
    return float(np.percentile(moves[moves > same], 5.0))


def _overshoot(values: Array, a: int, b: int) -> float:
    """Estimate how far a motion would have gone beyond the rows a to b, by its slopes before and after them."""
    length = b - a
    if a == 0 or b == len(values):
        return 0.0
    before = abs(values[a - 1] - values[max(0, a - 1 - length)]) / length if a > 1 else 0.0
    after = abs(values[min(len(values) - 1, b + length)] - values[b]) / length
    return float(0.25 * (before + after) * length)


def only_rounded(values: Array, first: int, stop: int) -> bool:
    """Tell whether a value held from row ``first`` to ``stop`` was rounded, not lost: one step of the readings away.

    A slow turning point rests on one step of a coarse gyro. A gyro that is stuck comes back elsewhere.
    """
    steps = np.abs(np.diff(values))
    step = float(np.quantile(steps[steps > 0.0], USUAL_STEP)) if np.any(steps > 0.0) else 0.0
    beside = values[[max(first - 1, 0), min(stop, len(values) - 1)]]
    return bool(np.abs(beside - values[first]).max() < ONE_STEP * step)


def _find_stuck_gyros(recorded: Recorded, quantity: str, values: Array, rules: _FlawRules) -> RowSpans:
    """Find where a gyro gives the very same reading while the bicycle moves: its last digit never rests."""
    same = np.diff(values) == 0.0
    if quantity not in GYRO_SIGNALS or not len(same) or same.mean() > rules.held:
        return []
    moving = np.abs(recorded.response.v) > rules.moving
    least = rules.stuck / recorded.response.dt
    held = [(a, b + 1) for a, b in true_spans(same & moving[1:]) if b - a >= least]
    return [(a, b) for a, b in held if not only_rounded(values, a, b)]


# takes a recording, for its sampling interval and speed, a signal's name and its values (n,) [SI], none missing
FlawFinder = Callable[[Recorded, str, Array, _FlawRules], RowSpans]
FLAW_FINDERS: dict[str, FlawFinder] = {
    "spike": _find_spikes,
    "jump": _find_jumps,
    "saturated": _find_saturation,
    "stuck": _find_stuck_gyros,
}
FLAW_SENTENCES = {
    "spike": "leaves its surroundings by {size:.3g} for {rows}, not free",
    "jump": "jumps by {size:.3g} from one row to the next, not free",
    "saturated": "is saturated at {value:.4g} for {rows}, not free",
    "stuck": "gives the very same value {value:.4g} for {rows}, not free",
}


def _widen_mask(bad: NDArray[np.bool_], recorded: Recorded, rules: _FlawRules) -> NDArray[np.bool_]:
    """Rows (n,) that are bad, with the margin on either side."""
    width = max(1, round(rules.margin / recorded.response.dt))
    return _convolved(bad, 2 * width + 1) > 0.5


def _convolved(flags: NDArray[np.bool_], width: int) -> Array:
    """Count the flags within an odd ``width`` around each row, (n,), however few rows there are."""
    return np.convolve(flags, np.ones(width))[width // 2 : width // 2 + len(flags)]


def _concerns(recorded: Recorded, a: int, b: int) -> bool:
    """Does a part touch what the recording says is free?"""
    free = recorded.response.free
    return free is None or bool(free[a:b].any())


def _mask(spans: RowSpans, n: int) -> NDArray[np.bool_]:
    mask = np.zeros(n, bool)
    for a, b in spans:
        mask[a:b] = True
    return mask


def _filled(recorded: Recorded, quantity: str, values: Array, bad: NDArray[np.bool_]) -> tuple[Recorded, Array]:
    good = np.flatnonzero(~bad)
    filled = np.interp(np.arange(len(values)), good, values[good])
    return recorded.put(quantity, filled), filled


def _bridged(
    recorded: Recorded,
    quantity: str,
    values: Array,
    lost: NDArray[np.bool_],
    long: NDArray[np.bool_],
    rules: _FlawRules,
) -> tuple[Recorded, Array]:
    """Draw straight lines over the rows (n,) that are lost, and name them; those of long gaps are not free."""
    t, name = recorded.response.t, recorded.name(quantity)
    remarks = [
        f"{name}: {'a value is' if b - a == 1 else f'{b - a} values are'} missing {_when(t, a, b)}, "
        f"{'not free' if long[a] else 'bridged'}"
        for a, b in true_spans(lost)
    ]
    recorded = recorded.remarked(*_shortened(remarks, f"{name}: {{}} more parts without values", rules))
    return _filled(recorded, quantity, values, lost)


def _long_gaps(lost: NDArray[np.bool_], dt: float) -> NDArray[np.bool_]:
    """Rows (n,) of missing values too long to be bridged, or at an end, where nothing is known beyond them."""
    n = len(lost)
    return _mask([(a, b) for a, b in true_spans(lost) if takes_too_long(b - a, dt) or a == 0 or b == n], n)


def _without(recorded: Recorded, quantity: str, share: float) -> Recorded:
    """Remove a column most of whose values are missing."""
    name, source = recorded.name(quantity), recorded.response.source
    if quantity in ("phi_dot", "v"):
        raise InputError(
            f"wanted values in column {name} of {source}, found {100 * share:.0f} % of them missing; "
            "nothing can be analysed without it"
        )
    return recorded.put(quantity, None).remarked(f"{name}: {100 * share:.0f} % of the values are missing, left out")


def _sentences(
    recorded: Recorded, quantity: str, what: str, spans: RowSpans, values: Array, rules: _FlawRules
) -> Iterator[str]:
    t, name = recorded.response.t, recorded.name(quantity)
    unit = SIGNAL_UNITS.get(quantity, "")
    remarks = []
    for a, b in spans:
        if what == "spike":
            size = float(np.abs(values[a:b] - np.median(values[max(0, a - 3) : b + 3])).max())
        else:
            size = float(np.ptp(values[a:b]))
        says = FLAW_SENTENCES[what].format(size=size, rows=_rows(b - a), value=float(values[a]))
        says = says.replace(" for ", f" {unit} for ").replace(" from one", f" {unit} from one")
        remarks.append(f"{name}: {says}, {_when(t, a, b)}")
    yield from _shortened(remarks, f"{name}: {{}} more like these ({what})", rules)


def _when(t: Array, a: int, b: int) -> str:
    return f"at {t[a]:.3f} s" if b - a == 1 else f"from {t[a]:.3f} to {t[b - 1]:.3f} s"


def _rows(n: int) -> str:
    return "1 row" if n == 1 else f"{n} rows"


def _shortened(remarks: list[str], rest: str, rules: _FlawRules) -> list[str]:
    if len(remarks) <= rules.named + 1:
        return remarks
    return [*remarks[: rules.named], rest.format(len(remarks) - rules.named)]


SIGNAL_UNITS = {
    "phi_dot": "rad/s", "v": "m/s", "phi": "rad", "delta": "rad", "psi_dot": "rad/s", "T_delta": "N m",
    "delta_dot": "rad/s", "wheel": "rad/s", "a_y": "m/s^2", "a_z": "m/s^2",
}  # fmt: skip
