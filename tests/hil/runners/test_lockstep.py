"""The whole corridor in memory: bytes, tick, supervisor, plant."""

import os
import signal

import numpy as np
import pytest

from riderless.hil.design.closed_loop import SampledLoop
from riderless.hil.logs.log import RUN_FILE, read_run
from riderless.hil.loop.states import SENTENCES, Cause, State, Verdict
from riderless.hil.runners.simulated_run import run_lockstep
from riderless.models.plant.plant import Instruments, Kick, Plant, Scenario, SteerDrive
from tests.hil.machine import gains, gains_in, lockstep_rows, rig_of, scenario


def states(rows):
    changes = np.flatnonzero(np.diff(rows["state"].astype(int), prepend=-1))
    return [State(int(rows["state"][i])) for i in changes]


def test_a_run_goes_through_all_its_states_and_balances():
    rows, outcome = lockstep_rows(duration=4.0)
    assert states(rows) == [State.CHECK, State.ARMED, State.RUNNING, State.RAMPDOWN, State.DISARMED]
    assert outcome.reason == "success"
    running = rows[rows["state"] == State.RUNNING]
    assert np.abs(running["phi_dot_meas"]).max() > 0.1, "the kick is seen"
    assert np.abs(running["phi_est"][-100:]).max() < 0.03, "and answered"
    assert rows["samples_lost"][-1] == rows["frames_bad_crc"][-1] == 0


def test_no_torque_leaves_outside_running_and_rampdown():
    rows, _ = lockstep_rows()
    idle = ~np.isin(rows["state"], [State.RUNNING, State.RAMPDOWN])
    assert (rows["T_cmd"][idle] == 0.0).all()
    assert (np.abs(rows["T_cmd"]) > 0.05).any()
    withheld = (rows["verdict"] & Verdict.WITHHELD) > 0
    assert (rows["state"][withheld] == State.CHECK).all(), "commands are withheld to prove the watchdog"


def test_a_command_is_obeyed_one_sample_after_its_measurement():
    rows, _ = lockstep_rows()
    running = rows[rows["state"] == State.RUNNING][10:]
    np.testing.assert_array_equal(running["acked_seq"], running["command_seq"] - 1)


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(tmp_path):
    rig = rig_of()
    files = []
    for name, seed in (("a", 7), ("b", 7), ("c", 8)):
        run_lockstep(tmp_path / name, rig, gains(rig), scenario(seed=seed), 2.0, "twice")
        files.append((tmp_path / name / RUN_FILE).read_bytes())
    assert files[0] == files[1]
    assert files[0] != files[2]


def test_header_holds_all_that_is_needed_to_run_again(tmp_path):
    rig = rig_of()
    outcome = run_lockstep(tmp_path / "run", rig, gains(rig), scenario(), 1.0, "label")
    run = read_run(tmp_path / "run")
    assert run.complete
    assert outcome.reason == run.stop.reason == "success"
    assert {
        "rig",
        "bicycle",
        "matrices",
        "schedule",
        "controller",
        "provenance",
        "scenario",
    } <= run.header.to_json().keys()
    assert run.header.bicycle == rig.bicycle
    assert [m.text for m in run.markers] == ["CHECK", "ARMED", "RUNNING", "RAMPDOWN", "DISARMED"]
    assert all(entry["reason"] for entry in run.header.rig.limits.as_dict().values())


@pytest.mark.parametrize(
    ("spoil", "cause"),
    [
        (lambda loop, plant: gains_in(loop).__setitem__(slice(None), np.nan), Cause.NOT_A_NUMBER),
        (lambda loop, plant: loop.limits.__setitem__("lean", 1e-4), Cause.LEAN_LIMIT),
        (lambda loop, plant: loop.limits.__setitem__("bus_min", 25.0), Cause.BUS_VOLTAGE),
        (lambda loop, plant: loop.limits.__setitem__("saturated", 0.01), Cause.SATURATED),
    ],
)
def test_what_goes_wrong_ends_at_zero_torque_with_its_cause(spoil, cause):
    def spoil_all(loop, plant):
        loop.limits["command"] = 0.1 if cause is Cause.SATURATED else loop.limits["command"]
        spoil(loop, plant)

    rows, outcome = lockstep_rows(spoil=spoil_all)
    assert outcome.reason == "fault"
    assert Cause(int(rows["cause"][-1])) is cause
    assert (rows["T_cmd"][-20:] == 0.0).all()


def test_a_signal_that_comes_when_it_has_fallen_leaves_the_fault_in_the_log(tmp_path):
    rig, fell = rig_of(), []
    hard = Scenario(speed=((0.0, 5.0),), kicks=(Kick(1.0, 60.0),), seed=1)

    def press(row):
        if State(int(row["state"])) is State.FAULT and not fell:
            fell.append(float(row["t_host"]))
            os.kill(os.getpid(), signal.SIGINT)

    outcome = run_lockstep(tmp_path / "run", rig, gains(rig), hard, 4.0, watch=press)
    run = read_run(tmp_path / "run")
    assert fell
    assert (outcome.reason, outcome.cause) == ("fault", SENTENCES[Cause(int(run.ticks["cause"][-1]))])
    assert outcome.stopped == "stopped by SIGINT"
    assert (run.stop.reason, run.stop.cause) == (outcome.reason, outcome.cause)


@pytest.mark.parametrize(("name", "v"), [("Silver", 5.0), ("Benchmark", 5.0)])
def test_lockstep_decays_as_the_whole_loop_map_says(name, v):
    """Two routes to the closed loop: the compiled tick against the plant, and the linear map's powers."""
    from riderless.hil.runners import lockstep
    from riderless.hil.runners.assembly import new_loop
    from riderless.hil.runners.emulation import emulated_node
    from riderless.hil.runners.operator import Operator

    rig = rig_of(name, calibration={"gyro_lsb": 2e-5, "accel_lsb": 1e-3, "steer_counts_per_turn": 2e8})
    schedule = gains(rig, "poles", zeta=0.3)
    quiet = Instruments(gyro_noise=0.0, accel_noise=0.0, wheel_noise=0.0, x_imu=rig.x_imu, z_imu=rig.z_imu)
    strength = 2.0 if name == "Silver" else 20.0  # N s, within the fine gyro's range
    plant = Plant(
        rig.bicycle,
        Scenario(speed=((0.0, v),), kicks=(Kick(1.0, strength),)),
        SteerDrive(lag=rig.drive_lag),
        quiet,
    )
    loop, operator, batches = new_loop(rig, schedule, rig.calibrated().as_record()), Operator(4.0), []
    loop.limits["stuck"] = np.inf  # instruments without noise rest
    lockstep.run_in_lockstep(loop, plant, emulated_node(rig), operator, lambda rows, tape: batches.append(rows))
    rows = np.concatenate(batches)
    rows = rows[rows["state"] == State.RUNNING]
    kick = int(np.argmax(np.abs(rows["phi_dot_meas"])))
    part = slice(kick + 40, kick + 340)
    measured = rows["phi_dot_meas"][part]

    model = SampledLoop.of_rig(rig, schedule)
    F, basis = model.matrix(v), []
    row = model.output
    for _ in measured:  # the lean rate of every start there can be, observer and drive included
        basis.append(row)
        row = row @ F
    columns = np.column_stack([np.array(basis), np.ones(len(measured))])
    rest = measured - columns @ np.linalg.lstsq(columns, measured, rcond=None)[0]
    assert np.sqrt(np.mean(rest**2)) < 1e-3 * np.abs(measured).max()


def test_gains_for_another_rate_are_refused(tmp_path):
    from riderless.models.errors import InputError

    rig = rig_of()
    with pytest.raises(InputError, match="100 Hz"):
        run_lockstep(tmp_path / "run", rig, gains(rig_of(rate=100.0, watchdog=0.05)), scenario(), 1.0)
