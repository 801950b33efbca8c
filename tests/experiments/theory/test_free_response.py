"""Free responses simulated from theory, against what the analysis finds in them."""

import json
from dataclasses import replace

import numpy as np
import pytest

from riderless.experiments.analysis.estimators.uncertainty import fit_window
from riderless.experiments.analysis.windows.cut import make_window
from riderless.experiments.datatypes import Segment
from riderless.experiments.theories import lean_feedback, open_loop
from riderless.experiments.theory.free_response import free_response, simulate_free_response, speed_nodes, step_maps
from riderless.experiments.theory.modes import kicked_mode
from riderless.models import catalogue
from riderless.models.coordinates import DELTA, PHI_DOT
from riderless.models.errors import InputError
from riderless.models.linear.resistance import Resistance
from riderless.models.linear.whipple import totals
from riderless.models.parameters import Bicycle
from tests.paths import REFERENCE

SILVER = open_loop(catalogue.load_bicycle("Silver"))


def test_a_simulated_response_shows_the_weave_it_was_made_of():
    response = simulate_free_response(SILVER, v=5.0, duration=5.0)
    assert len(response.t) == 1001
    assert response.phi_dot[0] == pytest.approx(0.5)
    fit = fit_window(Segment(response, make_window(response, 60, 1001)), estimator="several_modes")
    weave = kicked_mode(SILVER.dynamics(), 5.0)
    assert (fit.re, fit.im) == pytest.approx((weave.real, weave.imag), abs=5e-3)


def test_the_speed_may_change_and_the_angles_are_integrals_of_the_rates():
    theory = lean_feedback(catalogue.load_bicycle("DelftSbW2024"), k=2.0, v0=6.5)
    response = simulate_free_response(theory, v=np.linspace(5.0, 4.5, 801), start=(0.02, 0.0, 0.3, 0.0), dt=0.0025)
    assert response.phi is not None
    assert response.phi[0] == 0.02
    assert np.gradient(response.phi, response.t)[1:-1] == pytest.approx(response.phi_dot[1:-1], abs=2e-3)
    assert response.theory == replace(theory, linear=True)


def test_a_sampled_loop_wants_a_multiple_of_its_interval():
    dynamics = SILVER.dynamics()
    sampled = type(SILVER)(
        "sampled", SILVER.bicycle, lambda real, delay: type(dynamics)(**{**vars(dynamics), "dt": 0.005})
    )
    with pytest.raises(InputError, match="whole multiple"):
        simulate_free_response(sampled, dt=0.007)


def test_windows_at_nearly_one_speed_share_the_machine_s_matrices():
    """A matrix of a sampled loop costs as much as a thousand samples of its motion."""
    dynamics, asked = SILVER.dynamics(), []

    def matrix(v):
        asked.append(v)
        return dynamics.matrix(v)

    for least, most in ((5.001, 5.004), (5.011, 5.0185), (5.002, 5.019)):
        free_response(replace(dynamics, matrix=matrix, embed=lambda v: np.eye(4)), np.linspace(least, most, 50), 0.005)
    assert set(asked) == set(speed_nodes(np.array([5.003, 5.017])))
    assert len(set(asked)) == 2


@pytest.mark.parametrize("v", [0.013, 3.211, 4.99, 5.0305, 8.0])
def test_a_map_between_two_speeds_is_that_of_the_speed_between(v):
    """To 1e-4 1/s of each eigenvalue, as printed beside `MAP_SPEED_STEP`."""
    dynamics, dt = SILVER.dynamics(), 0.005
    maps, left, weight = step_maps(dynamics, np.array([v, v + 0.005]), dt)
    assert len(maps) > 1
    between = maps[left[0]] + weight[0] * (maps[left[0] + 1] - maps[left[0]])
    found = np.log(np.linalg.eigvals(between).astype(complex)) / dt
    np.testing.assert_allclose(np.sort_complex(found), np.sort_complex(dynamics.eigenvalues(v)), atol=5e-5)


RESISTED = {  # case: on a belt, what balances it, values of `ROAD_QUANTITIES`
    "rear_rim": (False, Resistance(), {"rolling": 0.0, "drag_share": 0.0}),
    "drag_heading": (False, Resistance(), {"rolling": 0.0, "drag_share": 1.0}),
    "rolling_leaned": (False, Resistance(), {"rolling": 0.1, "rolling_axis": 0.0}),  # all of the slowing, at most
    "rolling_horizontal": (False, Resistance(), {"rolling": 0.1, "rolling_axis": 1.0}),
    "rolling_006_rest_drag": (False, Resistance(), {"rolling": 0.006, "rolling_axis": 1.0, "drag_share": 1.0}),
    "belt_ramp_in_place": (True, None, {}),
    "belt_steady_rear_drive": (
        True,
        Resistance(stated=True),
        {"rolling": 0.01, "rolling_axis": 1.0, "drag_share": 0.0},
    ),
    "belt_steady_tow_road": (
        True,
        Resistance(balance="rope", stated=True),
        {"rolling": 0.01, "rolling_axis": 1.0, "drag_share": 1.0},
    ),
}


GIVEN = json.loads((REFERENCE / "road_forces.json").read_text())["bicycles"]
GIVEN_MOTIONS = [
    (name, case)
    for name, given in GIVEN.items()
    for case in given["cases"]
    if case["case"] in RESISTED and (case["v_dot"] <= 0.0 or case["case"] in ("rear_rim", "belt_ramp_in_place"))
]


@pytest.mark.parametrize(("name", "case"), GIVEN_MOTIONS)
def test_a_motion_has_the_terms_of_what_changes_its_speed_and_of_what_resists_it(name, case):
    """Histories of an independent integration; left out, they would be off by 0.001 to 0.04 rad/s."""
    on_belt, resistance, values = RESISTED[case["case"]]
    b, dt = Bicycle(name=name, **GIVEN[name]["parameters"]), 0.005
    if "z" in case["loads"]:
        values = {**values, "drag_height": case["loads"]["z"] / totals(b).zT}
        resistance = resistance and replace(resistance, x=case["loads"]["x"])
    theory = replace(open_loop(b), on_belt=on_belt, resistance=resistance).move(values)
    motion = free_response(theory.dynamics(), 5.0 + case["v_dot"] * dt * np.arange(601), dt) @ [0.0, 0.0, 0.1, 0.0]
    np.testing.assert_allclose(motion[::40, PHI_DOT], case["lean_rate"], atol=5e-5)
    np.testing.assert_allclose(motion[::40, DELTA], case["steer"], atol=5e-5)
