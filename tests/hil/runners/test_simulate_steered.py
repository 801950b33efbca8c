"""Gains of a steer rate or angle fly in simulated time: limits, log, replay, and the loop's own linear map."""

from dataclasses import replace

import numpy as np
import pytest

from riderless.firmware_interface.devices.driver import Introduction
from riderless.firmware_interface.messages import COMMAND_KIND_RATE, COMMAND_KIND_TORQUE
from riderless.hil.design.closed_loop import SampledLoop
from riderless.hil.design.methods import design
from riderless.hil.logs.log import read_run
from riderless.hil.loop.limits import Limit, Limits
from riderless.hil.loop.states import Cause, State
from riderless.hil.rig.fitting import emulated_rig
from riderless.hil.runners import lockstep
from riderless.hil.runners.assembly import new_loop
from riderless.hil.runners.emulation import Emulation, emulated_node
from riderless.hil.runners.operator import Operator
from riderless.hil.runners.replay import replay
from riderless.hil.runners.session import agree_with_devices
from riderless.hil.runners.simulated_run import run_lockstep, simulate
from riderless.models import load_bicycle
from riderless.models.errors import InputError
from riderless.models.linear.prescribed_steer import InnerLoop
from riderless.models.plant.plant import Instruments, Kick, Plant, Scenario, SteerDrive

DRIVES = {
    "rate, PI": InnerLoop(kind="rate", bandwidth=50.0, damping=1.0),
    "rate, P": InnerLoop(kind="rate", bandwidth=60.0),
    "angle": InnerLoop(kind="angle", bandwidth=60.0, damping=1.0),
}
KICKS = {"Silver": 4.0, "Pista": 2.0}  # N s, within the range of a fine gyro
SPEEDS = (4.5, 5.0, 5.5)


def gains_of(name, drive, method="lqr"):
    return design(load_bicycle(name), method, SPEEDS, drive=DRIVES[drive])


@pytest.mark.parametrize("drive", DRIVES)
def test_kicked_bicycle_is_balanced_recorded_and_replayed_bit_for_bit(drive, tmp_path):
    gains = gains_of("Benchmark", drive)
    kicks = [Kick(t=1.0, impulse=20.0), Kick(t=3.0, impulse=-20.0)]
    run = simulate(gains.bicycle, gains, kicks=kicks, model="nonlinear", duration=5.0)
    assert run.stop.reason == "success"
    running = run.ticks[run.ticks["state"] == State.RUNNING]
    assert np.degrees(np.abs(running["phi_est"]).max()) < 5.0
    command = running["T_cmd"]
    assert 0.02 < np.abs(command).max() < 6.0
    truly = np.gradient(running["delta_meas"], running["t"]) if gains.drive.kind == "rate" else running["delta_meas"]
    late = round(gains.drive.lag * 200) + 1
    strayed = (truly[late:] - command[:-late])[200:]
    assert np.sqrt(np.mean(strayed**2)) < 0.35 * np.sqrt(np.mean(command[200:] ** 2)), "the steer follows its command"
    again = read_run(run.save(tmp_path / "run"))
    assert again.header.rig.drive == gains.drive
    assert replay(again).identical


def test_run_with_another_rig_says_what_does_not_fit():
    gains = gains_of("Silver", "rate, PI")
    rig = emulated_rig(gains.bicycle, gains)
    with pytest.raises(InputError, match=r"command a steer rate .* but the drive obeys a torque"):
        simulate(gains.bicycle, gains, rig=replace(rig, drive=None), model="linear")
    with pytest.raises(InputError, match=r"what the drive obeys is the rig's"):
        simulate(gains.bicycle, gains, drive=SteerDrive(inner_loop=gains.drive), model="linear")


def test_device_that_obeys_a_torque_only_is_refused():
    gains = gains_of("Silver", "rate, PI")
    rig = emulated_rig(gains.bicycle, gains)
    both = Introduction("a node", obeys=1 << COMMAND_KIND_TORQUE | 1 << COMMAND_KIND_RATE)
    agree_with_devices(rig, [both])
    with pytest.raises(InputError, match="obeys a steer rate, and 'a node' does not: set its kind"):
        agree_with_devices(rig, [replace(both, obeys=1 << COMMAND_KIND_TORQUE)])
    with pytest.raises(InputError, match="allows a steer rate of 6 rad/s but the drive obeys no more than 2 rad/s"):
        agree_with_devices(rig, [replace(both, rate_limit=2.0)])


@pytest.mark.parametrize("drive", ["rate, PI", "angle"])
def test_wish_beyond_the_limit_is_cut_and_ends_the_run(drive, tmp_path):
    gains = gains_of("Silver", drive)
    greatest = {"rate": "steer_rate", "angle": "steer_command"}[gains.drive.kind]
    short = Limits(
        **{
            greatest: Limit(
                0.2 if greatest == "steer_rate" else 0.05, Limits.__dataclass_fields__[greatest].default.unit, "a test"
            ),
            "saturated": Limit(0.05, "s", "a test"),
        }
    )
    rig = replace(emulated_rig(gains.bicycle, gains), limits=short)
    scenario = Scenario(speed=((0.0, 5.0),), kicks=(Kick(1.0, 8.0),), seed=1)
    outcome = run_lockstep(tmp_path / "run", rig, gains, scenario, 4.0, emulation=Emulation("linear"))
    rows = read_run(tmp_path / "run").ticks
    assert outcome.reason == "fault"
    assert Cause(int(rows["cause"][-1])) is Cause.SATURATED
    assert np.abs(rows["T_cmd"]).max() <= getattr(short, greatest).value


@pytest.mark.parametrize("drive", DRIVES)
@pytest.mark.parametrize("name", ["Silver", "Pista"])
def test_lockstep_decays_as_the_whole_loop_map_says(name, drive):
    """Two routes to the closed loop: the compiled tick against the plant, and the linear map's powers."""
    gains = gains_of(name, drive)
    rig = replace(
        emulated_rig(gains.bicycle, gains),
        calibration={"gyro_lsb": 2e-5, "accel_lsb": 1e-3, "steer_counts_per_turn": 2e8},
    )
    quiet = Instruments(gyro_noise=0.0, accel_noise=0.0, wheel_noise=0.0, x_imu=rig.x_imu, z_imu=rig.z_imu)
    scenario = Scenario(speed=((0.0, 5.0),), kicks=(Kick(1.0, KICKS[name]),))
    plant = Plant(rig.bicycle, scenario, SteerDrive(lag=rig.drive_lag, inner_loop=rig.drive), quiet)
    loop, operator, batches = new_loop(rig, gains, rig.calibrated().as_record()), Operator(4.0), []
    loop.limits["stuck"] = np.inf  # instruments without noise rest
    lockstep.run_in_lockstep(loop, plant, emulated_node(rig), operator, lambda rows, tape: batches.append(rows))
    rows = np.concatenate(batches)
    rows = rows[rows["state"] == State.RUNNING]
    kick = int(np.argmax(np.abs(rows["phi_dot_meas"])))
    measured = rows["phi_dot_meas"][kick + 40 : kick + 340]
    model = SampledLoop.of_rig(rig, gains)
    F, basis, row = model.matrix(5.0), [], model.output
    for _ in measured:  # the lean rate of every start there can be, observer and drive included
        basis.append(row)
        row = row @ F
    columns = np.column_stack([np.array(basis), np.ones(len(measured))])
    rest = measured - columns @ np.linalg.lstsq(columns, measured, rcond=None)[0]
    share = 5e-3 if gains.drive.kind == "angle" else 2e-3  # an angle is told in whole 1e-4 rad
    assert np.sqrt(np.mean(rest**2)) < share * np.abs(measured).max()
