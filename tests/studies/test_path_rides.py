"""Rides along paths outdoors with RTK, by the true place: the tasks' figures, a seed of each."""

import numpy as np
import pytest

from tests.studies.path_rides.__main__ import RIDE_DRIVES, rides_markdown
from tests.studies.path_rides.ride import ride_task
from tests.studies.path_rides.tasks import ride_tasks

TASKS = {task.name: task for task in ride_tasks()}
RIDDEN = (
    ("lane, 3 m/s, gusts of 1.5 N rms", "Silver"),
    ("circle of 10 m, 4 m/s", "Benchmark"),
    ("figure of eight of 12 m, 4 m/s", "Silver"),
    ("lane change of 1 m in 10 m, 5 m/s", "Benchmark"),
    ("ISO 3888-2, 4 m/s", "Silver"),
    ("slalom of 8 m, 0.6 m, 3 m/s", "Benchmark"),
    ("lane, 2.5 to 7 m/s at 0.3 m/s^2", "Silver"),
)


@pytest.mark.parametrize(
    ("name", "bicycle"), [RIDDEN[0], *(pytest.param(*ridden, marks=pytest.mark.slow) for ridden in RIDDEN[1:])]
)
def test_a_task_is_met(name, bicycle):
    result = ride_task(TASKS[name], bicycle, seed=11)
    assert result.cause == ""
    assert 0.005 < result.asked <= dict(TASKS[name].wanted)[bicycle]
    assert len(result.lateral) > 1000
    assert "| yes | - |" in rides_markdown([result], 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "bicycle", "kind"),
    [("circle of 10 m, 4 m/s", "Silver", "rate"), ("circle of 10 m, 4 m/s", "Benchmark", "angle")],
)
def test_a_task_is_met_by_a_drive_that_obeys_its_steer(name, bicycle, kind):
    result = ride_task(TASKS[name], bicycle, seed=11, drive=RIDE_DRIVES[kind])
    assert result.cause == ""
    assert 0.005 < result.asked <= dict(TASKS[name].wanted)[bicycle]


@pytest.mark.slow
def test_the_true_place_is_that_of_the_ride():
    """A ride that ends early, or leaves its path, shows."""
    result = ride_task(TASKS["lane, 3 m/s, still air"], "Silver", seed=11)
    again = ride_task(TASKS["lane, 3 m/s, still air"], "Silver", seed=11)
    assert np.array_equal(result.lateral, again.lateral)
    gusts = ride_task(TASKS["lane, 3 m/s, gusts of 1.5 N rms"], "Silver", seed=11)
    assert gusts.asked > 1.5 * result.asked
