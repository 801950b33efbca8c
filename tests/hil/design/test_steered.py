"""Designs for a drive that obeys a steer rate or angle: sampled model, LQR, cascade, file, and rides."""

import numpy as np
import pytest
from scipy.linalg import expm

from riderless.hil.design.closed_loop import SampledLoop
from riderless.hil.design.methods import GainSchedule, LoopTiming, design
from riderless.hil.design.schedule import SCHEDULE_FORMAT, STEER_FORMAT
from riderless.hil.design.steered.cascade import LeanCascade, cascade_gains
from riderless.hil.design.steered.sampled_steer import sampled_steer
from riderless.hil.rig.fitting import require_fitting
from riderless.hil.rig.rig import Rig
from riderless.models.catalogue import load_bicycle
from riderless.models.errors import InputError
from riderless.models.linear.perturbed import Variant
from riderless.models.linear.prescribed_steer import InnerLoop, prescribed_steer
from tests.hil.design.steered_ride import steered_ride

LAG = InnerLoop(kind="rate", bandwidth=50.0)
PI = InnerLoop(kind="rate", bandwidth=50.0, damping=1.0)
ANGLE = InnerLoop(kind="angle", bandwidth=50.0, damping=1.0)
SHOWN = ("DelftSbW2024", "Rigid", "Pista", "Balanceassistv1")  # bicycles that nothing here was tuned on
FALLING = np.array([np.radians(3.0), 0.0, 0.35, 0.0])


@pytest.mark.parametrize("loop", [LAG, PI, ANGLE], ids=str)
@pytest.mark.parametrize("delay", [0.0, 0.4, 1.0])
def test_a_sample_is_the_continuous_motion_with_the_old_command_first(loop, delay):
    timing = LoopTiming(rate=100.0, delay=delay)
    model = sampled_steer(load_bicycle("Silver"), 4.0, timing, loop)
    A, b = prescribed_steer(Variant(load_bicycle("Silver")), 4.0, loop)
    n, old, new = len(b), 0.3, -0.2
    x = np.linspace(0.1, 0.5, n)
    for duration, u in ((delay * 0.01, old), ((1.0 - delay) * 0.01, new)):
        whole = np.zeros((n + 1, n + 1))
        whole[:n, :n], whole[:n, n] = A, b
        x = (expm(whole * duration) @ [*x, u])[:n]
    start = np.r_[np.linspace(0.1, 0.5, n), [old] if delay else []]
    np.testing.assert_allclose((model.F @ start + model.G * new)[:n], x, rtol=1e-9)


@pytest.mark.parametrize("name", ["Benchmark", "Silver", *SHOWN])
@pytest.mark.parametrize(
    ("loop", "method"), [(LAG, "lqr"), (PI, "lqr"), (ANGLE, "lqr"), (PI, "cascade"), (ANGLE, "cascade")]
)
def test_every_design_is_stable_also_with_the_drive_that_makes_the_torque(name, loop, method):
    """And then it has nearly the slowest eigenvalue of the steer that is prescribed."""
    schedule = design(load_bicycle(name), method, [2.0, 5.0, 8.0], drive=loop)
    assert schedule.stable.all()
    assert not schedule.K[:, 4].any()  # no loop measures how the drive turns the steer
    for v, K, found in zip(schedule.v, schedule.K, schedule.closed_loop, strict=True):
        stiff = sampled_steer(schedule.bicycle, float(v), schedule.loop, loop, stiff=True)
        z = stiff.closed_loop(K)
        assert np.abs(z).max() < 1.0
        nearest = np.abs(np.log(z) * schedule.rate - found[0]).min()
        assert nearest < (0.3 if loop is LAG else 0.1) * abs(found[0])


@pytest.mark.parametrize("loop", [LAG, ANGLE], ids=str)
def test_the_margins_are_where_the_loop_begins_to_grow(loop):
    """A cascade knows no command of before, so that a factor on its gains is one on the loop."""
    schedule = design(load_bicycle("DelftSbW2024"), "cascade", [4.0], drive=loop)
    model = sampled_steer(schedule.bicycle, 4.0, schedule.loop, loop)
    down, up = schedule.margins[0].gain
    assert 0.0 < down < 1.0 < up < 100.0
    for factor, stable in ((1.01 * down, True), (0.99 * down, False), (0.99 * up, True), (1.01 * up, False)):
        assert (np.abs(model.closed_loop(factor * schedule.K[0])).max() < 1.0) == stable


def test_the_cascade_steers_into_the_fall_and_costs_least():
    """Cost by simulation of the loop, from a lean and from a lean rate; two per cent beside the optimum it is more."""
    law, bicycle = LeanCascade(), load_bicycle("Silver")
    model = sampled_steer(bicycle, 4.0, LoopTiming(), LAG)
    K, _ = law.gains(bicycle, 4.0, model)
    kp, kd = -K[0], -K[2]
    assert kp > 0.0
    assert kd > 0.0

    def cost(kp, kd):
        total, k = 0.0, model.narrow(cascade_gains(kp, kd))
        for start in (np.eye(6)[0, :5] * np.radians(3.0), np.eye(6)[2, :5] * np.radians(20.0)):
            x = start
            for _ in range(4000):
                u = -k @ x
                terms = np.array([x[0] / law.phi, x[1] / law.delta, x[2] / law.phi_dot, x[3] / np.radians(100 * np.pi)])
                total += terms @ terms + (u / law.command) ** 2
                x = model.F @ x + model.G * u
        return total

    least = cost(kp, kd)
    for factors in ((1.02, 1.0), (0.98, 1.0), (1.0, 1.02), (1.0, 0.98)):
        assert cost(kp * factors[0], kd * factors[1]) > least


@pytest.mark.parametrize(("loop", "method"), [(LAG, "cascade"), (PI, "lqr"), (PI, "cascade"), (ANGLE, "lqr")])
@pytest.mark.parametrize("name", ["Silver", "Rigid"])
def test_interpolated_gains_balance_too(name, loop, method):
    schedule = design(load_bicycle(name), method, np.arange(2.0, 7.5, 0.5), drive=loop)
    for v in np.arange(2.05, 7.0, 0.05):
        model = sampled_steer(schedule.bicycle, float(v), schedule.loop, loop)
        assert np.abs(model.closed_loop(schedule.gains(v))).max() < 1.0


def test_given_gains_are_taken_as_they_are():
    schedule = design(load_bicycle("Silver"), "cascade", [4.0], drive=LAG, kp=12.0, kd=5.0)
    np.testing.assert_array_equal(schedule.K, [[-12.0, 0.0, -5.0, 0.0, 0.0, 0.0]])


@pytest.mark.parametrize(
    ("name", "loop", "method"),
    [
        *(("Silver", loop, method) for loop, method in ((LAG, "lqr"), (ANGLE, "lqr"), (ANGLE, "cascade"))),
        *((name, PI, "cascade") for name in ("Silver", *SHOWN)),
    ],
)
def test_the_nonlinear_bicycle_is_caught_from_three_degrees_and_a_kick(name, loop, method):
    """3 to 7 m/s, with the torque that the drive makes, 7 N m at most as a rig's."""
    schedule = design(load_bicycle(name), method, [3.0, 5.0, 7.0], drive=loop)
    for v in schedule.v:
        ride = steered_ride(schedule, float(v), FALLING, 4.0, torque_max=7.0)
        assert np.abs(ride[:, 0]).max() < np.radians(10.0)
        assert np.abs(ride[-40:, 0]).max() < np.radians(0.5)
        assert np.abs(ride[-40:, 1]).max() < np.radians(3.0)
        assert 0.5 < np.abs(ride[:, 5]).max() <= 7.0


def test_a_drive_without_the_torque_loses_the_bicycle():
    schedule = design(load_bicycle("Silver"), "lqr", [3.0], drive=PI)
    assert np.abs(steered_ride(schedule, 3.0, FALLING, 4.0, torque_max=0.5)[-1, 0]) > np.radians(30.0)


# Files and refusals -------------------------------------------------------------------------------


@pytest.mark.parametrize("loop", [LAG, PI, ANGLE], ids=str)
def test_the_file_says_the_kind_and_reads_back(loop):
    schedule = design(load_bicycle("Silver"), "lqr", [3.0, 4.0], drive=loop)
    text = schedule.to_toml()
    assert f'format = "{STEER_FORMAT}"' in text
    assert f'[drive]\nkind = "{loop.kind}"' in text
    read = GainSchedule.from_toml(text)
    assert read.drive == loop
    assert read.to_toml() == text
    assert f"of a steer {loop.kind}" in repr(read)


def test_torque_is_written_as_ever():
    text = design(load_bicycle("Silver"), "lqr", [3.0]).to_toml()
    assert f'format = "{SCHEDULE_FORMAT}"' in text
    assert "[drive]" not in text
    assert GainSchedule.from_toml(text).drive is None


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (('kind = "rate"', 'kind = "speed"'), "follows a rate or an angle, found the kind 'speed'"),
        (("bandwidth = 50.0", "bandwidth = 0.0"), "bandwidth of a steer drive must be from 1"),
        (("bandwidth = 50.0", "width = 50.0"), "is not a gain schedule"),
        (("[drive]", "[driver]"), "found 'driver': did you mean drive"),
    ],
)
def test_a_file_of_no_drive_is_refused(change, sentence):
    text = design(load_bicycle("Silver"), "lqr", [3.0], drive=LAG).to_toml()
    assert change[0] in text
    with pytest.raises(InputError, match=sentence):
        GainSchedule.from_toml(text.replace(*change))


def test_gains_of_another_kind_are_refused_where_torque_is_obeyed():
    schedule = design(load_bicycle("Benchmark"), "lqr", [3.0, 5.0], drive=LAG)
    rig = Rig(load_bicycle("Benchmark"))
    for allow_mismatch in (False, True):
        with pytest.raises(InputError, match=r"command a steer rate \[rad/s\] but the drive obeys a torque \[N m\]"):
            require_fitting(rig, schedule, allow_mismatch)
    with pytest.raises(InputError, match="design them again with --drive torque"):
        SampledLoop.of_rig(rig, schedule)


@pytest.mark.parametrize(
    ("method", "options", "sentence"),
    [
        ("poles", {}, "must be one of lqr, cascade, lane, or with states .* found 'poles'"),
        ("cascade", {"kp": 3.0}, "wants both gains, kp and kd, or neither"),
        ("cascade", {"kp": -3.0, "kd": 1.0}, "kp of the cascade must be a number from 0 to 1e6, found -3.0"),
        ("cascade", {"phi": 0.0}, "the weight phi must be a number above 0"),
        ("cascade", {"kp": 3.0, "kd": 1.0, "phi": 0.1, "command": 0.1}, r"found both \(phi, command\)"),
        ("cascade", {"kp": 0.1, "kd": 0.1}, "cascade does not balance Silver at 3 m/s"),
        ("cascade", {"kp": 1.0, "kd": 1.0, "kind": 1}, "found 'kind'"),
        ("lqr", {"command": "much"}, "the weight command must be a number above 0"),
        ("lqr", {"T_delta": 1.0}, "has the options phi, delta, phi_dot, delta_dot, command, found 'T_delta'"),
    ],
)
def test_what_no_method_can_is_refused(method, options, sentence):
    with pytest.raises(InputError, match=sentence):
        design(load_bicycle("Silver"), method, [3.0], drive=LAG, **options)


def test_a_drive_that_is_too_late_is_told_by_its_own_numbers():
    late = InnerLoop(kind="rate", bandwidth=1.0, damping=5.0)
    with pytest.raises(InputError, match=r"follows 10 s late \(1 rad/s, damping 5\) balances no bicycle"):
        design(load_bicycle("Silver"), "lqr", [4.0], drive=late)


def test_numbers_of_numpy_are_gains_and_true_is_none():
    made = LeanCascade(np.int64(12), np.float32(1.5))
    np.testing.assert_array_equal(made.gains(load_bicycle("Silver"), 4.0, None)[0], cascade_gains(12.0, 1.5))
    with pytest.raises(InputError, match="kp of the cascade must be a number from 0 to 1e6, found True"):
        LeanCascade(True, 1.0)


@pytest.mark.parametrize("method", ["lqr", "cascade"])
def test_where_no_steer_moves_the_falling_mode_none_is_designed(method):
    with pytest.raises(InputError, match="its falling mode"):
        design(load_bicycle("Benchmark"), method, [0.0254], drive=LAG)


def test_no_cascade_through_a_drive_that_is_too_slow():
    with pytest.raises(InputError, match="no cascade from lean to steer balances Benchmark at 6 m/s with this drive"):
        design(load_bicycle("Benchmark"), "cascade", [6.0], drive=InnerLoop(kind="rate", bandwidth=30.0, damping=1.0))
