"""Emulated machine of a rig: its plant and the devices it carries."""

import math
from dataclasses import dataclass, replace

import numpy as np

from riderless.firmware_interface.calibration import Calibration
from riderless.firmware_interface.devices.link import ROLE_DRIVE, ROLE_PLACE, ROLE_SPEED
from riderless.firmware_interface.devices.registry import device
from riderless.firmware_interface.messages import COMMAND_KINDS
from riderless.firmware_interface.twins.machine import MachineConfig, StationConfig
from riderless.firmware_interface.twins.place.sending import new_place_twin
from riderless.firmware_interface.twins.place.sensor import PlaceFault
from riderless.firmware_interface.twins.speed.belt import BeltFault
from riderless.firmware_interface.twins.speed.speaking import new_speed_drive
from riderless.firmware_interface.twins.twin import TwinConfig
from riderless.firmware_interface.twins.virtual_node import NodeConfig
from riderless.hil.rig.rig import Rig, RigPort
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
    """Configure the node of a rig that has everything behind one port.

    Raises
    ------
    InputError
        When the rig has other devices: they exist in real time only.
    """
    ports = [port for port in rig.ports if port.role not in (ROLE_PLACE, ROLE_SPEED)]
    order = [port.role for port in rig.ports if port.role in (ROLE_PLACE, ROLE_SPEED)]
    if len(ports) > 1 or ports[0].device != "node" or rig.ports[0].role & ROLE_DRIVE == 0 or order != sorted(order):
        found = ", ".join(port.device for port in rig.ports)
        raise InputError(
            "simulated time knows a rig with one node that carries everything, then perhaps a sensor of place and a "
            f"treadmill, found {found}: put them in that order, or run this rig with "
            "`riderless run RIG --emulated`, in real time"
        )
    return NodeConfig(
        calibration=rig.calibrated(),
        rate_hz=round(rig.rate),
        torque_limit=rig.limits.torque.value,
        watchdog_ms=round(1e3 * rig.watchdog),
        baud=rig.ports[0].baud,
        bus=emulated_supply(rig),
        rate_limit=_greatest(rig, "rate"),
        angle_limit=_greatest(rig, "angle"),
    )


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
