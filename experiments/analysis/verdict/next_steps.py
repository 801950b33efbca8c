"""Next steps where no window was compared.

They tell what to change, by the reasons given.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from riderless.experiments.analysis.windows.rules import WindowRules
from riderless.experiments.analysis.windows.steer_stops import stops_by_bicycle
from riderless.experiments.datatypes import Comparison, Rejected, Response
from riderless.experiments.theory.modes import kicked_mode
from riderless.models import catalogue
from riderless.models.errors import InputError
from riderless.models.parameters import Bicycle

# Words of a refusal -> what to do about it; the order is that in which they are told.
REMEDIES = (
    (
        "no kick",
        "kick it: short pushes on the rear frame, 3.5 s apart, the last 4 s before the end of the run",
    ),
    ("nothing rises near it", "press k right after the kick, or veto the mark's window in windows.txt"),
    (
        "too small",
        "kick harder: the lean rate should rise to 0.3 rad/s or more; a quieter place (wind, uneven belt) helps too",
    ),
    ("overlaps", "leave 3.5 s between kicks, or press k at each kick: a marked one is known to be no hand that helps"),
    ("next kick", "leave 3.5 s between kicks"),
    ("end of recording", "let the run go on for 4 s after the last kick"),
    ("pushed again", "keep hands off for 4 s after a kick"),
    ("somebody pushes", "keep the speed, and hands off, for 4 s after a kick"),
    ("speed changes too much", "keep the speed: it may change by a fifth within a window"),
    ("clipped", "set the gyro to a larger range, or kick more gently"),
    ("drop-out", "look at the wiring of the gyro: it said the very same value for a while"),
    ("values are missing", "look at the wiring: values of lean rate or speed are missing"),
    ("the torque came back", "leave the torque off for longer"),
)
GONE_TOO_SOON = ("wanted one cycle", "less than one", "not identifiable")
LAST_RESORT = "look at the signals, and give a window yourself: riderless analyze ... --window FROM:TO"


def next_steps(
    responses: Sequence[Response], comparisons: Sequence[Comparison], rejected: Sequence[Rejected]
) -> list[str]:
    """Say what to do about the recordings without a single comparison; nothing where each has one.

    Parameters
    ----------
    responses : sequence of Response
    comparisons : sequence of Comparison
    rejected : sequence of Rejected
    """
    measured = {c.key for c in comparisons}
    without = [r for r in responses if r.key not in measured]
    if not without:
        return []
    still = [r for r in without if not r.v.any()]
    without = [r for r in without if r.v.any()]  # of a bicycle at rest theory expects nothing that a kick would change
    sources = {response.source for response in without}
    reasons = [r.reason for r in rejected if r.source in sources]
    steps = [
        f"{response.source}: v is 0 m/s in every row: if it rolled, record the speed, or state it in the mapping "
        "(constant under [v])"
        for response in still
    ]
    steps += [
        f"the steer of {name} met {stop.phrase}: kick less, or give it more way"
        for name, stops in stops_by_bicycle(without).items()
        for stop in stops
    ]
    damped = []
    if any(word in reason for reason in reasons for word in GONE_TOO_SOON):
        damped = [sentence for response in without for sentence in _damped_too_well(response)]
    known = {"no kick", "too small"} if damped else set()  # it was kicked, and well enough to see that
    steps += damped + [
        remedy for word, remedy in REMEDIES if word not in known and any(word in reason for reason in reasons)
    ]
    return [*dict.fromkeys(steps), LAST_RESORT]


def _damped_too_well(response: Response) -> Iterator[str]:
    """Say, by theory, that the motion after a kick is over within a cycle, where it is."""
    rules = WindowRules()
    free = slice(None) if response.free is None or not response.free.any() else response.free
    v = float(np.nanmean(response.v[free]))
    try:
        mode = kicked_mode(response.own_theory.dynamics(), v)
    except InputError:
        return
    if not np.isfinite(mode):
        yield f"{response.label}: theory expects no swinging at {v:.2f} m/s: choose another speed or controller"
        return
    lasts = -np.log(rules.faded) / -mode.real if mode.real < 0.0 else np.inf  # s until it has sunk to that share
    cycle = 2.0 * np.pi / mode.imag
    # the first 0.3 s are the kick's own; a fit wants a cycle and a half of the rest
    if lasts < rules.settle + rules.least_cycles * cycle:
        yield (
            f"{response.label}: damped too well to measure; theory expects {mode.real:.2f} ± {mode.imag:.2f}i 1/s, "
            f"gone after {lasts:.1f} s, and a cycle takes {cycle:.1f} s: design gains that damp less "
            f"(riderless design {_typed(response.bicycle)} --for measuring), or choose another speed"
        )


def _typed(bicycle: Bicycle | None) -> str:
    """Bicycle as it is typed: one that is not in the catalogue is a file."""
    return bicycle.name if bicycle is not None and bicycle.name in catalogue.bicycle_names() else "BICYCLE.toml"
