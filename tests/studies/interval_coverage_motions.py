"""Do the intervals of single windows hold the truth where motions are large, or the speed changes?

A nonlinear bicycle is kicked again and again, in simulated time: the whole loop, real bytes, windows as the rules cut
them. Over kicks of 0.15 to 1 rad/s of lean rate the like-for-like prediction must hold what the same estimator found;
over ramps of speed so must the eigenvalue at the window's mean speed, once what is known to be between the two is taken
off the fit.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from riderless.experiments.analysis.analyze import analyze_responses
from riderless.experiments.campaigns.protocols.condition import Condition
from riderless.experiments.campaigns.protocols.plan_inputs import NamedController, PlanInputs
from riderless.experiments.campaigns.run import condition_response
from riderless.experiments.campaigns.sweeps import spread
from riderless.experiments.datatypes import Comparison
from riderless.experiments.emulation.hand import FIRST_KICK, KICK_SPACING, RELEASE_DELAY
from riderless.experiments.fault_injection.summary_table import markdown_table
from riderless.hil.runners.emulation import Emulation
from riderless.models import catalogue
from riderless.models.noise_statistics import STDS_95

KICK_SIZES = (0.15, 0.25, 0.35, 0.5, 0.7, 0.85, 1.0)  # rad/s of lean rate
RAMPS = (0.1, -0.1, -0.15, -0.2)  # m/s^2; where it quickens by more, the rules cut no window
RAMP_KICK = 0.35  # rad/s
MOTION_LOOPS = (  # bicycle, controller, speed [m/s]; none of them was looked at while the rules were chosen
    ("Rigid", "off", 5.8),
    ("Rigid", "lqr", 4.5),
    ("Pista", "lqr", 5.0),
    ("Fisher", "poles", 5.5),
    ("Stratos_computed", "lqr", 6.0),
    ("Browserins", "poles", 4.5),
    ("DelftSbW2024", "lean", 4.5),
    ("Balanceassistv1", "lqr", 5.0),
)


@dataclass(frozen=True, order=True)
class MotionSetting:
    """Loop, size of its kicks, and how its speed changes."""

    bicycle: str
    controller: str
    v: float  # m/s, in the middle of the run
    lean_rate: float  # rad/s
    ramp: float = 0.0  # m/s^2
    model: str = "nonlinear"


@dataclass(frozen=True)
class MotionAnswer:
    """Intervals of one window, and whether they held, re and im each."""

    like: tuple[bool, bool]  # like for like
    frozen: tuple[bool, bool]  # eigenvalue at the mean speed, by the fit's own interval
    corrected: tuple[bool, bool]  # the same, by the fit less what is known to be between like and frozen
    nonlinear: bool

    @classmethod
    def of(cls, c: Comparison) -> "MotionAnswer":
        """Answer of a compared window."""
        frozen, std = c.prediction.frozen, c.prediction.difference_std
        (re_lo, re_hi), (im_lo, im_hi) = c.fit.interval(0.95)
        off = c.corrected - frozen
        return cls(
            like=(abs(c.z_re) <= STDS_95, abs(c.z_im) <= STDS_95),
            frozen=(re_lo <= frozen.real <= re_hi, im_lo <= frozen.imag <= im_hi),
            corrected=(abs(off.real) <= STDS_95 * std[0], abs(off.imag) <= STDS_95 * std[1]),
            nonlinear=c.prediction.nonlinear,
        )


def motion_condition(setting: MotionSetting, kicks: int, seed: int) -> Condition:
    """Make the run of a setting with its kicks."""
    bicycle = catalogue.load_bicycle(setting.bicycle)
    controller = NamedController(setting.controller, setting.controller)
    bench = PlanInputs((bicycle,), (controller,), Emulation(model=setting.model), seed=(seed,))
    times = [FIRST_KICK + i * KICK_SPACING for i in range(kicks)]
    length = RELEASE_DELAY + FIRST_KICK + kicks * KICK_SPACING
    half = 0.5 * setting.ramp * length
    profile = [(0.0, setting.v - half), (length, setting.v + half)] if setting.ramp else [(0.0, setting.v)]
    speeds = [v for _, v in profile]
    chance = bench.chance(*f"{setting.lean_rate:g} {setting.ramp:g} {setting.bicycle}".encode())
    return Condition(
        bicycle=bicycle,
        method=setting.controller,
        v=setting.v,
        schedule=bench.schedule(bicycle, controller, speeds),
        scenario=bench.scenario(bicycle, profile, times, chance, setting.lean_rate),
        emulation=bench.emulation,
        controller=setting.controller,
        length=length,
    )


def ask_motions(work: tuple[MotionSetting, int, int]) -> list[MotionAnswer]:
    """Answer for all windows of a run; work is (setting, kicks, seed)."""
    found = analyze_responses([condition_response(motion_condition(*work))])
    return [MotionAnswer.of(one) for one in found.comparisons]


def motion_tables(
    kicks: int, seed: int, jobs: int | None = 1, on_progress: Callable[[int, int], None] = lambda done, total: None
) -> dict[str, str]:
    """Make both tables of the study, by name.

    Parameters
    ----------
    kicks : int
        Of each loop, on each size and each ramp, three a run.
    seed : int
    jobs : int or None
        Processes, see `riderless.experiments.campaigns.sweeps.spread`.
    on_progress : callable
        Told how many runs are done, of how many.
    """
    runs = -(-kicks // 3)
    work = [
        (MotionSetting(*loop, size), 3, seed + i) for size in KICK_SIZES for loop in MOTION_LOOPS for i in range(runs)
    ]
    ramped = [
        (MotionSetting(*loop, RAMP_KICK, ramp), 3, seed + i)
        for ramp in RAMPS
        for loop in MOTION_LOOPS
        for i in range(runs)
    ]
    answers: dict[int, list[MotionAnswer]] = {}
    for i, found in spread(ask_motions, [*work, *ramped], jobs):
        answers[i] = found
        on_progress(len(answers), len(work) + len(ramped))
    by_size = [
        [
            f"{size:g}",
            *motion_cells([a for i, (one, *_) in enumerate(work) if one.lean_rate == size for a in answers[i]]),
        ]
        for size in KICK_SIZES
    ]
    by_ramp = [
        [
            f"{ramp:g}",
            *motion_cells([a for i, (one, *_) in enumerate(ramped, len(work)) if one.ramp == ramp for a in answers[i]]),
        ]
        for ramp in RAMPS
    ]
    columns = ["windows", "nonlinear", "like for like", "frozen, by the fit", "frozen, corrected"]
    return {
        "kick sizes": markdown_table(["kick rad/s", *columns], by_size),
        "ramps": markdown_table(["ramp m/s^2", *columns], by_ramp),
    }


def motion_cells(found: Sequence[MotionAnswer]) -> list[str]:
    """Format number of windows, share through the nonlinear bicycle, and shares that held, in per cent."""
    if not found:
        return ["0", "-", "-", "-", "-"]

    def share(held: Sequence[tuple[bool, bool]]) -> str:
        re, im = 100.0 * np.mean(np.array(held), axis=0)
        return f"{re:.0f} / {im:.0f}"

    bent: NDArray[np.bool_] = np.array([a.nonlinear for a in found])
    return [
        str(len(found)),
        f"{100.0 * bent.mean():.0f} %",
        share([a.like for a in found]),
        share([a.frozen for a in found]),
        share([a.corrected for a in found]),
    ]
