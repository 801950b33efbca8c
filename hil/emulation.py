"""The emulated machine of a rig: its plant and the node it carries."""

from dataclasses import dataclass, replace

from firmware_interface.virtual import NodeConfig
from hil.rig import Rig
from models.plant import Drive, Instruments, Plant, Scenario, Surroundings


@dataclass(frozen=True)
class Emulation:
    """What an emulated machine is, beyond its rig: equations of motion, surroundings, and how good its drive is."""

    model: str = "linear"  # a name in `models.plant.MODELS`
    surroundings: Surroundings = Surroundings()
    drive: Drive = Drive()  # lag and greatest torque are the rig's


def emulated_node(rig: Rig) -> NodeConfig:
    """The node that the emulated rig carries."""
    return NodeConfig(
        calibration=rig.calibrated(),
        rate_hz=round(rig.rate),
        torque_limit=rig.limits.torque.value,
        watchdog_ms=round(1e3 * rig.watchdog),
        baud=rig.ports[0].baud,
    )


def emulated_plant(rig: Rig, scenario: Scenario, emulation: Emulation = Emulation()) -> Plant:
    """The bicycle of the emulated rig, with the rig's drive and instruments where the rig says they are."""
    return Plant(
        rig.bicycle,
        scenario,
        replace(emulation.drive, lag=rig.drive_lag, torque_max=rig.limits.torque.value),
        Instruments(x_imu=rig.x_imu, z_imu=rig.z_imu, gyro_bias=(0.01, -0.02, 0.015), accel_bias=(0.0, 0.02, 0.0)),
        emulation.model,
        emulation.surroundings,
    )
