"""A loop whose devices do what a test says: their readings are written straight into the links, without a protocol."""

from types import SimpleNamespace

import numpy as np
from numba import njit

from riderless.firmware_interface.calibration import Calibration
from riderless.firmware_interface.devices.link import ROLE_DRIVE, ROLE_SENSORS, entry_points
from riderless.firmware_interface.messages import STATUS_ENABLED
from riderless.hil.controllers.gains import gains_law
from riderless.hil.loop.states import Demand, State
from riderless.hil.loop.tick import tick
from riderless.hil.loop.tick_record import TICK
from riderless.hil.loop.transitions import Stage
from riderless.hil.loop.wire_tape import new_wire
from riderless.hil.rig.rig import RigPort
from riderless.hil.rig.task import Task
from riderless.hil.runners.assembly import new_loop
from tests.hil.machine import gains_in, rig_of

DT = 0.005  # s
START = 90.0  # s, host clock, when the devices were switched on
SCALES = {"wheel_radius": 0.5, "gyro_lsb": 1e-3, "accel_lsb": 1e-2, "steer_counts_per_turn": 20000.0}
OF_CONTROL = {
    State.CHECK: Stage.STREAM,
    State.ARMED: Stage.ARMED,
    State.RUNNING: Stage.RUNNING,
    State.RAMPDOWN: Stage.RAMPDOWN,
}
SAID = ("torque_mNm", "flags", "expiry_ms", "seq", "sample_seq", "said")  # places in a link's memory


@njit(cache=True, nogil=True)
def receive(link, rx, n):
    """Samples, broken frames of three kinds and samples lost, a byte each."""
    link.receiver.frames_ok += rx[0]
    link.receiver.frames_bad_crc += rx[1]
    link.receiver.frames_bad_length += rx[2]
    link.receiver.frames_bad_version += rx[3]
    link.receiver.samples_lost += rx[4]
    link.receiver.bytes_skipped += rx[5]
    return rx[0] if n > 0 else 0


@njit(cache=True, nogil=True)
def speak(link, command, send, out):
    """Remember the command instead of sending it."""
    if send:
        link.memory[0] = round(command.T_cmd * 1e3)
        link.memory[1] = command.flags
        link.memory[2] = command.expiry_ms
        link.memory[3] = command.seq
        link.memory[4] = command.sample_seq
        link.memory[5] += 1
    return 7 if send else 0


class Scripted:
    """A loop at rest at 5 m/s, upright; sensors behind port 0, the drive behind port 1, unless ``roles`` say else."""

    def __init__(self, roles=(ROLE_SENSORS, ROLE_DRIVE), watchdog=0.025, excitation=None, **calibration):
        ports = (RigPort(carries=("sensors",)), RigPort(carries=("drive",)))
        rig = rig_of(ports=ports, watchdog=watchdog)
        played = () if excitation is None else (Task(excitation),)
        scales = Calibration(**{**SCALES, **calibration}).as_record()
        law = gains_law(np.array([4.0, 5.0]), np.zeros((2, 6)))  # no torque, until a test sets gains
        self.loop = new_loop(rig, SimpleNamespace(law=lambda: law), scales, None, *played)
        self.gains = gains_in(self.loop)
        links = np.concatenate([self.loop.links] * len(roles))[: len(roles)]
        links["role"] = roles
        links["hear"], links["say"] = entry_points(receive, speak)
        self.loop = self.loop._replace(links=links)
        self.wire, self.t, self.k = new_wire(len(roles)), 100.0, 0
        self.row = np.zeros(1, TICK)[0]
        for port in range(len(roles)):
            self.raw(port)["wheel_mrad_s"], self.raw(port)["bus_mV"] = 10_000, 24_000
            self.raw(port)["accel_counts"] = 0, 0, -981
        self.loop.orders["demand"] = Demand.RUN

    def raw(self, port):
        """What the device behind a port reads next."""
        return self.loop.links["raw"][port]

    def told(self, port=-1):
        """The last command that a device was given."""
        return dict(zip(SAID, self.loop.links["memory"][port].tolist(), strict=False))

    def into(self, state):
        """In this state at the next tick."""
        if state in OF_CONTROL:
            self.loop.supervisor["stage"] = OF_CONTROL[state]
        self.loop.supervisor["state"] = state
        return self

    def turning(self):
        """Turning faster than a machine at rest, by all its gyros."""
        for port in range(len(self.loop.links)):
            self.raw(port)["gyro_counts"] = 0, 0, 3000  # rad/s after calibration: 3
        return self

    def running(self):
        """Under control, the drive on."""
        self.into(State.RUNNING)
        for port in range(len(self.loop.links)):
            self.raw(port)["status"] = STATUS_ENABLED
        return self

    def tick(self, came=None, broken=None, lost=None, dt=DT, late=0.0, answered=True):
        """One tick; which ports gave how many samples, broken frames by (port, kind), samples lost by port."""
        self.k += 1
        self.t += dt
        for port in range(len(self.loop.links)):
            n = 1 if came is None else came[port]
            self.wire.rx[port, :6] = n, 0, 0, 0, 0, 0
            self.wire.n_rx[port] = 6
            raw = self.raw(port)
            if n:
                raw["seq"] = (int(raw["seq"]) + 1) & 0xFFFF
                raw["t_us"] = round(1e6 * (self.t - START - late))
                stir = 1 if self.k % 2 else -1
                raw["gyro_counts"] += stir
                raw["accel_counts"] += stir
                if answered:
                    raw["command_seq"] = self.loop.pulse["seq"]
        if broken is not None:
            self.wire.rx[broken[0], 1 + broken[1]] = 1
        if lost is not None:
            self.wire.rx[lost, 4] = 1
        tick(self.loop, self.wire, self.t, self.t - 1e-4, self.row)
        return self.row

    def ticks(self, n, **how):
        """Several ticks; the last row."""
        for _ in range(n):
            self.tick(**how)
        return self.row
