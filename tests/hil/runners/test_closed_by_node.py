"""Rides in which the node's controller closes the loop, and the computer watches, records and may only stop."""

import ctypes
import shutil
from dataclasses import replace

import numpy as np
import pytest

import riderless as rl
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.framing import new_decoder
from riderless.firmware_interface.messages import COMMAND_KIND_BOUND, RAW
from riderless.firmware_interface.node.protocol import decode_sample
from riderless.firmware_interface.node.rules import firmware_latch
from riderless.firmware_interface.twins.c_node import FirmwareInC, Readings
from riderless.firmware_interface.twins.virtual_node import spawn
from riderless.hil.commissioning import steps
from riderless.hil.logs.log import read_run
from riderless.hil.loop.excitation import Excitation
from riderless.hil.loop.on_board import board_controller
from riderless.hil.loop.states import State
from riderless.hil.loop.tick_record import TICK
from riderless.hil.loop.wire_tape import new_tape, new_wire, read_tape
from riderless.hil.rig.controller_in_c import name_on_board
from riderless.hil.rig.fitting import emulated_rig, require_fitting
from riderless.hil.rig.guard import guard_of_rig
from riderless.hil.rig.on_board import require_closable
from riderless.hil.runners import lockstep
from riderless.hil.runners.assembly import SIMULATED_SESSION, new_loop
from riderless.hil.runners.emulation import Emulation, emulated_node, emulated_plant
from riderless.hil.runners.replay import replay
from riderless.hil.runners.session import run_realtime
from riderless.models.errors import InputError
from riderless.models.plant.plant import Kick, Scenario
from tests.firmware_interface.firmware.test_c_firmware import hear, said
from tests.firmware_interface.wire import payloads
from tests.hil.rig.on_node import as_told, node_library
from tests.hil.rig.test_controller_in_c import CONTROLLERS, SILVER

ENDED = (State.RAMPDOWN, State.DISARMED)


def machine(name, closed_by="node"):
    """Rig whose node says the scales that the rig has, and a controller."""
    controller = CONTROLLERS[name]()
    rig = emulated_rig(SILVER, controller)
    told = as_told(rig)
    scales = {key: getattr(told, key) for key in ("gyro_lsb", "accel_lsb")}
    return replace(rig, calibration=scales, closed_by=closed_by), controller


def ridden(name, closed_by="node"):
    rig, controller = machine(name, closed_by)
    kicks = (Kick(2.0, 3.0), Kick(5.0, -3.0))
    run = rl.simulate(SILVER, controller, speed=4.4, kicks=kicks, duration=8.0, rig=rig)
    assert run.stop.reason == "success"
    return run


@pytest.fixture(scope="module", params=["gains", "lqg"])
def ride(request):
    return request.param, ridden(request.param)


def test_it_rides_as_under_the_computer(ride):
    """Up to a count of the encoder; in the ramp of the stop the node goes on to steer."""
    name, run = ride
    other = ridden(name, "computer").ticks
    steered = ~np.isin(run.ticks["state"], ENDED)
    assert np.ptp(run.ticks["T_cmd"][steered]) > 2.0
    assert np.abs(run.ticks["phi_est"] - other["phi_est"])[steered].max() < 1e-4
    assert np.abs(run.ticks["T_cmd"] - other["T_cmd"])[steered].max() < 0.1


def test_the_header_says_who_closed_the_loop_and_the_replay_knows(ride):
    _, run = ride
    assert run.header.closed_by == "node"
    assert run.header.rig.closed_by == "node"
    result = replay(run)
    assert result.identical, result.sentence


def test_in_the_ramp_there_is_no_more_torque_than_the_ramp(ride):
    _, run = ride
    ramp = run.ticks[run.ticks["state"] == State.RAMPDOWN]
    before = run.ticks[run.ticks["state"] == State.RUNNING]["T_cmd"][-1]
    passed = np.arange(len(ramp)) / (run.header.rig.rate * run.header.rig.limits.ramp.value)
    assert (np.abs(ramp["T_cmd"]) <= abs(before) * (1.0 - passed) + 1e-3).all()


@pytest.mark.skipif(not shutil.which("gcc"), reason="gcc is not installed")
def test_node_c_says_each_byte_and_makes_each_torque_of_the_ride(ride, tmp_path):
    """The node in C, the exported controller on board, in the place of the twin; the computer knows its torque."""
    name, run = ride
    rig, controller = machine(name)
    firmware = emulated_node(rig).new_firmware()
    core = FirmwareInC(firmware, node_library(tmp_path, controller, rig))
    core.state.session, core.state.kind = SIMULATED_SESSION, COMMAND_KIND_BOUND
    guard = guard_of_rig(rig, rig.calibrated()).as_record()
    for field in ("steer_limit_counts", "lean_limit_mrad", "torque_step_mNm", "steer_zero_counts", "speed_scale"):
        setattr(core.state.guard, field, guard[field].item())
    for field in ("roll", "yaw", "side"):
        getattr(core.state.guard, field)[:] = guard[field].tolist()
    decoder, raw, wire, command, T = new_decoder(), np.zeros(1, RAW)[0], new_wire(), b"", []
    for k, rows, tape in run.batches():
        at, bytes_ = 0, np.frombuffer(tape, np.uint8)
        for i in range(len(rows)):
            at = read_tape(wire, bytes_, at)
            (sample,) = payloads(decoder, wire.rx[0, : wire.n_rx[0]].tobytes())
            assert decode_sample(np.frombuffer(sample, np.uint8), len(sample), raw)
            hear(core, command)
            T.append(core.latch((k - 1 + i) * rig.dt))
            assert spoken(core, raw) == wire.rx[0, : wire.n_rx[0]].tobytes(), k + i
            command = wire.tx[0, : wire.n_tx[0]].tobytes()
    np.testing.assert_array_equal(np.rint(1e3 * np.array(T[1:])), np.rint(1e3 * run.ticks["T_cmd"][:-1]))


def spoken(core: FirmwareInC, raw: np.void) -> bytes:
    """SAMPLE of a node in C whose instruments read the counts of ``raw``."""
    readings = Readings()
    for name in ("gyro_counts", "accel_counts"):
        getattr(readings, name)[:] = raw[name].tolist()
    for name in ("steer_counts", "wheel_mrad_s", "torque_mNm", "bus_mV"):
        setattr(readings, name, raw[name].item())
    ask = core._library.node_sample
    return said(lambda out: ask(core.state, readings, out.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))))


def test_without_the_computer_the_node_switches_off():
    """Its watchdog strikes as ever, whatever its controller wishes."""
    rig, controller = machine("gains")
    calibration = rig.calibrated().as_record()
    loop, board = new_loop(rig, controller, calibration), board_controller(new_loop(rig, controller, calibration))
    plant = emulated_plant(rig, Scenario(speed=((0.0, 4.4),), kicks=(Kick(0.5, 3.0),), seed=1))
    bench = lockstep.new_bench(plant, emulated_node(rig), board=board)
    loop.orders["demand"] = 3  # run
    tape, diary = new_tape(1, 800), lockstep.new_diary(800)
    lockstep.run_ticks(loop, bench, 24.0, rig.dt, np.zeros(800, TICK), tape, diary)
    firmware = bench.node.firmware
    assert firmware["enabled"]
    last = firmware["now_us"]
    while firmware["enabled"]:
        firmware["wish"] = 3000
        firmware_latch(firmware, 1e-6 * firmware["now_us"] + rig.dt)
    assert firmware["now_us"] - last <= 1e6 * rig.watchdog
    assert firmware["T"] == 0.0
    assert firmware["tripped"]


@pytest.mark.parametrize(
    ("name", "why"),
    [("lane", "heading and place"), ("steer angle", "steer angle"), ("one speed, obeyed at once", "0.3 samples")],
)
def test_what_the_node_cannot_do_is_refused(name, why):
    controller = CONTROLLERS[name]()
    rig = replace(emulated_rig(SILVER, controller), closed_by="node")
    require_fitting(rig, controller)
    with pytest.raises(InputError, match=why):
        require_closable(rig, controller)


def test_nothing_is_played_on_top():
    rig, controller = machine("gains")
    with pytest.raises(InputError, match="nobody plays a signal"):
        rl.simulate(SILVER, controller, duration=4.0, rig=rig, excitation=Excitation("multisine", amplitude=0.5))


def test_nobody_else_closes_it():
    with pytest.raises(InputError, match="by computer or node, found 'rider'"):
        replace(machine("gains")[0], closed_by="rider")


@pytest.mark.realtime
@pytest.mark.skipif(not shutil.which("gcc"), reason="gcc is not installed")
def test_in_real_time_a_node_in_c_balances_it(tmp_path):
    rig, controller = machine("gains")
    config = replace(emulated_node(rig), core="c", library=node_library(tmp_path, controller, rig))
    plant = rig, Scenario(speed=((0.0, 4.4),), kicks=(Kick(1.0, 3.0),), seed=1)
    about = {"emulation": Emulation()}
    with spawn(emulated_plant, replace(config, name=name_on_board(controller, rig)), plant) as twin:
        run = run_realtime(tmp_path / "run", rig, controller, twin.path, 3.0, extra=about, speeds=(4.4,))
    assert run.reason == "success", run
    log = read_run(tmp_path / "run")
    assert log.header.closed_by == "node"
    assert replay(log).identical
    with (
        spawn(emulated_plant, replace(config, name="law 00000000000"), plant) as twin,
        pytest.raises(InputError, match="export it again"),
    ):
        run_realtime(tmp_path / "other", rig, controller, twin.path, 1.0, extra=about, speeds=(4.4,))
    with (
        spawn(emulated_plant, emulated_node(rig), plant) as twin,
        pytest.raises(DeviceError, match="no controller on board"),
    ):
        run_realtime(tmp_path / "none", rig, controller, twin.path, 1.0, extra=about, speeds=(4.4,))


def test_commissioning_commands_its_own_torques(monkeypatch):
    asked = []

    def opened(rig, paths):
        asked.append(rig.closed_by)
        raise DeviceError("seen")

    monkeypatch.setattr(steps, "open_devices", opened)
    monkeypatch.setattr(steps, "warm_up", lambda rig, schedule: None)
    rig, controller = machine("gains")
    with pytest.raises(DeviceError, match="seen"):
        steps.go_through(rig, ["none"], controller, lambda rig, devices: [])
    assert asked == ["computer"]
