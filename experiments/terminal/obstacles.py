"""Obstacles to arming, in words.

What was found, what is wanted, and what to do about it. The supervisor waits in CHECK until nothing is in the way
(`riderless.hil.loop.transitions.OBSTACLES`). Most of that can be seen in a row of the log, with its figure; what a
person can do about each cause stands in `ADVICE`.
"""

from collections.abc import Iterator
from math import degrees, isfinite

import numpy as np

from riderless.firmware_interface import messages
from riderless.hil.controllers.controller import Controller
from riderless.hil.loop.resting import describe_rest
from riderless.hil.loop.states import SENTENCES, Cause
from riderless.hil.loop.transitions import RULES
from riderless.hil.rig.rig import Rig

ADVICE = {
    Cause.NOT_A_NUMBER: "look at the sensors with `riderless monitor RIG`",
    Cause.STOP_BUTTON: "release it",
    Cause.DEVICE_FAULT: "switch the device off and on, and see its manual",
    Cause.NODE_GUARD: "run again: it guards until another session is opened",
    Cause.SENSOR_STUCK: "check the sensor's cable, or switch the device off and on",
    Cause.SENSOR_RANGE: "check the sensor's cable and its scale",
    Cause.SENSOR_JUMP: "hold it still; check the sensor's cable",
    Cause.SENSORS_DISAGREE: "hold it still for a few seconds; if it stays, `riderless calibrate RIG`",
    Cause.DRIVE_DISOBEYS: "check the drive's cable and its gain with `riderless check RIG`",
    Cause.CLOCK_STEP: "switch the device off and on",
    Cause.DEVICE_RESTARTED: "check its supply",
    Cause.RATE_LOW: "check the cable, and the rate in the rig",
    Cause.RATE_HIGH: "set the rate of the rig and that of the device alike",
    Cause.LINK_NOISY: "check the cable and the baud rate",
    Cause.LEAN_LIMIT: "hold it upright",
    Cause.STEER_LIMIT: "hold the bars straight",
    Cause.SPEED_WINDOW: "bring belt or wheel to that speed",
    Cause.BUS_VOLTAGE: "charge or connect the battery",
    Cause.SATURATED: "design gentler gains",
    Cause.TICKS_LATE: "close other programs, or give --fifo 80; `riderless latency` measures it",
    Cause.UNATTENDED: "close other programs",
    Cause.RECORDER: "make room on the disk",
    Cause.CHECK_STREAM: "check cable, supply and baud rate of the device",
    Cause.CHECK_UPRIGHT: "hold it upright and straight",
    Cause.CHECK_ENABLE: "check the drive's supply and its enable line with `riderless check RIG`",
    Cause.CHECK_WATCHDOG: "set the drive's time-out to the watchdog_s of the rig; `riderless check RIG` tries it",
    Cause.CHECK_LATENCY: "run `riderless latency RIG`",
    Cause.CHECK_GYRO: "hold it still; if it stays, `riderless calibrate RIG`",
    Cause.CHECK_GRAVITY: "hold it still; if it stays, look at the sensor's settings",
    Cause.CHECK_MOUNTING: "hold it upright; if it stays, `riderless calibrate RIG` finds the mounting",
    Cause.CHECK_GAINS: "bring belt or wheel to those speeds, or design gains for this one",
    Cause.STALE_SAMPLE: "check the cable and what else loads the computer",
    Cause.DRIVE_WATCHDOG: "the time-out may be too short for this computer: see watchdog_s of the rig",
    Cause.DRIVE_OFF: "check the drive's supply",
    Cause.SPEED_DRIVE: "look at the treadmill: its stop button, its display and its line; is the wheel on the belt?",
    Cause.PLACE_LOST: "hold it where its sensor sees it; look at the sensor's cable and settings",
    Cause.BELT_EDGE: "put it in the middle of the belt",
    Cause.FOREIGN_COMMANDS: "end what else writes to its port, check its supply in case it restarted, and run again",
}
_OF_SYMPTOM = {rule.symptom: rule.cause for rule in RULES if rule.symptom and rule.cause in ADVICE}
_ESTIMATES = ("phi_est", "delta_est", "phi_dot_est", "delta_dot_est", "v_est", "T_req")


def obstacles(row: np.void, rig: Rig, schedule: Controller | None = None) -> list[str]:
    """Say what is in the way of arming as a row of TICK shows it, the gravest first; empty if nothing is."""
    return [f"{obstacle}: {advice}" for obstacle, advice in obstacles_and_advice(row, rig, schedule)]


def obstacles_and_advice(row: np.void, rig: Rig, schedule: Controller | None = None) -> list[tuple[str, str]]:
    """Say what is in the way of arming as a row of TICK shows it, and what to do about it, the gravest first."""
    return [(obstacle, ADVICE[cause]) for cause, obstacle in (*_found(row, rig), *_other_gains(row, rig, schedule))]


def _found(row: np.void, rig: Rig) -> Iterator[tuple[Cause, str]]:
    limits = rig.limits
    if not row["silence"] < rig.watchdog:
        silence = f"for {1e3 * row['silence']:.0f} ms" if isfinite(row["silence"]) else "yet"
        yield Cause.CHECK_STREAM, f"no sample {silence}"
        return  # all else would be read from what is not there
    if not all(isfinite(row[name]) for name in _ESTIMATES):
        yield Cause.NOT_A_NUMBER, "an estimate is not a number"
        return
    if int(row["status"]) & messages.STATUS_STOP_BUTTON:
        yield Cause.STOP_BUTTON, SENTENCES[Cause.STOP_BUTTON]
    if int(row["status"]) & messages.STATUS_FOREIGN:
        yield Cause.FOREIGN_COMMANDS, SENTENCES[Cause.FOREIGN_COMMANDS]
    faults = int(row["faults"])
    for cause, bits in ((Cause.NODE_GUARD, messages.FAULT_GUARDS), (Cause.DEVICE_FAULT, ~messages.FAULT_GUARDS)):
        if faults & bits:
            yield cause, f"the device reports a fault ({', '.join(_fault_names(faults & bits))})"
    rates = np.array([row[f"{axis}_dot_meas"] for axis in ("phi", "theta", "psi")])
    forces = np.array([row[f"a_{axis}_meas"] for axis in "xyz"])
    sentences = SENTENCES | describe_rest(limits, rig.bicycle.g, rates, forces)
    for symptom, cause in _OF_SYMPTOM.items():  # the loop judges means, and the figures are those of this row
        if int(row["symptoms"]) & symptom:
            yield cause, sentences[cause]
    lean, steer = degrees(row["phi_est"]), degrees(row["delta_est"])
    lean_arm, steer_arm = degrees(limits.lean_arm.value), degrees(limits.steer_arm.value)
    if not abs(lean) <= lean_arm:
        yield Cause.CHECK_UPRIGHT, f"lean {lean:+.1f} deg, wanted within {lean_arm:.0f} deg"
    if not abs(steer) <= steer_arm:
        yield Cause.CHECK_UPRIGHT, f"steer {steer:+.1f} deg, wanted within {steer_arm:.0f} deg"
    v, slowest, fastest = float(row["v_est"]), limits.speed_min.value, limits.speed_max.value
    if not slowest <= v <= fastest:
        yield Cause.SPEED_WINDOW, f"speed {v:.2f} m/s, wanted {slowest:g} to {fastest:g} m/s"
    bus, lowest, highest = float(row["bus_meas"]), limits.bus_min.value, limits.bus_max.value
    if not lowest <= bus <= highest:
        yield Cause.BUS_VOLTAGE, f"supply {bus:.1f} V, wanted {lowest:g} to {highest:g} V"
    if not row["recording"]:
        yield Cause.RECORDER, SENTENCES[Cause.RECORDER]


def _other_gains(row: np.void, rig: Rig, schedule: Controller | None) -> Iterator[tuple[Cause, str]]:
    """Speed at which the gains are not armed, where it is one of the rig's."""
    if schedule is None or schedule.is_off:
        return
    v, reach = float(row["v_est"]), rig.limits.gains_reach.value
    first, last = float(schedule.v[0]), float(schedule.v[-1])
    if not first - reach <= v <= last + reach and rig.limits.speed_min.value <= v <= rig.limits.speed_max.value:
        yield Cause.CHECK_GAINS, f"speed {v:.2f} m/s, the gains are of {first:g} to {last:g} m/s"


def _fault_names(bits: int) -> list[str]:
    """Names of the faults that a device reports."""
    return [name.replace("_", " ") for name in bit_names("FAULT_", bits)]


def bit_names(prefix: str, bits: int) -> list[str]:
    """Names of the bits that are set, of those that `firmware_interface.messages` calls by a prefix, as STATUS_."""
    return [
        name.removeprefix(prefix).lower()
        for name in vars(messages)
        if name.startswith(prefix) and bits & getattr(messages, name)
    ]


def beyond_gains(v: float, schedule: Controller) -> str:
    """Say that a speed [m/s] lies beyond those of the gains; empty where it does not."""
    first, last = float(schedule.v[0]), float(schedule.v[-1])
    if first <= v <= last or not isfinite(v) or schedule.is_off:
        return ""
    return f"speed {v:.2f} m/s, the gains are of {first:g} to {last:g} m/s: they stay as at the nearer end"
