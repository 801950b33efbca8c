"""The rolling hoop of Matrosov, Morozov and Pesterev (2021), section 4 (rolling_hoop.json)."""

import json

import numpy as np
import pytest
from numpy.polynomial import Polynomial

from riderless.models.constrained.constraints import WheelOnProfile
from riderless.models.constrained.examples.hoop import (
    HOOP_CONSTRAINTS,
    Hoop,
    hoop_energy,
    hoop_residuals,
    hoop_start,
    hoop_unknowns,
    roll,
)
from riderless.models.constrained.loads import Gravity
from riderless.models.constrained.planar import PlanarBody
from riderless.models.constrained.system import System
from riderless.models.errors import InputError
from tests.paths import REFERENCE

SETTLING = 1.0
EARTH = Hoop(g=9.81)


@pytest.fixture(scope="module")
def paper():
    return json.loads((REFERENCE / "rolling_hoop.json").read_text())


def test_the_hoop_is_the_papers(paper):
    hoop, wanted = Hoop(), paper["hoop"]
    assert (hoop.m, hoop.r, hoop.a, hoop.b) == tuple(wanted[each] for each in ("mass", "radius", "a", "b"))
    assert len(HOOP_CONSTRAINTS) == len(paper["constraints"])


@pytest.mark.parametrize("hoop", [Hoop(), EARTH], ids=["g = 1", "g = 9.81"])
def test_start_obeys_every_constraint(hoop):
    s = hoop_start(hoop, -0.4, -30.0)
    assert np.abs(hoop_residuals(hoop, hoop_energy(hoop, s), s)).max() < 1e-15


@pytest.mark.parametrize("hoop", [Hoop(), EARTH], ids=["g = 1", "g = 9.81"])
def test_residuals_at_the_papers_step(paper, hoop):
    run = paper["results"][0]
    rolled = roll(hoop, run["lambda"], run["step"], duration=12.0, settling=SETTLING)
    assert rolled.residuals.max() < run["max_residual_steady_below"]
    assert rolled.traversals >= 2
    assert np.isnan(rolled.left_at)


def test_residuals_at_a_tenth_of_the_step(paper):
    run = paper["results"][1]
    rolled = roll(Hoop(), run["lambda"], run["step"], duration=4.0, settling=SETTLING)
    assert rolled.residuals.max() < run["max_residual_steady_below"]


@pytest.mark.parametrize("lam", [1.0, 10.0, 1e2, 1e4, 1e5])
def test_decay_rate_is_not_delicate(paper, lam):
    run = paper["results"][2]
    low, high = run["lambda_range_usable"]
    assert low <= lam <= high
    rolled = roll(EARTH, lam, run["step"], duration=6.0, settling=SETTLING)
    assert rolled.residuals.max() < run["max_residual_steady_below"]


def _carelessly(hoop):
    """A start whose residuals are below 1e-6 but not zero: the centre moves into the profile."""
    x, z, alpha, vx, vz, omega = hoop_start(hoop)
    slope = -1.0 / np.tan(alpha)  # the radius is normal to the profile
    into = 9e-7 / (1.0 + slope**2)
    s = (x, z, alpha, vx + into * slope, vz - into, omega)
    assert np.abs(hoop_residuals(hoop, hoop_energy(hoop, hoop_start(hoop)), s)).max() < 1e-6
    assert slope * s[3] - s[4] == pytest.approx(9e-7, rel=1e-6)  # the rate of the profile's residual
    return s


def test_without_decay_the_hoop_leaves_the_profile_within_two_traversals():
    """Off by several times what any residual was at the start, and farther off all the time."""
    s = _carelessly(Hoop())
    rolled = roll(Hoop(), 0.0, 1e-5, duration=100.0, state=s, limit=5e-6)
    assert rolled.left_at > 0.0
    assert rolled.traversals <= 2
    kept = roll(Hoop(), 1e3, 1e-5, duration=12.0, state=s, settling=SETTLING, limit=5e-6)
    assert np.isnan(kept.left_at)
    assert kept.residuals.max() < 7e-9


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("hoop", [Hoop(), EARTH], ids=["g = 1", "g = 9.81"])
def test_residuals_over_a_hundred_time_units(paper, hoop):
    run = paper["results"][0]
    rolled = roll(hoop, run["lambda"], run["step"], duration=100.0, settling=SETTLING)
    assert rolled.residuals.max() < run["max_residual_steady_below"]
    assert rolled.traversals >= 15


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_residuals_over_a_hundred_time_units_at_a_tenth_of_the_step(paper):
    run = paper["results"][1]
    rolled = roll(Hoop(), run["lambda"], run["step"], duration=100.0, settling=SETTLING)
    assert rolled.residuals.max() < run["max_residual_steady_below"]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_without_decay_the_hoop_is_ever_farther_off():
    off = [roll(Hoop(), 0.0, 1e-5, duration=T, state=_carelessly(Hoop())).residuals[0] for T in (25.0, 50.0, 100.0)]
    assert off[1] == pytest.approx(2.0 * off[0], rel=0.05)
    assert off[2] == pytest.approx(4.0 * off[0], rel=0.05)


@pytest.mark.parametrize(("x", "omega"), [(-0.9, -5.0), (-0.5, -40.0), (0.1, 60.0), (0.7, -10.0)])
def test_reactions_equal_those_of_a_wheel_with_ideal_constraints(x, omega):
    """The paper's energy constraint and the general wheel, whose reactions do no work, are two routes to one motion."""
    hoop = EARTH
    s = hoop_start(hoop, x, omega)
    R_x, R_z, Q, U = hoop_unknowns(hoop, hoop_energy(hoop, s), 10.0, s, np.empty((4, 5)))
    wheel = PlanarBody("hoop", hoop.m, hoop.m * hoop.r**2)
    profile = Polynomial([-(1.0 - hoop.b), -hoop.a, -hoop.b, hoop.a, 1.0])
    system = System([wheel], [WheelOnProfile("rolls", "hoop", hoop.r, profile)], [Gravity((0.0, -hoop.g))])
    X = system.state([wheel.place(s[:2])], [wheel.move(s[3:5], s[5])])
    system.check(X, tolerance=1e-12)
    acceleration = system.solve(0.0, X).acceleration
    assert acceleration == pytest.approx([R_x / hoop.m, R_z / hoop.m - hoop.g, Q / (hoop.m * hoop.r**2)], rel=1e-9)

    # U: turn of the normal of the profile where the hoop touches, from the speed of the contact
    slope, bend = profile.deriv()(x), profile.deriv(2)(x)
    steep = np.hypot(1.0, slope)
    along = (s[3] + slope * s[4]) / steep  # of the centre, along the tangent
    turn = bend / steep**3 * along / (1.0 - hoop.r * bend / steep**3)
    assert pytest.approx(turn, rel=1e-9) == U


def test_inputs_that_cannot_roll_are_refused():
    with pytest.raises(InputError, match="step"):
        roll(h=0.0)
    with pytest.raises(InputError, match="lam"):
        roll(lam=-1.0)
