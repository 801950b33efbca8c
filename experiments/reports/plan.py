"""Plan of an experiment as a document.

Tables and sentences.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from riderless.experiments.experiment_design.paper_windows import Sensors
from riderless.experiments.experiment_design.plan import ExperimentPlan, SensorPlan, known_after
from riderless.experiments.reports.text import Sentence, TextBlock, TextTable

MINUTE = 60.0  # s


def plan_blocks(plan: ExperimentPlan) -> Iterator[TextBlock]:
    """Tables and sentences of a plan, for the screen."""
    goal = plan.goal
    nuisance = [name for name in goal.free if name not in goal.labels]
    for sensor_plan in plan.plans:
        yield _run_table(plan, sensor_plan)
    yield _sensor_table(plan)
    if nuisance:
        yield Sentence(f"free beside: {', '.join(nuisance)}, each within its own deviation where it has one")
    for sensor_plan in plan.plans:
        for sentence in _told(plan, sensor_plan):
            yield Sentence(f"{_sensor_words(sensor_plan.sensors)}: {sentence}")
    for reason in plan.left_out:
        yield Sentence(f"left out: {reason}")


def plan_document(plan: ExperimentPlan) -> dict[str, Any]:
    """Document of `riderless plan --json`; SI, null where there is none."""
    goal = plan.goal
    return {
        "asked": [
            {"name": name, "unit": unit, "wanted": _number(wanted)}
            for name, unit, wanted in zip(goal.labels, goal.units, goal.wanted, strict=True)
        ],
        "free": list(goal.free),
        "time": plan.time,
        "plans": [
            {
                "gyro_noise": sensor_plan.sensors.gyro,
                "steer_step": sensor_plan.sensors.steer_step,
                "accel_noise": sensor_plan.sensors.accel,
                "runs": dict(Counter(run.name for run in sensor_plan.chosen)),
                "taken": sensor_plan.taken,
                "stds": dict(zip(goal.labels, map(_number, sensor_plan.stds), strict=True)),
                "grid_stds": dict(zip(goal.labels, map(_number, sensor_plan.grid_stds), strict=True)),
                "stds_at_last": dict(zip(goal.labels, map(_number, sensor_plan.stds_at_last), strict=True)),
                "time_wanted": _number(sensor_plan.time_wanted),
                "one_run": {
                    run.name: dict(zip(goal.labels, map(_number, known_after(goal, [run]).stds), strict=True))
                    for run in sensor_plan.measurements
                },
                "confounded": [
                    {
                        "asked": pair.target,
                        "other": pair.other,
                        "correlation": pair.correlation,
                        "parted_by": pair.by,
                        "correlation_then": _number(pair.correlation_then),
                        "share_with_other_known": pair.known_better,
                    }
                    for pair in sensor_plan.confounded
                ],
            }
            for sensor_plan in plan.plans
        ],
        "left_out": list(plan.left_out),
    }


def _sensor_words(sensors: Sensors) -> str:
    """Name sensors by what they can do: "gyro 0.003 rad/s, encoder 0.018 deg"."""
    return f"gyro {sensors.gyro:g} rad/s, encoder {np.degrees(sensors.steer_step):.2g} deg"


def _run_table(plan: ExperimentPlan, sensor_plan: SensorPlan) -> TextTable:
    goal, counts = plan.goal, Counter(run.name for run in sensor_plan.chosen)
    return TextTable(
        f"One run each, with {_sensor_words(sensor_plan.sensors)}",
        ["run", *map(_headed, goal.labels, goal.units), "in plan"],
        [
            [
                run.name,
                *(f"{std:.2g}" for std in known_after(goal, [run]).stds),
                str(counts[run.name]) if counts[run.name] else "-",
            ]
            for run in sensor_plan.measurements
        ],
        f"Standard deviations after one such run of {sensor_plan.measurements[0].duration:.0f} s; in plan: runs of it.",
    )


def _sensor_table(plan: ExperimentPlan) -> TextTable:
    goal = plan.goal
    rows = []
    for sensor_plan in plan.plans:
        for i, label in enumerate(goal.labels):
            rows.append(
                [
                    f"{sensor_plan.sensors.gyro:g}, {np.degrees(sensor_plan.sensors.steer_step):.2g}" if i == 0 else "",
                    label,
                    f"{sensor_plan.stds[i]:.2g}",
                    f"{sensor_plan.grid_stds[i]:.2g}",
                    f"{sensor_plan.stds_at_last[i]:.2g}",
                    _minutes(sensor_plan.time_wanted) if i == 0 else "",
                ]
            )
    return TextTable(
        f"Standard deviations after {plan.time / MINUTE:g} min",
        ["rad/s, deg", "asked", "plan", "grid", "at last", "min wanted"],
        rows,
        "rad/s, deg: noise of the gyro, step of the encoder; grid: all runs equally\noften; at last: however long; min "
        "wanted: until all that is asked for is\nreached. By the sensors' noise, and a fifth of what linear theory has "
        "wrong:\nwind, belt and hand add to it.",
        keys=2,
    )


def _told(plan: ExperimentPlan, sensor_plan: SensorPlan) -> Iterator[str]:
    """Sentences about one plan."""
    goal = plan.goal
    yield from map(str, sensor_plan.confounded)
    for i in np.flatnonzero(goal.wanted < sensor_plan.stds_at_last):
        yield (
            f"{goal.labels[i]} +- {goal.wanted[i]:g} is never reached, however long: it stays at "
            f"{sensor_plan.stds_at_last[i]:.2g}, for the rest is known no better from elsewhere, or theory at this lean"
        )
    if np.isfinite(sensor_plan.time_wanted) and sensor_plan.time_wanted > plan.time:
        wanted = _minutes(sensor_plan.time_wanted)
        yield f"what is asked for takes about {wanted} min, {plan.time / MINUTE:g} are planned"


def _headed(label: str, unit: str) -> str:
    return f"{label} {unit}".strip()


def _minutes(time: float) -> str:
    if np.isnan(time):
        return "-"
    return f"{time / MINUTE:.2g}" if np.isfinite(time) else "never"


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
