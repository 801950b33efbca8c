"""What a path asks for: against steady turns of the nonlinear model, and ridden by the linear one."""

from dataclasses import replace

import control
import numpy as np
import pytest
from scipy.integrate import cumulative_trapezoid

from riderless.hil.design.lqr import Weights
from riderless.hil.guidance import demand as demands
from riderless.hil.guidance.demand import path_demand
from riderless.hil.guidance.rideable import RideLimits, require_rideable
from riderless.hil.guidance.shapes import circle, figure_of_eight, lane_change, slalom
from riderless.models import load_bicycle
from riderless.models.coordinates import T_DELTA
from riderless.models.errors import InputError
from riderless.models.linear.path import heading_rate
from riderless.models.linear.whipple import input_matrix, system_matrix
from riderless.models.nonlinear.steady_turns import steady_turn_from_speed_and_radius

BICYCLES = ("Silver", "Benchmark", "DelftSbW2024")


@pytest.mark.parametrize("name", BICYCLES)
@pytest.mark.parametrize(("v", "radius", "share"), [(3.0, 60.0, 0.005), (4.0, -10.0, 0.04)])
def test_in_a_circle_it_asks_for_the_steady_turn(name, v, radius, share):
    bicycle = load_bicycle(name)
    turn = steady_turn_from_speed_and_radius(bicycle, v, radius)
    demand = path_demand(bicycle, circle(radius, entry=6.0), v)
    i = int(np.searchsorted(demand.s, 40.0))
    assert demand.phi[i] == pytest.approx(turn.phi, rel=share)
    assert demand.delta[i] == pytest.approx(turn.delta, rel=share)
    assert demand.T_delta[i] == pytest.approx(turn.T_delta, rel=8 * share, abs=0.05)


@pytest.mark.parametrize("name", BICYCLES)
@pytest.mark.parametrize(("path", "v"), [(lane_change(1.0, 10.0), 5.0), (slalom(), 3.0), (figure_of_eight(12.0), 4.0)])
def test_who_makes_that_torque_rides_that_path(name, path, v):
    """The linear bicycle, integrated on its own; a weak feedback keeps it from falling, for it cannot ride blind."""
    bicycle = load_bicycle(name)
    d = path_demand(bicycle, path, v)
    A, b = system_matrix(bicycle, v), input_matrix(bicycle)[:, T_DELTA]
    K = control.lqr(A, b[:, None], Weights(0.1, 0.2, 1.0, 10.0).Q, 0.01)[0][0]
    asked = np.column_stack([d.phi, d.delta, d.phi_dot, d.delta_dot])
    h = (d.s[1] - d.s[0]) / v
    x, place = asked[0].copy(), np.array(path.at(d.s[0])[:3])  # x, y, heading
    off, fed_back = [], []
    for i in range(len(d.s) - 1):
        middle = 0.5 * (asked[i] + asked[i + 1])
        T = 0.5 * (d.T_delta[i] + d.T_delta[i + 1])
        half = x + 0.5 * h * (A @ x + b * (d.T_delta[i] - K @ (x - asked[i])))
        correction = K @ (half - middle)
        turned = h * float(heading_rate(bicycle, v, half))
        heading = place[2] + 0.5 * turned
        x = x + h * (A @ half + b * (T - correction))
        place = place + np.array([h * v * np.cos(heading), h * v * np.sin(heading), turned])
        fed_back.append(abs(correction))
        if i % 25 == 0 and (not path.closed or d.s[i] < path.length):
            off.append(path.nearest(*place[:2], place[2], near=d.s[i]).lateral)
    assert np.max(np.abs(off)) < 0.02
    assert np.max(fed_back) < 0.05 * np.max(np.abs(d.T_delta))


TRAILS = [-0.19, -0.08, -0.02, -0.005, 0.0, 1e-6, 0.005, 0.02, 0.039, 0.041, 0.08, 0.19]


@pytest.mark.parametrize("trail", TRAILS)
def test_its_torque_does_not_grow_with_finer_steps(monkeypatch, trail):
    """Without trail a kink of the curvature was a jerk of the steer: half the step, twice the torque."""
    bicycle, peaks = replace(load_bicycle("Silver"), c=trail), []
    for step in (3e-4, 1.5e-4):
        monkeypatch.setattr(demands, "DEMAND_STEP", step)
        peaks.append(np.max(np.abs(path_demand(bicycle, lane_change(1.0, 10.0), 5.0).T_delta)))
    assert peaks[1] == pytest.approx(peaks[0], rel=0.05)


@pytest.mark.parametrize("trail", TRAILS)
@pytest.mark.parametrize(("path", "v"), [(lane_change(1.0, 6.0), 5.0), (figure_of_eight(12.0), 4.0)])
def test_its_rear_contact_runs_along_the_path_with_any_trail(path, v, trail):
    """Place by quadrature of the heading rate, rolling without slip."""
    bicycle = replace(load_bicycle("Silver"), c=trail)
    d = path_demand(bicycle, path, v)
    heading = cumulative_trapezoid(
        heading_rate(bicycle, v, np.column_stack([d.phi, d.delta, d.phi_dot, d.delta_dot])), d.s / v, initial=0.0
    )
    along = slice(*np.searchsorted(d.s, [0.0, path.length]))
    asked = np.array([path.at(s) for s in d.s[along][::20]])
    heading += asked[0, 2] - heading[along][0]
    x, y = (cumulative_trapezoid(f(heading[along]), d.s[along], initial=0.0)[::20] for f in (np.cos, np.sin))
    assert np.max(np.hypot(x + asked[0, 0] - asked[:, 0], y + asked[0, 1] - asked[:, 1])) < 1e-3


def test_a_little_trail_changes_little():
    """Demands of neighbouring trails are neighbours, also where zero and the rounding of kinks lie between them."""
    silver, path = load_bicycle("Silver"), lane_change(1.0, 10.0)
    for trail in (0.0, demands.KINK_ROUNDING, -demands.KINK_ROUNDING):
        below, above = (path_demand(replace(silver, c=trail + d), path, 5.0) for d in (-1e-7, 1e-7))
        assert above.T_delta == pytest.approx(below.T_delta, abs=0.05)


def test_a_bicycle_leans_before_it_turns_and_steers_the_other_way_first():
    d = path_demand(load_bicycle("Silver"), circle(20.0), 5.0)
    first = d.s < 0.0
    assert np.max(d.phi[first]) > 0.02  # it leans to the right on the straight
    assert np.max(np.abs(d.delta[first])) < 1e-9
    assert d.T_delta[first][np.argmax(np.abs(d.T_delta[first]))] < 0.0  # by a torque to the left


def test_limits_refuse_and_tell_at_which_speed_it_would_do():
    silver = load_bicycle("Silver")
    with pytest.raises(InputError, match=r"asks for \d+\.\d deg of lean at .* ride at (\d\.\d) m/s") as refused:
        require_rideable(silver, circle(4.0), 5.0, RideLimits())
    slower = float(str(refused.value).split("ride at ")[1].split(" m/s")[0])
    require_rideable(silver, circle(4.0), slower, RideLimits())
    with pytest.raises(InputError, match="of lean"):
        require_rideable(silver, circle(4.0), slower + 0.3, RideLimits())


@pytest.mark.parametrize(("name", "path"), [("Benchmark", lane_change(2.0, 8.0)), ("Silver", circle(4.0))])
def test_the_speed_that_it_tells_is_not_refused(name, path):
    """A tried speed was rounded down to one that nobody had tried, and slower asked for more torque."""
    bicycle = load_bicycle(name)
    for v in np.arange(4.5, 5.5, 0.07):
        with pytest.raises(InputError) as refused:
            require_rideable(bicycle, path, v, RideLimits())
        told = str(refused.value).split("ride at ")[1].split(" m/s")[0]
        require_rideable(bicycle, path, float(told), RideLimits())


@pytest.mark.parametrize("limit", ["lean", "steer", "torque", "speed_min", "speed_max"])
@pytest.mark.parametrize("value", [np.nan, 0.0, -1.0, "1", None, True])
def test_a_limit_that_is_no_number_above_0_is_refused(limit, value):
    with pytest.raises(InputError, match=f"the limit {limit} of a ride must be a number above 0 in .*found {value!r}"):
        RideLimits(**{limit: value})


def test_limits_may_be_numbers_of_numpy_or_none():
    require_rideable(load_bicycle("Silver"), circle(4.0), 5.0, RideLimits(np.inf, np.inf, np.float32(np.inf)))
    assert RideLimits(speed_min=np.int64(3), speed_max=np.float32(3.0)).speed_min == 3
    with pytest.raises(InputError, match="leave no speed: speed_min is 5 m/s and speed_max 4 m/s"):
        RideLimits(speed_min=5.0, speed_max=4.0)


@pytest.mark.parametrize(
    ("limits", "v", "words"),
    [
        (RideLimits(torque=0.5), 4.0, "of steer torque"),
        (RideLimits(steer=0.05), 4.0, "of steer at"),
        (RideLimits(speed_max=3.0), 4.0, "0.3 to 3 m/s: choose a speed between"),
    ],
)
def test_each_limit_is_looked_at(limits, v, words):
    with pytest.raises(InputError, match=words):
        require_rideable(load_bicycle("Silver"), lane_change(1.0, 8.0), v, limits)


def test_of_the_lean_eight_degrees_are_left_for_gusts_and_errors():
    """A U-turn of 4 m asked for 23.0 of 29.8 deg; in gusts such rides ended at the limit."""
    silver, limits = load_bicycle("Silver"), RideLimits(lean=0.52)
    with pytest.raises(InputError, match=r"asks for 2\d\.\d deg of lean at .*, and 21\.8 deg leave room for gusts"):
        require_rideable(silver, circle(4.0, 0.5), 4.0, limits)
    require_rideable(silver, circle(5.0, 0.5), 4.0, limits)
    require_rideable(silver, circle(30.0, 0.5), 4.0, RideLimits(lean=0.12))  # 3.1 of 6.9 deg
