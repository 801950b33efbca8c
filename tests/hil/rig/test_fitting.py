"""Gains run on the machine that they were designed for, or where somebody says that they know better."""

from dataclasses import replace

import pytest

from riderless.hil.design.methods import design
from riderless.hil.design.sampled_plant import LoopTiming
from riderless.hil.design.schedule import GainSchedule
from riderless.hil.rig.fitting import require_fitting
from riderless.hil.runners.session import run_realtime
from riderless.hil.runners.simulated_run import run_lockstep, simulate
from riderless.models.errors import InputError
from riderless.models.plant.plant import Scenario
from tests.hil.machine import gains, rig_of


def test_gains_of_their_own_machine_fit_also_from_a_file_and_under_another_name():
    rig = rig_of(command_delay=0.002)
    made = design(rig.bicycle, "lqr", (4.0, 5.0), rig.timing)
    require_fitting(rig, made)
    require_fitting(rig, GainSchedule.from_toml(made.to_toml()))
    require_fitting(replace(rig, bicycle=replace(rig.bicycle, name="mine")), made)


@pytest.mark.parametrize("other", ["Benchmark", "Yellow"])
def test_another_bicycle_is_named(other):
    with pytest.raises(InputError, match=f"designed for Silver, not for {other}: design them for it, or run them all"):
        require_fitting(rig_of(other), gains(rig_of()))
    require_fitting(rig_of(other), gains(rig_of()), allow_mismatch=True)


def test_a_bicycle_measured_anew_is_another_one():
    rig = rig_of()
    heavier = replace(rig, bicycle=replace(rig.bicycle, mB=rig.bicycle.mB + 1.0))
    told = rf"another Silver \(mB {rig.bicycle.mB:.6g}, not {rig.bicycle.mB + 1.0:.6g} kg\): design them again"
    with pytest.raises(InputError, match=told):
        require_fitting(heavier, gains(rig))


@pytest.mark.parametrize(
    ("designed", "told"),
    [
        (LoopTiming(delay=0), "a delay of 0 samples and a drive lag of 5 ms, not for a delay of 1 sample"),
        (LoopTiming(delay=0.6), "a delay of 0.6 samples"),
        (
            LoopTiming(drive_lag=0.02),
            "a drive lag of 20 ms, not for .* a drive lag of 5 ms: .*--delay 1 --drive-lag 0.005",
        ),
    ],
)
def test_another_timing_is_named_with_the_design_to_type(designed, told):
    rig = rig_of()
    with pytest.raises(InputError, match=told):
        require_fitting(rig, design(rig.bicycle, "lqr", (4.5, 5.5), designed))
    require_fitting(rig, design(rig.bicycle, "lqr", (4.5, 5.5), designed), allow_mismatch=True)


def test_a_lag_calibrated_anew_within_a_tenth_is_the_same_one():
    require_fitting(rig_of(drive_lag=0.0053), gains(rig_of()))


def test_no_torque_suits_every_bicycle_but_not_every_rate():
    require_fitting(rig_of("Yellow"), gains(rig_of(), "off"))
    slow = design(rig_of().bicycle, "off", (5.0,), LoopTiming(rate=100.0))
    with pytest.raises(InputError, match="designed for 100 Hz but the rig runs at 200 Hz"):
        require_fitting(rig_of(), slow, allow_mismatch=True)


def test_every_way_to_run_asks(tmp_path):
    rig, of_silver = rig_of("Yellow"), gains(rig_of())
    told = pytest.raises(InputError, match="designed for Silver, not for Yellow")
    with told:
        simulate(rig.bicycle, of_silver, model="linear")
    with told:
        run_lockstep(tmp_path / "run", rig, of_silver, Scenario(), 1.0)
    with told:
        run_realtime(tmp_path / "run", rig, of_silver, "/dev/no-such-port", 1.0)
    assert not (tmp_path / "run").exists()


def test_a_wrong_controller_on_purpose_is_run_and_kept_with_its_bicycle():
    run = simulate(rig_of("Benchmark").bicycle, gains(rig_of()), duration=1.0, allow_mismatch=True, model="linear")
    assert run.header.bicycle.name == "Benchmark"
    assert run.header.schedule.bicycle.name == "Silver"
    assert (run.ticks["T_cmd"] != 0.0).any()
