"""The emulated bicycle as a device on a pseudo-terminal, in a process of its own."""

from firmware_interface.virtual import VirtualProcess, spawn
from hil.emulation import Emulation, emulated_node, emulated_plant
from hil.rig import Rig
from models.plant import Scenario


def start_twin(rig: Rig, scenario: Scenario, emulation: Emulation = Emulation()) -> VirtualProcess:
    """Start it and wait until it serves; the device behind its path cannot be told from a bicycle.

    Raises
    ------
    DeviceError
        When it cannot start.
    """
    return spawn(emulated_plant, emulated_node(rig), (rig, scenario, emulation))
