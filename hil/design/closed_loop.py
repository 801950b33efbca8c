"""Whole sampled loop as one linear map.

Bicycle, drive, delay, hold, observer and controller. A kicked, controlled bicycle shows the eigenvalues of this map,
not those of the design model, which knows no observer. At constant speed the observer is linear, so its matrices are
read off the compiled observer itself by unit vectors: there is no second description of it to disagree.

What stands where in its state says `riderless.hil.design.loop_parts.state_layout`. A drive that obeys a steer rate or
angle makes its torque from the steer's error (`riderless.models.linear.prescribed_steer.driven_steer`), with the lag of
its torque: it need not be quick.
"""

import math
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from riderless.hil.controllers.controller import Controller, LinearLaw
from riderless.hil.design.loop_parts import lane_part, starts
from riderless.hil.design.loop_parts.instruments import MEASURED_CHANNELS as MEASURED_CHANNELS
from riderless.hil.design.loop_parts.instruments import gyro_readings as gyro_readings
from riderless.hil.design.loop_parts.instruments import instrument_map as instrument_map
from riderless.hil.design.loop_parts.instruments import yaw_rate as yaw_rate
from riderless.hil.design.loop_parts.observer_part import OBSERVED, observer_maps
from riderless.hil.design.loop_parts.plant_part import sample_plant
from riderless.hil.design.loop_parts.state_layout import DRIVE_SIGNALS, OBSERVER_PART, PLANT_PART, state_layout
from riderless.hil.design.sampled_plant import U_PREV, Z_ROUNDING, LoopTiming, SampledModel, continuous
from riderless.hil.design.schedule import require_same_kind
from riderless.hil.loop.observer import Observer
from riderless.hil.loop.place.settings import PlaceSettings
from riderless.models.array_types import Array
from riderless.models.coordinates import PHI_DOT
from riderless.models.linear.perturbed import Variant
from riderless.models.linear.prescribed_steer import InnerLoop
from riderless.models.parameters import Bicycle

MISREAD_STEP = 0.02  # m/s, for the difference quotient of `SampledLoop.misread`
MIN_DELAY = 1e-6  # s; the loop has a command that it follows now and one that comes
PLANTS_KEPT = 8  # speeds at which plant and readings are kept: a window asks for its beginning, mean and end in turn
_DELAY_ROUNDING = 1e-9  # of a sample
Kept = TypeVar("Kept")
_ESTIMATES_USED = tuple(OBSERVER_PART.start + OBSERVED.index(name) for name in ("psi_dot", "phi"))


class LoopHardware(Protocol):
    """Part of a rig that its sampled loop depends on; `riderless.hil.rig.rig.Rig` has all of it."""

    @property
    def bicycle(self) -> Bicycle: ...
    @property
    def observer(self) -> Observer: ...
    @property
    def dt(self) -> float: ...
    @property
    def drive(self) -> InnerLoop | None: ...
    @property
    def drive_lag(self) -> float: ...
    @property
    def command_delay(self) -> float | None: ...
    @property
    def x_imu(self) -> float: ...
    @property
    def z_imu(self) -> float: ...
    @property
    def place(self) -> PlaceSettings | None: ...


class SampledLoop:
    """Bicycle under a controller, as the lab's machine runs it.

    Parameters
    ----------
    bicycle : Bicycle
    schedule : Controller
        Gains over speed, or another controller that tells how it is linearised.
    observer : Observer
    dt : float
        Sampling interval [s].
    drive_lag : float
        First-order lag of the drive [s], above 0.
    x_imu, z_imu : float
        Place of the inertial sensor on the rear frame [m].
    command_delay : float
        From a sample to the moment its command is obeyed [s], above 0; by default one interval.
    steer_age : float
        s, how much older the steer angle is than the inertial readings.
    real : Variant
        The machine that the loop, designed for ``bicycle``, really moves; by default it is as designed.
    more_delay : float
        s, by which a command is obeyed later than ``command_delay`` says, unknown to the observer.
    drive : InnerLoop or None
        Of a drive that obeys a steer rate or angle, as the controller commands; None: a torque.
    place : PlaceSettings or None
        Of the sensor of place, for a controller that keeps a lane; None: a usual one.
    """

    def __init__(
        self,
        bicycle: Bicycle,
        schedule: Controller,
        *,
        observer: Observer,
        dt: float,
        drive_lag: float,
        x_imu: float,
        z_imu: float,
        command_delay: float | None = None,
        steer_age: float = 0.0,
        real: Variant | None = None,
        more_delay: float = 0.0,
        drive: InnerLoop | None = None,
        place: PlaceSettings | None = None,
    ) -> None:
        require_same_kind(schedule, drive)
        self.drive = drive
        self.bicycle, self.schedule, self.dt = bicycle, schedule, dt
        self.real = real or Variant(bicycle)
        delay = max((dt if command_delay is None else command_delay) + more_delay, MIN_DELAY) / dt
        whole = math.ceil(delay - _DELAY_ROUNDING) - 1  # samples that a command waits before its last, partial one
        self._timing = LoopTiming(rate=1.0 / dt, delay=min(delay - whole, 1.0), drive_lag=drive_lag)
        self._x_imu, self._z_imu, self._steer_age = x_imu, z_imu, steer_age
        self._settings = observer.as_record(bicycle, dt, drive_lag, x_imu, z_imu, command_delay)
        self.layout = state_layout(schedule, drive, whole)
        self.states = self.layout.states
        if self.layout.keeps_lane:
            self._tracking = (place or PlaceSettings()).as_record(bicycle, dt)
        self.output = np.zeros(len(self.states))
        self.output[PHI_DOT] = 1.0
        self._plants: dict[float, SampledModel] = {}  # the latest, by speed
        self._readings: dict[float, Array] = {}  # likewise

    @classmethod
    def of_rig(
        cls,
        rig: LoopHardware,
        schedule: Controller,
        *,
        steer_age: float = 0.0,
        real: Variant | None = None,
        more_delay: float = 0.0,
    ) -> "SampledLoop":
        """Sampled loop of a rig: its bicycle, observer, timing and place of the inertial sensor.

        Parameters
        ----------
        rig : Rig
        schedule : Controller
        steer_age, real, more_delay
            As of the class.
        """
        return cls(
            rig.bicycle,
            schedule,
            observer=rig.observer,
            dt=rig.dt,
            drive_lag=rig.drive_lag,
            x_imu=rig.x_imu,
            z_imu=rig.z_imu,
            command_delay=rig.command_delay,
            steer_age=steer_age,
            real=real,
            more_delay=more_delay,
            drive=rig.drive,
            place=rig.place,
        )

    def __repr__(self) -> str:
        law, states = self.schedule.method, len(self.states)
        return f"<SampledLoop: {self.bicycle.name} under {law}, {1.0 / self.dt:g} Hz, {states} states>"

    def instruments(self, v: float) -> Array:
        """Output matrix to the instruments at measured speed ``v`` [m/s], (4, m); rows as `MEASURED_CHANNELS`."""
        H = np.zeros((len(MEASURED_CHANNELS), len(self.states)))
        H[:, PLANT_PART] = self._readings_at(v)
        return H

    def _plant_at(self, v: float) -> SampledModel:
        """Bicycle and drive over one sample."""
        if v not in self._plants:
            model = sample_plant(self.real, v, self._timing, self.drive, self.layout.keeps_lane)
            _keep(self._plants, v, model)
        return self._plants[v]

    def _readings_at(self, v: float) -> Array:
        """Output matrix (4, 6) of bicycle and drive to the instruments."""
        if v not in self._readings:
            H = instrument_map(self.real, v, x_imu=self._x_imu, z_imu=self._z_imu, steer_age=self._steer_age)
            _keep(self._readings, v, H)
        return self._readings[v]

    def matrix(self, v: float, read: float | None = None) -> Array:
        """Matrix of the map over one sample at measured speed ``v`` [m/s], (m, m), of ``states``.

        Where gains and observer went by another speed, ``read`` is that.
        """
        read = v if read is None else read
        model, H = self._plant_at(v), self._readings_at(v)
        motion, n = self.layout.motion, len(self.layout.motion)
        E, S = observer_maps(self._settings, read, self._steer_age)
        law = self.schedule.linearised(read)
        whole = np.zeros((len(self.states), len(self.states)))
        whole[np.ix_(motion, motion)] = model.F[:n, :n]
        whole[OBSERVER_PART, PLANT_PART] = S @ H
        whole[OBSERVER_PART, OBSERVER_PART] = E
        if self.layout.keeps_lane:
            lane_part.track(whole, self._tracking, read, self.layout.lane, _ESTIMATES_USED)
        inputs = self._told(law, whole, H)
        whole[U_PREV] = law.D @ inputs  # the next command, from the estimates just made
        whole[U_PREV, self.layout.law] += law.C
        whole[self.layout.law] = law.B @ inputs
        whole[self.layout.law, self.layout.law] += law.A
        commands = self.layout.commands
        whole[commands[1:], commands[:-1]] = 1.0
        whole[motion, commands[-1]] += model.F[:n, n]  # until the new command is obeyed
        if self.layout.waiting:
            whole[motion, commands[-2]] += model.G[:n]
        else:
            whole[motion] += np.outer(model.G[:n], whole[U_PREV])
        return whole

    def _told(self, law: LinearLaw, whole: Array, H: Array) -> Array:
        """Inputs of the law (p, m) from the state before; rows of ``whole`` are the estimates just made."""
        inputs, estimates = np.zeros((len(law.inputs), len(self.states))), whole[OBSERVER_PART]
        for row, name in zip(inputs, law.inputs, strict=True):
            if name in OBSERVED:
                row[:] = estimates[OBSERVED.index(name)]
            elif name in lane_part.LANE_TOLD:
                row[:] = whole[self.layout.lane][lane_part.LANE_TOLD[name]]
            elif name in MEASURED_CHANNELS:
                row[PLANT_PART] = H[MEASURED_CHANNELS.index(name)]
            elif name in DRIVE_SIGNALS:
                row[DRIVE_SIGNALS[name]] = 1.0
        return inputs

    def law_inputs(self, v: float) -> Array:
        """Matrix (p, m) from the state before to what the controller is told at speed ``v`` [m/s]."""
        return self._told(self.schedule.linearised(v), self.matrix(v), self._readings_at(v))

    def input_vector(self, v: float) -> Array:
        """Change of the next state per N m (rad/s, rad) added to the command at a sample, (m,)."""
        whole = np.zeros(len(self.states))
        whole[U_PREV] = 1.0
        if not self.layout.waiting:
            whole[self.layout.motion] = self._plant_at(v).G[: len(self.layout.motion)]
        return whole

    def misread(self, v: float) -> Array:
        """Change of `matrix` per m/s by which the controller reads a speed other than ``v``, (m, m)."""
        return (self.matrix(v, v + MISREAD_STEP) - self.matrix(v)) / MISREAD_STEP

    def noise(self, v: float, stds: Array) -> Array:
        """Change of the next state by one sample of noise in each instrument, (m, 4).

        Parameters
        ----------
        v : float
            Speed [m/s].
        stds : (4,)
            Standard deviations in the order and units of `MEASURED_CHANNELS`.
        """
        _, S = observer_maps(self._settings, v, self._steer_age)
        N = np.zeros((len(self.states), len(MEASURED_CHANNELS)))
        N[OBSERVER_PART] = S * stds
        if self.layout.keeps_lane:
            lane_part.track(N, self._tracking, v, self.layout.lane, _ESTIMATES_USED, own=False)
        law = self.schedule.linearised(v)
        return self._commanded(v, N, law, np.array([self._noise_told(name, N, stds) for name in law.inputs]))

    def place_noise(self, v: float, sigma: float) -> Array:
        """Change of the next state by one sample's noise of the sensor of place, (m,); none without a lane.

        Parameters
        ----------
        v : float
            Speed [m/s].
        sigma : float
            Standard deviation [m] of a fix, if one came with every sample.
        """
        N = np.zeros((len(self.states), 1))
        if not self.layout.keeps_lane:
            return N[:, 0]
        N[self.layout.lane, 0] = lane_part.fix_noise(self._tracking, v, sigma)
        law = self.schedule.linearised(v)
        inputs = np.array(
            [N[self.layout.lane][lane_part.LANE_TOLD[x]] if x in lane_part.LANE_TOLD else [0.0] for x in law.inputs]
        )
        return self._commanded(v, N, law, inputs)[:, 0]

    def _commanded(self, v: float, N: Array, law: LinearLaw, inputs: Array) -> Array:
        """Noise ``N`` (m, k) of the estimates, with what the law makes of that in its inputs, ``inputs`` (p, k)."""
        N[U_PREV] = law.D @ inputs
        N[self.layout.law] = law.B @ inputs
        if not self.layout.waiting:
            N[self.layout.motion] += np.outer(self._plant_at(v).G[: len(self.layout.motion)], N[U_PREV])
        return N

    def _noise_told(self, name: str, N: Array, stds: Array) -> Array:
        """Noise of each instrument in one input of the law, (4,), with that in the estimates ``N`` (m, 4)."""
        if name in OBSERVED:
            return np.asarray(N[OBSERVER_PART][OBSERVED.index(name)])
        if name in lane_part.LANE_TOLD:
            return np.asarray(N[self.layout.lane][lane_part.LANE_TOLD[name]])
        if name in MEASURED_CHANNELS:
            return np.diag(stds)[MEASURED_CHANNELS.index(name)]
        return np.zeros(len(stds))

    def embed(self, v: float) -> Array:
        """Matrix from a bicycle state in motion to the whole loop state, (m, 4).

        Estimates are as the readings say and the drive has settled; a law with states has them from the same motion
        since a kick a moment ago, and so has a drive that leads the steer.
        """
        return starts.start_in_motion(self, v)

    def hidden_starts(self, v: float) -> Array:
        """States in which a window may begin and which no reading shows, one standard deviation each, (m, k).

        The slow errors of the observer, and what the states of the law, and of a drive that leads the steer, reach
        after a usual kick.
        """
        return starts.hidden_starts(self, v)

    def eigenvalues(self, v: float) -> NDArray[np.complex128]:
        """Eigenvalues at speed ``v`` in continuous terms, log(z) / dt [1/s]; those at z = 0 left out."""
        z = np.linalg.eigvals(self.matrix(v)).astype(complex)
        return continuous(z[np.abs(z) > Z_ROUNDING], self.dt)


def _keep(latest: dict[float, Kept], v: float, loop: Kept) -> None:
    """Keep what was made for a speed, and let go the eldest where there are too many."""
    if len(latest) == PLANTS_KEPT:
        del latest[next(iter(latest))]
    latest[v] = loop
