"""Margins under controllers with states by a second route: eigenvalues with such a drive, or so much delay."""

from dataclasses import replace

import numpy as np
import pytest

from riderless.hil.controllers.lti import LTIController
from riderless.hil.design.closed_loop import SampledLoop
from riderless.hil.design.compensators.methods import design_compensator
from riderless.hil.design.methods import design
from riderless.hil.design.whole_margins import opened_loop, whole_margins
from riderless.hil.rig.rig import Rig
from riderless.models.catalogue import load_bicycle
from riderless.models.linear.perturbed import Variant
from riderless.models.linear.prescribed_steer import InnerLoop

CASES = [
    ("Rigid", 4.0, "lqg", {}, 0.0),
    ("Fisher", 7.5, "lqg", {}, 0.0),  # capsize unstable: the lower limit is a pole through z = 1
    ("Silver", 3.0, "lqg", {}, 0.007),  # commands wait for longer than a sample
    ("Pista", 5.0, "yaw_rate", {"inner": "lqg"}, 0.0),
    ("Silver", 4.0, "yaw_rate", {}, 0.0),  # an inner law that goes by the torque it believes the drive makes
]


def radius(loop, v):
    return np.max(np.abs(np.linalg.eigvals(loop.matrix(v))))


@pytest.mark.parametrize(("name", "v", "method", "options", "late"), CASES)
def test_margins_are_where_the_loop_loses_its_stability(name, v, method, options, late):
    rig = Rig(load_bicycle(name))
    made = design_compensator(rig.bicycle, method, (v,), rig.timing, **options)

    def loop(gain=1.0, delay=0.0):
        return SampledLoop.of_rig(rig, made, real=Variant(rig.bicycle, drive_gain=gain), more_delay=late + delay)

    margins = whole_margins(loop(), v)
    down, up = margins.gain
    assert 0.0 <= down < 1.0 < up < np.inf
    for gain, outward in ((down, 0.99), (up, 1.01)):
        if gain > 0.0:
            assert radius(loop(gain), v) == pytest.approx(1.0, abs=1e-7)
            assert radius(loop((2.0 - outward) * gain), v) < 1.0 < radius(loop(outward * gain), v)
    if "T" not in made.inputs:  # a loop that is later than it knows goes on with the drive's own torque as T
        assert radius(loop(delay=0.98 * margins.delay), v) < 1.0 < radius(loop(delay=1.02 * margins.delay), v)
    A, b, c = opened_loop(loop(), v)
    assert np.max(np.abs(np.linalg.eigvals(A + np.outer(b, c)))) == pytest.approx(radius(loop(), v), abs=1e-9)
    sizes = [
        np.max(np.abs(np.linalg.eigvals(A + np.exp(1j * angle * margins.phase) * np.outer(b, c))))
        for angle in (0.999, -0.999, 1.001, -1.001)
    ]
    assert max(sizes[:2]) < 1.0 < max(sizes[2:])


def test_gains_have_other_margins_with_the_observer_in_the_loop_and_a_fallen_loop_has_none():
    rig = Rig(load_bicycle("Silver"))
    gains = design(rig.bicycle, "lqr", (4.0, 5.0))
    with_observer = whole_margins(SampledLoop.of_rig(rig, gains), 5.0)
    assert 0.3 * gains.margins[1].phase < with_observer.phase < gains.margins[1].phase
    off = design(rig.bicycle, "off", (2.0, 5.0), allow_unstable=True)
    assert whole_margins(SampledLoop.of_rig(rig, off), 2.0).gain == (1.0, 1.0)


@pytest.mark.parametrize(("kind", "method"), [("rate", "cascade"), ("rate", "lqr"), ("angle", "lqr")])
def test_under_a_drive_that_obeys_its_steer_a_loop_ends_where_its_commands_are_scaled_so(kind, method):
    """Second route: a law that does not know its own commands, its output scaled, or delayed more."""
    drive = InnerLoop(kind=kind, bandwidth=50.0, damping=1.0)
    rig = replace(Rig(load_bicycle("Silver")), drive=drive)
    K = design(rig.bicycle, method, (4.0,), drive=drive).K[0]

    def loop(gain=1.0, delay=0.0):
        law = LTIController(
            method="scaled",
            bicycle=rig.bicycle,
            loop=rig.timing,
            v=np.array([4.0]),
            A=np.zeros((1, 0, 0)),
            B=np.zeros((1, 0, 4)),
            C=np.zeros((1, 0)),
            D=-gain * K[None, :4],
            inputs=("phi", "delta", "phi_dot", "delta_dot"),
            drive=drive,
        )
        return SampledLoop.of_rig(rig, law, more_delay=delay)

    margins = whole_margins(loop(), 4.0)
    down, up = margins.gain
    assert 0.0 < down < 1.0 < up < np.inf
    for gain, outward in ((down, 0.99), (up, 1.01)):
        assert radius(loop(gain), 4.0) == pytest.approx(1.0, abs=1e-7)
        assert radius(loop((2.0 - outward) * gain), 4.0) < 1.0 < radius(loop(outward * gain), 4.0)
    assert radius(loop(delay=0.98 * margins.delay), 4.0) < 1.0 < radius(loop(delay=1.02 * margins.delay), 4.0)
