"""Ride of half a minute under control, and its play: the real loop in simulated time, and what truly happened."""

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from experiments.studies.fault_injection.cases import ARM_AT, RUN_AT
from experiments.studies.fault_injection.judge import LEANING_TIME, NO_TORQUE
from experiments.studies.fault_injection.simulate import LOOK_TICKS
from experiments.studies.fault_injection.threats.fault_spec import SAMPLE_PERIOD
from firmware_interface.twins.faults import Faults
from hil.design.methods import LoopTiming, design
from hil.design.schedule import GainSchedule
from hil.loop.excitation import Excitation
from hil.loop.limits import Limits
from hil.loop.states import Cause, Demand, State
from hil.loop.tick_record import TICK
from hil.loop.wire_tape import new_tape
from hil.rig.rig import Rig
from hil.runners import lockstep
from hil.runners.assembly import new_loop
from hil.runners.emulation import emulated_node
from models import catalogue
from models.plant.plant import Instruments, Plant, Scenario, SteerDrive, Surroundings

RIDE_TIME = 30.0  # s under control
RIDE_GAIN_SPEEDS = tuple(3.0 + 0.5 * i for i in range(11))  # m/s, of the gains
USUAL_GYRO_BIAS, USUAL_ACCEL_BIAS = (0.01, -0.02, 0.015), (0.0, 0.02, 0.0)  # rad/s, m/s^2
_SPARE = 0.8  # s after the ride, in which the drive must be off


@dataclass(frozen=True, kw_only=True)
class Ride:
    """Bicycle, controller, surroundings and faults of one ride; times count from power-up.

    Attributes
    ----------
    name : str
        Kind of fault, or of what a healthy ride meets.
    machine : (str, str)
        Bicycle and method of its gains.
    faults : tuple of Fault
    size : float
        What all faults together have added in the end, in the reading's unit; 0 without a fault.
    onset, grown : float
        s, when the first fault begins, and when all of `size` is there.
    """

    name: str
    machine: tuple[str, str]
    scenario: Scenario
    faults: Faults = ()
    size: float = 0.0
    onset: float = 0.0
    grown: float = 0.0
    instruments: Instruments = Instruments(gyro_bias=USUAL_GYRO_BIAS, accel_bias=USUAL_ACCEL_BIAS)
    drive: SteerDrive = SteerDrive()
    surroundings: Surroundings = Surroundings()
    model: str = "linear"
    excitation: Excitation = Excitation()
    time: float = RIDE_TIME


@dataclass(frozen=True, eq=False)
class RideResult:
    """Outcome of a ride.

    Attributes
    ----------
    cause : Cause
        That ended it; OPERATOR_STOP at its planned end.
    ended : float
        s, when that was.
    lean : float
        rad, greatest true lean up to its end, or to the last torque after it.
    leaning : float
        s beyond the limit of true lean before the last torque.
    """

    cause: Cause
    ended: float
    lean: float
    leaning: float

    @property
    def unsafe(self) -> bool:
        """Torque for long on a bicycle that truly leans beyond the limit."""
        return self.leaning > LEANING_TIME


@cache
def ride_machine(bicycle: str, method: str) -> tuple[Rig, GainSchedule]:
    """Make the emulated rig of a bicycle and design its gains."""
    rig = Rig(catalogue.load_bicycle(bicycle))
    return rig, design(rig.bicycle, method, RIDE_GAIN_SPEEDS, LoopTiming(rate=rig.rate, drive_lag=rig.drive_lag))


def play_ride(ride: Ride, limits: Limits = Limits()) -> tuple[NDArray, NDArray]:
    """Play a ride up to its planned end or its fault; returns the loop's rows, of TICK, and the drive's diary."""
    rig, schedule = ride_machine(*ride.machine)
    rig = replace(rig, limits=limits)
    drive = replace(ride.drive, lag=rig.drive_lag, torque_max=rig.limits.torque.value)
    plant = Plant(rig.bicycle, ride.scenario, drive, ride.instruments, ride.model, ride.surroundings)
    loop = new_loop(rig, schedule, rig.calibrated().as_record(), excitation=ride.excitation)
    config = emulated_node(rig)
    bench = lockstep.new_bench(plant, config, ride.faults)
    n = round((RUN_AT + ride.time + _SPARE) * rig.rate)
    rows, diary, tape = np.zeros(n, TICK), lockstep.new_diary(n), new_tape(1, LOOK_TICKS)
    orders = {Demand.ARM: ARM_AT, Demand.RUN: RUN_AT, Demand.STOP: RUN_AT + ride.time}
    for first in range(0, n, LOOK_TICKS):
        part = slice(first, first + LOOK_TICKS)
        loop.orders["demand"] = max(
            (demand for demand, t in orders.items() if first >= round(t * rig.rate)),
            key=lambda demand: orders[demand],
            default=Demand.OFF,
        )
        lockstep.run_ticks(loop, bench, config.bus, rig.dt, rows[part], tape, diary[part])
        state = rows[part]["state"][-1]
        if state == State.FAULT or (
            state == State.DISARMED and rows["cause"][first] and first > round(RUN_AT * rig.rate)
        ):
            return rows[: part.stop], diary[: part.stop]
    return rows, diary


def judge_ride(rows: NDArray, diary: NDArray, lean_limit: float = Limits().lean.value) -> RideResult:
    """Judge by the bicycle's true lean and the drive's true torque."""
    ended = int(np.argmax(rows["cause"] > 0)) if rows["cause"].any() else len(rows) - 1
    torque = np.flatnonzero(np.abs(diary["T"]) > NO_TORQUE)
    last = torque[-1] + 1 if torque.size else 0
    leaning = float(np.sum(np.abs(diary["phi"][:last]) > lean_limit)) * SAMPLE_PERIOD
    return RideResult(
        Cause(int(rows["cause"][ended])),
        float(diary["t"][ended]),
        float(np.abs(diary["phi"][: max(last, ended)]).max(initial=0.0)),
        leaning,
    )
