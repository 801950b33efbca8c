"""A mad host, one of each kind, and healthy rides: the study's own rides, a few of them."""

import numpy as np
import pytest

from riderless.firmware_interface.messages import (
    FAULT_GUARD_CHANGE,
    FAULT_GUARD_LEAN,
    FAULT_GUARD_STEER,
    FAULT_GUARD_STILL,
)
from riderless.hil.rig.guard import guard_of_rig
from tests.hil.machine import rig_of
from tests.studies.node_guard import SOON, Madness, healthy_case, ride

SEED = 58
LIMITS = FAULT_GUARD_STEER | FAULT_GUARD_LEAN
STRIKES = {
    Madness.ALTERNATING: FAULT_GUARD_CHANGE,
    Madness.FROZEN: LIMITS,
    Madness.OVER: LIMITS,
    Madness.STILL: FAULT_GUARD_STILL,
}


@pytest.mark.parametrize(
    ("madness", "index"),
    [
        (Madness.ALTERNATING, 0),
        (Madness.ALTERNATING, 16),
        (Madness.FROZEN, 5),
        (Madness.FROZEN, 17),
        (Madness.OVER, 10),
        (Madness.OVER, 14),
        (Madness.STILL, 3),
        (Madness.STILL, 15),
    ],
)
def test_the_torque_of_a_mad_host_ends_at_the_limit(madness, index):
    found = ride(healthy_case(SEED, index), madness)
    assert found.beyond <= SOON
    assert np.isfinite(found.off_after)
    assert found.struck & STRIKES[madness]
    if madness in (Madness.ALTERNATING, Madness.STILL):
        assert found.off_after < 0.13


@pytest.mark.parametrize("index", [4, 9, 12, 14])
def test_a_healthy_ride_is_not_stopped(index):
    """Gusts, a speed ramp, strong kicks, friction and play."""
    assert ride(healthy_case(SEED, index)).struck == 0


@pytest.mark.parametrize("index", [0, 10, 17])
def test_the_lean_of_the_node_is_right_within_5_deg_over_two_minutes(index):
    found = ride(healthy_case(SEED, index, length=60.0), length=120.0)
    assert found.struck == 0
    assert found.lean_error < np.radians(5.0)


def test_limits_of_the_guard_are_those_of_the_rig_and_never_wider_than_the_nodes_own():
    rig = rig_of()
    guard = guard_of_rig(rig, rig.calibrated()).as_record()
    assert (guard["lean_limit_mrad"], guard["torque_step_mNm"]) == (607, 3000)
    assert guard["steer_limit_counts"] == np.ceil(0.825 * 20000 / (2 * np.pi))
