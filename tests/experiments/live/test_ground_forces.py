"""Forces under the wheels that the page draws, beside statics and circular motion."""

from math import sin

import pytest

from riderless.experiments.emulation.plaything import PlayTruth, ground_forces
from riderless.models import load_bicycle
from riderless.models.nonlinear.steady_turns import steady_turn_from_speed_and_radius

BENCHMARK = load_bicycle("Benchmark")
MASSES = (BENCHMARK.mR, BENCHMARK.mB, BENCHMARK.mH, BENCHMARK.mF)
WEIGHT = sum(MASSES) * BENCHMARK.g
ROUNDING = 0.1  # N


def test_upright_each_wheel_carries_its_share_and_nothing_pushes():
    rear_along, rear_right, rear_up, along, right, up = ground_forces(BENCHMARK, PlayTruth(v=4.6))
    x = (0.0, BENCHMARK.xB, BENCHMARK.xH, BENCHMARK.w)
    front = BENCHMARK.g * sum(m * at for m, at in zip(MASSES, x, strict=True)) / BENCHMARK.w
    assert up == pytest.approx(front, abs=ROUNDING)
    assert rear_up == pytest.approx(WEIGHT - front, abs=ROUNDING)
    assert [rear_along, rear_right, along, right] == pytest.approx([0.0] * 4, abs=ROUNDING)


@pytest.mark.parametrize("side", [1, -1])
def test_in_a_turn_they_push_towards_its_middle(side):
    turn = steady_turn_from_speed_and_radius(BENCHMARK, 4.6, 12.0)
    moved = PlayTruth(phi=side * turn.phi, delta=side * turn.delta, torque=side * turn.T_delta, v=turn.v)
    _, rear, rear_up, _, front, up = ground_forces(BENCHMARK, moved)
    assert rear_up + up == pytest.approx(WEIGHT, abs=2 * ROUNDING)
    height = -sum(
        m * z for m, z in zip(MASSES, (-BENCHMARK.rR, BENCHMARK.zB, BENCHMARK.zH, -BENCHMARK.rF), strict=True)
    ) / sum(MASSES)
    of_the_middle = turn.radius - height * sin(turn.phi)  # the masses lean inwards
    wanted = sum(MASSES) * turn.psi_dot**2 * of_the_middle
    assert side * (rear + front) == pytest.approx(wanted, rel=5e-3)  # the front one pushes along its own heading
    assert side * rear > side * front > 0.0


def test_a_bicycle_on_the_floor_has_none():
    assert ground_forces(BENCHMARK, PlayTruth(phi=1.6, v=4.6)) is None
