"""Forces along the road on both emulated machines: they agree but for the cube of the motion, and belts ramp."""

import numpy as np
import pytest

from riderless.models import catalogue
from riderless.models.linear.road_forces import acceleration, slope
from riderless.models.plant.plant import Surroundings
from tests.models.plant.riding import DT, free, ride
from tests.models.road import road_system_matrix

STEADY, RAMP = ((0.0, 5.0),), ((0.0, 5.0), (2.0, 4.4))
CASES = {
    "ramp on a floor": (RAMP, "floor", Surroundings()),
    "ramp on a belt": (RAMP, "treadmill", Surroundings()),
    "rolling on a belt": (STEADY, "treadmill", Surroundings(rolling=0.02)),
    "rolling about the leaned axles": (STEADY, "treadmill", Surroundings(rolling=0.02, rolling_axis=0.0)),
    "coasting by rolling": (STEADY, "floor", Surroundings(rolling=0.02, rolling_axis=0.4, coasting=True)),
    "coasting by air": (STEADY, "floor", Surroundings(drag_area=1.5, coasting=True)),
    "ramp, rolling and air": (RAMP, "floor", Surroundings(drag_area=1.5, rolling=0.01)),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", ["Benchmark", "Silver", "Rigid"])
def test_linear_and_nonlinear_machine_agree_to_second_order(name, case):
    """Left and right are alike, so the first difference is cubic: half the motion, an eighth of the difference."""
    bicycle, (speed, surface, around) = catalogue.load_bicycle(name), CASES[case]

    def difference(size):
        both = []
        for model in ("linear", "nonlinear"):
            start = size * np.array([0.1, -0.05, 0.2, 0.3])
            plant = free(bicycle, x0=start, speed=speed, surface=surface, surroundings=around, model=model)
            both.append(np.vstack([ride(plant, 300), [plant.psi, plant.y_P, 0.0, 0.0]]))
        return np.abs(both[0] - both[1]).max() / np.abs(both[0]).max()

    assert difference(0.02) / difference(0.01) == pytest.approx(4.0, rel=0.05)
    assert difference(0.01) < 5e-5


def test_a_ramping_belt_has_terms_of_its_own():
    """As a slope, and a bicycle on a floor has none: only at a constant speed do belt and floor agree."""
    b, h, size = catalogue.load_bicycle("Silver"), 1e-3, 1e-4
    x0 = size * np.array([0.1, -0.05, 0.2, 0.3])
    plant = free(b, x0=x0, speed=((0.0, 4.0), (1.0, 3.7)), surface="treadmill")
    ride(plant, 1, dt=h)
    rates = (plant.state - x0) / h
    terms = acceleration(b, -0.3) + slope(b, 0.3)
    np.testing.assert_allclose(rates, (road_system_matrix(b, 4.0, terms)[:4, :4] @ x0), atol=2e-2 * size)
    belt, floor = (ride(free(b, speed=RAMP, surface=surface), 200) for surface in ("treadmill", "floor"))
    assert np.abs(belt - floor).max() > 1e-3


def test_beside_a_treadmill_the_air_stands_still():
    b = catalogue.load_bicycle("Silver")
    windy = free(b, surroundings=Surroundings(drag_area=0.5))
    np.testing.assert_array_equal(ride(windy, 100), ride(free(b), 100))


@pytest.mark.parametrize("model", ["linear", "nonlinear"])
def test_a_capsize_ends_where_it_turned_round(model):
    """The linear machine's heading may be large too: it stays on its circle, within the way it went."""
    b = catalogue.load_bicycle("Benchmark")
    plant = free(b, 7.0, x0=(0.001, 0.0, 0.0, 0.0), model=model)
    places = [(plant.x_P, plant.y_P)]
    for _ in range(2000):
        plant.advance(0.0, True, DT)
        places.append((plant.x_P, plant.y_P))
    ways = np.hypot(*np.diff(places, axis=0).T)
    np.testing.assert_allclose(ways, 7.0 * DT, rtol=2e-3)
