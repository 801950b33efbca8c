"""Lane keeping, against a prototype computed elsewhere: LQR at 200 Hz, one sample of delay, kicks of 0.35 rad/s."""

import numpy as np
import pytest

from riderless.hil.controllers.timing import LoopTiming
from riderless.hil.design.lane import LANE_STATES, LaneKeeping, LaneWeights, lane_loop
from riderless.hil.design.lqr import LQR
from riderless.hil.design.sampled_plant import LANE_GAIN_STATES, continuous, sampled_model
from riderless.models import load_bicycle
from riderless.models.errors import InputError

TIMING = LoopTiming(rate=200.0, delay=1, drive_lag=0.005)
TORQUE_LIMIT, KICK = 7.0, 0.35  # N m, rad/s of lean
LEAN, LEAN_RATE, PSI, Y_P = (LANE_STATES.index(name) for name in ("phi", "phi_dot", "psi", "y_P"))
PROTOTYPE = {  # largest |y| [m], to 0.01: from the fastest to the slowest speed
    "Silver": (0.16, 0.25),
    "Benchmark": (0.30, 0.51),
    "Balanceassistv1": (0.13, 0.21),
}


def lane_gains(bicycle, v, timing=TIMING, weights=LaneWeights()):
    """Gains of the design (8,), in the order of `LANE_STATES`."""
    K, _ = LaneKeeping(weights).gains(bicycle, v, lane_loop(bicycle, v, timing))
    return K[[LANE_GAIN_STATES.index(name) for name in LANE_STATES]]


def kicked(bicycle, v, K, torque=0.0, seconds=20.0):
    """Ride after a kick under gains on `LANE_STATES` and a constant torque that nobody knows: states (n, 8)."""
    loop = lane_loop(bicycle, v, TIMING)
    z, rows = np.zeros(len(loop.F)), []
    z[LEAN_RATE] = KICK if not torque else 0.0
    for _ in range(round(seconds * TIMING.rate)):
        u = np.clip(-K @ z, -TORQUE_LIMIT, TORQUE_LIMIT)
        z = loop.F @ z + loop.G * (u + torque)
        rows.append(z)
    return np.array(rows)


@pytest.mark.parametrize("name", PROTOTYPE)
@pytest.mark.parametrize(("v", "which"), [(7.0, 0), (1.5, 1)])
def test_a_kick_moves_it_as_far_as_the_prototype(name, v, which):
    bicycle = load_bicycle(name)
    ride = kicked(bicycle, v, lane_gains(bicycle, v))
    assert np.max(np.abs(ride[:, Y_P])) == pytest.approx(PROTOTYPE[name][which], abs=0.0051)
    assert np.max(np.abs(ride[:, LEAN])) < np.radians(7.0)
    assert np.abs(ride[-1, [LEAN, PSI, Y_P]]) == pytest.approx([0.0] * 3, abs=1e-3)


@pytest.mark.parametrize("name", PROTOTYPE)
@pytest.mark.parametrize("v", [2.5, 3.5, 4.5, 5.5, 7.0])
def test_the_slowest_mode_is_that_of_the_prototype(name, v):
    bicycle = load_bicycle(name)
    loop, K = lane_loop(bicycle, v, TIMING), lane_gains(bicycle, v)
    slowest = continuous(np.linalg.eigvals(loop.F - np.outer(loop.G, K)), TIMING.dt)[0]
    assert -1.45 < slowest.real < -0.85


def test_a_constant_torque_moves_it_by_2_cm():
    bicycle = load_bicycle("Silver")
    ride = kicked(bicycle, 4.0, lane_gains(bicycle, 4.0), torque=0.1)
    assert abs(ride[-1, Y_P]) == pytest.approx(0.02, abs=0.005)


@pytest.mark.parametrize("v", [3.0, 5.0])
def test_without_place_in_its_gains_it_leaves_the_belt(v):
    bicycle = load_bicycle("Silver")
    K = np.insert(LQR().gains(bicycle, v, sampled_model(bicycle, v, TIMING))[0], PSI, [0.0, 0.0])
    ride = kicked(bicycle, v, K, seconds=4.0)
    left = np.flatnonzero(np.abs(ride[:, Y_P]) > 1.0)
    assert len(left)
    assert left[0] / TIMING.rate < 3.1
    assert np.abs(ride[-1, LEAN]) < 0.02  # balanced all the while


def test_a_loop_without_lag_or_delay_has_fewer_states():
    bicycle = load_bicycle("Silver")
    plain = LoopTiming(rate=200.0, delay=0, drive_lag=0.0)
    assert lane_loop(bicycle, 4.0, plain).states == LANE_STATES[:6]
    K = lane_gains(bicycle, 4.0, plain)
    assert K.shape == (8,)
    assert K[6:] == pytest.approx([0.0, 0.0])


def test_a_narrower_lane_is_kept_narrower():
    bicycle = load_bicycle("Benchmark")
    wide, narrow = (
        np.max(np.abs(kicked(bicycle, 4.0, lane_gains(bicycle, 4.0, weights=LaneWeights(y_P=y)))[:, Y_P]))
        for y in (0.2, 0.05)
    )
    assert narrow < wide


@pytest.mark.parametrize(("name", "value"), [("y_P", 0.0), ("psi", -1.0), ("phi", float("nan")), ("T_delta", "x")])
def test_weights_that_are_no_weights_are_refused(name, value):
    with pytest.raises(InputError, match=f"weight of a lane {name} must be a number above 0"):
        LaneWeights(**{name: value})


def test_at_rest_nothing_moves_it_sideways():
    with pytest.raises(InputError, match="0 m/s"):
        lane_gains(load_bicycle("Silver"), 0.0)
