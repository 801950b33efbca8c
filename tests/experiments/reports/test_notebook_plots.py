"""Plots for a notebook show what was measured, and draw into axes that are given."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import riderless as rl


@pytest.fixture(scope="module")
def run():
    silver = rl.load_bicycle("Silver")
    return rl.simulate(
        silver, rl.design(silver, "off", [5.0]), speed=5.0, kicks=[rl.Kick(0.6, impulse=3.0)], duration=4.0
    )


def test_a_window_is_drawn_into_axes_that_are_given(run):
    (comparison,) = rl.analyze(run).comparisons
    ax = Figure().subplots()
    assert rl.plot_window(comparison, ax) is ax
    measured, fitted = ax.get_lines()
    rows = slice(comparison.window.start, comparison.window.stop)
    assert np.array_equal(measured.get_ydata(), np.degrees(comparison.segment.response.phi_dot[rows]))
    assert np.array_equal(fitted.get_ydata(), np.degrees(comparison.fit.curve))
    assert "like for like" in rl.plot_window(comparison).get_title()


def test_a_run_is_drawn_with_its_states(run):
    figure = rl.plot_run(run)
    words = [text.get_text() for ax in figure.axes for text in ax.texts]
    assert any("RUNNING" in word for word in words)
