"""The general solver: any x' = X + B u with constraints of order one and two, each with its own rate of decay."""

import numpy as np
import pytest

from riderless.models.constrained.control_form import ControlForm, DecayingConstraint
from riderless.models.constrained.examples.hoop import (
    Hoop,
    hoop_energy,
    hoop_on,
    hoop_profile,
    hoop_start,
    hoop_unknowns,
    roll,
)
from riderless.models.errors import InputError

EARTH = Hoop(g=9.81)


def papers(hoop, E, lam=(1e3,) * 4):
    """The paper's profile in the general form."""
    return hoop_on(lambda x: hoop_profile.py_func(hoop, x)[0], lambda x: hoop_profile.py_func(hoop, x)[1], hoop, E, lam)


@pytest.mark.parametrize(("x", "omega"), [(-0.9, -5.0), (-0.5, -40.0), (0.1, 60.0), (0.7, 0.0)])
@pytest.mark.parametrize("off", [0.0, 1e-5])
def test_the_hoop_is_an_example(x, omega, off):
    """Off every constraint too."""
    s = (
        tuple(value + off * k for k, value in enumerate(hoop_start(EARTH, x, omega)))
        if omega
        else hoop_start(EARTH, x, 0.0)
    )
    E = hoop_energy(EARTH, s) + off
    by_hand = hoop_unknowns(EARTH, E, 50.0, s, np.empty((4, 5)))
    assert papers(EARTH, E, (50.0,) * 4).solve(s) == pytest.approx(
        by_hand, rel=1e-5 if off and omega else 1e-9, abs=1e-9
    )


def test_a_start_at_rest_rolls_as_one_that_hardly_moves():
    rest = roll(state=hoop_start(Hoop(), -0.8, 0.0), duration=6.0)
    moving = roll(state=hoop_start(Hoop(), -0.8, -1e-4), duration=6.0)
    assert rest.residuals.max() < 1e-10
    assert rest.traversals >= 1
    np.testing.assert_allclose(rest.state, moving.state, atol=3e-4)


def test_another_profile_from_rest_turns_at_its_mirror():
    """A valley that is its own mirror image about pi/3."""
    hoop, x = EARTH, 0.3
    slope = -0.9 * np.sin(3.0 * x)
    normal = np.array([slope, -1.0]) / np.hypot(1.0, slope)
    centre = np.array([x, 0.3 * np.cos(3.0 * x)]) - hoop.r * normal
    start = np.array([*centre, np.arctan2(normal[1], normal[0]), 0.0, 0.0, 0.0])
    system = hoop_on(
        lambda x: 0.3 * np.cos(3.0 * x), lambda x: -0.9 * np.sin(3.0 * x), hoop, hoop_energy(hoop, start), (40.0,) * 4
    )
    states = system.march(start, 2e-3, 1300)
    assert states[:, 0].max() == pytest.approx(2.0 * np.pi / 3.0 - centre[0], abs=2e-5)
    assert max(max(system.residuals(x).values()) for x in states) < 2e-4


def test_a_pendulum_by_its_rods_force():
    """x, y and their rates; the input is the force along the rod per mass and length, of order 2."""
    pendulum = ControlForm(
        lambda x: np.array([x[2], x[3], 0.0 * x[0], -9.81 + 0.0 * x[0]]),
        lambda x: np.array([[0.0], [0.0], [x[0]], [x[1]]]),
        [DecayingConstraint("rod", lambda x: (x[0] ** 2 + x[1] ** 2 - 1.0) / 2.0, order=2, lam=50.0)],
    )
    angle, rate = 0.7, 1.3
    x = [np.sin(angle), -np.cos(angle), rate * np.cos(angle), rate * np.sin(angle)]
    assert pendulum.solve(x) == pytest.approx([-(rate**2) - 9.81 * np.cos(angle)], rel=1e-9)  # towards the pivot
    states = pendulum.march(x, 1e-3, 2000)
    assert np.abs(np.hypot(states[:, 0], states[:, 1]) - 1.0).max() < 2e-6
    energy = (states[:, 2] ** 2 + states[:, 3] ** 2) / 2.0 + 9.81 * states[:, 1]
    assert np.ptp(energy) < 1e-4


def test_each_constraint_decays_at_its_own_rate():
    """Two numbers that are to be zero, and two inputs that move them."""
    system = ControlForm(
        lambda x: 0.0 * x,
        lambda x: np.eye(2),
        [DecayingConstraint("a", lambda x: x[0], lam=1.0), DecayingConstraint("b", lambda x: x[1], lam=3.0)],
    )
    assert system.march([1.0, 1.0], 1e-3, 1000)[-1] == pytest.approx(np.exp([-1.0, -3.0]), rel=1e-5)


def test_constraints_that_determine_nothing_are_named():
    def system(*goals):
        return ControlForm(lambda x: 0.0 * x, lambda x: np.eye(2), goals)

    first, again = DecayingConstraint("a", lambda x: x[0]), DecayingConstraint("twice a", lambda x: 2.0 * x[0])
    with pytest.raises(InputError, match="'a', 'twice a'"):
        system(first, again).solve([0.0, 0.0])
    with pytest.raises(InputError, match="'flat' of order 1 says nothing"):
        system(first, DecayingConstraint("flat", lambda x: x[1] ** 2)).solve([0.0, 0.0])
    with pytest.raises(InputError, match="as many constraints as inputs, found 1 and 2"):
        system(first).solve([0.0, 0.0])
    with pytest.raises(InputError, match="not finite"):
        system(first, DecayingConstraint("b", lambda x: x[1] * np.nan)).solve([0.0, 0.0])
    with pytest.raises(InputError, match="order 1 or 2, found 3"):
        DecayingConstraint("jerk", lambda x: x[0], order=3)
    with pytest.raises(InputError, match="decay rate"):
        DecayingConstraint("a", lambda x: x[0], lam=-1.0)
