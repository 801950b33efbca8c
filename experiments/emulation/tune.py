"""New gains from a log: identify, design for the machine that was found, and judge old and new gains on it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from riderless.experiments.emulation.hand import FIRST_KICK, KICK_SPACING, kicks_in_turn
from riderless.experiments.recordings.read import find_recordings, is_run, read_named_run
from riderless.experiments.reports.identify import IdentificationResult, identify_parameters
from riderless.experiments.theory.run_theory import loop_theory
from riderless.hil.controllers.controller import Controller
from riderless.hil.design.closed_loop import MEASURED_CHANNELS, SampledLoop
from riderless.hil.design.margins import Margins
from riderless.hil.design.methods import METHODS, design
from riderless.hil.design.sampled_plant import T_DRIVE, U_PREV
from riderless.hil.design.schedule import GainSchedule
from riderless.hil.design.whole_margins import whole_margins
from riderless.hil.logs.header import RunHeader
from riderless.hil.loop.states import State
from riderless.hil.rig.rig import Rig
from riderless.hil.runners.simulated_run import simulate
from riderless.models.array_types import Array
from riderless.models.errors import InputError
from riderless.models.parameters import PARAMETERS, Bicycle

_DRAWS = 200
_REHEARSALS, _KICKS = 3, 2  # rides, kicks in each
_GAIN = "drive_gain"


@dataclass(frozen=True)
class TunedSpeed:
    """Loop of the machine that was found at the speed ``v`` [m/s], under the old gains and the new ones.

    Attributes
    ----------
    growth : (2,)
        Largest real part of an eigenvalue [1/s].
    margins : (2,) Margins
    """

    v: float
    growth: tuple[float, float]
    margins: tuple[Margins, Margins]


@dataclass(frozen=True)
class Rehearsal:
    """Ride of the machine that was found, by the nonlinear equations, kicked twice by hand at ``v`` [m/s]."""

    v: float
    upright: bool
    lean: float  # rad, the largest


@dataclass(frozen=True)
class Tuning:
    """New gains, and what speaks for them.

    Attributes
    ----------
    identified : IdentificationResult
    bicycle : Bicycle
        As found, with what remains uncertain.
    gains : GainSchedule
    speeds : tuple of TunedSpeed
    drawn, stable : int
        Machines drawn with what remains uncertain; of these, those stable at each speed under the new gains.
    rehearsals : tuple of Rehearsal
    """

    identified: IdentificationResult
    bicycle: Bicycle
    gains: GainSchedule
    speeds: tuple[TunedSpeed, ...]
    drawn: int
    stable: int
    rehearsals: tuple[Rehearsal, ...]

    @property
    def safe(self) -> bool:
        """Stable at each speed, and upright in each rehearsal."""
        return all(row.growth[1] < 0.0 for row in self.speeds) and all(ride.upright for ride in self.rehearsals)


def tune(
    paths: str | Path | Sequence[str | Path],
    free: str | Sequence[str] = _GAIN,
    *,
    method: str = "",
    speeds: Sequence[float] = (),
    prior: str = "own",
    tell: Callable[[str], None] = lambda text: None,
) -> Tuning:
    """Identify a machine in its runs and design gains for what was found.

    A gain of the drive divides the gains on angles and rates; parameters of the bicycle change the design. What else
    is identified counts in the judgement alone.

    Parameters
    ----------
    paths : path or sequence of these
        Run folders, or folders of runs, of one rig and bicycle.
    free : str or sequence of str
        Quantities to identify, as `identify_parameters` takes them.
    method : str
        Of `riderless.hil.design.methods.METHODS`; by default that of the first run under control, with its options.
    speeds : sequence of float
        [m/s]; by default those of that run's gains.
    prior : str
        As of `identify_parameters`.
    tell : callable
        Called with what is being done.

    Raises
    ------
    InputError
        No run of ours, runs of two machines, a method that gives no gains, or what `identify_parameters` refuses.
    """
    header = _flown(paths)
    old, rig = header.schedule, header.rig
    if isinstance(old, GainSchedule):
        method, options = method or old.method, old.options if method in ("", old.method) else {}
    else:
        options = {}
    if method not in METHODS:
        raise InputError(f"wanted a method that gives gains, {', '.join(METHODS)}, found '{method}': name one")
    tell("identifying")
    identified = identify_parameters(paths, free, prior=prior)
    fit = identified.found
    values: dict[str, Any] = {name: value for name, value in fit.changes.items() if name in PARAMETERS}
    deviations = {name: float(std) for name, std in zip(fit.names, fit.std, strict=True) if name in values}
    bicycle = replace(rig.bicycle, **values, std={**rig.bicycle.std, **deviations})
    tell("designing")
    gain = fit.changes.get(_GAIN, rig.losses.gain)
    made = design(bicycle, method, tuple(speeds) or tuple(old.v), rig.timing, drive=rig.drive, **options)
    new = _for_drive_gain(made, gain) if rig.drive is None else made
    tell("judging")
    found = replace(rig, bicycle=bicycle, losses=replace(rig.losses, gain=gain) if rig.drive is None else rig.losses)
    rows = tuple(_judged(found, old, new, fit.changes, float(v)) for v in new.v)
    stable = _stable_draws(found, new, identified)
    tell("rehearsing")
    some = new.v[np.unique(np.linspace(0, len(new.v) - 1, _REHEARSALS).round().astype(int))]
    rides = tuple(_rehearse(found, new, float(v)) for v in some)
    return Tuning(identified, bicycle, new, rows, _DRAWS, stable, rides)


def _flown(paths: str | Path | Sequence[str | Path]) -> RunHeader:
    """Header of the first run under control; raises InputError where there is none, or runs are of two machines."""
    for path in map(Path, [paths] if isinstance(paths, str | Path) else paths):
        if not path.exists():
            raise InputError(f"there is nothing at {path}: give run folders, or folders of runs")
    folders = [path for path in find_recordings(paths) if is_run(path)]
    headers = [read_named_run(folder).header for folder in folders]
    if not headers:
        raise InputError("new gains want runs of ours, with the gains that were flown, found none: give run folders")
    first = next((header for header in headers if not header.schedule.is_off), headers[0])
    for folder, header in zip(folders, headers, strict=True):
        if header.rig.bicycle != first.rig.bicycle or header.rig.timing != first.rig.timing:
            raise InputError(f"wanted runs of one machine, found another one in {folder}: tune each by itself")
    return first


def _for_drive_gain(made: GainSchedule, gain: float) -> GainSchedule:
    """Gains for a drive that makes ``gain`` times the torque commanded: the loop is that of the design.

    Torque and command are in units of the command, so gains on them stay; those on the motion are divided.
    """
    K = made.K.copy()
    motion = [i for i in range(K.shape[1]) if i not in (T_DRIVE, U_PREV)]
    K[:, motion] /= gain
    note = f"for a drive that makes {gain:.3g} of the torque commanded"
    notes = made.notes if gain == 1.0 else tuple(f"{old}; {note}" if old else note for old in made.notes)
    return replace(made, K=K, notes=notes)


def _loop(rig: Rig, controller: Controller, changes: dict[str, float]) -> SampledLoop:
    """Sampled loop of a rig whose machine has some quantities changed, SI."""
    theory = loop_theory(rig, controller, controller.method, np.zeros(len(MEASURED_CHANNELS)))
    variant, more_delay = theory.variant(changes)
    return SampledLoop.of_rig(rig, controller, real=variant, more_delay=more_delay)


def _judged(rig: Rig, old: Controller, new: Controller, changes: dict[str, float], v: float) -> TunedSpeed:
    loops = [_loop(rig, controller, changes) for controller in (old, new)]
    growth = [float(loop.eigenvalues(v).real.max()) for loop in loops]
    return TunedSpeed(v, (growth[0], growth[1]), (whole_margins(loops[0], v), whole_margins(loops[1], v)))


def _stable_draws(rig: Rig, new: GainSchedule, identified: IdentificationResult) -> int:
    """Count machines, drawn with what the identification left uncertain, that are stable at each speed."""
    fit, rng = identified.found, np.random.default_rng(1)
    drawn = rng.multivariate_normal(fit.values, fit.covariance, _DRAWS, method="eigh")
    kept = np.clip(drawn, fit.bounds[:, 0], fit.bounds[:, 1])

    def is_stable(values: Array) -> bool:
        loop = _loop(rig, new, dict(zip(fit.names, values.tolist(), strict=True)))
        return all(np.abs(np.linalg.eigvals(loop.matrix(float(v)))).max() < 1.0 for v in new.v)

    return sum(map(is_stable, kept))


def _rehearse(rig: Rig, new: GainSchedule, v: float) -> Rehearsal:
    """Ride it in simulation, kicked as by hand to either side."""
    kicks = kicks_in_turn(rig.bicycle, FIRST_KICK + KICK_SPACING * np.arange(_KICKS), np.random.default_rng(1))
    run = simulate(
        rig.bicycle,
        new,
        speed=v,
        kicks=kicks,
        duration=FIRST_KICK + KICK_SPACING * _KICKS,
        rig=rig,
        allow_mismatch=True,
    )
    running = run.ticks[run.ticks["state"] == State.RUNNING]
    return Rehearsal(v, run.stop.reason == "success", float(np.abs(running["phi_est"]).max(initial=0.0)))
