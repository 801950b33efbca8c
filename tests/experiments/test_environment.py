"""Environments for reinforcement learning: gymnasium's own check, their motion, ends of episodes, drawn bicycles."""

import numpy as np
import pytest

pytest.importorskip("gymnasium", reason="the environments want the extra [gym]")

from gymnasium.utils.env_checker import check_env

from riderless.experiments.emulation.environment import LEAN_LIMIT, BicycleEnv, BicycleVectorEnv
from riderless.models.catalogue import load_bicycle
from riderless.models.coordinates import Q_DELTA
from riderless.models.errors import InputError
from riderless.models.nonlinear.simulation import initial_state, simulate_nonlinear

QUIET = {"kick": 0.0, "lean": 0.0}


def test_gymnasiums_own_check_passes():
    check_env(BicycleEnv(), skip_render_check=True)


def test_a_torque_acts_one_period_late_on_the_nonlinear_bicycle():
    env = BicycleVectorEnv(1, speeds=(5.0, 5.0), **QUIET)
    env.reset(seed=1)
    shares = [0.1, -0.05, 0.2, 0.1, 0.0]
    observed = [env.step(np.array([[share]]))[0][0] for share in shares]
    late = np.repeat([0.0, *(7.0 * share for share in shares[:-1])], 5)
    torques = np.stack([0.0 * late, 0.0 * late, late], axis=1)
    ride = simulate_nonlinear(
        load_bicycle("Silver"), *initial_state(load_bicycle("Silver"), v=5.0), 0.025, 0.001, torques
    )
    assert observed[0][1] == 0.0, "not by the torque of its own period"
    assert abs(observed[-1][1]) > 1e-4
    assert observed[-1][1] == pytest.approx(ride.q[-1, Q_DELTA], rel=1e-5)


def test_a_fall_ends_an_episode_and_the_next_step_begins_another():
    env = BicycleVectorEnv(40, speeds=(1.5, 2.0), kick=0.0, threads=2)
    observed, _ = env.reset(seed=2)
    push = np.zeros((40, 1))
    for _ in range(2000):
        before = observed
        observed, rewards, fallen, truncated, _ = env.step(push)
        if fallen.any():
            break
    assert fallen.any()
    assert np.all((np.abs(observed[fallen, 0]) > LEAN_LIMIT) | (np.abs(observed[fallen, 1]) > np.radians(45.0)))
    assert not truncated[fallen].any()
    assert np.all(np.abs(before[:, 0]) < LEAN_LIMIT)
    observed, rewards, again, _, _ = env.step(push)
    assert np.all(np.abs(observed[fallen, 0]) <= 0.1), "upright again"
    assert np.all(rewards[fallen] == 0.0)
    assert not again[fallen].any()
    env.close()


def test_an_episode_without_a_fall_is_truncated_at_its_end():
    env = BicycleEnv(speeds=(6.0, 6.0), duration=0.1, **QUIET)
    env.reset(seed=1)
    ends = [env.step(np.zeros(1))[2:4] for _ in range(20)]
    assert ends == [(False, False)] * 19 + [(False, True)]


def test_a_seed_gives_the_same_episode_and_bicycles_differ_by_their_deviations():
    env = BicycleVectorEnv(64, "Fisher", std=1.0)
    first, _ = env.reset(seed=3)
    second = env.step(np.full((64, 1), 0.1))[0]
    again, _ = env.reset(seed=3)
    assert np.array_equal(first, again)
    assert np.array_equal(second, env.step(np.full((64, 1), 0.1))[0])
    spread = []
    for std in (0.0, 1.0):
        bicycles = BicycleVectorEnv(64, "Fisher", speeds=(5.0, 5.0), std=std, **QUIET)
        bicycles.reset(seed=1)
        for _ in range(20):
            observed = bicycles.step(np.full((64, 1), 0.02))[0]
        spread.append(np.ptp(observed[:, 1]))
    assert spread[0] == 0.0
    assert spread[1] > 1e-4


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"speeds": (6.0, 4.0)}, "the slowest speed"),
        ({"std": -1.0}, "std must be from 0 to 10"),
        ({"lean": 1.0}, "lean"),
        ({"torque": float("nan")}, "torque"),
        ({"num_envs": 0}, "num_envs"),
    ],
)
def test_what_no_ride_has_is_refused(given, words):
    with pytest.raises(InputError, match=words):
        BicycleVectorEnv(**{"num_envs": 4, **given})
