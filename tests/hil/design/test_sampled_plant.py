"""The sampled loop against a recurrence written out by hand: matrix exponentials and a buffer of commands."""

from collections import deque

import numpy as np
import pytest
from scipy.linalg import expm

from riderless.hil.design.sampled_plant import LOOP_STATES, LoopTiming, continuous, sampled_model
from riderless.models.catalogue import load_bicycle
from riderless.models.coordinates import T_DELTA
from riderless.models.errors import InputError
from riderless.models.linear.whipple import input_matrix, system_matrix

K = np.array([-20.0, 15.0, -4.0, 1.5, 0.05, 0.04])


def one_sample(bicycle, v, rate, lag, delay, z):
    """State after one sample of the loop under u = -K z, each part done separately."""
    x, T, buffer = z[:4], z[4], deque([z[5]] if delay else [])
    u = -K @ z
    buffer.append(u)
    followed = buffer.popleft()  # the oldest command is the one the drive follows until the next sample
    A, b = system_matrix(bicycle, v), input_matrix(bicycle)[:, T_DELTA]
    n = 6
    M = np.zeros((n, n))  # d/dt (x, T, followed)
    M[:4, :4], M[:4, 4] = A, b
    M[4, 4], M[4, 5] = -1.0 / lag, 1.0 / lag
    end = expm(M / rate) @ [*x, T, followed]
    return np.array([*end[:5], u])


@pytest.mark.parametrize("v", [0.5, 2.0, 5.0, 9.0])
@pytest.mark.parametrize(("rate", "lag"), [(200.0, 0.005), (50.0, 0.02), (1000.0, 0.001)])
def test_closed_loop_is_the_recurrence(v, rate, lag):
    bicycle = load_bicycle("Silver")
    model = sampled_model(bicycle, v, LoopTiming(rate, 1, lag))
    by_hand = np.column_stack([one_sample(bicycle, v, rate, lag, 1, e) for e in np.eye(6)])
    np.testing.assert_allclose(
        np.sort_complex(model.closed_loop(K)),
        np.sort_complex(np.linalg.eigvals(by_hand)),
        rtol=1e-9,
        atol=1e-12,
    )
    assert model.states == LOOP_STATES


def test_states_dropped_have_no_gain():
    bicycle = load_bicycle("Benchmark")
    for loop, states in [
        (LoopTiming(200.0, 0, 0.0), LOOP_STATES[:4]),
        (LoopTiming(200.0, 0, 0.005), LOOP_STATES[:5]),
        (LoopTiming(200.0, 1, 0.0), (*LOOP_STATES[:4], "u_prev")),
    ]:
        model = sampled_model(bicycle, 5.0, loop)
        assert model.states == states
        assert model.F.shape == (len(states), len(states))
        assert model.G.shape == (len(states),)
        wide = model.widen(np.arange(1.0, 1.0 + len(states)))
        assert wide.shape == (6,)
        assert np.count_nonzero(wide) == len(states)
        np.testing.assert_array_equal(model.narrow(wide), np.arange(1.0, 1.0 + len(states)))


def test_a_short_lag_is_nearly_none():
    bicycle = load_bicycle("Benchmark")
    quick = sampled_model(bicycle, 4.0, LoopTiming(200.0, 0, 1e-7))
    none = sampled_model(bicycle, 4.0, LoopTiming(200.0, 0, 0.0))
    np.testing.assert_allclose(quick.G[:4], none.G, atol=1e-6)


def test_open_loop_keeps_the_bicycle_the_drive_and_the_delay():
    bicycle = load_bicycle("Benchmark")
    s = continuous(sampled_model(bicycle, 5.0, LoopTiming()).closed_loop(np.zeros(6)), 1.0 / 200.0)
    # Meijaard et al. 2007, Table 2, v = 5 m/s; the drive is at -1/0.005 s, the delay is over after a sample
    wanted = [-0.32286642900409, -0.77534188219585 + 4.46486771378823j, -0.77534188219585 - 4.46486771378823j]
    np.testing.assert_allclose(s[:3], wanted, rtol=0.0, atol=1e-10)
    assert s[3].real == pytest.approx(-14.07838969279822, abs=1e-9)
    assert s[4].real == pytest.approx(-200.0, abs=1e-6)
    assert s[5] == complex(-np.inf, 0.0)


@pytest.mark.parametrize("lag", [0.0, 0.005])
def test_within_a_sample_the_old_command_acts_and_then_the_new(lag):
    """A delay of two fifths, by five steps of a loop five times as fast."""
    bicycle, v = load_bicycle("Benchmark"), 5.0
    model = sampled_model(bicycle, v, LoopTiming(rate=200.0, delay=0.4, drive_lag=lag))
    fine = sampled_model(bicycle, v, LoopTiming(rate=1000.0, delay=0, drive_lag=lag))
    n = len(fine.F)
    z = np.random.default_rng(3).normal(size=n + 1)
    x, old, new = z[:n], z[n], 0.7
    for step in range(5):
        x = fine.F @ x + fine.G * (old if step < 2 else new)
    assert model.F @ z + model.G * new == pytest.approx(np.r_[x, new], rel=1e-11, abs=1e-12)
    assert model.states[-1] == "u_prev"


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"rate": 0.0}, "above 0 Hz"),
        ({"rate": np.inf}, "above 0 Hz"),
        ({"delay": 2}, "from 0 to 1 sample"),
        ({"delay": np.nan}, "from 0 to 1 sample"),
        ({"drive_lag": -0.001}, "0 s or more"),
        ({"drive_lag": np.nan}, "0 s or more"),
        ({"rate": "200"}, "rate of the loop must be a number, found '200'"),
        ({"rate": None}, "rate of the loop must be a number, found None"),
        ({"delay": True}, "delay of the loop must be a number, found True"),
    ],
)
def test_refuses(wrong, says):
    with pytest.raises(InputError, match=says):
        LoopTiming(**wrong)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e200, None, "5", True, [4.0, 5.0]])
def test_no_speed_makes_no_sampled_model(bad):
    with pytest.raises(InputError, match=r"speed .*in m/s.*found"):
        sampled_model(load_bicycle("Silver"), bad, LoopTiming())


def test_a_rate_is_no_timing():
    with pytest.raises(InputError, match="wants a LoopTiming, found 200"):
        sampled_model(load_bicycle("Silver"), 4.0, 200)
