"""Emulated bicycle to play with.

Kicks, wind, speed and faults are requested while it rides.
"""

import math
from collections.abc import Callable, Iterator, Mapping, MutableSequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from riderless.experiments.emulation.hand import Hand, PushedPlant
from riderless.experiments.emulation.workstand import start_twin
from riderless.firmware_interface.twins.virtual_node import VirtualProcess, spawn
from riderless.hil.design.methods import design
from riderless.hil.loop.tick import LoopState
from riderless.hil.rig.rig import Rig, RigPort
from riderless.hil.runners.assembly import new_loop
from riderless.hil.runners.emulation import Emulation, emulated_machine
from riderless.hil.runners.session import open_devices
from riderless.models.coordinates import Q_THETA_R, REAR_TORQUE, STEER_TORQUE
from riderless.models.errors import InputError
from riderless.models.nonlinear.equations import accelerations, contact_forces
from riderless.models.nonlinear.parameters import pack_bicycle
from riderless.models.nonlinear.simulation import initial_state
from riderless.models.parameters import Bicycle
from riderless.models.plant.plant import Kick, Scenario
from riderless.models.plant.records import CORNER_SLOPE, CORNER_SPEED, CORNER_TIME

_WIND, _SPEED, _FAULT = range(Hand.room, Hand.room + 3)
_TRUTH = Hand.room + 3  # where the plant tells how it moves
QUICKEST = 1.0  # m/s^2, at which the belt changes its speed


class PlayTruth(NamedTuple):
    """Motion of an emulated machine as it is, SI; numbers may be one step of the plant apart."""

    phi: float = 0.0
    delta: float = 0.0
    phi_dot: float = 0.0
    delta_dot: float = 0.0
    torque: float = 0.0  # that the drive reports
    v: float = 0.0
    y: float = 0.0
    psi: float = 0.0
    held: float = 1.0  # by a person

    def shown(self) -> dict[str, float]:
        """Columns of a page."""
        return {name: value for name, value in self._asdict().items() if name != "held"}


class _PlayFault(NamedTuple):
    """Fault of an emulated machine: what a person calls it, and what is broken."""

    name: str
    what: str


FAULTS = (
    _PlayFault("none", "everything works"),
    _PlayFault("drive dead", "the drive makes no torque, and says so"),
    _PlayFault("drive weak", "the drive makes half of the torque, and says so"),
    _PlayFault("steer encoder 4 deg off", "the steer angle reads too far to the right"),
    _PlayFault("gyro stuck", "the gyro repeats its last reading"),
    _PlayFault("wheel sensor silent", "the wheel reads no speed"),
)
FAULT_NAMES = tuple(fault.name for fault in FAULTS)
NONE, DEAD, WEAK, STEER_OFF, GYRO_STUCK, NO_WHEEL = range(len(FAULTS))
STEER_ERROR = math.radians(4.0)


class Playmate(Hand):
    """Hand of a person who plays: kicks as `Hand`, and wind, speed and faults besides.

    Parameters
    ----------
    draw : callable
        Gives the kick to the right (1) or left (-1); its time is not used.
    speed : float
        Of the belt at first [m/s].
    """

    room = _TRUTH + len(PlayTruth._fields)

    def __init__(self, draw: Callable[[int], Kick], speed: float) -> None:
        super().__init__(draw)
        self.speed = speed

    @property
    def speed(self) -> float:
        """Speed that the belt is to have [m/s]."""
        return float(self.memory[_SPEED])

    @speed.setter
    def speed(self, v: float) -> None:
        self.memory[_SPEED] = v

    @property
    def wind(self) -> float:
        """Steady force of the wind [N], positive to the right."""
        return float(self.memory[_WIND])

    @wind.setter
    def wind(self, force: float) -> None:
        self.memory[_WIND] = force

    def break_as(self, name: str) -> None:
        """Break the machine as a name of `FAULTS` says, or mend it by "none"; raises InputError."""
        if name not in FAULT_NAMES:
            raise InputError(f"no fault is called {name!r}: there is {', '.join(FAULT_NAMES)}")
        self.memory[_FAULT] = FAULT_NAMES.index(name)

    def obey(self, request: Mapping[str, Any], speeds: tuple[float, float]) -> str:
        """Do to the machine what a page asked for; in words what is to be noted of it, empty for nothing.

        Parameters
        ----------
        request : mapping
            A message of a page; one that is for somebody else does nothing.
        speeds : (float, float)
            Slowest and fastest speed that the belt may have [m/s].
        """
        match request["type"]:
            case "kick":
                self.push(1 if request["side"] == "right" else -1, request["strength"])
            case "wind":
                self.wind = request["force"]
            case "speed":
                self.speed = float(np.clip(request["speed"], *speeds))
            case "fault" if request["name"] in FAULT_NAMES:
                self.break_as(request["name"])
                return f"fault asked for: {request['name']}"
        return ""

    @property
    def truth(self) -> PlayTruth:
        """Motion of the machine now."""
        return PlayTruth(*self.memory[_TRUTH:])

    @property
    def broken(self) -> str:
        """Name of the fault that is on."""
        return FAULTS[int(self.memory[_FAULT])].name


class PlayedPlant(PushedPlant):
    """Emulated bicycle that a `Playmate` plays with; a plant as the twins want one.

    Parameters
    ----------
    rig, scenario, emulation
        As for `riderless.hil.runners.emulation.emulated_plant`.
    memory : shared array of doubles
        Of the playmate.
    simulated : bool
        Kicks begin at a simulated time, that of the plant.
    """

    def __init__(
        self,
        rig: Rig,
        scenario: Scenario,
        emulation: Emulation,
        memory: MutableSequence[float],
        simulated: bool = False,
    ) -> None:
        super().__init__(rig, scenario, emulation, memory, simulated)
        self._wished = float(memory[_SPEED])
        self._stuck = np.zeros(3)
        self._set_profile(0.0, self._wished, self._wished)

    def advance(self, T_cmd: float, enabled: bool, dt: float) -> None:
        """Let ``dt`` [s] pass under the drive's command, as far as the drive obeys it."""
        self._calm["wind"] = self._memory[_WIND]
        self._take_speed()
        fault = int(self._memory[_FAULT])
        super().advance({DEAD: 0.0, WEAK: 0.5}.get(fault, 1.0) * T_cmd, enabled, dt)
        plant = self.plant
        motion = (*plant.state, plant.T, plant.v, plant.y_P, plant.psi, not plant.released)
        self._memory[_TRUTH:] = [float(value) for value in motion]

    def read(self) -> np.void:
        """Take one sample of the instruments, as they are now."""
        reading, fault = super().read(), int(self._memory[_FAULT])
        gyro = ("phi_dot", "theta_dot", "psi_dot")
        if fault == GYRO_STUCK:
            for axis, value in zip(gyro, self._stuck, strict=True):
                reading[axis] = value
        else:
            self._stuck[:] = [reading[axis] for axis in gyro]
        if fault == STEER_OFF:
            reading["delta"] += STEER_ERROR
        elif fault == NO_WHEEL:
            reading["wheel_rate"] = 0.0
        return reading

    def _take_speed(self) -> None:
        """Let the belt go to the speed that is wished: at once while the bicycle is held, else gently."""
        wished, plant = float(self._memory[_SPEED]), self.plant
        if not plant.released:
            if plant.p["n_speed"][0] > 1 or wished != self._wished:
                self._set_profile(0.0, wished, wished)
        elif wished != self._wished:
            since = plant.t - float(plant.s["t_release"][0])
            self._set_profile(since, plant.v, wished)
        self._wished = wished

    def _set_profile(self, begin: float, v: float, wished: float) -> None:
        """Set the speed profile: ``v`` [m/s] until ``begin`` [s after the release], then gently on to another."""
        p, s = self.plant.p, self.plant.s
        lasts = abs(wished - v) / QUICKEST
        p["speed"][0, :2] = 0.0
        p["speed"][0, 0, [CORNER_TIME, CORNER_SPEED]] = begin, v
        if lasts > 0.0:
            p["speed"][0, 0, CORNER_SLOPE] = math.copysign(QUICKEST, wished - v)
            p["speed"][0, 1, [CORNER_TIME, CORNER_SPEED]] = begin + lasts, wished
        p["n_speed"][0] = 2 if lasts > 0.0 else 1
        s["segment"][0] = 0


def start_plaything(rig: Rig, scenario: Scenario, emulation: Emulation, playmate: Playmate) -> VirtualProcess:
    """Start an emulated bicycle that can be played with and wait until it serves.

    Parameters
    ----------
    rig : Rig
    scenario : Scenario
        Its speeds count for nothing: the playmate says how fast the belt is.
    emulation : Emulation
    playmate : Playmate

    Raises
    ------
    DeviceError
        When it cannot start.
    """
    return spawn(PlayedPlant, emulated_machine(rig), (rig, scenario, emulation, playmate.memory))


# Devices that answer while latency is measured: those behind given ports, or an emulated bicycle's.


@contextmanager
def answering_devices(rig: Rig, paths: list[str]) -> Iterator[tuple[list[int], LoopState]]:
    """Open ports with their devices set up, and a loop for them that will never be armed."""
    rig = replace(rig, closed_by="computer")  # whose latency it is
    with ExitStack() as stack:
        if not paths:
            # a line faster than any rate needs, and a watchdog that fits the rate
            rig = replace(rig, ports=(RigPort(baud=4_000_000),), watchdog=min(5 / rig.rate, 0.2))
            paths = [stack.enter_context(start_twin(rig, Scenario(speed=((0.0, 5.0),)))).path]
        schedule = design(rig.bicycle, "off", [4.0, 5.0, 6.0], rig.timing)
        fds, devices, rig, calibration = stack.enter_context(open_devices(rig, paths))
        yield fds, new_loop(rig, schedule, calibration.as_record(), devices)


# Forces of the ground on the wheels of an emulated nonlinear bicycle, for a picture of it.


def ground_forces(bicycle: Bicycle, truth: PlayTruth) -> list[float] | None:
    """Forces on rear and front wheel, each forward along the wheel, to its right and up [N]; None beyond the model.

    The speed is held, as a belt does, and the drive turns the steer; the push of a hand or of wind is not in them.
    """
    try:
        q, u = initial_state(bicycle, truth.phi, truth.delta, truth.phi_dot, truth.delta_dot, truth.v)
    except InputError:  # fallen over
        return None
    p, rates, forces = pack_bicycle(bicycle), np.empty((2, 8)), np.empty(6)
    T = np.zeros(3)
    T[STEER_TORQUE] = truth.torque
    accelerations(p, q, u, T, rates[0])
    T[REAR_TORQUE] = 1.0
    accelerations(p, q, u, T, rates[1])
    free, pushed = rates[:, Q_THETA_R]
    T[REAR_TORQUE] = -free / (pushed - free)  # that keeps the speed: rates are linear in torques
    accelerations(p, q, u, T, rates[0])
    contact_forces(p, q, u, T, rates[0], forces)
    return [round(float(force), 1) for force in forces] if np.isfinite(forces).all() else None
