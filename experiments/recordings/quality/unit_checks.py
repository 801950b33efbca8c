"""Wrong units and signs, found by physics.

The mistake behind them is named. When a relation fails
(`riderless.experiments.recordings.quality.kinematic_relations`), each mistake that people make is undone in turn, in
one column, and all relations are looked at again. What makes everything agree is named; where two mistakes do, both
are.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import log, pi

import numpy as np

from riderless.experiments.recordings.quality.checked import BESIDE_SIGNALS, RESPONSE_SIGNALS, Recorded
from riderless.experiments.recordings.quality.kinematic_relations import (
    MOVING_SPEED,
    BandPassed,
    CheckedRelation,
    band_passed,
    check_relations,
)

RAD_PER_DEGREE = pi / 180
STANDING_FORCE = 9.81  # m/s^2
SAME_TIME_FACTOR = log(1.15)  # between factors of two derivatives that a wrong time scales alike
EQUALLY_GOOD = 0.25  # of misfit, under which two explanations are as good as each other
SIGN_REVERSED = ("the sign of {c} is reversed", -1.0)
ANGLE_MISTAKES = (
    SIGN_REVERSED,
    ("{c} is in degrees{s}, not in radians{s}", RAD_PER_DEGREE),
    ("{c} is in radians{s}, not in degrees{s}", 1 / RAD_PER_DEGREE),
    ("{c} is in degrees{s}, not in radians{s}, and its sign is reversed", -RAD_PER_DEGREE),
    ("{c} is in radians{s}, not in degrees{s}, and its sign is reversed", -1 / RAD_PER_DEGREE),
)
# quantity: (what may be wrong with its column {c}, the factor that takes it back), most usual first
UNIT_MISTAKES: dict[str, tuple[tuple[str, float], ...]] = {
    "phi_dot": ANGLE_MISTAKES,
    "phi": ANGLE_MISTAKES,
    "delta": ANGLE_MISTAKES,
    "delta_dot": ANGLE_MISTAKES,
    "psi_dot": ANGLE_MISTAKES,
    "v": (
        ("{c} is in km/h, not in m/s", 1 / 3.6),
        ("{c} is in m/s, not in km/h", 3.6),
        ("{c} is in mph, not in m/s", 0.44704),
        ("{c} is in m/s, not in mph", 1 / 0.44704),
    ),
    "T_delta": (SIGN_REVERSED, ("{c} is in N mm, not in N m", 1e-3), ("{c} is in N m, not in N mm", 1e3)),
    "wheel": (
        SIGN_REVERSED,
        ("{c} is in degrees/s, not in radians/s", RAD_PER_DEGREE),
        ("{c} is in rpm, not in rad/s", pi / 30),
        ("{c} is in turns per second, not in rad/s", 2 * pi),
    ),
}
RATE_SIGNALS = ("phi_dot", "delta_dot", "psi_dot")
# several columns wrong together: a sensor that faces backwards, a file that is all in degrees
SHARED_MISTAKES = (
    (("phi", "phi_dot"), "the signs of {c} are reversed", -1.0),
    (("phi_dot", "psi_dot"), "the signs of {c} are reversed", -1.0),
    (("phi", "phi_dot", "psi_dot"), "the signs of {c} are reversed", -1.0),
    (("delta", "delta_dot"), "the signs of {c} are reversed", -1.0),
    (("phi_dot", "psi_dot"), "{c} are in degrees/s, not in radians/s", RAD_PER_DEGREE),
    (("phi", "phi_dot"), "{c} are in degrees, not in radians", RAD_PER_DEGREE),
    (("delta", "delta_dot"), "{c} are in degrees, not in radians", RAD_PER_DEGREE),
    (("phi", "phi_dot", "delta", "delta_dot", "psi_dot"), "{c} are in degrees, not in radians", RAD_PER_DEGREE),
)
CERTAIN_CORRELATION = 0.9  # correlation from which on a reversed sign is certain, whoever made it
BEYOND_ANY_BICYCLE = 1e100  # in SI
# No riderless bicycle does more: (quantity, unit, the most, what is likely)
LARGEST_VALUES = (
    ("phi", "rad", 1.6, "{c} is in degrees, not in radians"),
    ("phi_dot", "rad/s", 12.0, "{c} is in degrees/s, not in radians/s"),
    ("delta", "rad", 6.3, "{c} is in degrees, not in radians"),
    ("v", "m/s", 15.0, "{c} is in km/h, not in m/s"),
)


@dataclass(frozen=True)
class UnitFinding:
    """Doubt in a sentence; ``clear`` when a unit or a sign is certainly wrong."""

    sentence: str
    clear: bool


def check_units(recorded: Recorded) -> list[UnitFinding]:
    """Check units and signs against physics; empty when nothing contradicts."""
    findings = [] if _beyond_any_bicycle(recorded) else _check_agreement(recorded)
    # a value that no bicycle reaches is certain, however much agrees
    if not any(finding.clear for finding in findings):
        findings = list(find_impossible_values(recorded)) or findings
    return [*findings, *_check_gravity(recorded)]


def _check_agreement(recorded: Recorded) -> list[UnitFinding]:
    """Check whether the quantities belong together; one finding with what is likely wrong where they do not."""
    s = band_passed(recorded)
    relations = list(check_relations(s))
    wrong = [relation for relation in relations if relation.alarms]
    clear = bool(wrong)
    wrong = wrong or [relation for relation in relations if not relation.agrees]
    if not wrong:
        return []
    summary = "; ".join(_factor_sentence(recorded, relation) for relation in wrong)
    if all(relation.noise_explains for relation in wrong):
        return [UnitFinding(f"{summary}: noise would explain that", False)]
    causes = _explain_misfits(s, relations, {relation.name for relation in wrong})
    likely = f"{'most likely' if clear else 'perhaps'} {' or '.join(causes)}"
    unexplained = "several columns may have a wrong unit or sign" if clear else "they hardly belong together"
    certain = bool(causes) or any(
        r.factor < 0 and abs(r.correlation) > CERTAIN_CORRELATION and r.name != "balance" for r in wrong
    )
    return [UnitFinding(f"{summary}: {likely if causes else unexplained}", clear and certain)]


def _explain_misfits(s: BandPassed, before: Sequence[CheckedRelation], wrong: set[str]) -> list[str]:
    """Find mistakes that, undone one by one, set right what is wrong and spoil nothing; the best, and its equals."""
    tried: list[tuple[str, BandPassed]] = []
    for quantity, mistakes in UNIT_MISTAKES.items():
        if s.has(quantity):
            words = {"c": s.recorded.name(quantity), "s": "/s" if quantity in RATE_SIGNALS else ""}
            tried += [(text.format(**words), replace(s, undone={quantity: undo})) for text, undo in mistakes]
    for quantities, text, undo in SHARED_MISTAKES:
        there = [quantity for quantity in quantities if s.has(quantity)]
        if len(there) > 1:
            together = text.format(c=" and ".join(s.recorded.name(quantity) for quantity in there))
            tried.append((together, replace(s, undone=dict.fromkeys(there, undo))))
    rates = [r for r in before if r.name in ("lean", "steer") and r.alarms and r.factor > 0]
    if len(rates) == 2 and abs(log(rates[0].factor / rates[1].factor)) < SAME_TIME_FACTOR:
        long = float(np.sqrt(rates[0].factor * rates[1].factor))
        text = f"the times are {long:.3g} times too long (sample rate, or unit of the time column)"
        tried.append((text, replace(s, time=1.0 / long)))
    misfits: dict[str, float] = {}
    for text, mended in tried:
        after = _relations_set_right(mended, wrong)
        if after:
            misfits[text] = sum(misfit(relation) for relation in after)
    best = min(misfits.values(), default=0.0)
    return sorted(
        (text for text, size in misfits.items() if size < best + EQUALLY_GOOD), key=lambda text: misfits[text]
    )


def _relations_set_right(mended: BandPassed, wrong: set[str]) -> list[CheckedRelation]:
    """Find the relations of mended signals; none as soon as one of the wrong ones is still wrong, or another is."""
    corrected: list[CheckedRelation] = []
    for relation in check_relations(mended, spread=False):
        if relation.alarms or (relation.name in wrong and not relation.agrees):
            return []
        corrected.append(relation)
    return corrected if wrong <= {relation.name for relation in corrected} else []


def misfit(relation: CheckedRelation) -> float:
    """Misfit of a relation: 0 for a factor of one and a correlation of one."""
    return abs(log(max(abs(relation.factor), 1e-3))) + 1.0 - relation.correlation


def _factor_sentence(recorded: Recorded, relation: CheckedRelation) -> str:
    """Begin a sentence: which column, and what was found."""
    names = {q: recorded.name(q) for q in UNIT_MISTAKES}
    if recorded.signal("phi") is None:
        names["phi"] = f"the integral of {names['phi_dot']}"
    spread = f" +- {relation.spread:.2g}" if relation.spread else ""
    what = recorded.name(relation.left) + ("'s derivative" if relation.name == "balance" else "")
    return (
        f"{what} is {relation.factor:.3g}{spread} times {relation.right.format(**names)} "
        f"(correlation {relation.correlation:.2f})"
    )


def _beyond_any_bicycle(recorded: Recorded) -> bool:
    """Is a value so large that no relation can be asked, for squares would overflow?"""
    signals = [recorded.signal(quantity) for quantity in RESPONSE_SIGNALS + BESIDE_SIGNALS]
    return any(bool(np.any(np.abs(signal) > BEYOND_ANY_BICYCLE)) for signal in signals if signal is not None)


def find_impossible_values(recorded: Recorded) -> Iterator[UnitFinding]:
    """Values that no bicycle reaches, and a speed that goes backwards."""
    moving = np.abs(recorded.response.v) > MOVING_SPEED
    if not moving.any():
        return
    for quantity, unit, most, likely in LARGEST_VALUES:
        values = recorded.signal(quantity)
        if values is None:
            continue
        name = recorded.name(quantity)
        middle = values[moving] - (0.0 if quantity == "v" else np.median(values[moving]))
        reached = float(np.percentile(np.abs(middle), 50.0 if quantity == "v" else 99.9))
        if reached > most:
            sentence = (
                f"{name} reaches {reached:.3g} {unit}, wanted at most {most:g}: most likely {likely.format(c=name)}"
            )
            yield UnitFinding(sentence, True)
    if np.median(recorded.response.v[moving]) < 0:
        v = float(np.median(recorded.response.v[moving]))
        name = recorded.name("v")
        yield UnitFinding(f"{name} is {v:.3g} m/s at its middle: most likely the sign of {name} is reversed", True)


def _check_gravity(recorded: Recorded) -> Iterator[UnitFinding]:
    """Check an accelerometer against gravity; it enters no eigenvalue, but its axes may be the gyro's too."""
    down, side = recorded.signal("a_z"), recorded.signal("a_y")
    for quantity, values, wanted in (("a_z", down, -STANDING_FORCE), ("a_y", side, 0.0)):
        if values is None:
            continue
        mean, name = float(np.median(values)), recorded.name(quantity)
        if abs(mean - wanted) < 0.3 * STANDING_FORCE:
            continue
        likely = "the sensor's axes are not x forward, y right, z down"
        if quantity == "a_z" and abs(mean + wanted) < 0.3 * STANDING_FORCE:
            likely = f"the sign of {name} is reversed, or the sensor's z axis points up"
        elif quantity == "a_z" and 0.7 < abs(mean) < 1.3:
            likely = f"{name} is in g, not in m/s^2"
        yield UnitFinding(f"{name} is {mean:.3g} m/s^2 at its middle, wanted {wanted:g}: most likely {likely}", False)
