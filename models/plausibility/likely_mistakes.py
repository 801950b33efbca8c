"""Likely mistakes behind an implausible bicycle.

A unit, a sign, the head angle in place of the tilt. Every usual mistake is undone in turn, for each parameter alone and
for all of one kind together; the one that leaves the bicycle least odd is taken, and so on until nothing is implausible
or nothing helps.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import degrees, log, pi, radians

from riderless.models.parameter_table import MASSES, PARAMETERS, RADII
from riderless.models.plausibility.parameter_units import units_of
from riderless.models.plausibility.traits import TRAITS, Values, odd_traits
from riderless.models.tables import plain_number

STANDARD_GRAVITY = 9.80665  # m/s^2, newtons per kilogram
RARE = 0.05  # oddness that a rarer mistake must save to be named before a usual one
FARTHER = 1e-3  # and a larger factor, for each power of e
POINTS_DOWN = "below the ground: z points down"
MOST_SHOWN = 3  # parameters shown in full; of more the first is an example
SYSTEMS = (  # of units, as a program for drawing may write them
    ("millimetres", "grams", "g mm^2"),
    ("millimetres", "kg mm^2"),
    ("centimetres", "grams", "g cm^2"),
    ("centimetres", "kg cm^2"),
    ("inches", "pounds", "lb in^2"),
    ("feet", "pounds", "lb ft^2"),
)
AXES = {  # what a sign means, of parameters that may have either
    "c": "trail is positive when the front contact lies behind the steer axis",
    "lam": "the tilt is positive when the top of the steer axis leans back",
    "xB": "x points forward from the rear contact",
    "xH": "x points forward from the rear contact",
}


@dataclass(frozen=True)
class _Mistake:
    """Mistake that a parameter may suffer.

    Parameters
    ----------
    words : str
        What the value looks like.
    undone : function
        From the value found to the value meant.
    suffix : str
        Behind the name of the parameter it makes the value right; "" where nothing does.
    cost : float
        Oddness it must save beside a usual mistake.
    """

    words: str
    undone: Callable[[float], float]
    suffix: str = ""
    cost: float = 0.0


@dataclass(frozen=True)
class _Correction:
    """Mistake in one or several parameters, and the values meant.

    Parameters
    ----------
    words : str
        What the values look like.
    meant : mapping of str to float
        The parameters that change, and no others.
    suffixes : mapping of str to str
        Units that, behind the names of the parameters, make the values right as they are written.
    cost : float
        Oddness it must save beside a usual mistake.
    """

    words: str
    meant: Values
    suffixes: Mapping[str, str]
    cost: float = 0.0

    def sentence(self, values: Values) -> str:
        """Say what was found, what it looks like, what was meant, and what would be plausible."""
        several = len(self.meant) > 1
        verb = ("are", "is") if self.words.startswith(POINTS_DOWN) else ("look", "looks")
        link, so = f"{verb[0] if several else verb[1]} {self.words}", ", so" if ":" in self.words else ":"
        right = ", ".join(f"{name} = {show(name, value)}" for name, value in self.meant.items())
        if len(self.meant) > MOST_SHOWN:
            name = next(iter(self.meant))
            keys = ", ".join(f"{each}_{suffix}" for each, suffix in self.suffixes.items())
            example = f"{name} = {show(name, values[name])} for {show(name, self.meant[name])}"
            return f"{', '.join(self.meant)} {link} ({example}){f': write {keys}' if keys else ''}"
        entries = ", ".join(f"{name} = {show(name, values[name])}" for name in self.meant)
        room = "" if several else _plausible_values(next(iter(self.meant)), {**values, **self.meant})
        written = ", ".join(f"{name}_{suffix} = {values[name]:.6g}" for name, suffix in self.suffixes.items())
        return f"{entries} {link}{so} {right}{f', or write {written}' if written else ''}{room}"


def show(name: str, value: float) -> str:
    """Value with its unit; an angle in degrees too."""
    shown = f"{plain_number(value, 4)} {PARAMETERS[name][0]}"
    return f"{shown} ({plain_number(degrees(value), 4)} deg)" if name == "lam" and abs(value) < pi else shown


def likely_mistakes(values: Values) -> tuple[_Correction, ...]:
    """Corrections that make a bicycle plausible, or as nearly as the usual mistakes can explain it.

    Parameters
    ----------
    values
        All parameters of `riderless.models.parameter_table.PARAMETERS`, SI; nan for one that nobody gave.
    """
    corrections: list[_Correction] = []
    now = dict(values)
    while (odd := _oddness(now))[0] and len(corrections) < len(PARAMETERS):
        tried = [(_oddness({**now, **each.meant}), each) for each in _corrections(now)]
        better = [(oddness, each) for oddness, each in tried if oddness[0] < odd[0]]
        if not better:
            break
        best = min(better, key=lambda pair: (pair[0][0], pair[0][1] + pair[1].cost))[1]
        corrections.append(best)
        now |= best.meant
    return tuple(each for each in corrections if not _leaves_odd(values, now, each))


def _leaves_odd(values: Values, now: Values, correction: _Correction) -> bool:
    """Tell whether what a correction concerns is still implausible: then the mistake was another one."""
    without = {**now, **{name: values[name] for name in correction.meant}}
    return any(trait.of(without) != trait.of(now) for trait in odd_traits(now))


def corrected(values: Values, corrections: tuple[_Correction, ...]) -> dict[str, float]:
    """Parameters with the corrections made."""
    now = dict(values)
    for each in corrections:
        now |= each.meant
    return now


def _oddness(values: Values) -> tuple[int, float]:
    """Count the implausible traits, and sum how odd the bicycle is as a whole."""
    odd = [trait.oddness(values) for trait in TRAITS]
    return sum(each > 1.0 for each in odd), sum(each * each for each in odd)


def _corrections(values: Values) -> Iterator[_Correction]:
    """Every usual mistake undone: in one parameter, in all of its kind, and in a whole system of units."""
    by_words: dict[str, list[_Correction]] = {}
    for name in PARAMETERS:
        for mistake in _mistakes(name) if abs(values[name]) > 0.0 else ():
            suffixes = {name: mistake.suffix} if mistake.suffix else {}
            meant = mistake.undone(values[name])
            far = FARTHER * abs(log(abs(meant / values[name]))) if meant else 0.0
            correction = _Correction(mistake.words, {name: meant}, suffixes, mistake.cost + far)
            by_words.setdefault(correction.words, []).append(correction)
            yield correction
    for words, several in by_words.items():
        if len(several) > 1:
            yield _together(words, several)
    for units in SYSTEMS:
        alike = []
        for unit in units:
            alike += by_words.get(f"like {unit}", [])
        yield _together(f"like {', '.join(units)}", alike)


def _together(words: str, several: Sequence[_Correction]) -> _Correction:
    return _Correction(
        words,
        {name: value for correction in several for name, value in correction.meant.items()},
        {name: suffix for correction in several for name, suffix in correction.suffixes.items()},
        max((correction.cost for correction in several), default=0.0),
    )


def _mistakes(name: str) -> Iterator[_Mistake]:
    """Mistakes that a parameter may suffer, by its kind."""
    sign = _sign(name)
    yield sign
    for suffix, factor, words in units_of(name):
        rare = RARE if suffix[:2] in ("in", "ft", "lb") else 0.0
        yield _Mistake(f"like {words}", lambda x, n=factor: x / n, suffix, rare)  # type: ignore[misc]
        if not rare:
            twice = f"{plain_number(factor, 3)} times too small, as if converted from {words} twice"
            yield _Mistake(twice, lambda x, n=factor: x * n, "", 2.0 * RARE)  # type: ignore[misc]
        if name[0] == "z":
            yield _Mistake(f"{sign.words}, and it looks like {words}", lambda x, n=factor: -x / n)  # type: ignore[misc]
    if name == "lam":
        yield _Mistake("like the head angle: the steer axis tilt is 90 deg minus it", lambda x: pi / 2.0 - x)
        yield _Mistake(
            "like the head angle in degrees: the steer axis tilt is 90 deg minus it", lambda x: pi / 2.0 - radians(x)
        )
    if name in MASSES:
        yield _Mistake("like a weight in newtons", lambda x: x / STANDARD_GRAVITY, "", RARE)
    if name in RADII:
        yield _Mistake("like a diameter", lambda x: x / 2.0, "", RARE)


def _sign(name: str) -> _Mistake:
    if name[0] == "z":
        return _Mistake(POINTS_DOWN, lambda x: -x)
    return _Mistake(f"like the wrong sign{f' ({AXES[name]})' if name in AXES else ''}", lambda x: -x)


def _plausible_values(name: str, values: Values) -> str:
    """Range of one parameter in which the bicycle stays plausible, the others being as they are."""

    def plausible(value: float) -> bool:
        return _oddness({**values, name: value})[0] == 0

    if not plausible(values[name]):
        return ""
    ends = sorted(_last(plausible, values[name], factor) for factor in (0.5, 2.0))
    angle = f", {plain_number(degrees(ends[0]), 2)} to {plain_number(degrees(ends[1]), 2)} deg" if name == "lam" else ""
    return f" (plausible here: {plain_number(ends[0], 2)} to {plain_number(ends[1], 2)} {PARAMETERS[name][0]}{angle})"


def _last(plausible: Callable[[float], bool], start: float, factor: float) -> float:
    """Farthest plausible value from a plausible start, by doubling or halving and then by bisection."""
    inside, outside = start, start * factor
    for _ in range(12):
        if not plausible(outside):
            break
        inside, outside = outside, outside * factor
    else:
        return 0.0 if factor < 1.0 else inside
    for _ in range(20):
        middle = (inside + outside) / 2.0
        inside, outside = (middle, outside) if plausible(middle) else (inside, middle)
    return inside
