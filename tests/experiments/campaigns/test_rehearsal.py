"""Rehearsals: what they promise, and what a refused condition is told."""

import dataclasses

import numpy as np
import pytest

from riderless.experiments.campaigns.protocols import release, treadmill
from riderless.experiments.campaigns.protocols.plan_inputs import NamedController, PlanInputs
from riderless.experiments.campaigns.rehearsal import dry_run
from riderless.hil.logs.log import read_run
from riderless.hil.loop.limits import RecordedLimits
from riderless.hil.loop.states import State
from riderless.hil.rig.file import read_rig
from riderless.hil.rig.rig import Rig
from riderless.hil.runners.simulated_run import run_lockstep
from riderless.models import catalogue
from tests.paths import ROOT

BENCHMARK = catalogue.load_bicycle("Benchmark")


def one(machine=None, method="lqr", v=5.0, **settings):
    bench = PlanInputs((BENCHMARK,), (NamedController(method, method),), machine=machine)
    return treadmill.plan(treadmill.Settings(kind="treadmill", speeds_m_s=(v,), kicks=1, **settings), bench)[0]


def rig_with(**values):
    rig = Rig(BENCHMARK)
    limits = {name: dataclasses.replace(getattr(rig.limits, name), value=value) for name, value in values.items()}
    return dataclasses.replace(rig, limits=RecordedLimits(**vars(rig.limits) | limits))


@pytest.fixture(scope="module")
def peaks(tmp_path_factory):
    """Largest lean and torque of the one condition, read off a run of it."""
    condition, folder = one(), tmp_path_factory.mktemp("peaks") / "run"
    run_lockstep(folder, condition.rig, condition.schedule, condition.scenario, condition.duration)
    rows = read_run(folder).ticks
    rows = rows[rows["state"] == State.RUNNING]
    return {"lean": np.abs(rows["phi_est"]).max(), "torque": np.abs(rows["T_req"]).max()}


def test_peaks_are_shares_of_the_limits(peaks):
    found = dry_run(one())
    assert not found.refusal
    assert found.shares["lean"] == pytest.approx(peaks["lean"] / 0.52)
    assert found.shares["torque"] == pytest.approx(peaks["torque"] / 7.0)


@pytest.mark.parametrize("name", ["lean", "torque"])
def test_a_refusal_names_the_limit_by_how_much_and_what_to_change(peaks, name):
    limit = round(0.8 * peaks[name], 3)
    refusal = dry_run(one(rig_with(**{name: limit}))).refusal
    assert refusal.startswith("treadmill Benchmark lqr 5.0 m/s is refused: ")
    assert f"{name} would reach" in refusal
    share = int(refusal.split(" % of its limit")[0].rsplit(" ", 1)[-1])
    assert share == pytest.approx(125, abs=3), "a limit that ends the rehearsal does not hide how far it would go"
    assert f"limit of {limit:g}" in refusal
    assert "lower lean_rate_rad_s" in refusal


def test_a_share_of_the_limits_can_be_asked_for(peaks):
    share = peaks["lean"] / 0.52
    assert not dry_run(one(), 1.01 * share).refusal
    assert f"wanted at most {99 * share:.0f} %" in dry_run(one(), 0.99 * share).refusal


@pytest.mark.parametrize(("v", "words"), [(11.0, "1 m/s beyond the limit speed_max of 10"), (0.2, "speed_min of 0.3")])
def test_a_speed_outside_the_limits_is_refused(v, words):
    condition = one()
    scenario = dataclasses.replace(condition.scenario, speed=((0.0, 5.0), (9.0, v)))
    assert words in dry_run(dataclasses.replace(condition, scenario=scenario)).refusal


def test_what_is_refused_before_it_moved_is_told_so_among_the_rehearsals():
    found = dry_run(one(v=0.1))
    assert (found.shares, found.said()) == ({}, "refused before it moved")


def test_a_bicycle_that_falls_is_refused():
    refusal = dry_run(one(method="off", v=2.0)).refusal
    assert "for the bicycle falls" in refusal
    assert "choose another speed or controller" in refusal


def test_a_release_that_is_too_long_is_caught_and_its_catch_refused():
    """With `catch` beyond what a rehearsal may reach the release itself is what is refused."""
    bench = PlanInputs((BENCHMARK,), (NamedController("lqr", "lqr", {}),))
    long = {"kind": "release", "speeds_m_s": (3.6,), "releases": 1, "free_s": 15.0, "push_Nm": 2.0}
    (bold,) = release.plan(release.Settings(**long, catch=0.95), bench)
    (meek,) = release.plan(release.Settings(**long, catch=0.4), bench)
    assert "shorten free_s" in dry_run(bold).refusal
    found = dry_run(meek)
    assert not found.refusal
    assert 0.4 <= max(found.shares["lean"], found.shares["steer"]) < 0.9


def test_any_machine_is_rehearsed_as_our_node():
    """A rehearsal in memory knows our node alone: a rig of other devices lends its limits and its bicycle."""
    wired = read_rig(ROOT / "docs/rigs/vectornav-vesc.toml")
    assert len(wired.ports) == 3
    assert not dry_run(one(wired)).refusal
