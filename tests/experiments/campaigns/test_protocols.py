"""What each protocol plans: speeds, times, order, kicks and torques; nothing is run here."""

import numpy as np
import pytest

from riderless.experiments.campaigns.file import read_campaign
from riderless.experiments.campaigns.protocols import PROTOCOLS
from riderless.experiments.campaigns.protocols.plan_inputs import NamedController, PlanInputs, grid_over
from riderless.experiments.campaigns.protocols.speed_sweep import TIME_AFTER_KICK
from riderless.experiments.emulation.hand import FIRST_KICK, RELEASE_DELAY
from riderless.models import catalogue
from riderless.models.errors import InputError
from tests.paths import DOCS

EXAMPLES = DOCS / "campaigns"
WEAVE = 4.29238253634111  # m/s of the benchmark, Meijaard et al. 2007, table 2 and section 5


def bench(*methods, bicycles=("Benchmark",), seed=1):
    controllers = tuple(NamedController(f"{m} {i}", m) for i, m in enumerate(methods or ("off",)))
    return PlanInputs(tuple(map(catalogue.load_bicycle, bicycles)), controllers, seed=(seed,))


def plan(kind, of=None, **settings):
    module = PROTOCOLS[kind]
    return module.plan(module.Settings(kind=kind, **settings), of or bench())


OTHER_DRIVES = ("angle_drive", "auto_rate")


def test_each_protocol_has_an_example_file_that_plans():
    parts_of_make_run = {"first_look", "usual", "rate_drive"}
    assert {path.stem for path in EXAMPLES.glob("*.toml")} == {*PROTOCOLS, *parts_of_make_run, *OTHER_DRIVES, "lane"}
    for path in EXAMPLES.glob("*.toml"):
        campaign = read_campaign(path)
        assert campaign.conditions
        assert len({c.name for c in campaign.conditions}) == len(campaign.conditions)
        assert all(c.instruction and c.remedy and c.duration > 1.0 for c in campaign.conditions), path


def test_the_objects_of_a_plan_are_shown_in_one_line():
    inputs = bench("off", "lqr", bicycles=("Benchmark", "Silver"))
    assert repr(inputs) == "<PlanInputs: Benchmark, Silver under off 0, lqr 1, seed 1>"
    assert repr(inputs.controllers[1]) == "<NamedController 'lqr 1': lqr>"
    (condition,) = plan("treadmill", speeds_m_s=(5.0,), kicks=2)
    assert repr(condition) == "<Condition 'treadmill Benchmark off 0 5.0 m/s': 7.5 s, 2 kicks>"


def test_speeds_times_repeats_in_an_order_that_the_seed_fixes():
    settings = {"speeds_m_s": (4.5, 5.0, 5.5, 6.0), "repeats": 3}
    first, again, other = (plan("treadmill", bench(seed=seed), **settings) for seed in (1, 1, 2))
    names = [c.name for c in first]
    assert len(set(names)) == 12
    assert names == [c.name for c in again]
    assert [c.scenario for c in first] == [c.scenario for c in again]
    assert names != [c.name for c in other]
    assert sorted(names) == sorted(c.name for c in other)
    assert [c.v for c in first] != sorted(c.v for c in first)
    strengths = {c.scenario.kicks[0].impulse for c in first}
    assert len(strengths) == 12, "no two kicks are alike"


def test_a_longer_campaign_keeps_what_the_shorter_one_does_to_its_runs():
    """Kicks hang on the run and not on the order, so that they do not change with the place in the day."""
    short, long = plan("treadmill", speeds_m_s=(5.0,)), plan("treadmill", speeds_m_s=(5.0, 6.0))
    (five,) = (c for c in long if c.v == 5.0)
    assert five.scenario == short[0].scenario


def test_a_release_is_planned_below_the_weave_speed_with_a_push_before_it():
    for condition in plan("release", bench("lqr"), repeats=2, free_s=2.0, rest_s=3.0):
        assert 0.0 < WEAVE - condition.v < 1.0
        releases, torque = condition.excitation.releases, condition.excitation.samples(200.0)
        pushes = np.split(np.flatnonzero(torque), np.flatnonzero(np.diff(np.flatnonzero(torque)) > 1) + 1)
        assert len(releases) == len(pushes) == 3
        for (begin, length), push in zip(releases, pushes, strict=True):
            assert 0.1 < begin - push[0] / 200.0 < 0.2
            assert push[-1] / 200.0 < begin, "the push is over when the torque goes off"
            assert length == 2.0
        assert torque[pushes[0]].max() == pytest.approx(-torque[pushes[1]].min()), "to either side in turn"
        assert np.diff([begin for begin, _ in releases]) == pytest.approx(5.0)
        assert condition.duration > sum(releases[-1]) + 1.0


def test_a_release_wants_a_controller_that_balances():
    with pytest.raises(InputError, match="controller that balances"):
        plan("release", bench("off"))


def test_a_coast_down_loses_its_speed_as_told_on_a_floor():
    settings = {"speeds_m_s": (6.5,), "down_to_m_s": 5.0, "deceleration_m_s2": 0.15}
    (condition,) = plan("coast_down", **settings)
    (t0, v0), (t1, v1) = condition.scenario.speed
    assert condition.scenario.surface == "floor"
    assert (t0, v0, v1) == (0.0, 6.5, 5.0)
    assert (v0 - v1) / t1 == pytest.approx(0.15)
    assert [k.t for k in condition.scenario.kicks] == pytest.approx(
        [FIRST_KICK, FIRST_KICK + 3.2, FIRST_KICK + 6.4][:2]
    )
    assert condition.duration < RELEASE_DELAY + t1
    with pytest.raises(InputError, match="too short for a kick"):
        plan("coast_down", **{**settings, "down_to_m_s": 6.3})


def test_a_speed_sweep_passes_the_weave_speed_with_a_kick_at_each_step():
    (condition,) = plan("speed_sweep", bench("lqr"), kicks=5)
    t, v = np.array(condition.scenario.speed).T
    assert v[0] < WEAVE < v[-1]
    at_kick = [np.interp(k.t, t, v) for k in condition.scenario.kicks]
    assert at_kick == pytest.approx(np.linspace(v[0], v[-1], 5))
    after = [np.interp(k.t + TIME_AFTER_KICK, t, v) for k in condition.scenario.kicks]
    assert after == pytest.approx(at_kick), "the longest window lies within the step"
    cues = [(at - RELEASE_DELAY, float(words.split()[2])) for at, words in condition.cues if "belt" in words]
    assert [v for _, v in cues] == pytest.approx(np.linspace(v[0], v[-1], 5)[1:], abs=0.005)
    assert [at for at, _ in cues] == pytest.approx(t[1:-1:2]), "a person is told when the belt is to begin to change"
    (ramp,) = plan("speed_sweep", bench("lqr"), kicks=5, by="ramp", from_m_s=5.0, to_m_s=4.0)
    assert [v for _, v in ramp.scenario.speed] == [5.0, 4.0]
    with pytest.raises(InputError, match=r"m/s\^2, wanted at most 0.1"):
        plan("speed_sweep", bench("lqr"), kicks=2, by="ramp", from_m_s=6.0, to_m_s=4.0)


def test_controllers_meet_the_same_kicks_one_after_another():
    of = bench("lqr", "poles", "lean")
    planned = plan("controllers", of, speeds_m_s=(4.5, 6.0), repeats=2)
    blocks = [planned[i : i + 3] for i in range(0, 12, 3)]
    for block in blocks:
        assert len({(c.v, c.repeat) for c in block}) == 1
        assert {c.method for c in block} == {"lqr", "poles", "lean"}
        assert all(c.scenario == block[0].scenario for c in block)
    assert len({block[0].scenario for block in blocks}) == 4
    assert len({tuple(c.method for c in block) for block in blocks}) > 1, "the order within a block is by chance"
    with pytest.raises(InputError, match="two or more"):
        plan("controllers", bench("lqr"), speeds_m_s=(4.5,))


@pytest.mark.parametrize("kind", ["sine_sweep", "identification"])
def test_a_torque_is_played_while_the_hands_are_off(kind):
    (condition,) = plan(kind, bench("lqr"), speeds_m_s=(5.0,), duration_s=30.0, amplitude_Nm=0.4)
    torque = condition.excitation.samples(200.0)
    assert np.abs(torque).max() == pytest.approx(0.4, rel=1e-3)
    begin, end = np.flatnonzero(torque)[[0, -1]] / 200.0
    assert RELEASE_DELAY + 0.5 < begin < 2.0
    assert end < condition.duration - 1.0
    assert not condition.kicked


def test_gains_reach_as_far_as_the_speeds():
    for speeds in ((3.0, 9.0), (0.3,), (4.1, 4.2)):
        grid = grid_over(speeds)
        assert 0.0 < grid[0] < min(speeds)
        assert grid[-1] > max(speeds)
        assert np.allclose(np.diff(grid), 0.25)


def test_a_protocol_states_what_balances_the_rolling_resistance():
    table = {"surface": "belt", "balanced_by": "rope", "at": (0.81, -0.84)}
    (condition,) = plan("treadmill", speeds_m_s=(5.0,), kicks=2, resistance=table)
    assert condition.said()["resistance"] == table
    assert "resistance" not in plan("treadmill", speeds_m_s=(5.0,), kicks=2)[0].said()
