"""Marks: "a kick near here" by a person who is late, exact times by a hand that knows, and lists of all kicks."""

from dataclasses import replace

import numpy as np
import pytest

from riderless.experiments.analysis.windows.find import find_windows
from riderless.experiments.datatypes import Marker
from riderless.experiments.recordings.run_response import response_of_run
from riderless.hil.design.methods import design
from riderless.hil.runners.simulated_run import simulate
from riderless.models import catalogue
from riderless.models.plant.plant import Kick
from tests.experiments.swinging import swinging
from tests.experiments.synthetic import kicked

KICKS = tuple(2.0 + 4.0 * i for i in range(7))  # s


def by_key(*times):
    return tuple(Marker(t, "kick", "by key") for t in times)


def spans(windows):
    return [(w.start, w.stop) for w in windows]


@pytest.fixture(scope="module")
def response():
    return kicked(kicks=KICKS, length=31.0)


@pytest.mark.parametrize("late", [-0.2, 0.0, 0.4, 0.6, 1.1])
def test_one_late_mark_changes_no_window(response, late):
    """Seen: one mark switched the search for kicks off, and 0.4 to 0.6 s late it lost its own window."""
    unmarked, _ = find_windows(response)
    marked, rejected = find_windows(replace(response, markers=by_key(KICKS[3] + late)))
    assert len(unmarked) == len(KICKS)
    assert spans(marked) == spans(unmarked)
    assert ["marked" in w.rule for w in marked] == [i == 3 for i in range(7)]
    assert not any("mark" in r.reason for r in rejected)


def test_all_kicks_marked_late_are_all_found(response):
    rng = np.random.default_rng(3)
    late = np.array(KICKS) + rng.uniform(0.3, 0.9, len(KICKS))
    windows, _ = find_windows(replace(response, markers=by_key(*late)))
    assert spans(windows) == spans(find_windows(response)[0])


def test_a_key_pressed_twice_is_one_kick(response):
    windows, rejected = find_windows(replace(response, markers=by_key(KICKS[1] + 0.4, KICKS[1] + 0.7)))
    assert spans(windows) == spans(find_windows(response)[0])
    assert not any("mark" in r.reason for r in rejected)


def test_a_mark_where_nothing_rises_is_told_and_harms_no_other(response):
    windows, rejected = find_windows(replace(response, markers=by_key(KICKS[2] + 3.4)))
    assert spans(windows) == spans(find_windows(response)[0])
    (told,) = [r for r in rejected if "mark" in r.reason]
    assert told.reason.startswith(f"mark of {KICKS[2] + 3.4:.2f} s: nothing rises near it")
    assert told.t_start == told.t_end == KICKS[2] + 3.4


def test_a_gentle_kick_counts_if_it_is_marked():
    """Three tenths as hard as the largest: a bump, unless somebody says that he kicked."""
    gentle = kicked(kicks=(8.0,), amplitude=0.12, noise=0.0, length=16.0)
    hard = kicked(kicks=(2.0,), length=16.0)
    both = replace(hard, phi_dot=hard.phi_dot + gentle.phi_dot - 0.02)
    assert len(find_windows(both)[0]) == 1
    windows, _ = find_windows(replace(both, markers=by_key(8.6)))
    assert [w.t_start for w in windows] == pytest.approx([2.4, 8.4], abs=0.1)


@pytest.mark.parametrize("late", [0.3, 0.9])
def test_a_mark_of_a_kick_into_a_slow_decay(late):
    response, ends, _ = swinging("Yellow", -0.1, (1.0, 4.2, 7.4), 12.0, seed=51)
    windows, rejected = find_windows(replace(response, markers=by_key(4.2 + late)))
    assert len(windows) == 3, rejected
    assert windows[1].t_start == pytest.approx(ends[1] + 0.4, abs=0.25)
    assert "marked kick" in windows[1].rule


def test_a_hand_that_knows_its_time_marks_that_kick_alone(response):
    told = Marker(KICKS[3], "kick", "kicked to the left, 4.0 N s")
    windows, _ = find_windows(replace(response, markers=(told,)))
    assert spans(windows) == spans(find_windows(response)[0])
    assert "marked" in windows[3].rule
    elsewhere = Marker(KICKS[3] + 1.0, "kick", "kicked to the left, 4.0 N s")
    assert any("nothing rises" in r.reason for r in find_windows(replace(response, markers=(elsewhere,)))[1])


def test_a_list_of_kicks_is_exact_and_complete(response):
    windows, _ = find_windows(replace(response, markers=(Marker(KICKS[3], "kick"),)))
    assert [w.t_start for w in windows] == pytest.approx([KICKS[3] + 0.4], abs=0.05)


def test_a_late_mark_in_a_run_of_the_whole_loop():
    silver = catalogue.load_bicycle("Silver")
    kicks = [Kick(0.6 + 3.2 * i, (-1) ** i * 3.0) for i in range(3)]
    run = simulate(
        silver, design(silver, "off", [4.0, 5.0, 6.0]), speed=5.5, kicks=kicks, duration=10.2, model="linear"
    )
    unmarked, _ = find_windows(response_of_run(run))
    assert len(unmarked) == 3
    begin = float(run.ticks["t_host"][0] + unmarked[1].t_start - run.ticks["t"][0]) - 0.4
    pressed = replace(run, markers=(*run.markers, Marker(begin + 0.5, "kick", "by key")))
    windows, _ = find_windows(response_of_run(pressed))
    assert spans(windows) == spans(unmarked)
    assert "marked" in windows[1].rule
