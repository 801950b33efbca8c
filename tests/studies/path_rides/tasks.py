"""Tasks: a path, a speed over time, wind, and how near to the path the bicycle shall stay."""

from dataclasses import dataclass

from riderless.hil.guidance.path import Path
from riderless.hil.guidance.shapes import circle, figure_of_eight, lane_change, obstacle_avoidance, slalom

GUSTS = 1.5  # N rms, with 1 s between gusts that know nothing of each other
RUNNING_IN = 3.0  # s after the release that do not count: a hand lets go


@dataclass(frozen=True)
class RideTask:
    """Task of a ride.

    Attributes
    ----------
    name : str
    speed : tuple of (s, m/s)
        Corners over time after the release.
    path : Path or None
        None: a straight lane.
    gusts : float
        N rms.
    seconds : float
        Of a straight lane [s]; a path is as long as it is.
    what : {"rms", "most", "overshoot"}
        What is asked of the true lateral error.
    wanted : mapping of float
        m, by bicycle.
    """

    name: str
    speed: tuple[tuple[float, float], ...]
    path: Path | None
    gusts: float
    seconds: float
    what: str
    wanted: tuple[tuple[str, float], ...]

    @property
    def v(self) -> float:
        """Speed at the beginning [m/s]."""
        return self.speed[0][1]


def ride_tasks() -> tuple[RideTask, ...]:
    """List the tasks."""
    near, far = ((("Silver", most), ("Benchmark", most)) for most in (0.10, 0.15))
    lanes = []
    for v in (3.0, 4.5, 6.0):
        for gusts, wanted in (
            (0.0, (("Silver", 0.05), ("Benchmark", 0.05))),
            (GUSTS, (("Silver", 0.12), ("Benchmark", 0.05))),
        ):
            wind = f"gusts of {gusts:g} N rms" if gusts else "still air"
            lanes.append(RideTask(f"lane, {v:g} m/s, {wind}", ((0.0, v),), None, gusts, 60.0, "rms", wanted))

    change = lane_change(1.0, 10.0)
    ramp = ((0.0, 2.5), (3.0, 2.5), (18.0, 7.0), (22.0, 7.0))  # 0.3 m/s^2
    return (
        *lanes,
        RideTask("circle of 10 m, 4 m/s", ((0.0, 4.0),), circle(10.0, 2.0), 0.0, 0.0, "rms", near),
        RideTask("figure of eight of 12 m, 4 m/s", ((0.0, 4.0),), figure_of_eight(12.0), 0.0, 0.0, "rms", near),
        RideTask("lane change of 1 m in 10 m, 5 m/s", ((0.0, 5.0),), change, 0.0, 0.0, "overshoot", far),
        RideTask("ISO 3888-2, 4 m/s", ((0.0, 4.0),), obstacle_avoidance(0.6), 0.0, 0.0, "rms", near),
        RideTask("slalom of 8 m, 0.6 m, 3 m/s", ((0.0, 3.0),), slalom(8.0, 0.6, 6), 0.0, 0.0, "rms", near),
        RideTask("lane, 2.5 to 7 m/s at 0.3 m/s^2", ramp, None, 0.0, 22.0, "most", far),
    )
