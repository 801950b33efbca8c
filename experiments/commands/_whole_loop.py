"""Whole loop of a design: what becomes of its gains with the observer, which the design itself leaves out."""

from collections.abc import Sequence

from riderless.hil.design.closed_loop import SampledLoop
from riderless.hil.design.schedule import GainSchedule
from riderless.hil.rig.stable import FASTEST_GROWTH


def whole_loop_growth(schedule: GainSchedule, loop: SampledLoop) -> list[float]:
    """Find the largest real part [1/s] of its whole loop at each speed, minus infinity where there is no command."""
    return [float(loop.eigenvalues(v)[0].real) if schedule.K.any() else -float("inf") for v in schedule.v.tolist()]


def describe_fall(schedule: GainSchedule, growth: Sequence[float]) -> str:
    """Say where the whole loop falls fastest; nothing where it falls nowhere."""
    worst, v = max(zip(growth, schedule.v.tolist(), strict=True))
    if worst <= FASTEST_GROWTH:
        return ""
    return (
        f"with the observer of the loop it falls: at {v:g} m/s an eigenvalue of {worst:+.3g} 1/s; "
        "`riderless run` refuses these gains at that speed"
    )
