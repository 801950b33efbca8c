"""Motion that is there when the bicycle is let go is a free response like that after a kick."""

import re
from dataclasses import replace

import numpy as np
import pytest

from riderless.experiments.analysis.estimators.uncertainty import fit_window
from riderless.experiments.analysis.windows.find import find_windows
from riderless.experiments.datatypes import Marker, Segment
from tests.experiments.commands.test_cli import call
from tests.experiments.synthetic import damped, kicked
from tests.paths import ROOT

AT_A_GLANCE = (ROOT / "docs/commands.md").read_text(encoding="utf-8")


def let_go(held=0.0, d=-0.6, w=4.0, amplitude=0.4, noise=0.003, **changes):
    """A recording that is at rest in somebody's hands for a while, then swings by itself."""
    quiet = kicked(kicks=(), noise=noise, length=12.0)
    motion = np.where(quiet.t >= held, damped(quiet.t - held, d, w, amplitude=amplitude), 0.0)
    return replace(quiet, phi_dot=quiet.phi_dot + motion, **changes)


@pytest.mark.parametrize("held", [0.0, 2.0])
@pytest.mark.parametrize(("d", "w"), [(-0.1, 3.3), (-0.6, 4.0), (-1.2, 6.0)])
def test_motion_from_the_start_is_a_window(held, d, w):
    response = let_go(held, d, w)
    if held:
        response = replace(response, free=response.t >= held)
    (window,), _ = find_windows(response)
    assert window.t_start == pytest.approx(held + 0.3, abs=0.06)
    assert "release" in window.rule
    fit = fit_window(Segment(response, window))
    assert fit.ok
    assert (fit.re, fit.im) == pytest.approx((d, w), abs=0.05)


def test_growth_from_a_release_that_is_known_is_a_window():
    marks = (Marker(0.0, "let go"),)
    response = let_go(d=0.3, w=3.5, amplitude=0.05, markers=marks)
    (window,), _ = find_windows(response)
    assert fit_window(Segment(response, window)).re == pytest.approx(0.3, abs=0.03)


def test_a_hand_that_sways_the_bicycle_at_the_start_is_no_release():
    response = let_go()
    rng = np.random.default_rng(4)
    pushed = np.convolve(rng.normal(size=len(response.t)), np.hanning(60), "same") * (response.t < 3.0)
    swayed = replace(response, phi_dot=response.phi_dot + 0.4 * pushed / np.abs(pushed).max())
    windows, _ = find_windows(swayed)
    assert not any("release" in w.rule for w in windows)


def test_kicks_after_a_release_are_found_as_before():
    still = kicked(kicks=(5.0, 9.0), length=14.0)
    moving = replace(still, phi_dot=still.phi_dot + damped(still.t, -1.0, 5.0, amplitude=0.3))
    windows, _ = find_windows(moving)
    assert [round(w.t_start, 1) for w in windows] == [0.3, 5.4, 9.4]


@pytest.fixture
def riderless(capsys, monkeypatch):
    return lambda *arguments: call(capsys, monkeypatch, *arguments)


def test_the_readmes_own_simulation_can_be_analysed(riderless, tmp_path):
    """Seen: `simulate --x0` of the readme, then `analyze`: no window."""
    (command,) = re.findall(r"`riderless (simulate \S+ .*--x0 \S+ -o) RUN`", AT_A_GLANCE)
    run = tmp_path / "run"
    code, *_ = riderless(*command.split(), run)
    assert code == 0
    code, printed, _ = riderless("analyze", run, "-o", tmp_path / "report")
    assert code == 0
    assert "taken alone, 1 of 1 windows lie within" in " ".join(printed.split())
    assert "release" in (tmp_path / "report/report.html").read_text(encoding="utf-8")
