"""Profile likelihoods on twins of the Delft logs, whose truth is known: kicks and a shaken handle."""

from dataclasses import replace

import numpy as np
import pytest

from riderless.experiments.analysis.identification.forced_windows import forced_windows
from riderless.experiments.analysis.identification.identify import identify, possible_bounds
from riderless.experiments.analysis.identification.profile_likelihood import profiles
from riderless.experiments.recordings.foreign import delft
from riderless.experiments.reports.identify import averaged_windows
from riderless.experiments.theories import open_loop
from riderless.models.linear.perturbed import Variant
from tests.experiments.analysis.test_output_error import BICYCLE as KICKED
from tests.experiments.analysis.test_output_error import pieces
from tests.experiments.recordings import shaken_log
from tests.experiments.recordings.shaken_log import kicked, shaken


def both(seed=0, **how):
    """Segments of three logs of kicks and two of a shaken handle."""
    logs = [kicked(v, seed=seed + i, **how) for i, v in enumerate((2.0, 3.5, 5.0))]
    logs += [shaken(f, seed=seed + i, **how) for i, f in enumerate((1.2, 2.4))]
    return averaged_windows([delft.recorded(log).response for log in logs])


def test_without_confounding_the_interval_is_that_of_the_standard_deviation():
    segments = pieces(Variant(KICKED, steer_damping=0.3))
    found = identify(segments, ["steer_damping"])
    (one,) = profiles(segments, found)
    assert one.low < 0.3 < one.high
    assert one.high - one.low == pytest.approx(2.0 * one.limit * found.std[0], rel=0.1)


def test_a_quantity_that_nothing_tells_is_said_to_be_unbounded():
    """At one speed a spring is a part of g K0: their sum is known, neither of them is."""
    segments = pieces(Variant(KICKED, steer_stiffness=0.5), speeds=(5.0,))
    names = ["steer_stiffness", "K0_delta_delta"]
    found = identify(segments, names)
    assert found.confounded()
    for one in profiles(segments, found):
        assert one.low is None or one.high is None or one.high - one.low > 4.0
        assert "do not bound it" in one.words or one.high - one.low > 4.0


def test_processes_change_nothing():
    segments, names = pieces(Variant(KICKED, steer_damping=0.3), repeats=2), ["steer_damping", "speed_scale"]
    found, told = identify(segments, names), []
    alone = profiles(segments, found)
    together = profiles(segments, found, jobs=2, on_progress=lambda done, total, name: told.append((done, total)))
    assert told == [(1, 2), (2, 2)]
    assert [(p.name, p.low, p.high) for p in together] == [(p.name, p.low, p.high) for p in alone]


@pytest.mark.slow
def test_intervals_hold_the_truth():
    """40 draws of 9 windows, noise other than that of the other tests: 95 % intervals, 80 of them."""
    truth, held = {"steer_damping": 0.3, "steer_stiffness": 0.5}, []
    real = open_loop(KICKED).variant(truth)[0]
    for draw in range(40):
        segments = pieces(real, repeats=3, noise=2.0, offset=1000 * (draw + 1))
        found = identify(segments, list(truth))
        held += [one.low < truth[one.name] < one.high for one in profiles(segments, found)]
    assert 0.88 <= np.mean(held) <= 1.0


def test_dry_friction_is_told_from_viscous_and_from_the_drive():
    truth = {"drive_gain": 1.1, "steer_damping": 0.15, "steer_dry_friction": 0.2}
    real = Variant(shaken_log.BICYCLE, drive_gain=1.1, steer_damping=0.15)
    segments = both(real=real, friction=0.2)
    found = identify(segments, list(truth))
    assert found.changes["drive_gain"] == pytest.approx(1.1, abs=0.03)
    assert found.changes["steer_damping"] == pytest.approx(0.15, abs=0.05)
    assert found.changes["steer_dry_friction"] == pytest.approx(0.2, abs=0.03)
    linear = identify(segments, ["drive_gain", "steer_damping"])
    assert linear.changes["steer_damping"] > 0.25  # what nobody modelled is given to what is there


@pytest.mark.parametrize(
    ("truth", "other"),
    [
        ({"steer_scale": 0.86}, "M_phi_phi"),
        pytest.param({"M_phi_phi": 0.84}, "steer_scale", marks=pytest.mark.slow),
    ],
)
def test_scale_or_lean_inertia(truth, other):
    """Kicks at three speeds and a shaken handle tell them apart: the wrong one stays at its nominal value."""
    (name,) = truth
    M = open_loop(shaken_log.BICYCLE).nominal("M_phi_phi")
    value = truth[name] * (M if name == "M_phi_phi" else 1.0)
    real, how = open_loop(shaken_log.BICYCLE).variant({name: value})[0], {}
    if name == "steer_scale":
        how = {"scale": value}
    segments = both(seed=20, real=real, **how)
    found = identify(segments, ["steer_scale", "M_phi_phi"])
    nominal = {"steer_scale": 1.0, "M_phi_phi": M}
    for one in profiles(segments, found):
        right = value if one.name == name else nominal[one.name]
        assert one.low is not None
        assert one.high is not None
        assert one.low - 0.02 * right < right < one.high + 0.02 * right
    wrong = dict(zip(found.names, found.values / [1.0, M], strict=True))[other]
    assert wrong == pytest.approx(1.0, abs=0.05)


def test_forced_parts_alone_find_gain_and_damping():
    real = Variant(shaken_log.BICYCLE, drive_gain=0.9, steer_damping=0.3)
    logs = [shaken(f, seed=5, real=real) for f in (1.2, 2.4)]
    segments = [one for log in logs for one in forced_windows(delft.recorded(log).response)]
    assert len(segments) == 10
    found = identify(segments, ["drive_gain", "steer_damping"])
    assert found.values == pytest.approx([0.9, 0.3], abs=0.03)


def test_a_late_drive_is_late_with_a_known_torque_too():
    """At 6.5 m/s the law does nothing: 20 ms, as in phases of a shaken handle, were no delay that could be freed."""
    names, segments = ["drive_gain", "more_delay"], []
    for f in (1.2, 2.4):
        response = delft.recorded(shaken(f, v=6.5, seed=5)).response
        segments += forced_windows(replace(response, T_played=np.roll(response.T_played, -2)))
    found = identify(segments, names, bounds=possible_bounds(segments[0].theory, names))
    assert found.values == pytest.approx([1.0, 0.02], abs=0.003)
