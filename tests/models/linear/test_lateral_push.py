"""A lateral force on either frame, against four free bodies with constraints."""

from dataclasses import replace

import numpy as np
import pytest

from riderless.models.catalogue import load_bicycle
from riderless.models.constrained.bicycle import FRONT_FRAME, REAR_FRAME, ConstrainedBicycle
from riderless.models.constrained.loads import Force
from riderless.models.coordinates import DELTA_DOT, PHI_DOT, Q_DELTA, Q_PHI
from riderless.models.linear.lateral_push import lateral_push
from riderless.models.linear.whipple import canonical_matrices, input_matrix
from riderless.models.nonlinear.simulation import initial_state


@pytest.mark.parametrize("name", ["Benchmark", "Silver", "Pista"])
@pytest.mark.parametrize(("x", "z"), [(0.3, -0.8), (0.95, -1.0), (1.2, -0.1)])
@pytest.mark.parametrize("front", [False, True])
def test_accelerations_are_those_of_the_second_derivation(name, x, z, front):
    bicycle = load_bicycle(name)
    whole = ConstrainedBicycle(bicycle)
    body = FRONT_FRAME if front else REAR_FRAME
    push = Force(body, np.array([x, 0.0, z]) - whole.centres[body], (0.0, 10.0, 0.0))
    state = whole.state(*initial_state(bicycle, v=4.0))
    pushed = replace(whole.system, loads=[*whole.system.loads, push])
    vars(whole)["system"] = pushed
    found = whole.accelerations(state)[0][[Q_PHI, Q_DELTA]]
    expected = (input_matrix(bicycle) @ lateral_push(bicycle, x, z, front))[[PHI_DOT, DELTA_DOT]]
    assert found == pytest.approx(10.0 * expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", ["Benchmark", "Silver"])
def test_a_force_at_the_front_contact_does_nothing(name):
    """The wheel does not slip there, so the force does no work: yaw and trail cancel."""
    b = load_bicycle(name)
    assert lateral_push(b, b.w, 0.0, front=True) == pytest.approx([0.0, 0.0], abs=1e-15)


def test_weight_on_the_front_frame_is_that_of_the_matrices():
    """Weights m g act sideways as the frame leans: their torques make g K0, whose first column they are."""
    b = load_bicycle("Benchmark")
    weights = [(b.mR, 0.0, -b.rR, False), (b.mB, b.xB, b.zB, False), (b.mH, b.xH, b.zH, True), (b.mF, b.w, -b.rF, True)]
    total = sum(m * lateral_push(b, x, z, front) for m, x, z, front in weights)
    assert canonical_matrices(b).K0[:, 0] == pytest.approx(-total)
