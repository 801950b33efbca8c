"""The closed loop of this machine and these gains is computed before the drive is switched on."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.linalg import expm

from riderless.experiments.campaigns.protocols.plan_inputs import gentle_options
from riderless.hil.design.methods import DESIGN_SPEEDS, design
from riderless.hil.design.sampled_plant import LOOP_STATES
from riderless.hil.rig.fitting import require_fitting
from riderless.hil.rig.rig import Rig
from riderless.hil.rig.stable import FASTEST_GROWTH, fastest_growth, judged_speeds, require_stable
from riderless.hil.runners.session import run_realtime
from riderless.hil.runners.simulated_run import simulate
from riderless.models import catalogue
from riderless.models.errors import InputError
from riderless.models.linear.whipple import canonical_matrices
from riderless.models.plant.plant import Kick
from tests.hil.machine import gains, rig_of

BICYCLES = (
    "Balanceassistv1",
    "Benchmark",
    "Browser",
    "Crescendo",
    "DelftSbW2024",
    "Fisher",
    "Pista",
    "Rigid",
    "Silver",
)
MASSLESS = "TwoMassSkateTheory"  # no bicycle: two masses on skates
STRANGE = {MASSLESS, "Gyro_computed"}  # so quick under others' gains that the observer, too, is in the way
SIGNS_THAT_BALANCE = ("phi", "delta", "phi_dot", "delta_dot")  # without the right one a bicycle falls


@cache
def machine(name, method="lqr", speeds=DESIGN_SPEEDS):
    rig = Rig(catalogue.load_bicycle(name))
    return rig, design(rig.bicycle, method, speeds, rig.timing)


def with_gains(schedule, change):
    K = schedule.K.copy()
    change(K)
    return replace(schedule, K=K)


def refused(rig, schedule, *speeds):
    try:
        require_stable(rig, schedule, speeds)
    except InputError:
        return True
    return False


@pytest.mark.parametrize("method", ["lqr", "poles"])
@pytest.mark.parametrize("name", BICYCLES)
def test_designs_are_taken_at_their_own_speeds_and_reversed_are_not(name, method):
    rig, schedule = machine(name, method)
    assert not refused(rig, schedule)
    assert refused(rig, with_gains(schedule, lambda K: np.negative(K, out=K)))


@pytest.mark.parametrize("method", ["lqr", "poles"])
@pytest.mark.parametrize("name", ["Pista", "Silver"])
def test_the_gentle_gains_of_a_campaign_are_taken(name, method):
    bicycle = catalogue.load_bicycle(name)
    schedule = design(bicycle, method, DESIGN_SPEEDS, Rig(bicycle).timing, **gentle_options(bicycle, method))
    assert not refused(Rig(bicycle), schedule)


def growth_of_known_states(rig, schedule, v):
    """Growth [1/s] of M q'' + v C1 q' + (g K0 + v^2 K2) q = (0, T) under a lagging drive and no observer."""
    M, C1, K0, K2 = canonical_matrices(rig.bicycle)
    A, dt = np.zeros((6, 6)), 1.0 / rig.rate
    A[0:2, 2:4] = np.eye(2)
    A[2:4, :4] = -np.linalg.solve(M, np.hstack([rig.bicycle.g * K0 + v**2 * K2, v * C1]))
    A[2:4, 4] = np.linalg.solve(M, [0.0, 1.0])
    A[4, 4:] = np.array([-1.0, 1.0]) / rig.drive_lag
    loop = expm(A * dt)
    loop[5] = -schedule.K[list(schedule.v).index(v)]  # the command that the next sample's period obeys
    return math.log(np.abs(np.linalg.eigvals(loop)).max()) / dt


@pytest.mark.parametrize("name", catalogue.bicycle_names())
def test_gains_of_every_other_bicycle_are_refused_or_stable(name):
    speeds = (4.0, 6.0)
    rig, verdicts = machine(name, "lqr", speeds)[0], set()
    for other in set(catalogue.bicycle_names()) - {name}:
        schedule = machine(other, "lqr", speeds)[1]
        with pytest.raises(InputError, match=f"designed for {other}, not for {name}"):
            require_fitting(rig, schedule)
        for v in speeds:
            growth, falls = growth_of_known_states(rig, schedule, v), refused(rig, schedule, v)
            verdicts.add(falls)
            assert falls or growth < FASTEST_GROWTH + 0.2, (other, v, growth)
            assert not falls or growth > -0.2 or name in STRANGE, (other, v, growth)
    assert (False in verdicts) is (name != MASSLESS)
    assert True in verdicts or name not in ("Benchmark", "Browserins", "Crescendo", "Rigid")


@pytest.mark.parametrize("state", SIGNS_THAT_BALANCE)
@pytest.mark.parametrize("name", BICYCLES)
def test_one_sign_lost_is_refused(name, state):
    rig, schedule = machine(name)
    column = LOOP_STATES.index(state)
    flipped = with_gains(schedule, lambda K: np.negative(K[:, column], out=K[:, column]))
    assert refused(rig, flipped)


def test_one_sign_lost_at_one_speed_is_refused_where_it_is_met():
    rig, schedule = machine("Silver")
    broken = with_gains(schedule, lambda K: K.__setitem__((4, 2), -K[4, 2]))
    assert DESIGN_SPEEDS[4] == 4.0
    with pytest.raises(InputError, match="at 4 m/s the closed loop"):
        require_stable(rig, broken)
    assert not refused(rig, broken, 6.0), "a planned speed is the one that counts"
    assert refused(rig, broken, 3.0, 6.0), "and so is all of a planned ramp"


def test_gains_of_another_speed_are_refused():
    rig, schedule = machine("Benchmark", "lqr", (9.0,))
    held = with_gains(machine("Benchmark", "lqr", (3.0,))[1], lambda K: K.__setitem__(slice(None), schedule.K))
    assert refused(rig, held, 3.0)
    assert not refused(rig, schedule, 9.0)


def test_the_sentence_has_eigenvalue_speed_and_what_to_do():
    rig, schedule = machine("Silver")
    with pytest.raises(InputError) as refusal:
        require_stable(rig, with_gains(schedule, lambda K: np.negative(K, out=K)))
    for words in (
        "lqr for Silver",
        "Silver falls",
        "m/s the closed loop",
        "1/s, wanted at most 0.1 1/s",
        "allow-unstable",
    ):
        assert words in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_what_is_refused_falls_and_what_is_taken_rides():
    """The nonlinear bicycle is asked, which knows nothing of the eigenvalues."""
    for name in ("Silver", "Pista"):
        rig, schedule = machine(name)
        for state, falls in (("phi", True), ("phi_dot", True), ("u_prev", False)):
            column = LOOP_STATES.index(state)
            flipped = with_gains(schedule, lambda K, i=column: np.negative(K[:, i], out=K[:, i]))
            assert refused(rig, flipped, 5.0) is falls
            run = simulate(rig.bicycle, flipped, speed=5.0, kicks=[Kick(0.5, 1.0)], model="nonlinear", duration=6.0)
            assert (run.stop.reason != "success") is falls, (name, state)


def test_a_loop_that_grows_too_slowly_to_matter_is_ridden():
    rig = rig_of("Silver")
    slow = design(rig.bicycle, "lean", (8.0,), rig.timing, allow_unstable=True)
    _, eigenvalue = fastest_growth(rig, slow)
    assert 0.0 < eigenvalue.real < FASTEST_GROWTH
    assert not refused(rig, slow)


def test_without_torque_or_on_purpose_anything_is_taken():
    rig, schedule = machine("Silver")
    require_stable(rig, gains(rig, "off", (1.0,)))
    require_stable(rig, with_gains(schedule, lambda K: np.negative(K, out=K)), allow_unstable=True)


def test_the_observer_is_part_of_the_loop():
    """A design knows no observer; gains so quick that the steer filter is in their way are found out here."""
    rig, schedule = machine(MASSLESS)
    assert schedule.stable.all()
    assert refused(rig, schedule)


def test_speeds_that_are_judged():
    rig, schedule = machine("Silver", "lqr", (3.0, 4.1, 5.0))
    assert judged_speeds(rig, schedule) == [3.0, 3.25, 3.5, 3.75, 4.0, 4.1, 4.25, 4.5, 4.75, 5.0]
    assert judged_speeds(rig, schedule, (4.3,)) == [4.3]
    assert judged_speeds(rig, schedule, (0.0, 3.0)) == [2.5, 2.75, 3.0], "a start from standstill is not judged there"
    narrow = replace(rig, limits=replace(rig.limits, speed_max=replace(rig.limits.speed_max, value=3.3)))
    assert judged_speeds(narrow, schedule) == [3.0, 3.25, 3.3]


def test_a_real_machine_is_not_even_opened(tmp_path):
    rig = rig_of()
    reversed_gains = with_gains(gains(rig), lambda K: np.negative(K, out=K))
    with pytest.raises(InputError, match="Silver falls"):
        run_realtime(tmp_path / "run", rig, reversed_gains, "/dev/no-port", 1.0)
    assert not (tmp_path / "run").exists()
