"""The emulated bicycle as devices on pseudo-terminals, in a process of its own."""

from firmware_interface.virtual import VirtualProcess, spawn
from hil.emulation import Emulation, emulated_machine, emulated_plant
from hil.rig import Rig
from models.plant import Scenario


def start_twin(rig: Rig, scenario: Scenario, emulation: Emulation = Emulation()) -> VirtualProcess:
    """Start it and wait until it serves; the devices behind its paths cannot be told from a bicycle's.

    Raises
    ------
    DeviceError
        When it cannot start.
    """
    return spawn(emulated_plant, emulated_machine(rig), (rig, scenario, emulation))
