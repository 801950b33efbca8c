"""Plots for a notebook show what was measured, and draw into axes that are given."""

from dataclasses import replace
from inspect import signature

import numpy as np
import pytest
from matplotlib.figure import Figure

import riderless as rl

PLOTS = [name for name in rl.experiments.__all__ if name.startswith("plot_")]


@pytest.fixture(scope="module")
def silver():
    return rl.load_bicycle("Silver")


@pytest.fixture(scope="module")
def gains(silver):
    return rl.design(silver, "lqr", [4.0, 5.0, 6.0])


@pytest.fixture(scope="module")
def run(silver):
    return rl.simulate(
        silver, rl.design(silver, "off", [5.0]), speed=5.0, kicks=[rl.Kick(0.6, impulse=3.0)], duration=4.0
    )


@pytest.fixture(scope="module")
def drawn(silver, gains, run):
    """What each plot draws, the most axes it takes, and the least."""
    played = rl.Excitation("multisine", amplitude=1.0, duration=20.0, periods=1, f_low=0.3, f_high=5.0)
    shaken = rl.simulate(silver, gains, speed=5.0, duration=24.0, excitation=played)
    result = rl.analyze(run)
    return {
        "plot_design": (gains, 8, 8),
        "plot_eigenvalues": (silver, 2, 1),
        "plot_fits": (result, 2, 2),
        "plot_frequency_response": (rl.analyze(shaken).frequency_responses[0], 4, 2),
        "plot_identification": (rl.identify_parameters(run, ["steer_damping", "drive_gain"], prior="usual"), 2, 2),
        "plot_loop": (rl.margins(gains), 3, 3),
        "plot_margins": (rl.margins(gains), 5, 5),
        "plot_run": (run, 3, 1),
        "plot_window": (result.comparisons[0], 1, 1),
    }


@pytest.mark.parametrize("name", PLOTS)
def test_a_plot_is_a_figure_of_its_own_or_fills_the_axes_that_are_given(name, drawn):
    plot, (thing, most, least) = getattr(rl, name), drawn[name]
    assert signature(plot).parameters["ax"].default is None
    assert isinstance(plot(thing), Figure)
    for count in (most, least):
        ax = Figure().subplots(count)
        assert plot(thing, ax=ax) is ax
        assert all(each.has_data() for each in np.ravel(ax))
    ax = Figure().subplots(most + 1)
    with pytest.raises(rl.InputError, match=rf"found {most + 1}: make"):
        plot(thing, ax=ax)


def test_one_axes_shows_both_parts_of_eigenvalues(silver):
    ax = Figure().subplots()
    modes = rl.named_modes(silver, np.linspace(0.0, 10.0, 41))
    rl.plot_eigenvalues(modes, ax=ax)
    real, imaginary = ([line for line in ax.get_lines()[:8] if line.get_linestyle() == style] for style in ("-", "--"))
    assert np.array_equal(real[0].get_ydata(), modes.all[:, 0].real)
    assert np.nanmax(imaginary[0].get_ydata()) == modes.all.imag.max()
    assert ax.get_ylim()[1] > modes.all.imag.max()


def test_a_file_is_of_a_figure_of_ones_own(silver, tmp_path):
    with pytest.raises(rl.InputError, match=r"save yours with ax\.figure\.savefig"):
        rl.plot_eigenvalues(silver, ax=Figure().subplots(2), path=tmp_path / "modes.svg")


def test_a_window_is_drawn_into_axes_that_are_given(run):
    (comparison,) = rl.analyze(run).comparisons
    ax = Figure().subplots()
    assert rl.plot_window(comparison, ax) is ax
    measured, fitted = ax.get_lines()
    rows = slice(comparison.window.start, comparison.window.stop)
    assert np.array_equal(measured.get_ydata(), np.degrees(comparison.segment.response.phi_dot[rows]))
    assert np.array_equal(fitted.get_ydata(), np.degrees(comparison.fit.curve))
    assert "like for like" in ax.get_title()


def test_a_run_is_drawn_with_its_states(run):
    figure = rl.plot_run(run)
    words = [text.get_text() for ax in figure.axes for text in ax.texts]
    assert any("RUNNING" in word for word in words)


def test_axes_of_a_run_show_its_signals_by_name(run):
    lean, torque = Figure().subplots(2)
    rl.plot_run(run, ax=(lean, torque))
    assert [text.get_text() for text in lean.get_legend().get_texts()] == ["lean", "steer"]
    assert [text.get_text() for text in torque.get_legend().get_texts()] == ["torque"]


def test_fits_of_several_bicycles_are_no_one_plot(run):
    result = rl.analyze(run)
    with pytest.raises(rl.InputError, match="windows of one bicycle to plot, found none"):
        rl.plot_fits(replace(result, analysis=replace(result.analysis, comparisons=())))


def test_identified_quantities_without_profiles_are_parabolas(drawn):
    result, _, _ = drawn["plot_identification"]
    ax = Figure().subplots(2)
    rl.plot_identification(result, ax=ax)
    line = ax[0].get_lines()[0]
    far = (line.get_xdata() - result.found.values[0]) / result.found.std[0]
    np.testing.assert_allclose(line.get_ydata(), far**2, atol=1e-9)


def test_a_frequency_response_is_of_loop_or_plant(drawn):
    with pytest.raises(rl.InputError, match="found 'bike'"):
        rl.plot_frequency_response(drawn["plot_frequency_response"][0], "bike")
