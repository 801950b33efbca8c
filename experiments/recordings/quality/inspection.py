"""Inspection of a recording before its analysis.

Its flaws are named, its units and signs checked.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from riderless.experiments.datatypes import Response
from riderless.experiments.recordings.quality import artefacts, unit_checks
from riderless.experiments.recordings.quality.checked import MIN_RECORDING_ROWS, Recorded
from riderless.experiments.recordings.torque_law import go_by_logged_torque
from riderless.models.array_types import Array, is_even, true_spans
from riderless.models.errors import InputError

# Lean angles that leave their own rate, and steer that never moves: faults of filters and encoders, not of motion.
#
# A lean angle is an estimate: a filter joins a gyro with an accelerometer or a yaw rate. Where it trusts the wrong one,
# lean moves while the lean rate says that the bicycle does not. Over a second they must agree within a gyro's bias.


WITHIN = 1.0  # s, over which lean is set against the integral of its rate
MOST_APART = 0.12  # rad; a bias of 0.12 rad/s, six times what a gyro has, or a filter that takes something else over
MOSTLY = 0.5  # of the motion (squares of the turns within a second): the whole lean column is worth nothing
SPANS_TOLD = 3  # parts by name
NEVER_MOVES = 10.0  # s of a steer that never moves by one count while the lean rate does


def find_lean_faults(recorded: Recorded) -> Recorded:
    """Name the parts in which lean leaves the integral of its rate, and mark them not free; name a dead encoder.

    Where that is most of the motion lean is left out instead: its rate serves alone.
    """
    return _dead_steer(_drifting_lean(recorded))


def _drifting_lean(recorded: Recorded) -> Recorded:
    response = recorded.response
    n = round(WITHIN / response.dt)
    if response.phi is None or response.phi_dot_unit != "rad/s" or len(response.t) <= n:
        return recorded
    moved = response.phi[n:] - response.phi[:-n]
    turned = np.cumsum(response.phi_dot) * response.dt
    turns = turned[n:] - turned[:-n]
    apart = moved - turns
    bad = np.abs(apart) > MOST_APART
    if not bad.any():
        return recorded
    if np.sum(turns[bad] ** 2) > MOSTLY * np.sum(turns**2):
        return recorded.put("phi", None).remarked(
            f"{recorded.name('phi')}: leaves the integral of {recorded.name('phi_dot')} by up to "
            f"{np.abs(apart).max():.2g} rad within {WITHIN:g} s in most of the motion: its filter follows something "
            "else, as one that believes the accelerometer; left out"
        )
    flags = np.convolve(bad, np.ones(n + 1))[: len(response.t)] > 0.5
    spans = true_spans(flags)
    name, rate, t = recorded.name("phi"), recorded.name("phi_dot"), response.t
    remarks = [
        f"{name}: leaves the integral of {rate} by up to {np.abs(apart[a:b]).max():.2g} rad within "
        f"{WITHIN:g} s: its filter follows something else, not free, from {t[a]:.3f} to {t[b - 1]:.3f} s"
        for a, b in spans
    ]
    if len(remarks) > SPANS_TOLD + 1:
        remarks = [*remarks[:SPANS_TOLD], f"{name}: {len(remarks) - SPANS_TOLD} more parts like these"]
    free = np.ones(len(t), bool) if response.free is None else response.free
    return replace(recorded, response=replace(response, free=free & ~flags)).remarked(*remarks)


def _dead_steer(recorded: Recorded) -> Recorded:
    response = recorded.response
    if response.delta is None or response.t[-1] - response.t[0] < NEVER_MOVES:
        return recorded
    if np.ptp(response.delta) > 0.0 or np.ptp(response.phi_dot) == 0.0:
        return recorded
    name = recorded.name("delta")
    return recorded.remarked(f"{name}: is {response.delta[0]:.4g} rad in every row: the encoder is not read")


WHAT_TO_CORRECT = "correct the file or its mapping, or say --trust to analyse it all the same"


def inspect_recording(recorded: Recorded, refuse: bool = True) -> Response:
    """Make the response of a recording, with remarks on what is wrong with it.

    Parameters
    ----------
    recorded
    refuse
        A clear contradiction with physics is an error; else it is a remark like the others.

    Raises
    ------
    InputError
        A unit or a sign is clearly wrong, unless ``refuse`` is False.
    """
    said_free = recorded.response.free
    recorded = artefacts.mend_flaws(recorded)
    # a wrong unit looks like jumps everywhere, so physics looks at all that the recording itself calls free
    findings = unit_checks.check_units(replace(recorded, response=replace(recorded.response, free=said_free)))
    fatal = [finding for finding in findings if finding.clear]
    if fatal and refuse:
        raise InputError(f"{recorded.response.source}: {fatal[0].sentence}; {WHAT_TO_CORRECT}")
    return go_by_logged_torque(find_lean_faults(recorded).remarked(*(finding.sentence for finding in findings)))


def inspect_in_memory(response: Response, refuse: bool = True) -> Response:
    """Check a response that a program made, and give it arrays where it has lists.

    Parameters
    ----------
    response : Response
    refuse : bool
        A value that no bicycle reaches is an error; else it is taken as it is.

    Raises
    ------
    InputError
        A signal is not (n,) numbers, the times are not even, or a unit or sign is clearly wrong.
    """
    source = response.source
    t = _numbers(response, "t", response.t)
    if len(t) < MIN_RECORDING_ROWS:
        raise InputError(f"{source}: wanted at least {MIN_RECORDING_ROWS} samples, found {len(t)}: record it again")
    _require_even(source, t)
    signals = {name: getattr(response, name) for name in (*response.channels, "free")}
    arrays = {name: _numbers(response, name, values, len(t)) for name, values in signals.items() if values is not None}
    if "free" in arrays:
        arrays["free"] = arrays["free"].astype(bool)
    checked = replace(response, **({"t": t} | arrays))  # type: ignore[arg-type]
    if refuse and response.phi_dot_unit == "rad/s":
        for finding in unit_checks.find_impossible_values(Recorded(checked)):
            raise InputError(f"{source}: {finding.sentence}; correct it, or say trust to analyse it all the same")
    return checked


def _numbers(response: Response, name: str, values: Any, n: int | None = None) -> Array:
    """Signal (n,) as an array of numbers; what is one already stays as it is."""
    given = np.asarray(values)
    if given.dtype.kind not in "biuf" or given.ndim != 1 or (n is not None and len(given) != n):
        wanted = "(n,) numbers" if n is None else f"({n},) numbers, one for each time"
        raise InputError(f"{response.source}: wanted {name} as {wanted}, found {given.dtype} of shape {given.shape}")
    return given if given.dtype.kind == "f" else given.astype(float)


def _require_even(source: str, t: Array) -> None:
    """Refuse times that do not increase by the same step."""
    if is_even(t):
        return
    steps = np.diff(t)
    raise InputError(
        f"{source}: wanted times at an even step, found steps of {steps.min():.4g} to {steps.max():.4g} s: interpolate "
        "the signals, free among them, onto even times, or write them to a file and read it with a mapping, which does"
    )
