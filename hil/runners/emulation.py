"""Emulated machine of a rig.

Its plant and the devices it carries.
"""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from riderless.firmware_interface.calibration import Calibration
from riderless.firmware_interface.devices.driver import DeviceRequirements, Introduction
from riderless.firmware_interface.devices.link import ROLE_DRIVE, ROLE_PLACE, ROLE_SPEED
from riderless.firmware_interface.devices.registry import device
from riderless.firmware_interface.messages import COMMAND_KINDS
from riderless.firmware_interface.twins.machine import MachineConfig, StationConfig
from riderless.firmware_interface.twins.place.sending import new_place_twin
from riderless.firmware_interface.twins.place.sensor import PlaceFault
from riderless.firmware_interface.twins.quick import QUICK_TWIN, has_quick_twin, new_quick_twin, quick_introduction
from riderless.firmware_interface.twins.speed.belt import BeltFault
from riderless.firmware_interface.twins.speed.speaking import new_speed_drive
from riderless.firmware_interface.twins.twin import TwinConfig
from riderless.firmware_interface.twins.twin_in_memory import HostedTwin
from riderless.firmware_interface.twins.virtual_node import NodeConfig
from riderless.hil.rig.guard import guard_of_rig
from riderless.hil.rig.rig import Rig, RigPort
from riderless.hil.runners.assembly import SIMULATED_SESSION
from riderless.hil.runners.lockstep import WIRING
from riderless.models.errors import InputError
from riderless.models.plant.belt import BeltPlant
from riderless.models.plant.plant import Instruments, Plant, Scenario, SteerDrive, Surroundings
from riderless.models.plant.records import PLANT_MODELS
from riderless.models.plant.side_slip import SideSlip
from riderless.models.plant.tyres import FrontTyre

USUAL_SUPPLY = 24.0  # V


@dataclass(frozen=True)
class Emulation:
    """Settings of an emulated machine beyond its rig: equations of motion, surroundings, quality of the drive."""

    model: str = "linear"  # a name in `riderless.models.plant.records.PLANT_MODELS`
    surroundings: Surroundings = Surroundings()
    drive: SteerDrive = SteerDrive()  # beyond what the rig says: lag, greatest torque, inner loop and losses are its
    noise: float = 1.0  # times that of the emulated instruments
    place_faults: tuple[PlaceFault, ...] = ()  # of its sensor of place
    tyre: FrontTyre = FrontTyre()
    slip: SideSlip = SideSlip()
    belt_faults: tuple[BeltFault, ...] = ()  # of its treadmill or driven wheel

    def __post_init__(self) -> None:
        if self.model not in PLANT_MODELS:
            raise InputError(f"no model is called {self.model!r}; there is {', '.join(PLANT_MODELS)}")
        if not 0.0 <= self.noise < math.inf:
            raise InputError(
                f"the noise of emulated instruments is a factor of 0 or more, found {self.noise:g}: 1 is usual"
            )
        if self.drive.inner_loop is not None:
            raise InputError(
                f"what the drive obeys is the rig's, found an emulated drive that obeys a steer "
                f"{self.drive.inner_loop.kind}: leave out its inner_loop, and give it to the rig"
            )


def emulated_machine(rig: Rig, truth: Calibration | None = None) -> NodeConfig | MachineConfig:
    """Configure the devices behind the rig's ports; ``truth`` is how they are mounted, by default as the rig says."""
    if len(rig.ports) == 1 and rig.ports[0].device == "node" and truth is None:
        return emulated_node(rig)
    stations = tuple(_station(rig, port, truth) for port in rig.ports)
    at_their_own_pace = all(port.device == "node" or port.role in (ROLE_PLACE, ROLE_SPEED) for port in rig.ports)
    return MachineConfig(stations, round(rig.rate)) if at_their_own_pace else MachineConfig(stations)


def _station(rig: Rig, port: RigPort, truth: Calibration | None) -> StationConfig:
    driver = device(port.device)
    config = TwinConfig(
        carries=port.role,
        calibration=truth or rig.calibrated(),
        rate_hz=round(rig.rate),
        watchdog=rig.watchdog,
        torque_limit=rig.limits.torque.value,
        rate_limit=_greatest(rig, "rate"),
        angle_limit=_greatest(rig, "angle"),
        kind=COMMAND_KINDS.index(rig.drive_kind),
        bus=emulated_supply(rig),
        settings={**driver.settled(port.settings), "baud": port.baud, **_target(rig)},
    )
    return StationConfig(port.device, config, port.baud)


def _target(rig: Rig) -> dict[str, float]:
    """Place on the rear frame that a sensor of place sees [m], as a twin takes it."""
    return {"target_x": rig.place.x, "target_z": rig.place.z} if rig.place else {}


def emulated_node(rig: Rig) -> NodeConfig:
    """Configure the node of a rig, where it has one."""
    return NodeConfig(
        calibration=rig.calibrated(),
        rate_hz=round(rig.rate),
        torque_limit=rig.limits.torque.value,
        watchdog_ms=round(1e3 * rig.watchdog),
        baud=next((port.baud for port in rig.ports if port.device == "node"), NodeConfig.baud),
        bus=emulated_supply(rig),
        rate_limit=_greatest(rig, "rate"),
        angle_limit=_greatest(rig, "angle"),
        guard=guard_of_rig(rig, rig.calibrated()),
    )


class EmulatedDevices(NamedTuple):
    """Devices of a rig in simulated time beside its node, its sensor of place and its treadmill."""

    twins: np.ndarray  # (m,) QUICK_TWIN
    wiring: np.void  # a record of WIRING
    introductions: list[Introduction] | None  # one for each port; None where our node is alone
    hosted: tuple[HostedTwin, ...] = ()  # those of the twins that are Python; they live as long as the ride


def emulated_devices(rig: Rig) -> EmulatedDevices:
    """Make the devices of a rig in simulated time, and say which port is whose; raises DeviceError."""
    wiring = np.zeros(1, WIRING)[0]
    twins: list[np.void] = []
    introductions: list[Introduction] = []
    hosted: list[HostedTwin] = []
    wiring["node"] = wiring["place"] = wiring["belt"] = wiring["drive"] = -1
    wiring["ports"] = len(rig.ports)
    for i, port in enumerate(rig.ports):
        introductions.append(Introduction(port.device, round(rig.rate), session=SIMULATED_SESSION))
        if port.role == ROLE_PLACE:
            wiring["place"] = i
        elif port.role == ROLE_SPEED:
            wiring["belt"] = i
        elif port.device == "node":
            wiring["node"] = i
        else:
            config = _station(rig, port, None).twin
            wiring["drive"] = len(twins) if port.role & ROLE_DRIVE else wiring["drive"]
            if has_quick_twin(port.device):
                twins.append(new_quick_twin(port.device, i, config))
                introductions[-1] = quick_introduction(port.device, config)
            else:
                wants = DeviceRequirements(rig.rate, rig.watchdog, config.settings, SIMULATED_SESSION, config.kind)
                hosted.append(HostedTwin(port.device, i, config, wants))
                twins.append(hosted[-1].record)
                introductions[-1] = hosted[-1].introduction
    by_itself = wiring["drive"] >= 0 or (rig.command_delay is not None and rig.command_delay < rig.dt)
    wiring["delay"] = rig.obeyed_after if by_itself else 0.0
    return EmulatedDevices(np.array(twins, QUICK_TWIN), wiring, introductions if twins else None, tuple(hosted))


def rig_in_simulated_time(rig: Rig) -> Rig:
    """Machine with our node, and its sensor of place where it has one; the speed is what the scenario says."""
    place = replace(rig.place, delay=0.0) if rig.place is not None else None
    ports = (RigPort(), *(port for port in rig.ports if port.carries == ("place",)))
    simulated = replace(rig, ports=ports, place=place, speed_drive=None)
    return replace(simulated, clock="device", command_delay=None, place_days=0.0, latency_days=0.0)


def emulated_place(rig: Rig, scenario: Scenario, emulation: Emulation = Emulation()) -> np.void | None:
    """Make the sensor of place of a rig in simulated time, a record of PLACE_TWIN; None where it has none."""
    if rig.place is None:
        return None
    port = next(port for port in rig.ports if port.role == ROLE_PLACE)
    return new_place_twin(
        port.device,
        device(port.device).settled(port.settings),
        x=rig.place.x,
        z=rig.place.z,
        seed=scenario.seed,
        faults=emulation.place_faults,
        noise=emulation.noise,
    )


def emulated_belt(rig: Rig, emulation: Emulation = Emulation()) -> np.void | None:
    """Make what keeps the speed of a rig in simulated time, a record of BELT_TWIN; None where it has none."""
    if rig.speed_drive is None:
        return None
    port = next(port for port in rig.ports if port.role == ROLE_SPEED)
    return new_speed_drive(port.device, device(port.device).settled(port.settings), emulation.belt_faults)


def _greatest(rig: Rig, kind: str) -> float | None:
    """Greatest steer rate [rad/s] or angle [rad] that the emulated drive obeys; None if its kind is another."""
    return float(rig.limits.as_record(kind)["command"]) if rig.drive_kind == kind else None


def emulated_supply(rig: Rig) -> float:
    """Choose the battery [V] of the emulated machine: the usual one, or one in the middle of the rig's limits."""
    lowest, highest = rig.limits.bus_min.value, rig.limits.bus_max.value
    return USUAL_SUPPLY if lowest <= USUAL_SUPPLY <= highest else 0.5 * (lowest + highest)


def emulated_drive(rig: Rig, beyond: SteerDrive = SteerDrive()) -> SteerDrive:
    """Make the drive of the emulated rig: lag, greatest torque, inner loop and losses as it says, and errors beyond."""
    losses = rig.losses
    return replace(
        beyond,
        lag=rig.drive_lag,
        torque_max=rig.limits.torque.value,
        inner_loop=rig.drive,
        gain=losses.gain * beyond.gain,
        offset=losses.offset + beyond.offset,
        dead_band=losses.dead_band + beyond.dead_band,
        hysteresis=losses.hysteresis + beyond.hysteresis,
        coulomb=losses.friction + beyond.coulomb,
    )


def emulated_plant(rig: Rig, scenario: Scenario, emulation: Emulation = Emulation()) -> Plant:
    """Make the bicycle of the emulated rig, with the rig's drive and instruments where the rig says they are."""
    quiet = Instruments(x_imu=rig.x_imu, z_imu=rig.z_imu, gyro_bias=(0.01, -0.02, 0.015), accel_bias=(0.0, 0.02, 0.0))
    levels = ("gyro_noise", "accel_noise", "steer_noise", "wheel_noise")
    kind = Plant if rig.speed_drive is None else BeltPlant
    return kind(
        rig.bicycle,
        scenario,
        emulated_drive(rig, emulation.drive),
        replace(quiet, **{name: emulation.noise * getattr(quiet, name) for name in levels}),
        emulation.model,
        emulation.surroundings,
        emulation.tyre,
        emulation.slip,
    )
