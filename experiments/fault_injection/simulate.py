"""Play of a case in simulated time.

The real loop, against a node that misbehaves.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from riderless.experiments.fault_injection.cases import FaultCase
from riderless.experiments.fault_injection.machines import rig_and_gains
from riderless.experiments.fault_injection.ride_plan import ARM_AT
from riderless.firmware_interface.calibration import Calibration
from riderless.firmware_interface.devices.driver import Introduction
from riderless.firmware_interface.devices.own_node import introduction_of_node
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.node import reference_codec
from riderless.firmware_interface.node.hello import hello_in_si
from riderless.firmware_interface.twins.faults import TO_NODE, Faults
from riderless.firmware_interface.twins.faulty_link import fetch, post
from riderless.firmware_interface.twins.faulty_node import new_faulty_node, sampling_instant
from riderless.firmware_interface.twins.speed.belt import BELT_SCALE, COMES_TO_REST, BeltFault
from riderless.firmware_interface.twins.virtual_node import NodeConfig
from riderless.hil.design.schedule import GainSchedule
from riderless.hil.loop.limits import Limit, Limits
from riderless.hil.loop.states import Demand, State
from riderless.hil.loop.tick import LoopState
from riderless.hil.loop.tick_record import TICK
from riderless.hil.loop.wire_tape import RX_SIZE, new_tape
from riderless.hil.rig.rig import Rig
from riderless.hil.rig.task import Task
from riderless.hil.runners import lockstep
from riderless.hil.runners.assembly import new_loop
from riderless.hil.runners.emulation import Emulation, emulated_belt, emulated_node, emulated_place
from riderless.hil.runners.session import agree_with_devices
from riderless.models.errors import InputError
from riderless.models.plant.belt import BeltPlant
from riderless.models.plant.plant import Plant

LOOK_TICKS = 25  # ticks between two looks of the operator
AFTER_THE_END = 1.5  # s, played on after the end of a long ride: long enough to see that no torque comes back
CASE_LIMITS = Limits(check_timeout=Limit(2.5, "s", "a case is short: it can wait for one check and not for two"))


@dataclass(frozen=True, eq=False)
class Played:
    """Records of a played case: the loop's rows, the drive's diary, and the raw bytes."""

    rows: NDArray  # (n,) of TICK, as they go into the log
    diary: NDArray  # (n,) of riderless.hil.runners.lockstep.DIARY: what drive and bicycle truly did
    tapes: tuple[bytes, ...]  # of each look
    looks: tuple[int, ...]  # first row of each
    rig: Rig
    schedule: GainSchedule
    calibration: Calibration | None = None  # as agreed with the node
    refused: str = ""  # why the session did not even begin
    fall: str = ""  # why the bicycle fell

    def __repr__(self) -> str:
        end = f", refused: {self.refused}" if self.refused else f", {self.fall}" if self.fall else ""
        return f"<Played: {len(self.rows)} ticks{end}>"


def play_case(case: FaultCase, sabotage: Callable[[LoopState], object] = lambda loop: None) -> Played:
    """Play a case from power-up to its end.

    Parameters
    ----------
    sabotage : callable
        Given the loop before it starts, to put a monitor out of action: a campaign must be able to fail.
    """
    rig, schedule = rig_and_gains(*case.machine)
    rig = replace(rig, limits=CASE_LIMITS)
    config = emulated_node(rig)
    sensors = [Introduction(port.device) for port in rig.ports[1:]]
    try:
        rig, calibration = agree_with_devices(rig, [node_introduction(config, case.all_faults), *sensors])
    except (DeviceError, InputError) as error:
        return Played(np.zeros(0, TICK), lockstep.new_diary(0), (), (), rig, schedule, refused=str(error))
    about = case.circumstances
    belt = _running_belt(rig, case)
    loop = new_loop(rig, schedule, calibration.as_record(), task=task_of(case, rig))
    sabotage(loop)
    drive = replace(about.drive, lag=rig.drive_lag, torque_max=rig.limits.torque.value)
    if rig.drive is not None:  # play is emulated behind a torque only
        drive = replace(drive, inner_loop=rig.drive, backlash=0.0)
    kind = Plant if belt is None else BeltPlant
    plant = kind(rig.bicycle, case.scenario, drive, about.instruments, about.model, about.surroundings)
    place = emulated_place(rig, case.scenario, Emulation(place_faults=case.place_faults))
    bench = lockstep.new_bench(plant, config, case.all_faults, place, belt)
    n = round(case.plan.end_at * rig.rate)
    rows, diary, tape = np.zeros(n, TICK), lockstep.new_diary(n), new_tape(len(rig.ports), LOOK_TICKS)
    orders = [(round(t * rig.rate), demand) for t, demand in case.orders]
    looks = sorted({*range(0, n, LOOK_TICKS), *(k for k, _ in orders)})
    tapes: list[bytes] = []
    fall, over, enough = "", False, n
    for first, last in zip(looks, [*looks[1:], n], strict=True):
        if first >= enough:  # a long ride that was over long ago
            rows, diary, looks = rows[:first], diary[:first], looks[: len(tapes)]
            break
        part = slice(first, last)
        ordered = [demand for k, demand in orders if k <= first][-1]
        loop.orders["demand"] = Demand.OFF if over else ordered
        length = lockstep.run_ticks(loop, bench, config.bus, rig.dt, rows[part], tape, diary[part])
        tapes.append(tape[:length].tobytes())
        if not over and _over(rows[max(0, first - 1) : last]["state"]):
            over, enough = True, last + round(AFTER_THE_END * rig.rate) if case.plan.is_long else n
        fall = fall or plant.fall
    return Played(rows, diary, tuple(tapes), tuple(looks), rig, schedule, calibration, fall=fall)


def task_of(case: FaultCase, rig: Rig) -> Task:
    """Task of a case's loop; its belt, if the rig has one, is at its speed from the beginning."""
    return Task(case.circumstances.excitation, asked_speeds=case.scenario.speed if rig.speed_drive else ())


def _running_belt(rig: Rig, case: FaultCase) -> np.void | None:
    """Make what keeps the speed, already at it: a case is too short for a start; None where the rig has nothing."""
    shifted = [BeltFault(f.kind, max(f.start - ARM_AT, 0.0), f.stop - ARM_AT) for f in case.speed_faults]
    belt = emulated_belt(rig, Emulation(belt_faults=tuple(shifted)))
    if belt is not None:
        belt["speed"] = case.scenario.speed[0][1] + ARM_AT * COMES_TO_REST  # it slows until it is told to run
        belt["aim"] = belt["speed"] / BELT_SCALE
    return belt


def _over(states: NDArray) -> bool:
    """Does the operator see that the run has ended, for whatever reason?"""
    back = (states[1:] == State.DISARMED) & (states[:-1] != State.DISARMED)
    return bool(np.any(states == State.FAULT) or np.any(back))


def node_introduction(config: NodeConfig, faults: Faults) -> Introduction:
    """Ask the node for its HELLO, before anything else."""
    node, out = new_faulty_node(config.new_firmware(), faults), np.zeros(RX_SIZE, np.uint8)
    limits = config.guard.as_fields() if config.guard is not None else ()
    question = reference_codec.HelloRequest(1, 1, 0, *limits)
    request = np.frombuffer(bytearray(reference_codec.encode(question)), np.uint8)
    post(node.down, node.faults, TO_NODE, request, len(request), 0.0, 0.0)
    sampling_instant(node, np.zeros(9), config.bus, 0.0, 0.0)
    reply = out[: fetch(node.up, 0.0, out)].tobytes()
    hello = reference_codec.decode(reply.split(b"\0")[0])
    if not isinstance(hello, reference_codec.HelloFrame):
        raise DeviceError("the node should say HELLO, but does not; is it powered?")
    return introduction_of_node(hello_in_si(hello))
