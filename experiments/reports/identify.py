"""Identification of parameters from recordings.

Of bicycle and machine, from all windows of files, folders or memory.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from riderless.experiments.analysis.identification.forced_windows import (
    forced_windows,
    kicked_windows,
    require_known_input,
)
from riderless.experiments.analysis.identification.identify import Identification, identify, possible_bounds
from riderless.experiments.analysis.identification.large_motion import with_large_motion
from riderless.experiments.analysis.identification.misfit import MOST_USUAL, Misfit, misfit_of
from riderless.experiments.analysis.identification.output_error import AveragedWindow
from riderless.experiments.analysis.identification.profile_likelihood import REACH, Profile, profiles
from riderless.experiments.analysis.windows.find import find_windows
from riderless.experiments.analysis.windows.grouping import with_unknown_resistance
from riderless.experiments.datatypes import Response, Segment
from riderless.experiments.dynamics import UNCERTAIN_QUANTITIES, unit_of
from riderless.experiments.recordings.read import find_recordings, is_run, read_recording, refuse_unused, with_left_out
from riderless.experiments.recordings.run_response import response_of_run
from riderless.experiments.reports.analysis_text import remark_blocks, remarks_json
from riderless.experiments.reports.text import Sentence, TextBlock, TextTable, number_text, plain_text
from riderless.hil.logs.log import Run
from riderless.models.errors import InputError
from riderless.models.linear.perturbed import ENTRIES
from riderless.models.parameters import PARAMETERS

_logger = logging.getLogger("riderless.experiments")
HELD_SHOWN = 3  # quantities that were not freed, for each that was
PRIORS = ("own", "usual", "none")


@dataclass(frozen=True)
class IdentificationResult:
    """Parameters found, the bicycle whose they are, and the recordings that they are from."""

    found: Identification
    bicycle: str
    misfit: Misfit
    profiles: tuple[Profile, ...] = ()
    responses: tuple[Response, ...] = field(default=(), repr=False)

    def blocks(self) -> Iterator[TextBlock]:
        """Table of values with their deviations, and what cannot be told apart."""
        fit = self.found
        yield from remark_blocks(self.responses)
        if self.misfit.unexplained:
            yield Sentence(
                f"this model cannot explain these windows: it leaves {self.misfit.ratio:.0f} times the noise of the "
                f"readings, as if all that is held were {self.misfit.factor:.1f} times as far off as usual; the values "
                "below are those of a wrong model",
                strong=True,
            )
        yield TextTable(
            f"Identified from {fit.windows} window{'s' * (fit.windows != 1)}, {self.bicycle}",
            ["quantity", "unit", "nominal", "found", "std", "moved, in std"],
            [
                [
                    name,
                    unit_of(name),
                    f"{nominal:.5g}",
                    f"{value:.5g}",
                    f"{std:.2g}",
                    number_text((value - nominal) / std if std > 0 else float("nan"), 1),
                ]
                for name, nominal, value, std in zip(fit.names, fit.nominal, fit.values, fit.std, strict=True)
            ],
            "std: from the scatter between windows"
            if fit.cluster_robust
            else "std: from the coloured residual of each window; of more windows the scatter between them would count",
        )
        if 0.0 < self.misfit.factor <= MOST_USUAL:
            yield Sentence(
                f"std also counts what noise does not explain: {self.misfit.ratio:.1f} times the noise of the readings "
                f"is left, as if all that is held were {self.misfit.factor:.1f} times as far off as usual"
            )
        for name in fit.at_bounds:
            i = fit.names.index(name)
            yield Sentence(
                f"{name} has reached {fit.values[i]:.4g}, the end of what is possible or plausible "
                f"({fit.bounds[i, 0]:.3g} to {fit.bounds[i, 1]:.3g}): its std says nothing"
            )
        for parameter, other, correlation in fit.confounded():
            yield Sentence(f"these data hardly tell {parameter} from {other}: correlation {correlation:+.3f}")
        if "rolling_axis" in fit.names:
            yield Sentence(
                "rolling_axis cannot be told from the twisting torque of the tyres: both turn the wheels about the "
                "vertical"
            )
        by_noise = np.sqrt(np.diag(fit.covariance - self.misfit.covariance))
        for i, name in enumerate(fit.names):
            moved = sorted(((by[i], held) for held, by in self.misfit.shifts.items()), key=lambda shift: -abs(shift[0]))
            shifts = [f"{held} by {by:+.2g}" for by, held in moved[:HELD_SHOWN] if abs(by) > by_noise[i]]
            if shifts:
                yield Sentence(
                    f"{name} depends on what is held: a usual deviation of these moves it, {', '.join(shifts)}"
                )
        yield Sentence(f"weighed sum of squares: {fit.cost_before:.0f} as theory has it, {fit.cost:.0f} so")
        if not fit.ok:
            yield Sentence(fit.status)
        if self.profiles:
            yield TextTable(
                "95 % intervals by profile likelihood, the others fitted anew",
                ["quantity", "unit", "best", "interval"],
                [
                    [profile.name, unit_of(profile.name), f"{profile.best:.5g}", profile.words]
                    for profile in self.profiles
                ],
                f"an open side was followed for {REACH:.0f} standard deviations, or to the end of what can be",
            )

    def table(self) -> str:
        """Plain text of what `riderless identify` prints."""
        return plain_text(self.blocks())

    def as_json(self) -> dict[str, Any]:
        """Document that `riderless identify --json` prints; SI."""
        fit = self.found
        return {
            "windows": fit.windows,
            "ok": fit.ok,
            "status": fit.status,
            "quantities": {
                name: {"nominal": nominal, "value": value, "std": std, "prior": prior}
                for name, nominal, value, std, prior in zip(
                    fit.names, fit.nominal, fit.values, fit.std, fit.prior, strict=True
                )
            },
            "correlation": fit.correlation,
            "confounded": fit.confounded(),
            "cost": fit.cost,
            "cost_before": fit.cost_before,
            "std_from_scatter_between_windows": fit.cluster_robust,
            "bounds": {name: bound.tolist() for name, bound in zip(fit.names, fit.bounds, strict=True)},
            "at_bounds": fit.at_bounds,
            "misfit": {
                "per_noise": self.misfit.ratio,
                "per_usual_deviation": self.misfit.factor,
                "explained": not self.misfit.unexplained,
                "moved_by_held": self.misfit.shifts,
            },
            "profiles": {
                profile.name: {
                    "low": profile.low,
                    "high": profile.high,
                    "words": profile.words,
                    "values": profile.values,
                    "root": profile.root,
                    "others": profile.others,
                }
                for profile in self.profiles
            },
            "remarks": remarks_json(self.responses),
        }


def identify_parameters(
    sources: str | Path | Run | Response | Sequence[str | Path | Run | Response],
    free: str | Sequence[str],
    *,
    prior: str = "own",
    mapping: str | Path = "",
    bicycle: str = "",
    trust: bool = False,
    profile: bool = False,
    jobs: int = 1,
    on_progress: Callable[[int, int, str], None] = lambda done, total, name: None,
) -> IdentificationResult:
    """Find the values with which theory's motion comes closest to lean rate, steer and yaw rate of all windows.

    Parameters
    ----------
    sources : Run, Response, path, or a sequence of these
        As `riderless.experiments.reports.analyze.analyze` takes them; of one bicycle.
    free : str or sequence of str
        Quantity or quantities to identify: parameters of the bicycle, entries of its matrices, drive_gain, ...
    prior : str
        What is known before: own (measured deviations), usual (for quantities without), or none.
    mapping : str or Path
        Mapping file of other people's files.
    bicycle : str
        Bicycle of files that name none.
    trust : bool
        Units, signs and bicycles that are unlike any other are taken as they are.
    profile : bool
        With the profile likelihood of each quantity.
    jobs : int
        Processes for the profiles.
    on_progress : callable
        Told how many quantities have been profiled, of how many, and the last one's name.

    Raises
    ------
    InputError
        No quantity, an unknown one, one that is named twice or that the windows tell nothing of, no window, or
        recordings that are not understood.
    """
    names = [name.strip() for name in ([free] if isinstance(free, str) else free) if name.strip()]
    if not names:
        raise InputError(
            "wanted quantities to identify, as --free drive_gain,steer_damping: "
            f"there are {', '.join(UNCERTAIN_QUANTITIES)}; "
            f"the parameters {', '.join(PARAMETERS)}; and the entries {', '.join(ENTRIES)}"
        )
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice:
        raise InputError(f"wanted each quantity once, found {twice} {names.count(twice)} times: name it once")
    if prior not in PRIORS:
        raise InputError(f"wanted a prior among {', '.join(PRIORS)}, found '{prior}'")
    if jobs < 1:
        raise InputError(f"wanted at least one process for the profiles, found --jobs {jobs}")
    responses = _responses(sources, mapping, bicycle, trust)
    pieces = averaged_windows(responses)
    if not pieces:
        raise InputError("no window was found in these recordings: `riderless analyze` says why")
    theory = pieces[0].theory
    known = theory.uncertain if prior != "none" else {}
    if prior == "usual":
        known = {name: theory.usual(name) for name in names}
    fit = identify(pieces, names, known, bounds=possible_bounds(theory, names), large_motion=True)
    if not fit.ok:
        _logger.warning("identification of %s: %s", ", ".join(names), fit.status)
    pieces = [with_large_motion(piece, fit.changes, start) for piece, start in zip(pieces, fit.starts, strict=True)]
    misfit = misfit_of(pieces, fit)
    fit = replace(fit, covariance=fit.covariance + misfit.covariance)
    likelihood = profiles(pieces, fit, jobs=jobs, on_progress=on_progress) if profile else ()
    return IdentificationResult(fit, theory.bicycle.name, misfit, tuple(likelihood), tuple(responses))


def averaged_windows(responses: Sequence[Response]) -> list[AveragedWindow]:
    """Cut all that recordings tell: windows of free motion, and parts forced by a known torque."""
    pieces: list[AveragedWindow] = []
    for response in responses:
        kicked = kicked_windows(response)
        if not kicked:
            windows = find_windows(response)[0]
            falling = with_unknown_resistance(response, windows)
            pieces += [AveragedWindow.of(Segment(falling, window)) for window in windows]
        forced = forced_windows(response)
        require_known_input(response, forced)
        pieces += kicked + forced
    known = next((piece.theory.resistance for piece in pieces if piece.theory.resistance), None)
    return [
        replace(piece, theory=replace(piece.theory, resistance=piece.theory.resistance or known)) if known else piece
        for piece in pieces
    ]


def _responses(
    sources: str | Path | Run | Response | Sequence[str | Path | Run | Response],
    mapping: str | Path,
    bicycle: str,
    trust: bool,
) -> list[Response]:
    """Read what is not in memory.

    Parameters
    ----------
    sources, mapping, bicycle, trust
        As `identify_parameters` takes them.
    """
    given = [sources] if isinstance(sources, str | Path | Run | Response) else list(sources)
    responses: list[Response] = []
    foreign = 0
    for source in given:
        if isinstance(source, Response):
            responses.append(source)
        elif isinstance(source, Run):
            responses.append(response_of_run(source))
        else:
            recordings = find_recordings([Path(source)])
            read = [read_recording(path, mapping, "", bicycle, trust) for path in recordings]
            responses += with_left_out(read, Path(source))
            foreign += sum(not is_run(path) for path in recordings)
    refuse_unused(foreign, mapping=mapping, bicycle=bicycle)
    return responses
