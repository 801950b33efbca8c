"""Theory of the machine in a run.

The bicycle alone, or the whole sampled loop with its instruments' noise.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from riderless.experiments.datatypes import Dynamics
from riderless.experiments.dynamics import SAMPLED_LOOP, Mechanics, Theory
from riderless.experiments.theories import open_loop, steer_torque_rates, with_stated_resistance
from riderless.experiments.theory.machine_steps import ROLL_GYRO
from riderless.firmware_interface.devices.link import ROLE_PLACE
from riderless.firmware_interface.devices.registry import device
from riderless.hil.controllers.controller import Controller
from riderless.hil.design.closed_loop import MEASURED_CHANNELS, SampledLoop
from riderless.hil.design.lane import hold_lane_back
from riderless.hil.design.loop_parts.instruments import GYROS
from riderless.hil.design.sampled_plant import BICYCLE_PART, T_DRIVE
from riderless.hil.design.schedule import GainSchedule
from riderless.hil.logs.header import RunHeader
from riderless.hil.loop.states import State
from riderless.hil.rig.rig import Rig
from riderless.models.array_types import Array
from riderless.models.errors import InputError
from riderless.models.linear.perturbed import Variant
from riderless.models.linear.resistance import Resistance
from riderless.models.linear.whipple import totals
from riderless.models.linear.zero_order_hold import zoh
from riderless.models.noise_statistics import uneven_noise_variance, white_noise_variance
from riderless.models.parameters import Bicycle
from riderless.models.plant.drive_losses import DriveLosses

# Samples that are missing or no good in short gaps under control, and how late commands are that wait for the next.
#
# The drive holds its command until a usable sample comes: over a gap of k periods that is k - 1 periods too old at its
# end, and (k - 1) / 2 on average. To first order in the periods such a hold is a delay.


BRIDGED_PERIODS = 4.5  # periods; weave turns by less than a tenth of a radian over as many at 200 Hz


def bridged_samples(ticks: np.ndarray, rate: float) -> Array:
    """Count in rows of a run the samples missing, those due, and the periods that commands waited for them; (3,).

    Counts of several stretches may be added.

    Parameters
    ----------
    ticks : (n,) array
        Rows; those without a usable sample of their own are left out.
    rate : float
        Of the loop [Hz].
    """
    usable = ticks["valid"] == 1
    periods = rate * np.diff(ticks["t"][usable])
    under_control = (ticks["state"][usable][1:] == State.RUNNING) & (periods <= BRIDGED_PERIODS)
    due = np.maximum(np.rint(periods[under_control]), 1.0)
    return np.array([np.sum(due - 1.0), np.sum(due), np.sum(0.5 * due * (due - 1.0))])


def mean_hold(counts: Array, rate: float) -> float:
    """Time by which a run's commands are older than they would be without gaps [s], from its `bridged_samples`."""
    _, due, waited = counts
    return float(waited / max(due, 1.0) / rate)


SPEEDS_KEPT = 256  # speeds: those of a bicycle that slows down by 5 m/s
MOUNTING_STD = {"imu_pitch": float(np.radians(0.3))}  # what the step `mounting` of a calibration leaves
LEAST_NOISE_ROWS = 100
UNEVEN_STEP = 0.1  # of the usual step from sample to sample, by which others differ from it
UNEVEN_COUNTED = 0.05  # of the steps, beside gaps, beyond which samples come unevenly, as in bursts
LONG_STEP = 1.5  # times the usual one from sample to sample, from which on one is missing between them
GAPS_COUNTED = 0.2  # of the steps, beyond which hardly four samples in a row are left to tell the noise
MILLIMETRE_STEP = 12.0**-0.5  # mm, of a fix in whole millimetres
BELT = "treadmill"  # of `riderless.models.plant.scenario.SURFACES`
LINEAR_MODEL = "linear"  # of `riderless.models.plant.records.PLANT_MODELS`


def instrument_noise(ticks: np.ndarray) -> Array:
    """Standard deviations (4,) of white noise in the readings of `MEASURED_CHANNELS`, while RUNNING.

    The steps of an encoder count as noise; what the motion does over a gap, or in uneven steps, does not.
    """
    running = ticks["state"] == State.RUNNING
    if np.count_nonzero(running) < LEAST_NOISE_ROWS:
        return np.zeros(len(MEASURED_CHANNELS))
    t = ticks["t"][running]
    steps = np.diff(t)
    usual = np.median(steps)
    gaps = np.flatnonzero(steps > LONG_STEP * usual) + 1
    gaps = gaps if len(gaps) < GAPS_COUNTED * len(steps) else gaps[:0]
    uneven = np.count_nonzero(np.abs(steps - usual) > UNEVEN_STEP * usual) - len(gaps) > UNEVEN_COUNTED * len(steps)
    t, *readings = (ticks[name][running] for name in ("t", *MEASURED_CHANNELS))
    if len(gaps):
        t, *readings = (np.insert(column, gaps, np.nan) for column in (t, *readings))
    return np.sqrt([uneven_noise_variance(y, t) if uneven else white_noise_variance(y) for y in readings])


def theory_of(
    header: RunHeader, bicycle: Bicycle, ticks: np.ndarray, held: float | None = None, one_of: float = 1.0
) -> Theory:
    """Theory of what moves in a run: the bicycle alone with torque off, else the whole sampled loop.

    Parameters
    ----------
    header : RunHeader
    bicycle : Bicycle
    ticks : (n,) array
        Usable rows.
    held : float or None
        As of `loop_theory` [s]; None: as samples are missing on their way to who closes the loop.
    one_of : float
        As of `loop_theory`.
    """
    if held is None and header.closed_by == "node":
        held = 0.0
    elif held is None:
        held = mean_hold(bridged_samples(ticks, header.rig.rate), header.rig.rate)
    return theory_with(header, bicycle, instrument_noise(ticks), float(np.median(ticks["steer_age"])), held, one_of)


def theory_with(
    header: RunHeader, bicycle: Bicycle, noise: Array, steer_age: float, held: float = 0.0, one_of: float = 1.0
) -> Theory:
    """Theory of what moves in a run whose instruments are as noisy and as late as given.

    Parameters
    ----------
    header : RunHeader
    bicycle : Bicycle
    noise : (4,) array
        As `instrument_noise` gives it.
    steer_age : float
        How much older the steer angle is than the inertial readings [s].
    held, one_of : float
        As of `loop_theory`.
    """
    rig = replace(header.rig, bicycle=bicycle)
    if header.controller == "off":
        return replace(_bicycle_alone(header, bicycle), std=how_well_known(rig))
    schedule, name = header.schedule, header.controller
    if header.excitation.held_back and isinstance(schedule, GainSchedule):
        schedule, name = hold_lane_back(schedule), f"{name}, held back"
    theory = loop_theory(rig, schedule, name, noise, steer_age, held, one_of)
    return _on_road(replace(theory, linear=_is_linear(header)), header)


def loop_theory(
    rig: Rig,
    schedule: Controller,
    name: str,
    noise: Array,
    steer_age: float = 0.0,
    held: float = 0.0,
    one_of: float = 1.0,
) -> Theory:
    """Theory of a rig's whole sampled loop under a controller.

    Parameters
    ----------
    rig : Rig
    schedule : Controller
    name : str
        What the controller is called.
    noise : (4,) array
        Standard deviation of each reading, in the order of `MEASURED_CHANNELS`.
    steer_age : float
        How much older the steer angle is than the inertial readings [s].
    held : float
        By which commands are obeyed later on average than the rig says, for samples are missing or in bursts [s].
    one_of : float
        Samples for each that was answered, if they came in bursts: see `slower_rig`.
    """
    rig = slower_rig(rig, one_of)
    return Theory(
        f"{SAMPLED_LOOP}{name}",
        rig.bicycle,
        _LoopDynamics(rig, schedule, name, noise, steer_age, held),
        how_well_known(rig),
        {"drive_gain": rig.losses.gain} if rig.losses.gain != 1.0 else {},
        losses=rig.losses,
        known_delay=rig.obeyed_after + held,
    )


def slower_rig(rig: Rig, one_of: float) -> Rig:
    """Rig as it runs where one of so many samples is answered: observer and law take longer steps."""
    return rig if one_of == 1.0 else replace(rig, rate=rig.rate / one_of, command_delay=rig.obeyed_after)


def how_well_known(rig: Rig) -> dict[str, float]:
    """Standard deviations of a rig's quantities, SI; where it says nothing of its sensor, what a calibration leaves."""
    return {**MOUNTING_STD, **rig.std}


@dataclass(frozen=True)
class _LoopDynamics:
    """Dynamics of a rig's loop for each variant of its machine; the fields are arguments of `loop_theory`."""

    rig: Rig
    schedule: Controller
    name: str
    noise: Array
    steer_age: float
    held: float

    def __call__(self, real: Variant, more_delay: float) -> Dynamics:
        rig, noise, sigma, late = self.rig, self.noise, fix_deviation(self.rig), self.held + more_delay
        loop = SampledLoop.of_rig(rig, self.schedule, steer_age=self.steer_age, real=real, more_delay=late)
        return Dynamics(
            name=f"{SAMPLED_LOOP}{self.name}",
            states=loop.states,
            matrix=lru_cache(SPEEDS_KEPT)(loop.matrix),  # every window asks for that of its mean speed several times
            output=loop.output,
            embed=lru_cache(SPEEDS_KEPT)(loop.embed),
            dt=loop.dt,
            hidden=lru_cache(SPEEDS_KEPT)(loop.hidden_starts),
            misread=lru_cache(SPEEDS_KEPT)(loop.misread),
            noise=lambda v: np.column_stack([loop.noise(v, noise), loop.place_noise(v, sigma)]),
            reading={
                channel.removesuffix("_meas"): np.append(row, 0.0)
                for channel, row in zip(MEASURED_CHANNELS, np.diag(noise), strict=True)
            },
            mechanics=Mechanics(
                real.bicycle,
                real.matrices,
                real.speed_scale,
                torque=real.drive_gain * np.eye(len(loop.states))[T_DRIVE],
                readings=lambda v: _change_by_readings(loop, v),
                instruments=loop.instruments,
                x_imu=rig.x_imu,
                z_imu=rig.z_imu,
                gyros=real.gyros,
            ),
            steer_torque=lambda v: _steer_torque_after(loop, v),
            drive=lambda v: real.drive_gain * np.eye(len(loop.states))[T_DRIVE],
            command=loop.input_vector,
            roll_gyro=lambda v: loop.instruments(v)[ROLL_GYRO],
        )


def fix_deviation(rig: Rig) -> float:
    """Standard deviation [m] of a fix of place if one came with every sample; 0 without a sensor that tells."""
    for port in rig.ports:
        known = port.role & ROLE_PLACE and port.device not in rig.drivers
        settings = device(port.device).settled(port.settings) if known else {}
        if {"sigma_mm", "rate_Hz"} <= settings.keys():
            every_sample = max(rig.rate / settings["rate_Hz"], 1.0)
            return float(1e-3 * np.hypot(settings["sigma_mm"], MILLIMETRE_STEP) * np.sqrt(every_sample))
    return 0.0


def theory_alone(header: RunHeader) -> Theory:
    """Theory of a run whose bicycle was left to itself now and then."""
    return _bicycle_alone(header, header.bicycle)


def _bicycle_alone(header: RunHeader, bicycle: Bicycle) -> Theory:
    axis = DriveLosses(friction=header.rig.losses.friction)
    return _on_road(replace(open_loop(bicycle), linear=_is_linear(header), losses=axis), header)


def _on_road(theory: Theory, header: RunHeader) -> Theory:
    """Theory with what resists the bicycle of a run: as its protocol states it, or as it was emulated."""
    stated = header.condition.get("resistance", {})
    if stated:
        return with_stated_resistance(theory, stated, f"the protocol of {header.label} [resistance]")
    theory = replace(theory, on_belt=_on_belt(header))
    around = header.emulation.get("surroundings", {})
    names = ("rolling", "rolling_axis", "drag_area", "z_wind")
    if not isinstance(around, Mapping) or not all(isinstance(around.get(name, 0.0), int | float) for name in names):
        raise InputError(f"wanted the surroundings of an emulated run as numbers, found {around!r}: the log is damaged")
    coasts, rolling = bool(around.get("coasting", False)), float(around.get("rolling", 0.0))
    if not header.scenario or (theory.on_belt and rolling == 0.0):
        return theory
    known = {
        "rolling": rolling,
        "rolling_axis": float(around.get("rolling_axis", 1.0)),
        "drag_share": float(coasts and around.get("drag_area", 0.0) > 0.0),
        "drag_height": float(around.get("z_wind", 0.0)) / totals(theory.bicycle).zT,
    }
    known_surely = {**dict.fromkeys(known, 0.0), **theory.std}
    emulated = Resistance(stated=rolling > 0.0)
    return replace(theory, resistance=emulated, moved={**theory.moved, **known}, std=known_surely)


def _on_belt(header: RunHeader) -> bool:
    """Say whether a run's speed was that of a belt: as its scenario says, or where a treadmill is part of the rig."""
    if header.scenario:
        return bool(header.scenario.get("surface", BELT) == BELT)
    return header.rig.place is not None and header.rig.place.belt_width is not None


def _is_linear(header: RunHeader) -> bool:
    """Say whether a run's machine was emulated by linear equations, which hold however far it leans."""
    known = "" if not header.scenario else LINEAR_MODEL  # emulated before a header named its model
    return header.emulation.get("model", known) == LINEAR_MODEL


def _change_by_readings(loop: SampledLoop, v: float) -> Array:
    """Change of the loop's state (m, 4) per unit of what each instrument, well mounted, reads at speed ``v`` [m/s]."""
    change = loop.noise(v, np.ones(len(MEASURED_CHANNELS)))
    change[:, GYROS] = change[:, GYROS] @ loop.real.gyros
    return change


def _steer_torque_after(loop: SampledLoop, v: float) -> Array:
    """Change of the loop's state after one sample per N m held on the steer axis, (m,), at speed ``v`` [m/s].

    What such a torque does to the accelerometer within that sample is left out: the observer follows it slowly.
    """
    change = np.zeros(len(loop.states))
    _, held = zoh(loop.real.system(v)[0], steer_torque_rates(loop.real.matrices(v)[0])[:, np.newaxis], loop.dt)
    change[BICYCLE_PART] = held[:, 0]
    return change
