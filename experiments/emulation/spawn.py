"""Emulated bicycle as devices on pseudo-terminals, in a process of its own."""

import os
from contextlib import suppress

from riderless.experiments.emulation.hand import Hand, PushedPlant
from riderless.firmware_interface.twins.virtual_node import VirtualProcess, spawn
from riderless.hil.rig.rig import Rig
from riderless.hil.runners.emulation import Emulation, emulated_machine, emulated_plant
from riderless.models.plant.plant import Scenario


def start_twin(
    rig: Rig, scenario: Scenario, emulation: Emulation = Emulation(), fifo: int = 0, hand: Hand | None = None
) -> VirtualProcess:
    """Start an emulated bicycle and wait until it serves; its devices cannot be told from a bicycle's.

    Parameters
    ----------
    rig : Rig
        Bicycle, ports and devices.
    scenario : Scenario
        Speed, kicks and surface.
    emulation : Emulation
        Equations of motion and what is real about the machine.
    fifo : int
        Real-time priority of the loop, 0 for none; the bicycle gets one more, for it does not wait for a computer.
    hand : Hand or None
        Kicks it when told to.

    Raises
    ------
    DeviceError
        When it cannot start.
    """
    machine = emulated_machine(rig)
    if hand is None:
        return raise_priority(spawn(emulated_plant, machine, (rig, scenario, emulation)), fifo)
    return raise_priority(spawn(PushedPlant, machine, (rig, scenario, emulation, hand.memory)), fifo)


def raise_priority(twin: VirtualProcess, fifo: int) -> VirtualProcess:
    """Give the bicycle one more than the real-time priority ``fifo`` of the loop, unless that is 0."""
    if fifo:
        with suppress(PermissionError):  # the loop says so too, with what to do
            os.sched_setscheduler(twin.pid or 0, os.SCHED_FIFO, os.sched_param(fifo + 1))
    return twin
