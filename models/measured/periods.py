"""Period of small, undamped swings.

From a gyro's recording, or from a stopwatch. A pendulum that swings to the angle th is slower: T = T0 (1 + th^2/16 + 11
th^4/3072) (Denman 1959, Am. J. Phys. 27, 524); a torsion rod is not. Here the recording's time runs on a clock tau with
dtau = dt / (1 + th^2/16 + 11 th^4/3072), th being the amplitude of each segment, on which the swing has one frequency
from beginning to end; that is fitted to all samples together. Damping: T0 = Td sqrt(1 - zeta^2).
"""

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from riderless.models.array_types import Array
from riderless.models.bicycle_file import is_number, shortened
from riderless.models.errors import InputError
from riderless.models.tables import html_table
from riderless.models.text_file import csv_rows, read_text_file, why_unreadable

KINDS_OF_SWING = ("compound", "torsion")
FEWEST_SWINGS = 8
SEGMENT_SWINGS = 2.5  # in one segment, whose amplitude counts as one
QUIET = 4.0  # times the noise of a segment's amplitude, below which the swing counts as over
RISES = 0.12  # share of the largest amplitude by which a swing that only decays may seem to grow again
SECOND_MOTION = 0.25  # share of the swing's amplitude that another motion may have
LARGEST_ANGLE = math.radians(60.0)
LARGEST_ORDER = 40  # of the model of coloured noise
PARTS_OF_RECORDING = 8
STUDENT = 2.447 / 1.96  # of the six degrees of freedom that eight phases leave, beside a known deviation
MOST_ITERATIONS = 20  # Gauss-Newton steps
GYRO_SCALE_STD = 0.005  # of a gyro that nobody calibrated
HAND_STD = 0.1  # s, of a hand on a stopwatch
GYRO_UNITS = {"": 1.0, "rad_s": 1.0, "deg_s": math.radians(1.0), "mdeg_s": math.radians(1e-3)}


@dataclass(frozen=True)
class Period:
    """Period of small undamped swings, with its standard deviation, s.

    ``damping`` is the damping ratio, ``start`` and ``end`` the amplitude [rad] where the swing begins and ends,
    ``trials`` the periods of several recordings.
    """

    T: float
    std: float
    kind: str
    swings: float
    damping: float = 0.0
    start: float = 0.0
    end: float = 0.0
    uncorrected: float = 0.0  # s, a sine's through the same samples
    trials: tuple[float, ...] = ()

    def sentence(self) -> str:
        """Say the period in a line."""
        words = f"{self.T:.6g} ± {self.std:.2g} s from {self.swings:.0f} swings"
        if self.start:
            words += f", {math.degrees(self.start):.3g} to {math.degrees(self.end):.2g} deg"
        if self.damping:
            words += f", damping ratio {self.damping:.2g}"
        if self.kind == "compound" and self.uncorrected and abs(self.uncorrected - self.T) > 0.0:
            words += f"; {1e3 * (self.uncorrected - self.T):+.2g} ms corrected for amplitude and damping"
        if len(self.trials) > 1:
            words += f"; {len(self.trials)} trials from {min(self.trials):.5g} to {max(self.trials):.5g} s"
        return words

    def __str__(self) -> str:
        return self.sentence()

    def _repr_html_(self) -> str:
        rows = [
            ("period", self.T, "s"),
            ("standard deviation", self.std, "s"),
            ("swings", self.swings, ""),
            ("damping ratio", self.damping, ""),
            ("amplitude at first", math.degrees(self.start), "deg"),
            ("amplitude at last", math.degrees(self.end), "deg"),
        ]
        return html_table(f"Period, {self.kind}", ("quantity", "value", "unit"), rows)


class _Swing(NamedTuple):
    """Swing cut out of a recording: times (n,), rate (n,) about its axis, amplitude (n,) of the rate, first period."""

    t: Array
    rate: Array
    T: float


def period(log: Any, kind: str = "compound") -> Period:
    """Measure the period of small undamped swings from a recording.

    Parameters
    ----------
    log : str, Path, mapping or sequence of these
        CSV file with the columns t [s] and a gyro's axes (gx, gy, gz in rad/s; gx_deg_s in deg/s), mounted any way; or
        a mapping of such columns to arrays. Several are trials of one swing, whose scatter counts.
    kind : str
        "compound", a pendulum under gravity, or "torsion".

    Raises
    ------
    InputError
        It is no recording, holds too few swings, or another motion beats with the swing.
    """
    if kind not in KINDS_OF_SWING:
        raise InputError(f"a swing is compound or torsion, found {shortened(kind)}: give one of them")
    if isinstance(log, str | Path | Mapping):
        where = str(log) if isinstance(log, str | Path) else "the recording"
        t, rates = _columns(log, where)
        try:
            return _period_of(_swing(t, rates), kind)
        except InputError as error:
            raise InputError(f"{where}: {error}") from None
    periods = [period(each, kind) for each in log]
    if not periods:
        raise InputError("wanted recordings of a swing, found none")
    return joined(periods)


def joined(periods: Sequence[Period]) -> Period:
    """Period of several trials: their mean, with the larger of their own deviations and their scatter."""
    if len(periods) == 1:
        return periods[0]
    T = np.array([each.T for each in periods])
    own = math.hypot(*(each.std for each in periods)) / len(periods)
    scatter = float(T.std(ddof=1)) / math.sqrt(len(T))
    return replace(
        periods[0],
        T=float(T.mean()),
        std=max(own, scatter),
        swings=sum(each.swings for each in periods),
        damping=float(np.mean([each.damping for each in periods])),
        start=max(each.start for each in periods),
        end=min(each.end for each in periods),
        uncorrected=float(np.mean([each.uncorrected for each in periods])),
        trials=tuple(map(float, T)),
    )


def _amplitude_factor(angle: Any) -> Any:
    """Factor T / T0 of a pendulum that swings to an angle [rad]."""
    return 1.0 + angle**2 / 16.0 + 11.0 * angle**4 / 3072.0


def stopwatch_period(entry: Mapping[str, Any], kind: str = "compound", what: str = "the stopwatch") -> Period:
    """Period by a stopwatch: ``swings`` and ``total_s``, once or for several trials; or ``crossings_s``, one a swing.

    Parameters
    ----------
    entry : mapping
        ``swings``, ``total_s`` (a number or a list), and perhaps ``hand_std_s`` (0.1 s), ``start_deg`` and ``end_deg``
        of the amplitude; or ``crossings_s``.
    kind : str
        "compound" or "torsion".
    what : str
        For messages.

    Raises
    ------
    InputError
        A number is absent or none.
    """
    known = ("swings", "total_s", "crossings_s", "hand_std_s", "hand_s", "start_deg", "end_deg")
    unknown = [key for key in entry if key not in known]
    if unknown:
        raise InputError(f"{what} has the unknown key {unknown[0]!r}: it takes {', '.join(known)}")
    hand = entry.get("hand_std_s", entry.get("hand_s", HAND_STD))
    total = entry.get("total_s", [])
    totals = list(total) if isinstance(total, list | tuple) else [total]
    crossings = entry.get("crossings_s", [])
    trials: tuple[float, ...] = ()
    first, last = entry.get("start_deg", 0.0), entry.get("end_deg", entry.get("start_deg", 0.0))
    numbers = [hand, first, last, *totals, *crossings, *([entry["swings"]] if "swings" in entry else [])]
    if not all(is_number(number) and number >= 0.0 for number in numbers):
        raise InputError(f"{what} has {shortened(dict(entry))}: its numbers are zero or more")
    if len(crossings) >= 3:
        n = len(crossings)
        slope, _ = np.polyfit(np.arange(n), np.asarray(crossings, float), 1)
        T, std, swings = float(slope), hand * math.sqrt(12.0 / (n * (n * n - 1))), float(n - 1)
        uncorrected = T
    else:
        swings = float(entry.get("swings", 0.0))
        if swings < 1.0 or not totals:
            raise InputError(f"{what} wants swings = 50 and total_s = [80.1, 80.2], or crossings_s")
        each = np.asarray(totals, float) / swings
        if not (each > 0.0).all():
            raise InputError(f"{what} has a total of 0 s: correct it")
        T = uncorrected = float(each.mean())
        trials = tuple(map(float, each))
        scatter = float(each.std(ddof=1)) / math.sqrt(len(each)) if len(each) > 1 else 0.0
        std = max(math.sqrt(2.0) * hand / swings / math.sqrt(len(each)), scatter)
    a, b = math.radians(first), math.radians(last)
    if kind == "compound" and a > 0.0:
        if max(a, b) > LARGEST_ANGLE:
            raise InputError(f"{what} begins at {max(first, last):g} deg: a swing of so large an angle is no small one")
        square = a * a if a == b or b == 0.0 else (a * a - b * b) / (2.0 * math.log(a / b))
        T /= _amplitude_factor(math.sqrt(square))
    return Period(T, std, kind, swings * max(len(trials), 1), 0.0, a, b, uncorrected, trials)


def _columns(log: str | Path | Mapping[str, Any], where: str) -> tuple[Array, Array]:
    """Times (n,) and rates (n, k) of a recording, in s and rad/s."""
    columns = log if isinstance(log, Mapping) else _csv_columns(Path(log))
    names = {str(name).strip().lower(): name for name in columns}
    time = next((names[name] for name in ("t", "time", "t_s", "time_s", "timestamp") if name in names), None)
    if time is None:
        raise InputError(f"{where} has no column t [s], found {', '.join(map(str, columns))}: name its time stamps t")
    rates = []
    for name, original in names.items():
        axis, _, unit = name.partition("_")
        if axis in ("gx", "gy", "gz", "g", "gyro", "rate", "wx", "wy", "wz") and original != time:
            if unit not in GYRO_UNITS:
                raise InputError(f"{where} has the column {original}: rad/s, or _deg_s behind its name")
            rates.append(np.asarray(columns[original], float) * GYRO_UNITS[unit])
    if not rates:
        raise InputError(f"{where} has no gyro, found {', '.join(map(str, columns))}: name its axes gx, gy, gz")
    t = np.asarray(columns[time], float)
    rate = np.column_stack(rates)
    good = np.isfinite(t) & np.isfinite(rate).all(axis=1)
    t, rate = t[good], rate[good]
    if len(t) < 50:
        raise InputError(f"{where} has {len(t)} samples: a swing's recording has hundreds")
    if (np.diff(t) <= 0.0).any():
        raise InputError(f"{where} has time stamps that do not rise: give the device's own, in s")
    return t - t[0], rate


def _csv_columns(path: Path) -> dict[str, list[float]]:
    try:
        rows = csv_rows(csv.reader(read_text_file(path, 200_000_000).splitlines()))
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise InputError(
            f"{path} cannot be read: {why_unreadable(error)}; give a CSV file with t, gx, gy, gz"
        ) from None
    rows = [row for row in rows if row and not row[0].lstrip().startswith("#")]
    if not rows:
        raise InputError(f"{path} is empty: give a CSV file with t, gx, gy, gz")
    head = [cell.strip() for cell in rows[0]]
    columns: dict[str, list[float]] = {name: [] for name in head}
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != len(head):
            if number == len(rows):
                break  # the recording ended in the middle of a line
            raise InputError(f"{path} has {len(row)} cells in row {number} and {len(head)} names: correct it")
        for name, cell in zip(head, row, strict=True):
            try:
                columns[name].append(float(cell) if cell.strip() else math.nan)
            except ValueError:
                raise InputError(f"{path} has {shortened(cell)} in row {number}: wanted a number") from None
    return columns


def _swing(t: Array, rates: Array) -> _Swing:
    """Cut the free swing out of a recording: about its axis, from its largest amplitude until it is lost in noise."""
    step = float(np.median(np.diff(t)))
    centred = rates - np.median(rates, axis=0)
    _, _, axes = np.linalg.svd(centred - centred.mean(axis=0), full_matrices=False)
    rate = centred @ axes[0]
    T = 1.0 / _frequency(t, rate, step)
    amplitude, at, noise = _amplitudes(t, rate, T)
    first = int(np.argmax(amplitude))
    quiet = np.flatnonzero(amplitude[first:] < QUIET * noise)
    last = first + int(quiet[0]) if len(quiet) else len(amplitude)
    half = SEGMENT_SWINGS * T / 2.0
    begins = at[first] - half if first else t[0]
    ends = at[last - 1] + half if last < len(amplitude) else t[-1]
    inside = (t >= begins) & (t <= ends)
    t, rate = t[inside], rate[inside]
    swings = (t[-1] - t[0]) / T if len(t) > 1 else 0.0
    if swings < FEWEST_SWINGS:
        raise InputError(
            f"it holds {swings:.1f} swings of {T:.3g} s, too few: record {FEWEST_SWINGS} or more, better "
            "20, after it was let go"
        )
    if 5.0 * step > T:
        raise InputError(f"a swing of {T:.3g} s has {T / step:.1f} samples: record faster")
    kept = amplitude[first:last]
    drops = np.maximum.accumulate(kept[::-1])[::-1] - kept  # how much it still grows later on
    if float(drops.max()) > RISES * float(kept.max()) + QUIET * noise:
        raise InputError(
            "its amplitude falls and grows again: two motions beat, and their period is no one's; hang it so that it "
            "turns without swinging, and let it go without a push"
        )
    return _Swing(t, rate, T)


def _frequency(t: Array, rate: Array, step: float) -> float:
    """Frequency [Hz] of the largest motion, by the spectrum on even times."""
    even = np.arange(t[0], t[-1], step)
    y = np.interp(even, t, rate)
    y = (y - y.mean()) * np.hanning(len(y))
    n = 4 * len(y)
    power = np.abs(np.fft.rfft(y, n)) ** 2
    frequency = np.fft.rfftfreq(n, step)
    power[frequency < 1.5 / (t[-1] - t[0])] = 0.0
    return float(frequency[int(np.argmax(power))])


def _amplitudes(t: Array, rate: Array, T: float) -> tuple[Array, Array, float]:
    """Amplitude [rad/s] of segments, by a sine through each; their middles; the noise of an amplitude."""
    edges = np.arange(t[0], t[-1], SEGMENT_SWINGS * T)
    amplitudes, at, residual = [], [], []
    for begin in edges:
        inside = (t >= begin) & (t < begin + SEGMENT_SWINGS * T)
        if inside.sum() < 8 or t[inside][-1] - t[inside][0] < 0.7 * SEGMENT_SWINGS * T:
            continue
        phase = 2.0 * np.pi * t[inside] / T
        H = np.column_stack([np.cos(phase), np.sin(phase), np.ones(len(phase))])
        q = np.linalg.lstsq(H, rate[inside], rcond=None)[0]
        amplitudes.append(float(np.hypot(q[0], q[1])))
        at.append(begin + SEGMENT_SWINGS * T / 2.0)
        residual.append(float(np.std(rate[inside] - H @ q)) * math.sqrt(2.0 / inside.sum()))
    if not amplitudes:
        raise InputError(f"it holds no {SEGMENT_SWINGS:g} swings of {T:.3g} s: record 20 of them")
    return np.array(amplitudes), np.array(at), float(np.median(residual))


def _period_of(swing: _Swing, kind: str) -> Period:
    """Period of a free swing, by one sine through all its samples on the clock that runs with its amplitude."""
    t, rate = swing.t, swing.rate
    amplitude, at, _ = _amplitudes(t, rate, swing.T)
    decay = np.polyfit(at, np.log(amplitude), min(2, max(len(at) - 1, 1)))  # of the logarithm
    envelope = np.exp(np.polyval(decay, t))
    sine = _fit(t, rate, envelope, 2.0 * np.pi / swing.T)
    uncorrected = 2.0 * np.pi / sine.omega
    angle = envelope * uncorrected / (2.0 * np.pi)
    if kind == "compound":  # of the swing's sine: its overtone makes the angle itself a little smaller
        angle = angle / (1.0 + angle**2 / 192.0) * _amplitude_factor(angle) / np.mean(_amplitude_factor(angle))
    if float(angle.max()) > LARGEST_ANGLE and kind == "compound":
        raise InputError(
            f"it swings to {math.degrees(float(angle.max())):.3g} deg: either the rates are in deg/s, then name the "
            "columns gx_deg_s, or let it go from 10 deg"
        )
    omega, fit = sine.omega, sine
    if kind == "compound":
        slowness = 1.0 / _amplitude_factor(angle)
        tau = np.concatenate([[0.0], np.cumsum((slowness[1:] + slowness[:-1]) / 2.0 * np.diff(t))])
        fit = _fit(tau, rate, envelope, omega)
        omega = fit.omega
    _require_one_motion(t, fit.residual, rate, float(np.median(np.diff(t))))
    rate_of_decay = -(float(np.log(envelope[-1])) - float(np.log(envelope[0]))) / (t[-1] - t[0])
    damping = max(float(rate_of_decay / omega), 0.0)
    # a gyro whose scale is off makes the angle so, and the correction twice as much
    scale_error = GYRO_SCALE_STD * float(np.mean(angle**2)) / 8.0 if kind == "compound" else 0.0
    T = 2.0 * np.pi / omega * math.sqrt(max(1.0 - damping**2, 0.0))
    return Period(
        float(T),
        float(T * math.hypot(fit.std / omega, scale_error)),
        kind,
        float((t[-1] - t[0]) / T),
        damping,
        float(angle[0]),
        float(angle[-1]),
        float(uncorrected),
    )


class _Sine(NamedTuple):
    """Sine of known envelope through samples: its angular frequency with its deviation [rad/s], what is left over."""

    omega: float
    std: float
    residual: Array


def _fit(tau: Array, rate: Array, envelope: Array, omega: float) -> _Sine:
    """Fit a sine of a known envelope, and a bias, by Gauss-Newton steps."""
    middle = float(tau.mean())
    s = tau - middle
    for _ in range(MOST_ITERATIONS):
        c, d = envelope * np.cos(omega * s), envelope * np.sin(omega * s)
        a, b, _ = np.linalg.lstsq(np.column_stack([c, d, np.ones(len(s))]), rate, rcond=None)[0]
        slope = s * (b * c - a * d)
        J = np.column_stack([c, d, np.ones(len(s)), slope])
        q = np.linalg.lstsq(J, rate, rcond=None)[0]
        omega += float(q[3])
        if abs(q[3]) < 1e-12 * omega:
            break
    residual = rate - J @ q
    inverse = np.linalg.inv(J.T @ J)
    white = float(np.sqrt(residual @ residual / max(len(s) - 4, 1) * inverse[3, 3]))
    colour = max(_colour(residual, omega * float(np.median(np.diff(tau)))), 1.0)
    return _Sine(float(omega), max(white * math.sqrt(colour), _by_phases(s, rate, c, d, omega)), residual)


def _colour(residual: Array, phase_step: float) -> float:
    """Density of coloured noise at the swing's frequency per that of white noise of the same size.

    By an autoregressive model (Yule and Walker), its order by Akaike: what the fit itself took from the spectrum at
    that very frequency, the neighbouring ones make good.

    Parameters
    ----------
    residual : (n,)
    phase_step : float
        Phase [rad] of the swing between two samples.
    """
    y = residual - residual.mean()
    n = len(y)
    spectrum = np.abs(np.fft.rfft(y, 2 * n)) ** 2
    r = np.fft.irfft(spectrum)[: LARGEST_ORDER + 1] / n
    if r[0] <= 0.0:
        return 1.0
    best, density = math.inf, 1.0
    coefficients, variance = np.zeros(0), float(r[0])
    for order in range(LARGEST_ORDER + 1):
        if order:
            reflection = (r[order] - coefficients @ r[order - 1 : 0 : -1]) / variance if order > 1 else r[1] / r[0]
            coefficients = np.append(coefficients - reflection * coefficients[::-1], reflection)
            variance *= 1.0 - reflection**2
        if variance <= 0.0:
            break
        akaike = n * math.log(variance) + 2.0 * order
        if akaike < best:
            turn = np.exp(-1j * phase_step * np.arange(1, order + 1))
            best, density = akaike, variance / abs(1.0 - coefficients @ turn) ** 2 / r[0]
    return float(density)


def _by_phases(s: Array, rate: Array, c: Array, d: Array, omega: float) -> float:
    """Deviation [rad/s] of the frequency by the scatter of the phases of its parts; two of it hold 95 %."""
    phases, weights, at = [], [], []
    for part in np.array_split(np.arange(len(s)), PARTS_OF_RECORDING):
        H = np.column_stack([c[part], d[part], np.ones(len(part))])
        a, b, _ = np.linalg.lstsq(H, rate[part], rcond=None)[0]
        phases.append(math.atan2(a, b))
        weights.append(float(np.sum(c[part] ** 2)))
        at.append(float(s[part].mean()))
    phase, weight, place = np.unwrap(phases), np.array(weights), np.array(at)
    place = place - np.average(place, weights=weight)
    phase = phase - np.average(phase, weights=weight)
    spread = float(np.sum(weight * place**2))
    slope = float(np.sum(weight * place * phase)) / spread
    variance = float(np.sum(weight * (phase - slope * place) ** 2)) / (len(phase) - 2)
    return STUDENT * math.sqrt(variance / spread)


def _require_one_motion(t: Array, residual: Array, rate: Array, step: float) -> None:
    """Refuse a second motion beside the swing."""
    even = np.arange(t[0], t[-1], step)
    y = np.interp(even, t, residual)
    window = np.hanning(len(y))
    lines = 2.0 * np.abs(np.fft.rfft((y - y.mean()) * window)) / window.sum()
    size = math.sqrt(2.0) * float(np.std(rate))
    largest = int(np.argmax(lines[2:])) + 2
    if lines[largest] > SECOND_MOTION * size:
        frequency = float(np.fft.rfftfreq(len(y), step)[largest])
        raise InputError(
            f"another motion, of {1.0 / frequency:.3g} s, has {100.0 * lines[largest] / size:.0f} % of the swing's "
            "amplitude: the two beat; let it go so that it does one of them"
        )


def example_swing(
    T: float = 1.6, start_deg: float = 13.0, kind: str = "compound", damping: float = 0.004, seed: int = 1
) -> dict[str, Array]:
    """Columns t, gx, gy, gz of a swing as a phone records it: exact pendulum, damped, mounted any way, with noise.

    Parameters
    ----------
    T : float
        Period [s] of small undamped swings.
    start_deg : float
        Angle from which it is let go.
    kind : str
        "compound" or "torsion".
    damping : float
        Damping ratio.
    seed : int
        Of the noise, mounting and bias.
    """
    rng = np.random.default_rng(seed)
    omega, dt = 2.0 * np.pi / T, 0.01
    inner = 4  # steps of the integrator in a sample
    n = int(min(max(40.0 * T, 20.0), 60.0) / dt)
    angle, rate = math.radians(start_deg), 0.0

    def slope(angle: float, rate: float) -> tuple[float, float]:
        back = math.sin(angle) if kind == "compound" else angle
        return rate, -(omega**2) * back - 2.0 * damping * omega * rate

    rates = np.empty(n)
    h = dt / inner
    for i in range(n):
        rates[i] = rate
        for _ in range(inner):
            k1 = slope(angle, rate)
            k2 = slope(angle + h / 2.0 * k1[0], rate + h / 2.0 * k1[1])
            k3 = slope(angle + h / 2.0 * k2[0], rate + h / 2.0 * k2[1])
            k4 = slope(angle + h * k3[0], rate + h * k3[1])
            angle += h / 6.0 * (k1[0] + 2.0 * k2[0] + 2.0 * k3[0] + k4[0])
            rate += h / 6.0 * (k1[1] + 2.0 * k2[1] + 2.0 * k3[1] + k4[1])
    axis = rng.standard_normal(3)
    axis /= np.linalg.norm(axis)
    read = np.outer(rates, axis) + rng.normal(0.0, 0.01, 3) + rng.normal(0.0, 0.01, (n, 3))
    kept = rng.random(n) > 0.01  # samples that the phone lost
    t = dt * np.arange(n)
    return {"t": t[kept], **{name: read[kept, i] for i, name in enumerate(("gx", "gy", "gz"))}}
