"""Do the intervals of the joint fit and of identification hold the truth where a controller drives the bicycle?

A bicycle that is kicked again and again under a controller, in simulated time: the whole loop, real bytes, windows as
the rules cut them. The noise of its instruments becomes torque, and torque motion. The truth is what the emulated
machine was made with: the eigenvalue at the belt's speed, and the quantities as theory has them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from riderless.experiments.analysis.identification.four_state import fit_cuts
from riderless.experiments.analysis.identification.identify import identify
from riderless.experiments.analysis.identification.output_error import AveragedWindow
from riderless.experiments.analysis.windows.find import find_windows
from riderless.experiments.campaigns.protocols.plan_inputs import NamedController, PlanInputs
from riderless.experiments.campaigns.protocols.treadmill import Settings, plan
from riderless.experiments.campaigns.run import condition_response
from riderless.experiments.campaigns.sweeps import spread
from riderless.experiments.datatypes import Response, Segment
from riderless.experiments.fault_injection.summary_table import markdown_table
from riderless.experiments.theory.modes import kicked_mode
from riderless.hil.runners.emulation import Emulation
from riderless.models import catalogue
from riderless.models.array_types import Array
from riderless.models.noise_statistics import STDS_95, robust_deviation
from tests.studies.interval_coverage import Clock, no_clock

STUDY_LOOPS = {  # bicycle -> controller and speeds [m/s]
    "DelftSbW2024": ("lean", (2.5, 3.5, 5.0)),
    "Benchmark": ("lqr", (3.8, 5.0, 7.0)),
}
NOISE_FACTORS = (1.0, 3.0)  # times the emulated instruments': 0.003 rad/s of a gyro, 0.03 m/s^2, 0.02 rad/s of a wheel
WIDE_PRIORS = {"drive_gain": 0.5, "more_delay": 0.05, "fork_inertia": 0.5}  # priors that say next to nothing
IDENTIFICATION_KICKS = 2  # of each run of a campaign to identify from


@dataclass(frozen=True)
class LoopSetting:
    """Bicycle and speed of a loop, and how noisy its instruments are."""

    bicycle: str
    v: float  # m/s
    noise: float  # times the usual

    @property
    def draw_key(self) -> str:
        """Text that seeds the draws; the published tables rest on these very words."""
        return f"Cell(bicycle={self.bicycle!r}, v={self.v!r}, noise={self.noise!r})"


@dataclass(frozen=True)
class LoopAnswer:
    """Error and stated uncertainty in one window or one campaign."""

    ok: bool
    error: Array  # (k,) found minus true
    std: Array  # (k,) as stated
    ms: float  # that it took, by the clock that was given

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Did each 95 % interval hold the truth? Shape (k,)."""
        return np.asarray(np.abs(self.error) <= STDS_95 * self.std)


def loop_settings() -> list[LoopSetting]:
    """Make the grid of bicycles, speeds and noises."""
    return [
        LoopSetting(name, v, noise)
        for name, (_, speeds) in STUDY_LOOPS.items()
        for v in speeds
        for noise in NOISE_FACTORS
    ]


def emulated_responses(cell: LoopSetting, kicks: int, seed: int, speeds: Sequence[float] = ()) -> Iterator[Response]:
    """Run a loop in simulated time; yields the recordings.

    Parameters
    ----------
    cell : LoopSetting
    kicks : int
        In each run.
    seed : int
    speeds : sequence of float
        Several speeds [m/s], one run each; the cell's by default.
    """
    method = STUDY_LOOPS[cell.bicycle][0]
    bench = PlanInputs(
        (catalogue.load_bicycle(cell.bicycle),),
        (NamedController(method, method),),
        Emulation(noise=cell.noise),
        seed=(seed, *cell.draw_key.encode()),
    )
    settings = Settings(kind="treadmill", speeds_m_s=tuple(speeds or (cell.v,)), kicks=kicks)
    yield from map(condition_response, plan(settings, bench))


def ask_joint_fit(work: tuple[LoopSetting, int, int], clock: Clock = no_clock) -> list[LoopAnswer]:
    """Fit re and im jointly in all windows of a run; work is (cell, kicks, seed)."""
    cell, kicks, seed = work
    found = []
    for response in emulated_responses(cell, kicks, seed):
        truth = kicked_mode(response.own_theory.dynamics(), cell.v)
        for window in find_windows(response)[0]:
            begin = clock()
            fit = fit_cuts(Segment(response, window))
            ms = 1e3 * (clock() - begin)
            error = np.array([fit.re - truth.real, fit.im - truth.imag])
            found.append(LoopAnswer(fit.ok, error, np.sqrt(np.diag(fit.covariance)), ms))
    return found


def ask_identification(work: tuple[LoopSetting, int], clock: Clock = no_clock) -> LoopAnswer:
    """Identify the quantities of `WIDE_PRIORS` from a short campaign, one run at each speed; work is (cell, seed)."""
    cell, seed = work
    responses = list(emulated_responses(cell, IDENTIFICATION_KICKS, seed, STUDY_LOOPS[cell.bicycle][1]))
    pieces = [
        AveragedWindow.of(Segment(response, window)) for response in responses for window in find_windows(response)[0]
    ]
    theory = responses[0].own_theory
    begin = clock()
    found = identify(pieces, tuple(WIDE_PRIORS), WIDE_PRIORS)
    return LoopAnswer(
        found.ok, found.values - [theory.nominal(name) for name in WIDE_PRIORS], found.std, 1e3 * (clock() - begin)
    )


def coverage_cells(found: Sequence[LoopAnswer]) -> list[str]:
    """Format number, refused, spread, stated and held of a cell, and the median time [ms]."""
    good = [one for one in found if one.ok]
    error, std = np.array([one.error for one in good]), np.array([one.std for one in good])
    held = np.mean([one.inside for one in good], axis=0)
    return [
        str(len(found)),
        f"{len(found) - len(good)}",
        _several(robust_deviation(error), ".2g"),
        _several(np.median(std, axis=0), ".2g"),
        _several(100.0 * held, ".0f"),
        f"{np.median([one.ms for one in found]):.0f}",
    ]


def _several(values: Array, form: str) -> str:
    return " / ".join(f"{value:{form}}" for value in values)


def loop_coverage_tables(
    kicks: int, campaigns: int, seed: int, jobs: int | None = 1, clock: Clock = no_clock
) -> dict[str, str]:
    """Make both tables of the study, by name.

    Parameters
    ----------
    kicks : int
        In each run of the joint fits.
    campaigns : int
        To identify from, of each loop and noise.
    seed : int
    jobs : int or None
        Processes, see `riderless.experiments.campaigns.sweeps.spread`.
    clock : callable
        Gives the time [s], to measure what a fit takes.
    """
    grid = loop_settings()
    windows = spread(partial(ask_joint_fit, clock=clock), [(cell, kicks, seed) for cell in grid], jobs)
    by_cell = [found for _, found in sorted(windows)]
    columns = ["refused", "spread", "stated", "held, %", "ms"]
    joints = [
        [f"{cell.bicycle} {STUDY_LOOPS[cell.bicycle][0]}", f"{cell.v:g}", f"{cell.noise:g}", *coverage_cells(found)]
        for cell, found in zip(grid, by_cell, strict=True)
    ]
    whole = [one for found in by_cell for one in found]
    joints.append(["all", "", "", *coverage_cells(whole)])
    sets = [LoopSetting(name, 0.0, noise) for name in STUDY_LOOPS for noise in NOISE_FACTORS]
    work = [(one, seed + k) for one in sets for k in range(campaigns)]
    answers = [
        one for _, one in sorted(spread(partial(ask_identification, clock=clock), work, jobs), key=lambda pair: pair[0])
    ]
    identifications = [
        [
            f"{one.bicycle} {STUDY_LOOPS[one.bicycle][0]}",
            f"{one.noise:g}",
            *coverage_cells(answers[i * campaigns : (i + 1) * campaigns]),
        ]
        for i, one in enumerate(sets)
    ]
    return {
        "closed loop": markdown_table(["loop", "m/s", "noise", "windows", *columns], joints),
        "identified": markdown_table(["loop", "noise", "campaigns", *columns], identifications),
    }
