"""Systems that cannot be solved are refused, and the constraints to blame are named."""

import numpy as np
import pytest

from riderless.models.constrained.constraints import Energy, LockedRotation, PointOnPlane, PrescribedMotion, Spherical
from riderless.models.constrained.loads import Gravity, Torque
from riderless.models.constrained.planar import PlanarBody
from riderless.models.constrained.spatial import Body
from riderless.models.constrained.system import System
from riderless.models.errors import InputError

ROD = PlanarBody("rod", 2.0, 0.5)
HINGE = Spherical("hinge", "rod", [-0.5, 0.0], [0.0, 0.0])
WEIGHT = Gravity((0.0, -9.81))


def _level(system):
    return system.state([ROD.place([0.5, 0.0])] * len(system.bodies), [ROD.move()] * len(system.bodies))


def _refusal(constraints, bodies=(ROD,), x=None):
    system = System(bodies, constraints, [WEIGHT])
    with pytest.raises(InputError) as refused:
        system.solve(0.0, _level(system) if x is None else x)
    return str(refused.value)


def test_repeated_constraint_is_named_and_innocent_ones_are_not():
    again = PointOnPlane("again", "rod", [-0.5, 0.0], [0.0, 0.0], [0.0, 1.0])
    other = PlanarBody("other", 1.0, 1.0)
    system = System((ROD, other), [HINGE, Spherical("innocent", "other", [1.0, 0.0], [3.0, 0.0]), again], [WEIGHT])
    x = system.state([ROD.place([0.5, 0.0]), other.place([2.0, 0.0])], [ROD.move(), other.move()])
    with pytest.raises(InputError, match="repeat") as refused:
        system.solve(0.0, x)
    assert "'hinge'" in str(refused.value)
    assert "'again'" in str(refused.value)
    assert "innocent" not in str(refused.value)


def test_contradiction_is_called_one():
    turn = PrescribedMotion("turn", lambda m: m.rotation("rod"), lambda t: (0.0, 0.0, 1.0))
    still = LockedRotation("still", "rod", [1.0, 0.0], [0.0, 1.0])
    message = _refusal([HINGE, turn, still])
    assert "contradict" in message
    assert "'turn', 'still'" in message
    assert "hinge" not in message


def test_more_constraints_than_freedoms():
    message = _refusal(
        [HINGE, LockedRotation("lock", "rod", [1, 0], [0, 1]), Spherical("weld", "rod", [0, 0], [0.5, 0])]
    )
    assert "'hinge'" in message
    assert "'weld'" in message


def test_parallelogram_with_a_third_crank_is_redundant_though_it_moves():
    names = ("a", "b", "c", "plate")
    bodies = [PlanarBody(name, 1.0, 1.0) for name in names]
    feet = [Spherical(f"foot {n}", n, [0.0, -0.5], [i, 0.0]) for i, n in enumerate(names[:3])]
    heads = [Spherical(f"head {n}", n, [0.0, 0.5], [i - 1.0, 0.0], "plate") for i, n in enumerate(names[:3])]
    places = [PlanarBody.place([i, 0.5]) for i in range(3)] + [PlanarBody.place([1.0, 1.0])]
    system = System(bodies, [*feet, *heads], [WEIGHT])
    x = system.state(places, [PlanarBody.move()] * 4)
    with pytest.raises(InputError, match="repeat"):
        system.solve(0.0, x)
    fewer = System(bodies, [*feet[:2], *heads[:2], heads[2]], [WEIGHT])
    fewer.solve(0.0, x)  # without one foot it is sound


def test_ideal_constraints_cannot_keep_the_energy():
    """The reaction of a hinge that already does no work cannot be asked to keep the energy."""
    energy = Energy("energy", 1.0, [WEIGHT], lambda m: m.point("rod", [-0.5, 0.0]).J[1])
    system = System([ROD], [HINGE, energy], [WEIGHT])
    x = system.state([ROD.place([0.5, 0.0])], [ROD.move([0.0, 1.0], 2.0)])
    with pytest.raises(InputError, match="energy"):
        system.solve(0.0, x)


def test_energy_of_something_at_rest_cannot_be_influenced():
    energy = Energy("energy", 1.0, [WEIGHT], Torque("rod", 1.0).per_unit)
    assert "no reaction can influence 'energy'" in _refusal([HINGE, energy])


def test_actor_that_does_not_reach_its_goal_is_named():
    far = PlanarBody("far", 1.0, 1.0)
    goal = PrescribedMotion("goal", lambda m: m.rotation("rod"), lambda t: (0.0, 0.0, 0.0), Torque("far", 1.0).per_unit)
    assert "'goal'" in _refusal([HINGE, goal], (ROD, far))


@pytest.mark.parametrize(
    ("constraints", "words"),
    [
        ([Spherical("a", "ground", [0, 0], [0, 0])], "joins the ground to itself"),
        ([Spherical("a", "rodd", [0, 0], [0, 0])], "no body 'rodd'"),
        ([PointOnPlane("a", "rod", [0, 0], [0, 0], [0.0, 0.0])], "normal of 'a'"),
    ],
)
def test_malformed_constraint(constraints, words):
    assert words in _refusal(constraints)


def test_malformed_systems():
    space = Body("s", 1.0, np.eye(3))
    with pytest.raises(InputError, match="two bodies are called 'rod'"):
        System([ROD, ROD])
    with pytest.raises(InputError, match="two constraints are called 'hinge'"):
        System([ROD], [HINGE, HINGE])
    with pytest.raises(InputError, match="planar or all spatial"):
        System([ROD, space])
    with pytest.raises(InputError, match="lam"):
        System([ROD], lam=-1.0)
    with pytest.raises(InputError, match="positive mass"):
        PlanarBody("x", 0.0, 1.0)
    with pytest.raises(InputError, match="positive definite"):
        Body("x", 1.0, np.diag([1.0, 1.0, -1.0]))


def test_initial_state_that_breaks_a_constraint_is_refused():
    system = System([ROD], [HINGE], [WEIGHT])
    with pytest.raises(InputError, match=r"'hinge' by 0\.1"):
        system.simulate(system.state([ROD.place([0.6, 0.0])], [ROD.move()]), [0.0, 1.0])


def test_state_that_is_not_finite_is_refused():
    assert "not finite" in _refusal([HINGE], x=np.full(6, np.nan))
