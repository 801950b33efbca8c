"""Study of slow rides: thousands drawn, played and judged; what was unsafe, not found, or stopped for nothing."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from experiments.campaigns.sweeps import spread
from experiments.studies.fault_injection.cases import RUN_AT
from experiments.studies.fault_injection.slow_rides.healthy import SHOWN, TUNING, draw_healthy_ride
from experiments.studies.fault_injection.slow_rides.ride import Ride, RideResult, judge_ride, play_ride
from experiments.studies.fault_injection.slow_rides.slow_faults import FOUND_WITHIN, SLOW_FAULT_NAMED, draw_slow_ride
from experiments.studies.markdown_tables import markdown_table
from hil.loop.limits import Limits
from hil.loop.states import Cause

RIDES_PER_BATCH = 50
RIDE_SPACES = {"tuning": TUNING, "shown": SHOWN}
# Share of the lean limit below which a healthy ride has no reason to end. A turn ends it at 0.94 of the limit; in
# v psi_dot / g, which it rests on, that is the tangent of a true lean of 26 deg, and wind holds some degrees of it.
FREE_OF_LIMIT = 0.8
TRUE_LIMIT = "true limit reached"
FALSE_CAUSES = frozenset(  # of a healthy ride, however far it leans
    {Cause.SENSORS_DISAGREE, Cause.SENSOR_JUMP, Cause.SENSOR_RANGE, Cause.SENSOR_STUCK, Cause.DRIVE_DISOBEYS}
)


@dataclass(frozen=True)
class JudgedRide:
    """Ride and its outcome; the complaint is empty when it kept what is promised."""

    index: int
    ride: Ride
    result: RideResult
    complaint: str

    @property
    def found(self) -> bool:
        """True if something other than its planned end stopped the ride."""
        return self.result.cause is not Cause.OPERATOR_STOP

    @property
    def at_true_limit(self) -> bool:
        """True if the bicycle truly came near the limit that ended the ride: no symptom stopped it for nothing."""
        return self.found and reached_true_limit(self.result)

    def __str__(self) -> str:
        ride, result = self.ride, self.result
        fault = f", {ride.size:+.3g} from {ride.onset:.1f} to {ride.grown:.1f} s" if ride.size else ""
        return (
            f"ride {self.index}: {ride.name}{fault}, {' '.join(ride.machine)} at {ride.scenario.speed[0][1]:.1f} m/s: "
            f"{result.cause.name} at {result.ended:.1f} s, true lean {math.degrees(result.lean):.1f} deg, torque for "
            f"{result.leaning:.2f} s beyond the limit{f' ({TRUE_LIMIT})' if self.at_true_limit else ''}"
        )


def reached_true_limit(result: RideResult, lean_limit: float = Limits().lean.value) -> bool:
    """Decide whether a ride ended near a limit by its true lean, and not by sensors that seemed to lie."""
    return result.cause not in FALSE_CAUSES and result.lean > FREE_OF_LIMIT * lean_limit


def never_began(result: RideResult) -> bool:
    """Decide whether a ride was stopped before it came under control."""
    return result.cause.name.startswith("CHECK_")


def lay_on_wheels(ride: Ride, result: RideResult) -> bool:
    """Decide whether the bicycle came down on its training wheels: it need not balance, and little can be compared."""
    wheels = ride.surroundings.training_wheels
    return wheels is not None and result.lean >= wheels


def complain_of_slow(ride: Ride, result: RideResult) -> str:
    """Say what a ride with a slow fault did not keep."""
    fault = SLOW_FAULT_NAMED[ride.name]
    if abs(ride.size) < fault.seen or never_began(result):
        return ""
    if result.unsafe:
        return "unsafe"
    if lay_on_wheels(ride, result):
        return ""
    late = min(result.ended, RUN_AT + ride.time) - ride.grown > FOUND_WITHIN
    return f"not found within {FOUND_WITHIN:g} s" if late else ""


def complain_of_healthy(ride: Ride, result: RideResult, lean_limit: float = Limits().lean.value) -> str:
    """Say for what a healthy ride was stopped that had no reason to end."""
    if result.unsafe:
        return "unsafe"
    if result.cause is Cause.OPERATOR_STOP or never_began(result) or reached_true_limit(result, lean_limit):
        return ""
    return f"stopped by {result.cause.name}"


def run_rides(
    count: int,
    seed: int,
    space: str = "shown",
    healthy: bool = False,
    jobs: int | None = None,
    tell: Callable[[list[JudgedRide]], None] = lambda rides: None,
) -> list[JudgedRide]:
    """Play and judge the first ``count`` rides of a seed; they come in order, whatever ``jobs`` is.

    Parameters
    ----------
    count, seed : int
    space : str
        A name in `RIDE_SPACES`: the bicycles and speeds on which the limits were tuned, or the others.
    healthy : bool
        Rides with nothing wrong instead of slow faults.
    jobs : int or None
        Processes, see `experiments.campaigns.sweeps.spread`.
    tell : callable
        Given each batch as it is finished.
    """
    work = [(seed, i, min(i + RIDES_PER_BATCH, count), space, healthy) for i in range(0, count, RIDES_PER_BATCH)]
    judged: list[JudgedRide] = []
    for _, batch in spread(_batch, work, jobs):
        judged += batch
        tell(batch)
    return sorted(judged, key=lambda one: one.index)


def _batch(work: tuple[int, int, int, str, bool]) -> list[JudgedRide]:
    seed, first, last, space, healthy = work
    draw, complain = (draw_healthy_ride, complain_of_healthy) if healthy else (draw_slow_ride, complain_of_slow)
    judged = []
    for index in range(first, last):
        ride = draw(seed, index, RIDE_SPACES[space])
        result = judge_ride(*play_ride(ride))
        judged.append(JudgedRide(index, ride, result, complain(ride, result)))
    return judged


def slow_markdown(judged: Sequence[JudgedRide]) -> str:
    """Format one row for each slow fault: how many rides, found from which size, and the worst below it."""
    rows = []
    for name, fault in SLOW_FAULT_NAMED.items():
        rides = [one for one in judged if one.ride.name == name]
        if not rides:
            continue
        above = [one for one in rides if abs(one.ride.size) >= fault.seen]
        below = [one for one in rides if abs(one.ride.size) < fault.seen]
        waits = [one.result.ended - one.ride.grown for one in above if one.found]
        seen = "never" if math.isinf(fault.seen) else _size(fault.seen, fault.unit)
        worst = max(below, key=lambda one: one.result.lean, default=None)
        rows.append(
            [
                name,
                seen,
                str(len(above)),
                str(sum(one.complaint != "" for one in above)),
                f"{max(waits):.1f} s" if waits else "-",
                str(len(below)),
                str(sum(one.result.unsafe for one in below)),
                f"{math.degrees(worst.result.lean):.0f} deg, by {_size(abs(worst.ride.size), fault.unit)}"
                if worst
                else "-",
            ]
        )
    head = ["fault", "seen from", "rides", "unsafe or missed", "slowest", "below", "unsafe", "greatest true lean"]
    return markdown_table(head, rows)


def healthy_markdown(judged: Sequence[JudgedRide]) -> str:
    """Format one row for each kind of healthy ride."""
    names = dict.fromkeys(one.ride.name for one in judged)
    rows = []
    for name in names:
        rides = [one for one in judged if one.ride.name == name]
        lean = max(math.degrees(one.result.lean) for one in rides)
        wrong = sum(one.complaint != "" for one in rides)
        limits, refused = sum(one.at_true_limit for one in rides), sum(never_began(one.result) for one in rides)
        rows.append([name, str(len(rides)), str(wrong), str(limits), str(refused), f"{lean:.0f} deg"])
    head = ["ride", "rides", "false stops", TRUE_LIMIT, "not armed", "greatest true lean"]
    return markdown_table(head, rows)


def _size(size: float, unit: str) -> str:
    return f"{math.degrees(size):.3g} deg" if unit == "rad" else f"{size:.3g} {unit}"
