"""Steer stops are seen where the handlebar meets them, and nowhere else."""

import numpy as np
import pytest

from riderless.experiments.analysis.windows.steer_stops import arrests_of, find_steer_stops
from riderless.hil.runners.emulation import Emulation
from riderless.models.plant.environment import Surroundings
from riderless.models.plant.steer_drive import SteerDrive
from tests.experiments.analysis.verdict.test_goodness_of_fit import lockstep
from tests.experiments.simulated import recording


def swinging(omega, stop=np.inf, kind="riderless"):
    """Steer that swings by 0.1 rad and decays, cut off at a stop; a geometric picture of one, without dynamics."""
    response, _ = recording(np.full(800, 5.0), bicycle="Silver")
    t = np.arange(800) * response.dt
    y = np.clip(0.1 * np.exp(-0.2 * t) * np.sin(omega * t), -stop, stop)
    object.__setattr__(response, "delta", y)
    object.__setattr__(response, "kind", kind)
    return response


@pytest.mark.parametrize("omega", [3.0, 8.0, 15.0])
def test_a_free_steer_turns_softly(omega):
    response = swinging(omega)
    assert find_steer_stops([response]) == []
    assert all(arrest.carried_on < 0.15 for arrest in arrests_of(response, 1.0, 0.1))


def test_a_steer_that_is_cut_off_met_stops_on_both_sides():
    right, left = find_steer_stops([swinging(8.0, stop=0.06)])
    assert (right.side, left.side) == ("right", "left")
    assert [right.angle, left.angle] == pytest.approx([0.06, 0.06])
    assert len(right.arrests) >= 2


def test_logs_of_others_are_not_asked():
    assert find_steer_stops([swinging(8.0, stop=0.06, kind="delft-sbw")]) == []


def test_stops_are_named_and_windows_with_them_left_out(tmp_path):
    """Taken for wind before: the verdict was withheld, and no stop was named."""
    found = lockstep(tmp_path, Emulation(surroundings=Surroundings(steer_stops=0.08)), ("5.0", "3.8"))
    (verdict,) = found.verdicts
    assert verdict.stops
    assert all(stop.angle == pytest.approx(0.08, rel=0.03) for stop in verdict.stops)
    assert verdict.explained
    assert "; the steer met a stop to the " in verdict.sentence
    assert any("the steer met a stop at" in part.reason for part in found.rejected)


@pytest.mark.slow
@pytest.mark.parametrize(
    "emulation",
    [
        Emulation(),
        Emulation("nonlinear"),
        Emulation(drive=SteerDrive(coulomb=0.3)),
        Emulation(drive=SteerDrive(backlash=0.02)),
        Emulation(surroundings=Surroundings(gusts=2.0)),
    ],
)
def test_a_machine_without_stops_met_none(tmp_path, emulation):
    assert lockstep(tmp_path, emulation, ("3.8", "5.0")).verdicts[0].stops == ()
