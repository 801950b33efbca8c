"""A heartbeat relay in the enable line of a VESC: the loop arms through it, old commands end with the node's pulse."""

from dataclasses import replace

import numpy as np
import pytest

from riderless.firmware_interface.devices.driver import DeviceRequirements, Introduction
from riderless.firmware_interface.devices.registry import device
from riderless.firmware_interface.twins import compiled_twin
from riderless.firmware_interface.twins.conformance import BAUD
from riderless.firmware_interface.twins.faults import FaultKind
from riderless.firmware_interface.twins.machine import new_twin
from riderless.firmware_interface.twins.twin import STEP_RATE
from riderless.firmware_interface.twins.twin_in_memory import TwinPort
from riderless.firmware_interface.twins.virtual_node import take_readings
from riderless.hil.loop.states import Cause, Demand, State
from riderless.hil.loop.tick import tick
from riderless.hil.loop.tick_record import TICK
from riderless.hil.loop.wire_tape import new_wire
from riderless.hil.rig.file import read_rig
from riderless.hil.rig.guard import end_of_old_commands
from riderless.hil.rig.recorded_rig import rig_of_record, rig_to_record
from riderless.hil.rig.reported_values import require_bounded
from riderless.hil.rig.rig import Rig, RigPort
from riderless.hil.runners.assembly import new_loop
from riderless.hil.runners.emulation import emulated_machine, emulated_plant
from riderless.models.errors import InputError
from tests.hil.machine import gains, rig_of, scenario
from tests.paths import ROOT

PORTS = (
    RigPort(device="vectornav", carries=("imu",)),
    RigPort(
        device="vesc_can",
        carries=("drive", "steer"),
        settings={"vesc_id": 23, "torque_constant_Nm_A": 0.35, "current_limit_A": 20.0},
    ),
    RigPort(device="node", carries=("wheel",)),
)
CLOSES, DROPS = 0.035, 0.088  # s of edges until the relay is closed, and without one until it is open: of the guide


class Port(TwinPort):
    """A twin in memory that measures what the plant does."""

    def __init__(self, twin, name):
        self.readings, self.pending = np.zeros(9), b""
        self.readings[5] = -9.81
        super().__init__(twin, name, BAUD, self.readings)


class Machine:
    """Loop, twins and relay, tick by tick."""

    def __init__(self, monkeypatch, **changes):
        rig = rig_of(ports=PORTS, watchdog=0.05, command_delay=0.002, **changes)
        self.plant = emulated_plant(rig, scenario(kicks=()))
        self.level, self.edge, self.began, self.steps = 0, -1.0, None, 0
        monkeypatch.setattr(
            compiled_twin,
            "active_fault",
            lambda _, kind, t: kind if kind == FaultKind.STOP_BUTTON and self.open else None,
        )
        stations = emulated_machine(rig).stations
        self.ports = [Port(new_twin(station.device, station.twin), station.device) for station in stations]
        self.vesc, self.node = self.ports[1].twin, self.ports[2].twin
        introductions = []
        for port, wired in zip(self.ports, rig.ports, strict=True):
            driver = device(wired.device)
            wants = DeviceRequirements(rig.rate, rig.watchdog, driver.settled(wired.settings), nonce=7)
            introductions.append(driver.introduce(port, wants))
        self.loop = new_loop(
            rig,
            gains(rig),
            rig.calibrated(
                gyro_lsb=introductions[0].gyro_lsb,
                accel_lsb=introductions[0].accel_lsb,
                steer_counts_per_turn=introductions[1].steer_counts_per_turn,
            ).as_record(),
            introductions,
        )
        for order in ("attended", "recording", "tested"):
            self.loop.orders[order] = 1
        self.wire, self.rows = new_wire(len(PORTS)), []

    @property
    def now(self):
        return self.steps / STEP_RATE

    @property
    def open(self):
        """Has the charge pump had too few edges?"""
        return self.began is None or self.now - self.began < CLOSES or self.now - self.edge > DROPS

    def pass_time(self, frames=(b"", b"", b"")):
        """A period in which these bytes come to the devices; returns what they say."""
        said = [b"", b"", b""]
        for k in range(STEP_RATE // 200):
            self.plant.advance(self.vesc.T, self.vesc.enabled, 1 / STEP_RATE)
            for i, port in enumerate(self.ports):
                take_readings(self.plant, port.readings)
                said[i] += port.step(frames[i] if k == 0 else b"")
            self.steps += 1
            level = int(self.node._node.firmware["heartbeat"])
            if level != self.level:
                self.began = self.now if self.now - self.edge > DROPS else self.began
                self.level, self.edge = level, self.now
        return said

    def run(self, duration, demand=Demand.RUN):
        """Let the loop run; returns the last row."""
        self.loop.orders["demand"] = demand
        for _ in range(round(200 * duration)):
            sent = [bytes(self.wire.tx[i][: self.wire.n_tx[i]]) for i in range(3)]
            for i, data in enumerate(self.pass_time(sent)):
                self.wire.rx[i][: len(data)] = np.frombuffer(data, np.uint8)
                self.wire.n_rx[i] = len(data)
            row = np.zeros(1, TICK)[0]
            tick(self.loop, self.wire, self.now, self.now, row)
            self.rows.append(row)
        return self.rows[-1]


@pytest.fixture
def machine(monkeypatch):
    return Machine(monkeypatch, heartbeat="node")


def test_the_loop_arms_through_the_relay_and_runs(machine):
    machine.run(0.5, Demand.OFF)
    assert machine.open
    row = machine.run(3.0)
    assert (State(int(row["state"])), Cause(int(row["cause"]))) == (State.RUNNING, Cause.NONE)
    assert machine.vesc.enabled
    assert not machine.open
    assert machine.run(0.3, Demand.OFF)["state"] == State.DISARMED
    assert machine.open
    assert machine.run(3.0)["state"] == State.RUNNING


@pytest.mark.parametrize("heartbeat", [False, "node"])
def test_a_dead_computer_that_repeats_old_commands_is_cut_off_by_the_heartbeat_alone(monkeypatch, heartbeat):
    machine = Machine(monkeypatch, heartbeat=heartbeat)
    if not heartbeat:
        monkeypatch.setattr(Machine, "open", False)
    assert machine.run(3.0)["state"] == State.RUNNING
    old = [bytes(machine.wire.tx[i][: machine.wire.n_tx[i]]) for i in range(3)]
    on = []
    for _ in range(100):
        machine.pass_time(old)
        on.append(machine.vesc.enabled)
    assert sum(on) == (100 if not heartbeat else pytest.approx((0.05 + DROPS) * 200, abs=2))


def test_a_node_that_lets_go_ends_the_run(machine):
    assert machine.run(3.0)["state"] == State.RUNNING
    machine.node._node.firmware["faults"] = 1
    row = machine.run(0.2)
    assert (State(int(row["state"])), Cause(int(row["cause"]))) == (State.FAULT, Cause.DRIVE_OFF)


def test_the_stop_button_at_the_node_still_counts(machine):
    assert machine.run(3.0)["state"] == State.RUNNING
    machine.node._node.firmware["stop_button"] = 1
    assert Cause(int(machine.run(0.05)["cause"])) == Cause.STOP_BUTTON


def rig_with(tmp_path, line: str, name: str = "vectornav-vesc-can") -> Rig:
    path = tmp_path / "rig.toml"
    path.write_text((ROOT / f"docs/rigs/{name}.toml").read_text() + f"\n[drive]\n{line}\n")
    return read_rig(path)


@pytest.mark.parametrize(
    ("name", "line", "words"),
    [
        ("vectornav-vesc-can", "", "nothing: the vesc_can obeys an old command until its own watchdog ends it"),
        ("vectornav-vesc-can", "heartbeat = false", "nothing: the vesc_can"),
        ("vectornav-vesc-can", "heartbeat = true", "enable line of the vesc_can, closed while another board"),
        ("vectornav-vesc-can", 'heartbeat = "node"', "enable line of the vesc_can, closed while our node"),
        ("node", "", "our node, which knows each session and sample"),
        ("node", 'heartbeat = "node"', "enable line of the node, closed while our node"),
    ],
)
def test_a_rig_says_what_ends_old_commands(tmp_path, name, line, words):
    rig = rig_with(tmp_path, line, name)
    assert words in end_of_old_commands(rig)
    again = rig_of_record(rig_to_record(rig, rig.calibrated()), rig.bicycle, rig.calibrated())
    assert again.heartbeat == rig.heartbeat
    assert [port.device for port in rig.ports if rig.beats_at(port)] == ["node"] * (name != "node" and '"' in line)


def test_a_heartbeat_of_a_node_wants_a_node(tmp_path):
    with pytest.raises(InputError, match=r'line \d+: heartbeat = "node" in \[drive\] wants a \[\[port\]\] of our node'):
        rig_with(tmp_path, 'heartbeat = "node"', "vectornav-odrive")
    with pytest.raises(InputError, match="heartbeat"):
        rig_with(tmp_path, 'heartbeat = "board"')


def test_a_node_that_beats_longer_than_the_rigs_watchdog_is_refused():
    rig = rig_of(ports=PORTS, watchdog=0.05, command_delay=0.002)
    devices = [Introduction("imu"), Introduction("vesc"), Introduction("node", watchdog=0.08)]
    require_bounded(rig, devices)
    with pytest.raises(InputError, match="80 ms"):
        require_bounded(replace(rig, heartbeat="node"), devices)
