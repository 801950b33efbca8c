"""The floor beside a ride: what it measures, and whom a fault beside it is laid to."""

import time

import numpy as np
import pytest

from riderless.experiments.commands._too_busy import judged_beside
from riderless.hil.commissioning.floor import Floor, measured_floor
from riderless.hil.logs.header import RunHeader
from riderless.hil.logs.log import RunWriter
from riderless.hil.loop.tick_record import TICK
from riderless.hil.runners.operator import Outcome


def test_the_floor_beats_as_a_loop_does_while_it_is_wanted():
    for _ in range(2):
        with measured_floor() as floor:
            time.sleep(0.3)
        assert floor.beats > 1
        assert floor.worst > 0.0
        assert (floor.worst > 0.010) == floor.starved


@pytest.mark.parametrize(
    ("floor", "outcome", "ended_by"),
    [
        (Floor(600, 2, 0.034), Outcome("fault", "it fell"), "computer"),
        (Floor(600, 0, 0.004), Outcome("fault", "it fell"), "machine"),
        (Floor(600, 2, 0.034), Outcome("success", "the planned duration was reached"), "plan"),
    ],
)
def test_a_fault_beside_a_late_floor_is_the_computers(tmp_path, floor, outcome, ended_by):
    with RunWriter(tmp_path / "run", RunHeader({})) as writer:
        rows = np.zeros(3, TICK)
        rows["k"], rows["t_due"], rows["t_host"] = [0, 1, 2], [1.0, 1.005, 1.01], [1.0, 1.017, 1.011]
        writer.write(rows)
    judged = judged_beside(floor, outcome, tmp_path / "run")
    assert judged.ended_by == ended_by
    assert ("34 ms" in judged.cause) == (ended_by == "computer")
    assert judged.remarks == (
        f"more than 10 ms late: 1 of 3 ticks, the worst by 12 ms; of the floor, two small processes in the same "
        f"seconds, {floor}",
    )
