"""The textbook's systems (multibody_examples.json), each by two independent methods."""

import json

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from riderless.models.constrained.constraints import Spherical
from riderless.models.constrained.examples.solar_array import FOLDED, solar_array
from riderless.models.constrained.loads import Force, Torque, TorsionSpring
from riderless.models.constrained.motion import GROUND
from riderless.models.constrained.planar import PlanarBody
from riderless.models.constrained.system import System
from riderless.models.constrained.tree import BASE, Tree
from riderless.models.errors import InputError
from tests.models.constrained import articulated, closed_loop, triple_pendulum
from tests.models.constrained.four_bar import FourBar
from tests.models.constrained.slider_crank import SliderCrank
from tests.paths import REFERENCE


def _random_tree(rng, n=6):
    parents = (BASE, *(int(rng.integers(-1, i)) for i in range(1, n)))
    bodies = tuple(PlanarBody(f"b{i}", 0.5 + rng.random(), 0.5 + rng.random()) for i in range(n))
    return Tree(bodies, parents, rng.normal(size=(n, 2)), rng.normal(size=(n, 2)), rng.random(n), rng.normal(size=n))


def _as_bodies(tree, phi, rate, forces, lam=10.0):
    """The same tree as free bodies, hinges and springs, and its state."""
    name = [body.name for body in tree.bodies]
    base = [GROUND if parent == BASE else name[parent] for parent in tree.parents]
    hinges = [Spherical(f"hinge {n}", n, tree.inner[i], tree.outer[i], base[i]) for i, n in enumerate(name)]
    loads = [Force(n, np.zeros(2), forces[i]) for i, n in enumerate(name)]
    loads += [TorsionSpring(n, tree.stiffness[i], base[i], tree.rest[i]) for i, n in enumerate(name)]
    system = System(tree.bodies, hinges, loads, lam)
    ways, h = tree.ways(phi), 1e-6
    v = np.einsum("ikx,i->kx", np.stack([-ways[..., 1], ways[..., 0]], axis=-1), rate)
    differences = (tree.centres(phi + h * rate) - tree.centres(phi - h * rate)) / (2 * h)
    np.testing.assert_allclose(differences, v, rtol=0, atol=1e-8)
    places = [PlanarBody.place(r, angle) for r, angle in zip(tree.centres(phi), phi, strict=True)]
    return system, system.state(places, [PlanarBody.move(*each) for each in zip(v, rate, strict=True)])


def _march(accelerations, phi, rate, times):
    """Angles and rates of a tree at the times asked for."""
    n = len(phi)

    def slope(t, x):
        return np.concatenate([x[n:], accelerations(x[:n], x[n:])])

    found = solve_ivp(
        slope, (times[0], times[-1]), [*phi, *rate], method="DOP853", t_eval=times, rtol=1e-11, atol=1e-12
    )
    return found.y.T[:, :n], found.y.T[:, n:]


@pytest.mark.parametrize("seed", range(5))
def test_incidence_and_path_matrices_are_inverse(seed):
    tree = _random_tree(np.random.default_rng(seed))
    assert np.array_equal(tree.paths @ tree.incidence, np.eye(tree.n))
    assert np.array_equal(tree.incidence @ tree.paths, np.eye(tree.n))


@pytest.mark.parametrize("seed", range(5))
def test_augmented_bodies_articulated_bodies_and_constraints_agree_on_any_tree(seed):
    rng = np.random.default_rng(seed)
    tree = _random_tree(rng)
    phi, rate, forces = rng.normal(size=6), rng.normal(size=6), rng.normal(size=(6, 2))
    expected = tree.accelerations(phi, rate, forces)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(
        articulated.articulated_accelerations(tree, phi, rate, forces), expected, rtol=0, atol=1e-11 * scale
    )
    system, x = _as_bodies(tree, phi, rate, forces)
    system.check(x, tolerance=1e-12)
    np.testing.assert_allclose(system.solve(0.0, x).acceleration[2::3], expected, rtol=0, atol=1e-10 * scale)
    assert system.energy(0.0, x) == pytest.approx(tree.energy(phi, rate, forces), rel=1e-12)


def test_mass_matrix_of_augmented_bodies_is_that_of_the_kinetic_energy():
    rng = np.random.default_rng(7)
    tree = _random_tree(rng)
    phi = rng.normal(size=6)
    D = tree.ways(phi)
    A, _, _ = tree.equations(phi, np.zeros((6, 2)))
    np.testing.assert_allclose(
        A, np.einsum("k,ikx,jkx->ij", tree.mass, D, D) + np.diag(tree.inertia), rtol=0, atol=1e-12
    )


def test_triple_pendulum_two_ways_keeps_its_energy():
    book = json.loads((REFERENCE / "multibody_examples.json").read_text())["triple_pendulum"]
    tree = triple_pendulum.as_tree()
    assert [body.mass for body in tree.bodies] == [book["mass"]] * book["bodies"]
    assert [body.inertia for body in tree.bodies] == [book["inertia_about_centre"]] * book["bodies"]
    assert triple_pendulum.INNER.tolist() == book["joint_vectors"]["c11"]
    assert triple_pendulum.OUTER.tolist() == book["joint_vectors"]["c12"]
    assert triple_pendulum.PULL.tolist() == book["force_on_each_body"]

    times = np.linspace(0.0, book["duration"], 21)
    forces = triple_pendulum.PULLS
    start = np.array(book["initial_angles"], float), np.array(book["initial_rates"], float)
    phi, rate = _march(lambda p, r: articulated.articulated_accelerations(tree, p, r, forces), *start, times)
    energy = [tree.energy(p, r, forces) for p, r in zip(phi, rate, strict=True)]
    assert np.ptp(energy) < 1e-10
    assert np.ptp(phi) > 2.0  # it does move

    system = triple_pendulum.as_bodies()
    states = system.simulate(triple_pendulum.state(*start), times, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(states[:, 2:9:3], phi, rtol=0, atol=1e-8)
    assert np.ptp([system.energy(0.0, x) for x in states]) < 1e-10
    assert max(system.residuals(0.0, states[-1]).values()) < 1e-11


@pytest.mark.parametrize(("theta", "rate", "torque"), [(0.3, 0.0, 0.0), (1.2, 20.0, 0.0), (-2.5, -15.0, 3.0)])
def test_slider_crank_obeys_lagranges_equation_of_one_coordinate(theta, rate, torque):
    """J(theta) theta'' + J'(theta) theta'^2 / 2 + V'(theta) = T, written out for the crank angle."""
    m = SliderCrank()
    system = m.system((Torque("crank", torque),))
    x = m.state(theta, rate)
    system.check(x, tolerance=1e-12)

    def inertia(angle):
        """Twice the kinetic energy at unit crank rate, from the geometry alone."""
        r, l = m.crank, m.rod
        beta = -np.arcsin(r * np.sin(angle) / l)
        turn = -r * np.cos(angle) / (l * np.cos(beta))
        rod = np.array(
            [-r * np.sin(angle) - l / 2 * turn * np.sin(beta), r * np.cos(angle) + l / 2 * turn * np.cos(beta)]
        )
        block = -r * np.sin(angle) - l * turn * np.sin(beta)
        (mc, mr, mb), (Ic, Ir, _) = m.masses, m.inertias
        return Ic + mc * r**2 / 4 + Ir * turn**2 + mr * rod @ rod + mb * block**2

    def potential(angle):
        pin = m.crank * np.sin(angle)
        return m.g * (m.masses[0] * pin / 2 + m.masses[1] * pin / 2)  # the rod's far end stays level

    h = 1e-4
    J1 = (inertia(theta + h) - inertia(theta - h)) / (2 * h)
    V1 = (potential(theta + h) - potential(theta - h)) / (2 * h)
    expected = (torque - V1 - 0.5 * J1 * rate**2) / inertia(theta)
    assert system.solve(0.0, x).acceleration[2] == pytest.approx(expected, rel=1e-7)


def test_slider_crank_has_nine_accelerations_and_eight_constraints_and_keeps_its_energy():
    m = SliderCrank()
    system, x = m.system(), m.state(0.4, 8.0)
    solution = system.solve(0.0, x)
    assert solution.acceleration.shape == (9,)
    assert sum(map(len, solution.reactions.values())) == 8
    states = system.simulate(x, np.linspace(0.0, 1.0, 5))
    energy = [system.energy(0.0, each) for each in states]
    assert np.ptp(energy) < 1e-9 * abs(energy[0])
    assert max(system.residuals(0.0, states[-1]).values()) < 1e-9


def test_slider_crank_that_can_fold_is_named_at_its_dead_point():
    m = SliderCrank(crank=0.2, rod=0.2)
    x = m.state(np.pi / 2.0 - 1e-9, 0.0)
    with pytest.raises(InputError, match="'guide'"):
        m.system().solve(0.0, x)


def test_solar_array_unfolds_the_same_by_both_methods():
    tree = solar_array()
    times, none = np.linspace(0.0, 4.0, 9), np.zeros((2, 2))
    phi, rate = _march(lambda p, r: tree.accelerations(p, r, none), FOLDED, np.zeros(2), times)
    energy = [tree.energy(p, r, none) for p, r in zip(phi, rate, strict=True)]
    # all it has is in the springs: (2 (pi/2)^2 + 1 pi^2) / 2 J
    assert energy[0] == pytest.approx(0.5 * (2.0 * (np.pi / 2) ** 2 + np.pi**2), rel=1e-14)
    assert np.ptp(energy) < 1e-9
    assert np.ptp(tree.relative(phi[-1]) - tree.relative(phi[0])) > 0.5  # it does unfold
    system, x = _as_bodies(tree, FOLDED, np.zeros(2), none)
    states = system.simulate(x, times)
    np.testing.assert_allclose(states[:, 2:6:3], phi, rtol=0, atol=1e-8)


def test_closed_loop_by_a_cut_joint_equals_the_loop_of_free_bodies():
    bars = FourBar()
    tree, cut = bars.tree(), bars.cut()
    forces = -9.81 * np.column_stack([np.zeros(3), tree.mass])
    phi = bars.angles(0.7)
    rate = bars.rates(phi, 3.0)
    found, pin = closed_loop.closed_loop_accelerations(tree, [cut], phi, rate, forces)
    system, x = _as_bodies(tree, phi, rate, forces)
    system = System(system.bodies, [*system.constraints, cut], system.loads)
    system.check(x, tolerance=1e-12)
    solution = system.solve(0.0, x)
    np.testing.assert_allclose(found, solution.acceleration[2::3], rtol=1e-10)
    np.testing.assert_allclose(pin, solution.reactions["ground pin"], rtol=1e-10)

    times = np.linspace(0.0, 2.0, 5)
    angles, rates = _march(
        lambda p, r: closed_loop.closed_loop_accelerations(tree, [cut], p, r, forces)[0], phi, rate, times
    )
    energy = [tree.energy(p, r, forces) for p, r in zip(angles, rates, strict=True)]
    assert np.ptp(energy) < 1e-8
    np.testing.assert_allclose(angles[-1], bars.angles(angles[-1, 0]), rtol=0, atol=1e-8)  # the loop is still closed
    again = Spherical("again", "rocker", [bars.lengths[2] / 2, 0.0], [bars.span, 0.0])
    with pytest.raises(InputError, match="repeat"):
        closed_loop.closed_loop_accelerations(tree, [cut, again], phi, rate, forces)


def test_tree_whose_bodies_hang_from_later_ones_is_refused():
    bodies = (PlanarBody("a", 1.0, 1.0), PlanarBody("b", 1.0, 1.0))
    with pytest.raises(InputError, match="smaller index"):
        Tree(bodies, (1, -1), np.zeros(2), np.zeros(2))
