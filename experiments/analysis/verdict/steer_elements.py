"""Nonlinear parts of a steer axis.

Each is a torque on the axis as a function of the motion, one line. Each is one kind of `_element_torque` with one size.
`simulated_motion.py` rides them, `nonlinear_causes.py` tries them. The drive's dead band and hysteresis are torques
that the drive does not make. Friction and stops are solved for at the end of a step (Moreau's time stepping): the
torque, within its bounds, with which the axis would come to rest.

Twisting torque and side force of the front tyre need the path of the wheel, its curvature and the force that the
ground must give; both follow with the relaxation length of the tyre.
"""

from dataclasses import dataclass

import numpy as np

from riderless.experiments.dynamics import PhysicalRange
from riderless.experiments.theory.machine_steps import LATERAL_FORCE, N_INSTRUMENTS, YAW_GYRO, map_linear
from riderless.firmware_interface.kernels import njit
from riderless.models.coordinates import DELTA, DELTA_DOT, PHI_DOT
from riderless.models.linear.side_slip import roll_slip
from riderless.models.plant.steer_drive import SteerDrive

_NO_ELEMENT, COULOMB, DEAD_BAND, HYSTERESIS, STOPS, _PLAY, TWISTING, PNEUMATIC_TRAIL, TYRE_SLIP = range(9)
RELAXATION_LENGTH = 0.1  # m, of a bicycle's tyre (Doria et al. 2013: 0.08 to 0.3)
_ROTOR = SteerDrive().rotor  # kg m^2, what turns on the drive's side of the play
_MESH_STEPS = 20  # of one step, while teeth meet
_MESH_RATE, _MESH_DAMPING = 1000.0, 0.5  # rad/s at which tooth rings on tooth, and share of critical damping
_MEMORY = 4  # numbers that an element may remember
NEEDS_DRIVE = (DEAD_BAND, HYSTERESIS)  # without one there is nothing to change
ACTING_ORDER = (
    DEAD_BAND,
    HYSTERESIS,
    TYRE_SLIP,
    TWISTING,
    PNEUMATIC_TRAIL,
    _PLAY,
    STOPS,
    COULOMB,
)  # last what holds the axis


@dataclass(frozen=True)
class SteerElement:
    """Candidate part of a steer axis, of one size (SI); no part where that is zero."""

    name: str
    kind: int
    unit: str
    usual: float  # size where nobody has measured it; the search begins at a quarter of it
    range: PhysicalRange
    meaning: str


STEER_ELEMENTS = (
    SteerElement(
        "coulomb_friction",
        COULOMB,
        "N m",
        0.05,
        PhysicalRange(0.0, 2.0, "friction gives no energy"),
        "dry friction of the steer axis",
    ),
    SteerElement(
        "play", _PLAY, "rad", 0.01, PhysicalRange(0.0, 0.2, "no gear turns freely by more"), "play of the steer drive"
    ),
    SteerElement(
        "dead_band",
        DEAD_BAND,
        "N m",
        0.05,
        PhysicalRange(0.0, 2.0, "a drive makes no torque against its command"),
        "torque that the drive leaves out of every command",
    ),
    SteerElement(
        "hysteresis",
        HYSTERESIS,
        "N m",
        0.05,
        PhysicalRange(0.0, 2.0, "a drive makes no torque against its command"),
        "torque by which the drive lags behind on the way up and down",
    ),
    SteerElement(
        "steer_stop",
        STOPS,
        "1/rad",
        5.0,
        PhysicalRange(0.0, 1000.0, "no handlebar is free to turn by less than a milliradian"),
        "one over the steer angle at which the handlebar stops",
    ),
    SteerElement(
        "tyre_twisting",
        TWISTING,
        "N m^2",
        1.0,
        PhysicalRange(0.0, 50.0, "a tyre resists its twisting"),
        "twisting torque of the front tyre per curvature of its path",
    ),
    SteerElement(
        "tyre_trail",
        PNEUMATIC_TRAIL,
        "m",
        0.005,
        PhysicalRange(0.0, 0.05, "the side force acts behind the middle of the contact, within half its length"),
        "pneumatic trail: lever of the front tyre's side force as it slips",
    ),
    SteerElement(
        "tyre_slip",
        TYRE_SLIP,
        "rad",
        0.05,
        PhysicalRange(0.0, 0.5, "a tyre that slips by half a radian for its own load is none"),
        "side slip of both tyres: angle at which a side force would be as large as the load",
    ),
)
DRY_FRICTION = next(element for element in STEER_ELEMENTS if element.name == "coulomb_friction")


@njit(cache=True, nogil=True)
def _element_torque(kind, size, memory, h, v, delta, delta_dot, free_delta_dot, mobility, drive, twist, side):
    """Torque on the steer axis [N m] that an element adds over a step, held; its memory moves on.

    Parameters
    ----------
    kind : int
    size : float
        SI.
    memory : (_MEMORY,)
        Changed in place.
    h : float
        Step [s].
    v : float
        Speed [m/s].
    delta, delta_dot : float
        At the beginning of the step [rad, rad/s].
    free_delta_dot : float
        Steer rate at its end, were there no element [rad/s].
    mobility : float
        Steer rate at the end of the step per N m held [rad/s/(N m)].
    drive : float
        Torque of the drive [N m].
    twist, side : float
        Curvature of the front wheel's path [1/m], and side force on it [N].
    """
    if size == 0.0 or kind == _NO_ELEMENT:
        return 0.0
    if kind == COULOMB:
        return min(max(-free_delta_dot / mobility, -size), size)
    if kind == DEAD_BAND:
        return -min(max(drive, -size), size)
    if kind == HYSTERESIS:
        memory[0] = min(max(memory[0], drive - size), drive + size)
        return memory[0] - drive
    if kind == STOPS:
        if abs(delta + h * free_delta_dot) < 1.0 / size:
            return 0.0
        side_of_stop = 1.0 if delta + h * free_delta_dot > 0.0 else -1.0
        allowed = max(1.0 / size - abs(delta), 0.0) / h  # steer rate that just reaches the stop
        back = (side_of_stop * allowed - free_delta_dot) / mobility
        return min(back, 0.0) if side_of_stop > 0.0 else max(back, 0.0)
    if kind == _PLAY:
        return _play_torque(size, memory, h, delta, delta_dot, free_delta_dot, mobility, drive)
    # tyres: what they follow, with the relaxation length
    wanted = -size * (twist if kind == TWISTING else side)
    memory[0] += (1.0 - np.exp(-h * v / RELAXATION_LENGTH)) * (wanted - memory[0])
    return memory[0]


@njit(cache=True, nogil=True)
def _play_torque(size, memory, h, delta, delta_dot, free_delta_dot, mobility, drive):
    """Torque of the teeth on the axis less that of the drive, mean of a step [N m].

    The rotor (``memory``: its angle and rate against the axis at rest, and whether it has begun) turns on its own
    between the teeth; axis and rotor meet through a stiff spring with a damper, as in the emulated machine.
    """
    axis = mobility / h  # rad/s^2 per N m
    stiffness = _MESH_RATE**2 / (axis + 1.0 / _ROTOR)
    damping = 2.0 * _MESH_DAMPING * _MESH_RATE / (axis + 1.0 / _ROTOR)
    free = (free_delta_dot - delta_dot) / h - axis * drive  # rad/s^2, of the axis without the drive
    if memory[2] == 0.0:
        side = 1.0 if drive > 0.0 else -1.0
        memory[0], memory[1], memory[2] = delta + side * 0.5 * size, delta_dot, 1.0
    theta, theta_dot, q, q_dot = memory[0], memory[1], delta, delta_dot
    step, mean = h / _MESH_STEPS, 0.0
    for _ in range(_MESH_STEPS):
        gap = theta - q
        beyond = abs(gap) - 0.5 * size
        push = 0.0
        if beyond > 0.0:
            side = 1.0 if gap > 0.0 else -1.0
            push = side * max(0.0, stiffness * beyond + damping * side * (theta_dot - q_dot))
        mean += push / _MESH_STEPS
        q_dot += step * (free + axis * push)
        theta_dot += step * (drive - push) / _ROTOR
        q += step * q_dot
        theta += step * theta_dot
    memory[0], memory[1] = theta, theta_dot
    return mean - drive


@njit(cache=True, nogil=True)
def _slip_on(slip, compliance, h, v, needed, now, after, rates, tau):
    """Let both tyres slip on over a step; their torques on lean and steer, mean of it, are written.

    Parameters
    ----------
    slip : SlipSteps
    compliance : float
        rad.
    h, v : float
        s, m/s.
    needed : (2,)
        Side forces without slip [N], mean of the step.
    now, after, rates, tau : (4,), (4,), (2,), (2,)
        Slip and side forces, both moved on; slip accelerations [m/s^2]; torques [N m].
    """
    roll_slip(h, v, RELAXATION_LENGTH, slip.loads / compliance, slip.admittance, slip.across, needed, now, after)
    for i in range(2):
        rates[i] = (after[i] - now[i]) / h
    for i in range(2):
        tau[i] = 0.0
        for wheel in range(2):
            tau[i] -= slip.P[i, wheel] * rates[wheel] + 0.5 * v * slip.R[i, wheel] * (now[wheel] + after[wheel])
    now[:] = after


@njit(cache=True, nogil=True)
def _read_slip(slip, v, now, rates, tau, d):
    """Fill ``d`` (4,) with what yaw gyro and accelerometer read of the slip, and of its torques."""
    yaw = slip.yaw[0] * now[0] + slip.yaw[1] * now[1]
    sideways = v * yaw + rates[0] + slip.x_imu * (slip.yaw[0] * rates[0] + slip.yaw[1] * rates[1])
    d[YAW_GYRO] = yaw
    d[LATERAL_FORCE] = sideways + slip.sideways[0] * tau[0] + slip.sideways[1] * tau[1]


@njit(cache=True, nogil=True)
def ride_elements(kinds, sizes, h, machine, torque, rows, side_per_torque, slip, x0):
    """Ride a linear machine with elements: lean rate and steer (n, 2) at each sample.

    Parameters
    ----------
    kinds, sizes : (e,)
        Of the elements, in the order in which they act.
    h : float
        Step [s].
    machine : MachineTables
    torque, rows, side_per_torque
        As of `riderless.experiments.analysis.verdict.simulated_motion.MachineSteps`.
    slip : SlipSteps
    x0 : (m,)
        State at the start.
    """
    n, m = len(machine.v), len(x0)
    out = np.empty((n, 2))
    x, after, memories = x0.copy(), np.empty(m), np.zeros((len(kinds), _MEMORY))
    slipping, after_slip, tau, d = np.zeros(4), np.zeros(4), np.zeros(2), np.zeros(N_INSTRUMENTS)
    rates, needed = np.zeros(2), np.zeros(2)
    mobility = torque[DELTA_DOT]
    for step in range(n * machine.per_sample):
        i = step // machine.per_sample
        v = machine.v[i]
        if step == i * machine.per_sample:
            out[i, 0], out[i, 1] = x[PHI_DOT], x[DELTA]
        map_linear(machine, x, d, i, after)
        drive, twist, side, delta, delta_dot = 0.0, 0.0, 0.0, x[DELTA], x[DELTA_DOT]
        for b in range(m):
            drive += rows[0, b] * x[b]
            twist += rows[1, b] * x[b]
            side += rows[2, b] * x[b]
        for wheel in range(2):
            needed[wheel] = 0.0
            for b in range(m):
                needed[wheel] += 0.5 * slip.needed[wheel, b] * (x[b] + after[b])
        for a in range(m):
            x[a] = after[a]
        for e in range(len(kinds)):
            kind, size, memory = kinds[e], sizes[e], memories[e]
            if kind == TYRE_SLIP:
                if size > 0.0:
                    _slip_on(slip, size, h, v, needed, slipping, after_slip, rates, tau)
                    _read_slip(slip, v, slipping, rates, tau, d)  # at the next step
                    for a in range(m):
                        x[a] += slip.lean[a] * tau[0] + torque[a] * tau[1]
                continue
            carried = side + (
                side_per_torque * memory[0] if kind == PNEUMATIC_TRAIL else 0.0
            )  # the tyre moves the steer
            added = _element_torque(
                kind, size, memory, h, v, delta, delta_dot, x[DELTA_DOT], mobility, drive, twist, carried
            )
            if kind in NEEDS_DRIVE:
                drive += added  # what the next part gets of it
            for a in range(m):
                x[a] += added * torque[a]
    return out
