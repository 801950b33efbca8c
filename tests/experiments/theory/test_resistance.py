"""Resistance of a road: what a table states, what stays uncertain, and where it is felt."""

from dataclasses import replace

import numpy as np
import pytest

import riderless as rl
from riderless.experiments.analysis.identification.identify import identify
from riderless.experiments.analysis.identification.output_error import AveragedWindow
from riderless.experiments.analysis.windows.cut import make_window
from riderless.experiments.analysis.windows.grouping import with_unknown_resistance
from riderless.experiments.datatypes import Segment
from riderless.experiments.dynamics import ROAD_QUANTITIES
from riderless.experiments.theories import open_loop, with_stated_resistance
from riderless.experiments.theory.free_response import simulate_free_response
from riderless.models import catalogue
from riderless.models.errors import InputError
from riderless.models.linear.resistance import Resistance
from riderless.models.linear.road_forces import slope

SILVER = catalogue.load_bicycle("Silver")
COASTING = replace(open_loop(SILVER), resistance=Resistance())
FALLING = np.linspace(5.5, 4.5, 801)


@pytest.mark.parametrize(
    ("table", "uncertain"),
    [
        ({}, {"rolling", "rolling_axis", "drag_share", "drag_height"}),
        ({"balanced_by": "air"}, {"rolling", "rolling_axis", "drag_share", "drag_height"}),
        ({"balanced_by": "motor"}, {"rolling", "rolling_axis"}),
        ({"balanced_by": "incline", "surface": "belt", "rolling": 0.006}, {"rolling_axis"}),
        ({"balanced_by": "rope", "surface": "belt", "at": [0.8, -0.84]}, {"rolling", "rolling_axis"}),
    ],
)
def test_what_nobody_states_is_uncertain(table, uncertain):
    theory = with_stated_resistance(open_loop(SILVER), table, "lab.toml [resistance]")
    assert set(theory.uncertain) == uncertain
    assert theory.on_belt == (table.get("surface") == "belt")
    assert uncertain <= set(theory.causes)


def test_a_stated_resistance_acts_at_a_kept_speed_and_one_that_is_known_by_its_slowing_does_not():
    """Rolling of 0.01 about horizontal axes moves the weave from -0.02 to -0.31 1/s (a given number)."""
    stated = with_stated_resistance(
        open_loop(SILVER), {"balanced_by": "motor", "rolling": 0.01, "rolling_axis": 1.0}, ""
    )
    found = max(stated.dynamics().eigenvalues(4.0), key=lambda s: s.imag)
    assert found.real == pytest.approx(-0.31, abs=0.005)
    np.testing.assert_array_equal(COASTING.dynamics().matrix(4.0), open_loop(SILVER).dynamics().matrix(4.0))


def test_what_slows_a_bicycle_is_asked_where_its_speed_falls():
    for v, asked in ((FALLING, True), (FALLING[::-1], False), (np.full(801, 5.0), False)):
        response = simulate_free_response(open_loop(SILVER), v)
        theory = with_unknown_resistance(response, [make_window(response, 100, 700)]).own_theory
        assert (theory.resistance is not None) == asked


def test_rolling_is_identified_while_the_speed_falls():
    response = simulate_free_response(COASTING.move({"rolling": 0.012, "rolling_axis": 1.0}), FALLING)
    response = replace(response, theory=COASTING.move({"rolling_axis": 1.0}))
    window = AveragedWindow.of(Segment(response, make_window(response, 0, 801)))
    assert identify([window], ["rolling"]).changes["rolling"] == pytest.approx(0.012, abs=5e-4)
    steady = simulate_free_response(open_loop(SILVER), 5.0)
    window = AveragedWindow.of(Segment(steady, make_window(steady, 0, 801)))
    for name in ROAD_QUANTITIES:
        with pytest.raises(InputError, match=rf"{name} \(the speed falls in none of them, and no \[resistance\]"):
            identify([window], [name])


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"rolling": 0.5}, "rolling from 0 to 0.1, found 0.5: no tyre on a floor resists more"),
        ({"rolling_axis": 2.0}, "rolling_axis from 0 to 1, found 2"),
        ({"balanced_by": "rope", "at": [8.0, -0.8]}, r"a place on the bicycle, found at = \[8, -0.8\]"),
        ({"balanced_by": "rope", "at": [0.8, 0.8]}, r"a place on the bicycle, found at = \[0.8, 0.8\]"),
        ({"balanced_by": "rope"}, r"at = \[x, z\] \(m\) for a rope"),
        ({"balanced_by": "air", "surface": "belt"}, "air on a floor only"),
        ({"balanced_by": "wind"}, "balanced_by among air, motor, rope, incline, unknown, found 'wind'"),
    ],
)
def test_what_cannot_be_is_refused(table, said):
    with pytest.raises(InputError, match=rf"lab \[resistance\]: .*{said}"):
        with_stated_resistance(open_loop(SILVER), table, "lab [resistance]")


def test_a_slope_is_no_angle():
    with pytest.raises(InputError, match="found 45 m/s"):
        slope(SILVER, 45.0)


@pytest.mark.parametrize("model", ["linear", "nonlinear"])
def test_an_emulated_bicycle_that_coasts_swings_as_predicted(model):
    """Within 0.02 1/s; were what slows it taken for a brake at the rear rim, 0.21 1/s off."""
    around = rl.Surroundings(coasting=True, rolling=0.012, rolling_axis=1.0, drag_area=0.2)
    gains, kicks = rl.design(SILVER, "off", [3.0, 6.0]), [rl.Kick(0.4, impulse=2.0)]
    run = rl.simulate(SILVER, gains, speed=5.6, duration=4.0, kicks=kicks, seed=7, model=model, surroundings=around)
    (window,) = rl.analyze(run).comparisons
    assert abs(window.z_re) < 3.0
    assert abs(window.z_im) < 3.0
    assert abs(window.residual) < 0.02
