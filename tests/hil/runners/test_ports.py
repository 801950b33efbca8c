"""A machine on two ports: sensors behind one, the drive behind the other, one plant, one tick."""

import numpy as np

from riderless.firmware_interface.framing import new_decoder
from riderless.firmware_interface.node.rules import firmware_latch, firmware_receive, firmware_sample, open_session
from riderless.hil.loop.states import Cause, Demand, State
from riderless.hil.loop.tick import tick
from riderless.hil.loop.tick_record import TICK
from riderless.hil.loop.wire_tape import new_wire
from riderless.hil.rig.rig import RigPort
from riderless.hil.runners.assembly import SIMULATED_SESSION, new_loop
from riderless.hil.runners.emulation import emulated_node, emulated_plant
from tests.hil.machine import gains, rig_of, scenario

APART = (RigPort(carries=("sensors",)), RigPort(carries=("drive",)))


def rows_of(n, cut=lambda k, wire: None, button=None):
    """Rows of ``n`` ticks; ``cut(k, wire)`` may take bytes away, ``button`` is the port it is wired to."""
    rig = rig_of(ports=APART)
    loop, plant = new_loop(rig, gains(rig), rig.calibrated().as_record()), emulated_plant(rig, scenario())
    nodes = [(emulated_node(rig_of()).new_firmware(), new_decoder()) for _ in APART]
    for firmware, _ in nodes:
        open_session(firmware, SIMULATED_SESSION)
    (sensors, _), (drive, _) = nodes
    wire, rows = new_wire(2), np.zeros(n, TICK)
    loop.orders["demand"] = Demand.RUN
    for k in range(n):
        if k:
            plant.advance(float(drive["T"]), bool(drive["enabled"]), rig.dt)
        readings = np.frombuffer(plant.read(), np.float64)
        for port, (firmware, decoder) in enumerate(nodes):
            firmware_receive(firmware, decoder, wire.tx[port], wire.n_tx[port])
            firmware_latch(firmware, k * rig.dt)
            firmware["stop_button"] = button == port and k > 400
            wire.n_rx[port] = firmware_sample(firmware, readings, 24.0, wire.rx[port])
        cut(k, wire)
        tick(loop, wire, k * rig.dt, k * rig.dt, rows[k])
    assert sensors["commands"] == 0, "no command goes where there is no drive"
    return rows, drive


def test_sensors_and_drive_apart_balance_as_together():
    rows, drive = rows_of(900)
    assert State(int(rows["state"][-1])) is State.RUNNING
    assert np.abs(rows["phi_dot_meas"]).max() > 0.1, "the kick is seen"
    assert np.abs(rows["phi_est"][-100:]).max() < 0.03, "and answered"
    assert rows["frames_ok"][-1] == 1800
    assert drive["commands"] > 800


def test_a_silent_drive_is_a_fault_although_the_sensors_speak():
    def cut(k, wire):
        if k >= 500:
            wire.n_rx[1] = 0

    rows, _ = rows_of(600, cut)
    assert State(int(rows["state"][499])) is State.RUNNING
    at = int(np.argmax(rows["state"] == State.FAULT))
    assert Cause(int(rows["cause"][at])) is Cause.STALE_SAMPLE
    assert 0.045 < (at - 499) * 0.005 <= 0.06


def test_a_stop_button_counts_on_either_port():
    for port in range(2):
        rows, _ = rows_of(500, button=port)
        assert Cause(int(rows["cause"][-1])) is Cause.STOP_BUTTON
