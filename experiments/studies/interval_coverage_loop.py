"""Do the intervals of the joint fit and of identification hold the truth where a controller drives the bicycle?

A bicycle that is kicked again and again under a controller, in simulated time: the whole loop, real bytes, windows as
the rules cut them. The noise of its instruments becomes torque, and torque motion. The truth is what the emulated
machine was made with: the eigenvalue at the belt's speed, and the quantities as theory has them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from experiments.analysis.identification import identify
from experiments.analysis.joint_fit import fit_cuts
from experiments.analysis.output_error import Segment
from experiments.analysis.windows import find_windows
from experiments.campaigns.protocols.plan_inputs import NamedController, PlanInputs
from experiments.campaigns.protocols.treadmill import Settings, plan
from experiments.campaigns.sweeps import spread
from experiments.datatypes import Array, Response
from experiments.recordings.runs import read_recording
from experiments.studies.interval_coverage import Clock, no_clock
from experiments.studies.interval_coverage_page import table
from experiments.theory.modes import kicked_mode
from experiments.theory.theory import dynamics_for, theory_for
from hil.runners.emulation import Emulation
from hil.runners.simulated_run import run_lockstep
from models import catalogue

LOOPS = {  # bicycle -> controller and speeds [m/s]
    "DelftSbW2024": ("lean", (2.5, 3.5, 5.0)),
    "Benchmark": ("lqr", (3.8, 5.0, 7.0)),
}
NOISES = (1.0, 3.0)  # times the emulated instruments': 0.003 rad/s of a gyro, 0.03 m/s^2, 0.02 rad/s of a wheel
WIDE = {"drive_gain": 0.5, "more_delay": 0.05, "fork_inertia": 0.5}  # priors that say next to nothing
HALF = float(ndtri(0.975))  # of a 95 % interval, in standard deviations
KICKS = 2  # of each run of a campaign to identify from


@dataclass(frozen=True)
class Cell:
    """A loop at a speed, and how noisy its instruments are."""

    bicycle: str
    v: float  # m/s
    noise: float  # times the usual


@dataclass(frozen=True)
class Held:
    """What was found in one window or one campaign, beside the truth."""

    ok: bool
    error: Array  # (k,) found minus true
    std: Array  # (k,) as stated
    ms: float  # that it took, by the clock that was given

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Did each 95 % interval hold the truth? (k,)"""
        return np.asarray(np.abs(self.error) <= HALF * self.std)


def cells(loops: Mapping[str, tuple[str, Sequence[float]]] = LOOPS, noises: Sequence[float] = NOISES) -> list[Cell]:
    """The grid."""
    return [Cell(name, v, noise) for name, (_, speeds) in loops.items() for v in speeds for noise in noises]


def rides(cell: Cell, kicks: int, seed: int, speeds: Sequence[float] = ()) -> Iterator[Response]:
    """Emulated runs of a cell, or of its loop at several speeds, each with so many kicks."""
    method = LOOPS[cell.bicycle][0]
    bench = PlanInputs(
        (catalogue.load_bicycle(cell.bicycle),),
        (NamedController(method, method),),
        Emulation(noise=cell.noise),
        seed=(seed, *repr(cell).encode()),
    )
    for c in plan(Settings(kind="treadmill", speeds_m_s=tuple(speeds or (cell.v,)), kicks=kicks), bench):
        with TemporaryDirectory() as root:
            folder = Path(root) / "run"
            run_lockstep(folder, c.rig, c.schedule, c.scenario, c.duration, c.label, None, c.emulation)
            yield read_recording(folder)


def joint(work: tuple[Cell, int, int], clock: Clock = no_clock) -> list[Held]:
    """re and im by the joint fit in all windows of a run; work is (cell, kicks, seed)."""
    cell, kicks, seed = work
    found = []
    for response in rides(cell, kicks, seed):
        truth = kicked_mode(dynamics_for(response), cell.v)
        for window in find_windows(response)[0]:
            begin = clock()
            fit = fit_cuts(response, window)
            ms = 1e3 * (clock() - begin)
            error = np.array([fit.re - truth.real, fit.im - truth.imag])
            found.append(Held(fit.ok, error, np.sqrt(np.diag(fit.covariance)), ms))
    return found


def identified(work: tuple[Cell, int], clock: Clock = no_clock) -> Held:
    """The quantities of `WIDE` from a short campaign, one run at each speed of the loop; work is (cell, seed)."""
    cell, seed = work
    responses = list(rides(cell, KICKS, seed, LOOPS[cell.bicycle][1]))
    pieces = [Segment.of(response, window) for response in responses for window in find_windows(response)[0]]
    theory = theory_for(responses[0])
    begin = clock()
    found = identify(pieces, tuple(WIDE), WIDE)
    return Held(found.ok, found.values - [theory.nominal(name) for name in WIDE], found.std, 1e3 * (clock() - begin))


def row(found: Sequence[Held]) -> list[str]:
    """n, refused, spread, stated and held of a cell, and the middle time."""
    good = [one for one in found if one.ok]
    error, std = np.array([one.error for one in good]), np.array([one.std for one in good])
    held = np.mean([one.inside for one in good], axis=0)
    return [
        str(len(found)),
        f"{len(found) - len(good)}",
        _several(np.median(np.abs(error), axis=0) / 0.6745, ".2g"),
        _several(np.median(std, axis=0), ".2g"),
        _several(100.0 * held, ".0f"),
        f"{np.median([one.ms for one in found]):.0f}",
    ]


def _several(values: Array, form: str) -> str:
    return " / ".join(f"{value:{form}}" for value in values)


def tables(kicks: int, campaigns: int, seed: int, jobs: int | None = 1, clock: Clock = no_clock) -> dict[str, str]:
    """Both tables of the study, by the name of their marks."""
    grid = cells()
    windows = spread(partial(joint, clock=clock), [(cell, kicks, seed) for cell in grid], jobs)
    by_cell = [found for _, found in sorted(windows)]
    columns = ["refused", "spread", "stated", "held, %", "ms"]
    joints = [
        [f"{cell.bicycle} {LOOPS[cell.bicycle][0]}", f"{cell.v:g}", f"{cell.noise:g}", *row(found)]
        for cell, found in zip(grid, by_cell, strict=True)
    ]
    whole = [one for found in by_cell for one in found]
    joints.append(["all", "", "", *row(whole)])
    sets = [Cell(name, 0.0, noise) for name in LOOPS for noise in NOISES]
    work = [(one, seed + k) for one in sets for k in range(campaigns)]
    answers = [one for _, one in sorted(spread(partial(identified, clock=clock), work, jobs), key=lambda pair: pair[0])]
    identifications = [
        [f"{one.bicycle} {LOOPS[one.bicycle][0]}", f"{one.noise:g}", *row(answers[i * campaigns : (i + 1) * campaigns])]
        for i, one in enumerate(sets)
    ]
    return {
        "closed loop": table(["loop", "m/s", "noise", "windows", *columns], joints),
        "identified": table(["loop", "noise", "campaigns", *columns], identifications),
    }
