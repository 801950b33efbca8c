"""Emulated bicycle on a stand, on pseudo-terminals.

It is moved by hand, for checks and calibrations.
"""

import os
from collections.abc import MutableSequence
from contextlib import suppress
from math import inf

import numpy as np

from riderless.experiments.emulation.hand import Hand, PushedPlant
from riderless.firmware_interface.calibration import Calibration
from riderless.firmware_interface.child_processes import QUIET_SPAWN
from riderless.firmware_interface.twins.virtual_node import VirtualProcess, spawn
from riderless.hil.commissioning.steps import Step
from riderless.hil.loop.states import State
from riderless.hil.rig.rig import Rig
from riderless.hil.runners.emulation import Emulation, emulated_machine, emulated_plant
from riderless.models.linear.whipple import totals
from riderless.models.plant.plant import Scenario
from riderless.models.plant.workstand import Bars, ByHand

# Emulated bicycle as devices on pseudo-terminals, in a process of its own.


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


class StandIn:
    """Stand-in for the person whom the steps ask to move an emulated bicycle.

    Attributes
    ----------
    posture : shared array of 4 doubles
        For `start_by_hand`.
    """

    def __init__(self) -> None:
        self.posture = QUIET_SPAWN.RawArray("d", 4)
        self._step: Step | None = None

    def hear(self, step: Step) -> None:
        """Take the posture of a step; bars that are to be let go are held straight until the drive takes them."""
        self._step = step
        self.posture[:] = step.posture._replace(steer=0.0) if step.lets_go else step.posture

    def see(self, row: np.void) -> None:
        """Let the bars go, if it is time."""
        if self._step is not None and self._step.lets_go and int(row["state"]) == State.RUNNING:
            self.posture[:] = self._step.posture


def start_by_hand(
    rig: Rig,
    posture: MutableSequence[float],
    bars: Bars | None = None,
    truth: Calibration | None = None,
    rollout: float = inf,
    fifo: int = 0,
) -> VirtualProcess:
    """Start a bicycle on a stand, moved by hand, and wait until it serves.

    Parameters
    ----------
    rig : Rig
        Bicycle, ports and devices.
    posture : shared array of 4 doubles
        What the person does, see `riderless.models.plant.workstand.ByHand`; of multiprocessing's spawn context.
    bars : Bars
        By default with the inertia of the rig's bicycle and their stops a tenth beyond the rig's limit.
    truth : Calibration
        How the devices are really mounted and scaled; by default as the rig says.
    rollout : float
        m after which the person stops the rolling wheel.
    fifo : int
        Real-time priority of the loop, 0 for none; as for `riderless.experiments.emulation.workstand.start_twin`.

    Raises
    ------
    DeviceError
        When it cannot start.
    """
    bars = bars or Bars(inertia=totals(rig.bicycle).IAll, stop=1.1 * rig.limits.steer.value)
    mark = rollout / (truth or rig.calibrated()).wheel_radius
    drive = (rig.drive, rig.limits.torque.value)
    return raise_priority(spawn(ByHand, emulated_machine(rig, truth), (posture, bars, 0, mark, *drive)), fifo)
