"""The two Delft experiments: pull tests, predictions of a shaken handle, and their page."""

import numpy as np
import pytest

from riderless.experiments.recordings.foreign.delft import DELFT_LAW
from riderless.experiments.theories import lean_feedback
from riderless.models.errors import InputError
from tests.experiments.recordings.shaken_log import BICYCLE, Variant, ride
from tests.paths import SHARED
from tests.studies.two_experiments.predictions import loop, responses
from tests.studies.two_experiments.pull_tests import read_pull_tests

PULLS = SHARED / "data" / "delft_calibration"


def test_a_describing_function_is_what_a_simulated_bicycle_with_dry_friction_does():
    """Shaken for 20 s at 1.6 Hz in steps of 1 ms, with friction of the steer that is not linear."""
    f, v, amplitude, dry = 1.6, 4.15, 1.2, 0.2
    theory = lean_feedback(BICYCLE, *DELFT_LAW).move({"steer_damping": 0.1, "steer_dry_friction": dry})
    t = 0.01 * np.arange(2000)
    torque = amplitude * np.sin(2.0 * np.pi * f * t)
    x = ride(Variant(BICYCLE, steer_damping=0.1), v, torque, np.zeros(2000), friction=dry, rough=0.0)
    last = t >= 10.0
    wave = np.exp(-2j * np.pi * f * t[last])
    predicted = responses(theory, v, np.array([f]), amplitude)
    for name, column in (("phi_dot", 2), ("delta", 1)):
        measured = (x[last, column] @ wave) / (torque[last] @ wave)
        assert abs(predicted[name][0] / measured) == pytest.approx(1.0, abs=0.04), name
        assert np.degrees(np.angle(predicted[name][0] / measured)) == pytest.approx(0.0, abs=4.0), name


def test_dry_friction_matters_less_the_harder_one_shakes():
    theory = lean_feedback(BICYCLE, *DELFT_LAW).move({"steer_dry_friction": 0.25})
    free = lean_feedback(BICYCLE, *DELFT_LAW)
    f = np.array([1.4])
    gains = [abs(responses(theory, 4.15, f, torque)["delta"][0]) for torque in (0.6, 1.2, 12.0)]
    assert gains[0] < gains[1] < gains[2] < abs(responses(free, 4.15, f, 1.2)["delta"][0])


def test_model_matching_changes_the_loop_as_its_gains_say():
    """Written out for one speed: torque per state on top of the law, the steer as measured."""
    theory, v = lean_feedback(BICYCLE, *DELFT_LAW).move({"steer_scale": 0.9}), 4.0
    A, b = loop(theory, v)
    matched, hand = loop(theory, v, matching=True)
    row = [0.211492437333, 0.9 * (0.24058007042 - 0.0864766087461 * 16.0),
           0.20410815964 * 4.0 + (0.944830638808 - 1.0) * 5.0, 0.9 * 0.00383946633565 * 4.0]  # fmt: skip
    assert matched == pytest.approx(A + np.outer(b, row))
    assert hand == pytest.approx(0.944830638808 * b)


def test_a_lean_inertia_of_084_is_less_than_that_of_the_masses_alone():
    """As points at their heights: no tensor can make it less."""
    heights = np.array([BICYCLE.zB, BICYCLE.zH, BICYCLE.rR, BICYCLE.rF])
    least = np.array([BICYCLE.mB, BICYCLE.mH, BICYCLE.mR, BICYCLE.mF]) @ heights**2
    nominal = lean_feedback(BICYCLE, *DELFT_LAW).nominal("M_phi_phi")
    assert 0.842 * nominal < least < nominal


def test_pull_tests_of_a_known_drive_are_read(tmp_path):
    """1.2 N m per N m after 0.5 N m, an arm of 0.3 m; every tenth reading a misprint, the second column jumping."""
    command = np.arange(0.1, 6.05, 0.1)
    kg = np.maximum(1.2 * (command - 0.5), 0.0) / (9.81 * 0.3)
    kg[9::10] += 1.0
    other = np.where(command > 3.0, 0.2, kg)
    rows = "\n".join(f"{c:.1f},{a:.3f},{b:.3f}" for c, a, b in zip(command, kg, other, strict=True))
    (tmp_path / "torque_made.txt").write_text(f"CLOCKWISE, arm = 300mm\ncommand,kg1,kg2\n{rows}")
    found = read_pull_tests(tmp_path)
    assert found.slopes == pytest.approx((1.2,), abs=0.02)
    assert found.left_out == 1
    assert found.break_away[0] == pytest.approx(0.6, abs=0.05)


def test_no_table_is_one_sentence(tmp_path):
    with pytest.raises(InputError, match="wanted tables of command against spring balance"):
        read_pull_tests(tmp_path)


@pytest.mark.skipif(not PULLS.exists(), reason="the Delft pull tests are others', beside the checkout")
def test_the_real_pull_tests():
    found = read_pull_tests(PULLS)
    assert (len(found.slopes), found.left_out) == (7, 1)
    mean, low, high = found.gain
    assert low < 1.37 < high
    assert mean == pytest.approx(1.37, abs=0.02)  # the mean of seven slopes by hand
    assert 0.1 < min(found.break_away) < max(found.break_away) < 1.0
