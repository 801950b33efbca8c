"""Free responses simulated from theory, against what the analysis finds in them."""

from dataclasses import replace

import numpy as np
import pytest

from experiments.analysis.estimators.uncertainty import fit_window
from experiments.analysis.windows.cut import make_window
from experiments.theory.free_response import simulate_free_response
from experiments.theory.modes import kicked_mode
from experiments.theory.theory import lean_feedback, open_loop
from models import catalogue
from models.errors import InputError

SILVER = open_loop(catalogue.load_bicycle("Silver"))


def test_a_simulated_response_shows_the_weave_it_was_made_of():
    response = simulate_free_response(SILVER, v=5.0, duration=5.0)
    assert len(response.t) == 1001
    assert response.phi_dot[0] == pytest.approx(0.5)
    fit = fit_window(response, make_window(response, 60, 1001), estimator="several_modes")
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
