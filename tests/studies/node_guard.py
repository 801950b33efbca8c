"""Rides of a mad host: the node's guard alone, with no supervisor, has to switch the torque off; and healthy rides.

``python -m tests.studies.node_guard --rides 2000 --seed 58``: as many of each, circumstances in turns. A mad host takes
the line over in the middle of a ride, and keeps every rule of the protocol.
"""

import argparse
from collections import Counter
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from riderless.experiments.fault_injection.cases import CaseOptions, FaultCase, draw_case
from riderless.experiments.fault_injection.machines import rig_and_gains
from riderless.experiments.fault_injection.simulate import task_of
from riderless.experiments.fault_injection.threats.fault_list import ThreatPool
from riderless.firmware_interface.messages import COMMAND_ENABLE
from riderless.firmware_interface.node import reference_codec
from riderless.firmware_interface.twins.faults import TO_NODE, Fault, FaultKind
from riderless.firmware_interface.twins.faulty_link import fetch, post
from riderless.firmware_interface.twins.faulty_node import drive_output, sampling_instant
from riderless.hil.loop.states import Demand
from riderless.hil.loop.tick_record import TICK
from riderless.hil.loop.wire_tape import RX_SIZE, new_tape
from riderless.hil.runners import lockstep
from riderless.hil.runners.assembly import new_loop
from riderless.hil.runners.emulation import emulated_node
from riderless.models.coordinates import DELTA, PHI
from riderless.models.plant.plant import Plant, advance_plant, read_plant

LENGTH = 10.0  # s under control of a healthy ride
MAD_FROM, MAD_FOR = 4.0, 12.0  # s
LEAN_ERROR = np.radians(5.0)  # of the node's lean
_LOOK = 10  # ticks
_RADIAN = 2.0**30  # of the node's lean
SOON = 0.011  # s: what one instant measures disables the drive at the next
_PUSH, _STEER_TOLERANCE = 2.0, 0.05  # N m, rad


class Madness(StrEnum):
    """What the host does from `MAD_FROM` on."""

    ALTERNATING = "full torque to either side, in turns at 200 Hz"
    FROZEN = "the greatest torque of a kick, for ever"
    OVER = "a law that drives it over"
    STILL = "a push, while the encoder stands still"


@dataclass(frozen=True)
class GuardedRide:
    """What came of a ride.

    Attributes
    ----------
    struck : int
        Faults for which the node disabled the drive; 0 for none.
    beyond : float
        Longest time [s] of an enabled drive with steer or lean truly beyond the guard's limits and their tolerances.
    off_after : float
        Time [s] from the takeover until the drive was off for good; infinite if it never was, as on training wheels or
        in a steady turn, where nothing passes a limit.
    lean_error : float
        Greatest error [rad] of the node's lean while the bicycle rode.
    """

    struck: int
    beyond: float
    off_after: float
    lean_error: float


def ride(case: FaultCase, madness: Madness | None = None, length: float = LENGTH) -> GuardedRide:
    """Ride a case without faults to its end, or to `MAD_FROM` and on with a mad host."""
    rig, gains = rig_and_gains(*case.machine)
    config, about = emulated_node(rig), case.circumstances
    stands = (Fault(FaultKind.STUCK, start=MAD_FROM, channel="delta"),) if madness is Madness.STILL else ()
    drive = replace(about.drive, lag=rig.drive_lag, torque_max=rig.limits.torque.value)
    plant = Plant(rig.bicycle, case.scenario, drive, about.instruments, about.model, about.surroundings)
    loop = new_loop(rig, gains, rig.calibrated().as_record(), task=task_of(case, rig))
    bench = lockstep.new_bench(plant, config, stands)
    orders = [(t, demand) for t, demand in case.orders if demand is not Demand.STOP]
    n = round((MAD_FROM if madness else length + 1.7) * rig.rate) // _LOOK * _LOOK
    rows, diary, tape = np.zeros(n, TICK), lockstep.new_diary(n), new_tape(1, _LOOK)
    lean = np.zeros(n)
    for k in range(0, n, _LOOK):
        part = slice(k, k + _LOOK)
        loop.orders["demand"] = [demand for t, demand in orders if t <= k * rig.dt][-1]
        lockstep.run_ticks(loop, bench, config.bus, rig.dt, rows[part], tape, diary[part])
        lean[k + _LOOK - 1] = bench.node.firmware["lean"] / _RADIAN
    seen = np.arange(_LOOK - 1, n, _LOOK)
    seen = seen[(diary["on"][seen] == 1) & (diary["fallen"][seen] == 0)]
    error = float(np.abs(lean[seen] - diary["phi"][seen]).max(initial=0.0))
    if madness is None:
        return GuardedRide(int(bench.node.firmware["struck"]), 0.0, np.inf, error)
    greatest = float(rows["T_cmd"][np.argmax(np.abs(rows["T_cmd"]))])
    enabled, beyond = _go_mad(bench, config, rig, madness, greatest)
    off = np.flatnonzero(enabled)[-1] + 1 if enabled.any() else 0
    struck = int(bench.node.firmware["struck"])
    return GuardedRide(struck, _longest(beyond) * rig.dt, off * rig.dt if off < len(enabled) else np.inf, error)


def _go_mad(bench, config, rig, madness: Madness, greatest: float) -> tuple[np.ndarray, np.ndarray]:
    """Command the node as a mad host; at each instant, whether it was enabled, and enabled beyond the limits."""
    firmware, rx = bench.node.firmware, np.zeros(RX_SIZE, np.uint8)
    n, most, step = round(MAD_FOR * rig.rate), rig.limits.torque.value, rig.limits.torque_rate.value * rig.dt
    seq, T, past = int(firmware["newest"]["seq"]) + 10, 0.0, 0.0  # one of the loop is under way
    enabled, beyond = np.zeros(n, bool), np.zeros(n, bool)
    for i in range(n):
        k = int(bench.k[0])
        made, on = drive_output(bench.node, (k - 1) * rig.dt)
        advance_plant(bench.p, bench.s, bench.kicks, made, on, rig.dt)
        read_plant(bench.p, bench.s, bench.instruments)
        sampling_instant(bench.node, bench.readings, config.bus, k * rig.dt, k * rig.dt)
        fetch(bench.node.up, k * rig.dt, rx)
        phi, delta = float(bench.s[0]["x"][PHI]), float(bench.s[0]["x"][DELTA])
        wished = {
            Madness.ALTERNATING: most * (-1.0) ** i,
            Madness.FROZEN: greatest,
            Madness.OVER: -60.0 * phi - 10.0 * (phi - past) / rig.dt + np.sign(greatest),
            Madness.STILL: _PUSH,
        }[madness]
        wished = min(max(wished, -most), most)
        T = wished if madness is Madness.ALTERNATING else min(max(wished, T - step), T + step)
        past, seq = phi, (seq + 1) % 65536
        numbers = (int(firmware["seq"]) - 1) % 2**32, int(firmware["session"])
        frame = reference_codec.encode(reference_codec.Command(seq, round(1e3 * T), 25, *numbers, COMMAND_ENABLE))
        line = np.frombuffer(bytearray(frame), np.uint8)
        post(bench.node.down, bench.node.faults, TO_NODE, line, len(line), k * rig.dt, k * rig.dt)
        enabled[i] = firmware["enabled"] != 0
        leans = abs(phi) > config.guard.lean + LEAN_ERROR
        beyond[i] = enabled[i] and (leans or abs(delta) > config.guard.steer + _STEER_TOLERANCE)
        bench.k[0] += 1
    return enabled, beyond


def _longest(flags: np.ndarray) -> int:
    """Length of the longest run of true values."""
    longest = run = 0
    for flag in flags:
        run = run + 1 if flag else 0
        longest = max(longest, run)
    return longest


def healthy_case(seed: int, index: int, length: float = LENGTH) -> FaultCase:
    """Case without a fault; its circumstances take turns."""
    return draw_case(seed, index, CaseOptions(length=length, pool=ThreatPool.NONE))


def main() -> None:
    """Ride as many as asked for, and print what came of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rides", type=int, default=2000, help="of healthy ones, and of mad hosts")
    parser.add_argument("--seed", type=int, default=58)
    asked = parser.parse_args()
    counts: Counter[str] = Counter()
    worst = 0.0
    for index in range(asked.rides):
        case = healthy_case(asked.seed, index)
        found = ride(case)
        worst = max(worst, found.lean_error)
        counts["healthy"] += 1
        counts["healthy, stopped by the guard"] += found.struck != 0
        if found.struck:
            print(f"healthy {index}: struck {found.struck}, {case.machine}, {case.circumstances}", flush=True)
        madness = list(Madness)[index % len(Madness)]
        mad = ride(case, madness)
        counts[madness] += 1
        counts[f"{madness}: on to the end, within the limits"] += mad.off_after == np.inf
        counts[f"{madness}: torque beyond the limits"] += mad.beyond > SOON
        if mad.beyond > SOON or mad.off_after == np.inf:
            print(f"mad {index}: {mad}, {madness}, {case.machine}, {case.circumstances}", flush=True)
    for name, count in counts.items():
        print(f"{count:6d}  {name}")
    print(f"lean of the node off by at most {np.degrees(worst):.1f} deg in the healthy rides")


if __name__ == "__main__":
    main()
