"""Graphs of planar bodies: numbered as they come, with arcs in any direction, and the closed solar array."""

import numpy as np
import pytest

from riderless.models.constrained.examples.closed_solar_array import closed_solar_array, folded
from riderless.models.constrained.graph import Arc, system_of_graph, tree_of_graph
from riderless.models.constrained.loads import Force, Torque
from riderless.models.constrained.motion import GROUND
from riderless.models.constrained.planar import PlanarBody
from riderless.models.constrained.system import System
from riderless.models.errors import InputError
from tests.models.constrained import closed_loop
from tests.models.constrained.test_textbook import _random_tree


@pytest.mark.parametrize("seed", range(6))
def test_any_order_and_direction_is_the_same_tree(seed):
    rng = np.random.default_rng(seed)
    tree = _random_tree(rng)
    names = [body.name for body in tree.bodies]
    arcs = []
    for i, parent in enumerate(tree.parents):
        base = GROUND if parent < 0 else names[parent]
        arc = Arc(f"arc {i}", base, names[i], tree.outer[i], tree.inner[i], tree.stiffness[i], tree.rest[i])
        arcs.append(arc if rng.random() < 0.5 else arc.leading_away({names[i]}))
    order = rng.permutation(6)
    found, left = tree_of_graph([tree.bodies[i] for i in rng.permutation(6)], [arcs[i] for i in order])
    assert not left
    assert np.array_equal(found.paths @ found.incidence, np.eye(6))
    phi, rate, forces = rng.normal(size=6), rng.normal(size=6), rng.normal(size=(6, 2))
    to = [names.index(body.name) for body in found.bodies]
    expected = tree.accelerations(phi, rate, forces)
    np.testing.assert_allclose(
        found.accelerations(phi[to], rate[to], forces[to]), expected[to], rtol=0, atol=1e-10 * np.abs(expected).max()
    )


def test_the_closed_solar_array_has_twelve_and_ten_equations_and_keeps_its_energy():
    system = closed_solar_array()
    x = folded(system)
    system.check(x, tolerance=1e-12)
    solution = system.solve(0.0, x)
    assert len(solution.acceleration) == 12
    assert sum(map(len, solution.reactions.values())) == 10
    states = system.simulate(x, np.linspace(0.0, 3.0, 7))
    energy = [system.energy(0.0, state) for state in states]
    assert energy[0] > 1.0
    assert np.ptp(energy) < 1e-7
    assert np.ptp(states[:, 2]) > 0.2  # it does unfold


def test_the_closed_solar_array_is_a_tree_with_one_cut_joint():
    """Without a spring in the joint that is cut, which the tree does not know."""
    stiffness = (2.0, 1.0, 0.5, 0.5, 0.0)
    system = closed_solar_array(stiffness)
    x = folded(system)
    hinges = [
        Arc(h.name, h.base, h.body, h.origin, h.point, k) for h, k in zip(system.constraints, stiffness, strict=True)
    ]
    tree, (cut,) = tree_of_graph(system.bodies, hinges)
    assert cut.name == "elbow"
    to = [[body.name for body in system.bodies].index(body.name) for body in tree.bodies]
    phi = x[2:12:3][to]
    np.testing.assert_allclose(tree.centres(phi), x[:12].reshape(4, 3)[to, :2], atol=1e-12)
    found, force = closed_loop.closed_loop_accelerations(
        tree, [system.constraints[-1]], phi, np.zeros(4), np.zeros((4, 2))
    )
    solution = system.solve(0.0, x)
    np.testing.assert_allclose(found, solution.acceleration[2::3][to], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(force, solution.reactions["elbow"], rtol=1e-9, atol=1e-12)


def test_a_torque_in_the_joint_that_closes_the_loop_does_its_work():
    """Virtual power: what the torque puts in, the kinetic energy gains."""
    system = closed_solar_array((0.0,) * 5)
    driven = System(system.bodies, system.constraints, [Torque("leaf 2", 0.7, "strut 2")], system.lam)
    x = folded(driven)
    a = driven.solve(0.0, x).acceleration
    kinetic = a @ driven.motion(0.0, x).mass_matrix() @ a  # per time^2
    assert kinetic == pytest.approx(0.7 * (a[5] - a[11]), rel=1e-9)
    assert kinetic > 0.0


def test_graphs_that_hang_together_with_nothing_are_refused():
    bodies = [PlanarBody("a", 1.0, 1.0), PlanarBody("b", 1.0, 1.0)]
    alone = Arc("alone", "a", "b", (1.0, 0.0), (-1.0, 0.0))
    with pytest.raises(InputError, match="no hinge joins 'a', 'b' to the ground"):
        tree_of_graph(bodies, [alone])
    with pytest.raises(InputError, match="leads to 'c', which is no body"):
        tree_of_graph(bodies, [alone, Arc("astray", "c", "a", (0.0, 0.0), (0.0, 0.0))])


def test_an_arc_to_the_ground_is_turned_round():
    rod = PlanarBody("rod", 2.0, 0.5)
    system = system_of_graph(
        [rod], [Arc("hinge", "rod", GROUND, (-1.0, 0.0), (0.0, 0.0), 3.0, 0.2)], [Force("rod", (0.0, 0.0), (0.0, -4.0))]
    )
    x = system.state([rod.place([1.0, 0.0])], [rod.move()])
    # of the ground from the rod 0.2 rad slack: the rod is pulled to -0.2 rad
    assert system.solve(0.0, x).acceleration[2] == pytest.approx((-4.0 - 3.0 * 0.2) / (0.5 + 2.0))
