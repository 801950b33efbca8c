"""A run from beginning to end: port, hello, loop, log, operator, and zero torque on every way out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from firmware_interface.calibration import Calibration
from firmware_interface.port import hello, open_port
from firmware_interface.virtual import NodeConfig
from hil import lockstep, log, realtime
from hil.design.schedule import GainSchedule
from hil.operator import Operator, Outcome
from hil.provenance import provenance
from hil.rig import Rig
from hil.states import State
from hil.tick import new_loop
from models.errors import InputError
from models.plant import Drive, Instruments, Plant, Scenario, Surroundings
from models.whipple import canonical

_HELLO_TIMEOUT = 2.0  # s
Watcher = Callable[[np.void], None]


def emulated_node(rig: Rig) -> NodeConfig:
    """The node that the emulated rig carries."""
    return NodeConfig(
        calibration=rig.calibrated(),
        rate_hz=round(rig.rate),
        torque_limit=rig.limits.torque.value,
        watchdog_ms=round(1e3 * rig.watchdog),
        baud=rig.baud,
    )


@dataclass(frozen=True)
class Emulation:
    """What an emulated machine is, beyond its rig: equations of motion, surroundings, and how good its drive is."""

    model: str = "linear"  # a name in `models.plant.MODELS`
    surroundings: Surroundings = Surroundings()
    drive: Drive = Drive()  # lag and greatest torque are the rig's


def emulated_plant(rig: Rig, scenario: Scenario, emulation: Emulation = Emulation()) -> Plant:
    """The bicycle of the emulated rig, with the rig's drive and instruments where the rig says they are."""
    return Plant(
        rig.bicycle,
        scenario,
        replace(emulation.drive, lag=rig.drive_lag, torque_max=rig.limits.torque.value),
        Instruments(x_imu=rig.x_imu, z_imu=rig.z_imu, gyro_bias=(0.01, -0.02, 0.015), accel_bias=(0.0, 0.02, 0.0)),
        emulation.model,
        emulation.surroundings,
    )


def require_fitting(rig: Rig, schedule: GainSchedule) -> None:
    """Refuse gains that were designed for another rate than the rig's.

    Raises
    ------
    InputError
    """
    if abs(schedule.rate - rig.rate) > 1e-6 * rig.rate:
        raise InputError(
            f"the gains were designed for {schedule.rate:g} Hz but the rig runs at {rig.rate:g} Hz: "
            f"design them again with --rate {rig.rate:g}"
        )


def run_lockstep(
    folder: Path,
    rig: Rig,
    schedule: GainSchedule,
    scenario: Scenario,
    duration: float,
    label: str = "",
    watch: Watcher | None = None,
    emulation: Emulation = Emulation(),
) -> Outcome:
    """Run against the plant in memory for ``duration`` s of RUNNING; writes the run to ``folder``."""
    require_fitting(rig, schedule)
    calibration = rig.calibrated()
    loop = new_loop(rig, schedule, calibration.as_record())
    operator, plant = Operator(duration), emulated_plant(rig, scenario, emulation)
    about = {"label": label or folder.name, "scenario": scenario, "emulation": emulation}
    extra = {"runner": "lockstep", **about}
    with log.RunWriter(folder, header(rig, schedule, calibration, extra, simulated=True), simulated=True) as writer:
        keep = _Keeper(writer, watch, plant)
        lockstep.run(loop, plant, emulated_node(rig), operator, keep)
        outcome = operator.outcome()
        if keep.fall and outcome.reason == "success":
            outcome = Outcome("fault", f"the bicycle fell: {keep.fall}")
        writer.close(outcome.reason, outcome.cause)
    return outcome


def run_realtime(
    folder: Path,
    rig: Rig,
    schedule: GainSchedule,
    port: str,
    duration: float,
    label: str = "",
    extra: Mapping[str, Any] | None = None,
    watch: Watcher | None = None,
    fifo: int = 0,
) -> Outcome:
    """Run on a serial port for ``duration`` s of RUNNING; writes the run to ``folder``.

    Raises
    ------
    DeviceError
        When the port is missing or busy, or what is behind it is not our node.
    InputError
        When gains, rig and device do not fit together.
    """
    require_fitting(rig, schedule)
    warm_up(rig, schedule)  # before the port is opened: afterwards the device's samples would pile up
    with open_port(port, rig.baud) as opened:
        device = hello(opened, _HELLO_TIMEOUT)
        if device.rate_hz != round(rig.rate):
            raise InputError(
                f"the device on {port} samples at {device.rate_hz} Hz but the rig runs at {rig.rate:g} Hz: "
                "set the rig's rate, or the device's"
            )
        if device.torque_limit < rig.limits.torque.value:
            raise InputError(
                f"the rig allows {rig.limits.torque.value:g} N m but the device on {port} makes no more than "
                f"{device.torque_limit:g} N m: lower the torque limit in the rig"
            )
        rig = replace(rig, watchdog=device.watchdog)  # the time-out that the check has to prove
        calibration = rig.calibrated(
            gyro_lsb=device.gyro_lsb,
            accel_lsb=device.accel_lsb,
            steer_counts_per_turn=device.steer_counts_per_turn,
        )
        loop = new_loop(rig, schedule, calibration.as_record())
        operator = Operator(duration)
        with realtime.privileges(fifo) as settings:
            pass
        about = {
            "runner": "realtime",
            "label": label or folder.name,
            "port": port,
            "device": device,
            "timing": settings,
        }
        head = header(rig, schedule, calibration, {**about, **(extra or {})})
        with log.RunWriter(folder, head) as writer:
            keep = _Keeper(writer, watch)
            recorder = realtime.run(opened.fd, loop, rig.rate, operator, keep, rig.clock, fifo)
            outcome = operator.outcome()
            if recorder.link_error and outcome.reason == "fault":
                outcome = Outcome("fault", f"{outcome.cause}; the port was lost (error {recorder.link_error})")
            writer.close(outcome.reason, outcome.cause, recorder.dropped)
    return outcome


def warm_up(rig: Rig, schedule: GainSchedule) -> None:
    """Compile and load everything a run needs, before anything is armed."""
    realtime.warm_up(new_loop(rig, schedule, rig.calibrated().as_record()))
    log.warm_up()


def header(
    rig: Rig,
    schedule: GainSchedule,
    calibration: Calibration,
    extra: Mapping[str, Any],
    simulated: bool = False,
) -> dict[str, Any]:
    """The first record of a log: all that is needed to say what ran, and to run it again.

    In simulated time there is no date and no command line, so that the same seed gives the same bytes.
    """
    origin = provenance()
    if simulated:
        for key in ("utc", "command"):
            origin.pop(key)
    return {
        **extra,
        "rig": {
            "name": rig.name,
            "baud": rig.baud,
            "clock": rig.clock,
            "rate": rig.rate,
            "drive_lag": rig.drive_lag,
            "watchdog": rig.watchdog,
            "x_imu": rig.x_imu,
            "z_imu": rig.z_imu,
            "observer": vars(rig.observer),
            "limits": rig.limits.as_dict(),
            "calibration": vars(calibration),
        },
        "bicycle": rig.bicycle.as_dict(),
        "matrices": canonical(rig.bicycle)._asdict(),
        "controller": schedule.method,
        "schedule": schedule.to_toml(),
        "provenance": origin,
    }


class _Keeper:
    """Takes batches of rows to the log, marks changes of state and mishaps of the plant, lets somebody watch."""

    def __init__(self, writer: "log.RunWriter", watch: Watcher | None, plant: Plant | None = None) -> None:
        self._writer, self._watch, self._plant = writer, watch, plant
        self._state, self._status = State.DISARMED, ""
        self.fall = ""  # why the plant fell

    def __call__(self, rows: np.ndarray) -> None:
        if len(rows) == 0:
            return
        self._writer.write(rows)
        for row in rows[np.flatnonzero(np.diff(rows["state"], prepend=np.uint32(self._state)))]:
            self._state = State(int(row["state"]))
            self._writer.marker(float(row["t_host"]), "state", self._state.name)
        if self._plant is not None:
            self._look_at(self._plant, float(rows[-1]["t_host"]))
        if self._watch is not None:
            self._watch(rows[-1])

    def _look_at(self, plant: Plant, t: float) -> None:
        """Mark at time ``t`` [s] what has happened to the plant in memory and no instrument tells."""
        if plant.fall and not self.fall:
            self._writer.marker(t, "fall", plant.fall)
        if plant.status not in ("", self._status):
            self._writer.marker(t, "model", plant.status)
        self.fall, self._status = self.fall or plant.fall, plant.status
