"""Two causes at once: found with their sizes where no single one is enough, and left alone where one is."""

import numpy as np
import pytest

from riderless.experiments.analysis.comparison.compare import windows_by_bicycle
from riderless.experiments.analysis.estimators import eigenvalue_alike, estimate_alike
from riderless.experiments.analysis.identification.initial_state import estimate_initial_state, explained_lean_rate
from riderless.experiments.analysis.verdict.candidate import CandidateCause
from riderless.experiments.analysis.verdict.pairs import CausePair, MovedWindows, one_is_not_enough
from riderless.experiments.analysis.verdict.simulated_motion import RiddenMotion
from riderless.experiments.analysis.verdict.wording import of_two
from riderless.hil.design.closed_loop import PLANTS_KEPT
from riderless.hil.runners.emulation import Emulation
from riderless.models.plant.steer_drive import SteerDrive
from riderless.models.plant.tyres import FrontTyre
from tests.experiments.analysis.verdict.test_goodness_of_fit import lockstep

FOUR = ("3.8", "5.0", "3.0", "5.6")


def cause(name, left, deviations=1.0, moved=0.9, unit=""):
    return CandidateCause(name, 1.0, moved, deviations, False, 1.0, left, unit=unit)


@pytest.mark.parametrize(
    ("causes", "wanted"),
    [
        ([cause("drive_gain", 5.0)], False),
        ([cause("drive_gain", 30.0)], True),
        ([cause("xB", 5.0, deviations=30.0)], True),
        ([cause("drive_gain", float("nan"))], True),
        ([], True),
    ],
)
def test_a_pair_is_tried_only_where_one_is_not_enough(causes, wanted):
    assert one_is_not_enough(causes, 8) is wanted


def test_a_pair_is_said_to_be_fitted_and_how_much_is_left():
    first, second = cause("drive_gain", 30.0), cause("coulomb_friction", 40.0, moved=0.05, unit="N m")
    other = CausePair(first, cause("xH", 50.0), 26.0, 3e-4)
    said = of_two([CausePair(first, second, 25.0, 4e-4), other])
    assert "two causes at once, fitted because one is not enough: with drive gain at 0.9 and " in said
    assert "coulomb friction at 0.05 N m chi-square would be 25.0, and that is unexplained too (p = 0.0004)" in said
    assert said.endswith("these data cannot tell that pair from drive gain with xH")
    assert of_two([]) == ""


def test_a_weak_drive_with_dry_friction_is_named_and_measured(tmp_path, monkeypatch):
    """Before, xH or frame inertia was named, with chi-square in the tens left."""
    analysis = lockstep(tmp_path, Emulation(drive=SteerDrive(gain=0.9, coulomb=0.05)), FOUR[1:])
    found = analysis.verdicts[0]
    assert not found.explained
    best = found.pairs[0]
    sizes = {one.name: one.moved for one in (best.first, best.second)}
    assert sizes == {"drive_gain": pytest.approx(0.9, abs=0.01), "coulomb_friction": pytest.approx(0.05, rel=0.1)}
    assert best.p_left > 0.01
    assert "two causes at once" in found.sentence
    group = next(iter(windows_by_bicycle(analysis.comparisons).values()))[:3]
    what_a_search_asks_quickly_is_what_it_would_find_slowly(group)
    parts_of_other_sizes_ride_the_same_machine(group[:2], monkeypatch)
    some_windows_share_the_motions_of_all(group, monkeypatch)


def what_a_search_asks_quickly_is_what_it_would_find_slowly(group):
    """To the last digit: speeds kept by a loop, a motion without its influences, an eigenvalue without its error."""
    moved = group[0].segment.theory.move({"drive_gain": 0.93}).dynamics()
    speeds = np.linspace(4.9, 5.1, 2 * PLANTS_KEPT + 1)
    forth = [moved.matrix(v).tolist() for v in speeds]
    anew = [group[0].segment.theory.move({"drive_gain": 0.93}).dynamics().matrix(v).tolist() for v in speeds[::-1]]
    assert forth == anew[::-1]
    for c in group:
        start = estimate_initial_state(c.segment, moved)
        assert explained_lean_rate(c.segment, moved).tolist() == start.lean_rate.tolist()
        t = c.segment.t
        for y in (start.lean_rate, 0.0 * t):  # of the second nothing can be told
            slowly = estimate_alike(t, y, c.fit, quick=True).eigenvalue
            assert repr(eigenvalue_alike(t, y, c.fit)) == repr(slowly)


def some_windows_share_the_motions_of_all(group, monkeypatch):
    """What was ridden for a few windows is not ridden again for all, and all find what they find by themselves."""
    sizes = {"drive_gain": 0.9, "coulomb_friction": 0.05}
    alone = [MovedWindows([one]).change(sizes)[0] for one in group]
    made, of = [], RiddenMotion.of
    monkeypatch.setattr(RiddenMotion, "of", lambda *told: (made.append(told), of(*told))[1])
    whole = MovedWindows(group)
    assert whole.some(group[1:]).change(sizes).tolist() == alone[1:]
    assert len(made) == len(group) - 1
    assert whole.change(sizes).tolist() == alone
    assert len(made) == len(group)


def parts_of_other_sizes_ride_the_same_machine(group, monkeypatch):
    """Motions of a machine are made once, and what is found with them is what is found with new ones."""
    made, of = [], RiddenMotion.of
    monkeypatch.setattr(RiddenMotion, "of", lambda *told: (made.append(told), of(*told))[1])
    windows, sizes = MovedWindows(group), {"drive_gain": 0.9, "coulomb_friction": 0.05}
    windows.change(sizes | {"coulomb_friction": 0.02})
    again = windows.change(sizes)
    assert len(made) == len(group)
    assert again.tolist() == MovedWindows(group).change(sizes).tolist()


@pytest.mark.slow
def test_two_causes_that_look_like_one_are_told_as_that_one(tmp_path):
    """Trail and twisting torque of a tyre: either alone, larger, explains these data."""
    found = lockstep(tmp_path, Emulation(tyre=FrontTyre(twisting=1.0, trail=0.01)), FOUR).verdicts[0]
    assert not found.explained
    assert found.pairs == ()
    assert "tyre trail" in found.sentence
    assert "tyre twisting" in found.sentence


@pytest.mark.slow
@pytest.mark.parametrize("drive", [{"gain": 0.9}, {"delay": 0.02}, {"coulomb": 0.05}])
def test_one_cause_is_not_made_two(tmp_path, drive):
    found = lockstep(tmp_path, Emulation(drive=SteerDrive(**drive)), FOUR).verdicts[0]
    assert not found.explained
    assert found.pairs == ()
