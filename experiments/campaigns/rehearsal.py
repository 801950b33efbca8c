"""Rehearsal of a condition in simulated time.

It must end well, and stay away from every limit. A condition that is refused says which limit it would pass, by how
much, and what to change.
"""

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from riderless.experiments.campaigns.protocols.condition import Condition
from riderless.experiments.datatypes import Response
from riderless.experiments.recordings.run_response import response_of_run
from riderless.hil.logs.log import read_run
from riderless.hil.loop.limits import RANGES, Limit, Limits
from riderless.hil.loop.states import State, Verdict
from riderless.hil.rig.rig import Rig
from riderless.hil.rig.stable import require_stable
from riderless.hil.runners.emulation import rig_in_simulated_time
from riderless.hil.runners.operator import Outcome
from riderless.hil.runners.simulated_run import run_lockstep
from riderless.models.errors import InputError

MAX_SHARE = 0.9  # share of a limit that a rehearsal may reach: a hand is not as even as a rehearsed one
FALLEN_ANGLES = ("lean", "steer")  # an emulated bicycle has fallen before it is at the end of their ranges
LIMIT_OF_COMMAND = {"torque": "torque", "rate": "steer_rate", "angle": "steer_command"}  # of each kind of drive
PEAK_UNITS = {
    "torque": "N m",
    "steer_rate": "rad/s",
    "steer_command": "rad",
    "lean": "rad",
    "steer": "rad",
    "speed_min": "m/s",
    "speed_max": "m/s",
}


@dataclass(frozen=True)
class DryRun:
    """Result of a rehearsal: how near it came to the limits, and why it is refused, if it is.

    Attributes
    ----------
    shares : dict
        Largest command asked for, lean and steer, as shares of their limits.
    refusal : str
        Why the condition must not be run, and what to change; empty if it may.
    response : Response or None
        Recording of a rehearsal that was kicked and ended well.
    """

    condition: Condition
    shares: dict[str, float]
    refusal: str
    response: Response | None = None

    def __repr__(self) -> str:
        return f"<DryRun '{self.condition.label}': {self.refusal or self.said()}>"

    def as_json(self) -> dict[str, Any]:
        """Describe it as `campaign.json` and `--json` have it."""
        return {"condition": self.condition.label, "shares_of_limits": self.shares, "refusal": self.refusal}

    def said(self) -> str:
        """Put the shares into words: "lean 12 %, steer 5 %, torque 30 % of the limits"."""
        if not self.shares:
            return "refused before it moved"
        shares = (f"{name.replace('_', ' ')} {100 * share:.0f} %" for name, share in self.shares.items())
        return f"{', '.join(shares)} of the limits"


def dry_run(condition: Condition, most: float = MAX_SHARE) -> DryRun:
    """Rehearse a condition, whose machine may have any devices: in simulated time they are our node."""
    outside = speed_outside(condition)
    if outside:
        return DryRun(condition, {}, f"{condition.name} is refused: {outside}")
    rig = rig_in_simulated_time(condition.rig)
    outcome, peaks, response = _rehearse(condition, rig)
    if outcome.stopped:  # nothing but Ctrl-C does that to a rehearsal
        raise KeyboardInterrupt
    limits = {name: getattr(rig.limits, name).value for name in peaks}
    shares = {name: peaks[name] / limits[name] for name in peaks}
    worst = max(shares, key=lambda name: shares[name], default="")
    if outcome.reason == "success" and (not worst or shares[worst] <= most):
        return DryRun(condition, shares, _growing(condition), response)
    if not worst or shares[worst] <= most:
        refusal = f"its rehearsal ended otherwise: {outcome.cause}"
    else:
        fell = False
        if outcome.reason != "success" and worst in FALLEN_ANGLES:  # a limit ended it: how far would it have gone?
            farther, peaks, _ = _rehearse(condition, replace(rig, limits=_opened(rig.limits)))
            shares = {name: peaks[name] / limits[name] for name in peaks}
            fell = farther.reason != "success"
        reach = (
            "passes all bounds, for the bicycle falls:"
            if fell
            else f"would reach {peaks[worst]:.3g} {PEAK_UNITS[worst]},"
        )
        refusal = (
            f"{worst.replace('_', ' ')} {reach} {100 * shares[worst]:.0f} % of its limit of {limits[worst]:g} "
            f"{PEAK_UNITS[worst]}, wanted at most {100 * most:.0f} %"
        )
    return DryRun(condition, shares, f"{condition.name} is refused: {refusal}; {condition.remedy}")


def _growing(condition: Condition) -> str:
    """Refusal of a closed loop that grows, though too slowly for the rehearsal to end by it; empty if it does not."""
    try:
        require_stable(
            condition.rig, condition.schedule, [v for _, v in condition.scenario.speed], condition.allow_unstable
        )
    except InputError as error:
        return f"{condition.name} is refused: {error}"
    return ""


def speed_outside(condition: Condition) -> str:
    """Name the speed limit that a profile passes, in a sentence; empty if none."""
    limits, speeds = condition.rig.limits, [v for _, v in condition.scenario.speed]
    for name, value, wrong in (
        ("speed_min", min(speeds), min(speeds) < limits.speed_min.value),
        ("speed_max", max(speeds), max(speeds) > limits.speed_max.value),
    ):
        if wrong:
            limit = getattr(limits, name).value
            return (
                f"its speed of {value:g} m/s lies {abs(value - limit):.2g} m/s beyond the limit {name} of {limit:g} "
                "m/s; choose a speed within the rig's limits"
            )
    return ""


def _opened(limits: Limits) -> Limits:
    """Widen the limits until only a bicycle that falls passes them."""
    wide = {name: Limit(RANGES[name][1], "rad", "to see how far it would go") for name in FALLEN_ANGLES}
    return replace(limits, **wide)


def _rehearse(condition: Condition, rig: Rig) -> tuple[Outcome, dict[str, float], Response | None]:
    """Run it; how it ended, the largest command asked for, lean and steer [rad] under control, and the recording.

    There is a recording of kicked conditions that ended well.
    """
    with tempfile.TemporaryDirectory() as folder:
        outcome = run_lockstep(
            Path(folder) / "rehearsal",
            rig,
            condition.schedule,
            condition.scenario,
            condition.duration,
            label=condition.label,
            emulation=condition.emulation,
            task=condition.task,
            allow_mismatch=True,  # they fit the machine; this rig has our node's delay
        )
        run = read_run(Path(folder) / "rehearsal")
        ticks = run.ticks
        response = response_of_run(run) if condition.kicked and outcome.reason == "success" else None
    rows = ticks[ticks["state"] == State.RUNNING]
    if not len(rows):
        return outcome, {}, None
    held = rows[(rows["verdict"] & Verdict.RELEASED) == 0]
    command = float(np.abs(held["T_req"]).max()) if len(held) else 0.0
    lean, steer = (float(np.abs(rows[name]).max()) for name in ("phi_est", "delta_est"))
    return outcome, {LIMIT_OF_COMMAND[rig.drive_kind]: command, "lean": lean, "steer": steer}, response
