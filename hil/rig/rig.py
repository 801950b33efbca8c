"""Rig: the wired machine.

Bicycle, ports, rates, places of the instruments and limits, one TOML file each.
"""

import functools
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from riderless.firmware_interface.calibration import Calibration
from riderless.firmware_interface.devices.link import CARRIES, ROLE_DRIVE, ROLES
from riderless.firmware_interface.devices.registry import device
from riderless.hil.design.sampled_plant import LoopTiming
from riderless.hil.loop.limits import Limits
from riderless.hil.loop.observer import MONITOR_RULES, Observer
from riderless.hil.loop.pace.settings import SpeedDrive
from riderless.hil.loop.place.settings import PlaceSettings
from riderless.models.errors import InputError
from riderless.models.linear.prescribed_steer import InnerLoop
from riderless.models.parameters import Bicycle, require_bicycle
from riderless.models.plant.drive_losses import DriveLosses

LAGS_TO_NOTHING = 5.0  # time constants after which less than 1 % of a torque is left


@dataclass(frozen=True)
class RigPort:
    """One serial port, the device behind it, and what that carries."""

    path: str | None = None
    baud: int = 921600
    carries: tuple[str, ...] = ("sensors", "drive")
    device: str = "node"  # a name in `riderless.firmware_interface.devices.registry`
    settings: Mapping[str, float] = field(default_factory=dict)  # the device's own

    @property
    def role(self) -> int:
        """Bits of what it carries: IMU, STEER, WHEEL, DRIVE."""
        return functools.reduce(operator.or_, (CARRIES[name] for name in self.carries), 0)


@dataclass(frozen=True, repr=False)
class Rig:
    """Everything the loop must know of a machine. The defaults are the emulated one.

    ``clock`` says who beats time: "device" ticks when a sample arrives, "host" on the computer's
    own clock. Either way our node obeys a command at its next sampling instant, one period after the
    measurement it answers; a drive that obeys when the command comes has a `command_delay` of its own.
    """

    bicycle: Bicycle
    name: str = "emulated"
    ports: tuple[RigPort, ...] = (RigPort(),)
    clock: Literal["device", "host"] = "device"
    rate: float = 200.0  # Hz
    drive: InnerLoop | None = None  # of a drive that obeys a steer rate or angle; None: it obeys a torque
    drive_lag: float = 0.005  # s, of the drive's torque
    input_delay: float = 0.0  # s, of the drive behind the node, before it obeys
    losses: DriveLosses = DriveLosses()  # of the drive, as a pull test found them
    command_delay: float | None = None  # s, from a sample to the moment its command is obeyed; None: one period
    watchdog: float = 0.025  # s, the drive's own time-out; 3 to 5 periods
    closed_by: Literal["computer", "node"] = "computer"  # node: by a controller in C on board, the computer watches
    x_imu: float = 0.3  # m, on the rear frame, forward of the rear contact
    z_imu: float = -0.5  # m, negative above ground
    calibration: Mapping[str, Any] = field(default_factory=dict)  # keys of Calibration that this machine sets
    observer: Observer = field(default_factory=Observer)
    limits: Limits = field(default_factory=Limits)
    std: Mapping[str, float] = field(default_factory=dict)  # of what is uncertain about it: drive_gain, imu_pitch, ...
    place: PlaceSettings | None = None  # of a machine with a sensor of place
    speed_drive: SpeedDrive | None = None  # of a machine that keeps its speed by itself
    place_days: float = 0.0  # oldest push that vouches for the sensor of place; 0: none is asked for
    heartbeat: bool | Literal["node"] = (
        False  # a relay cuts the drive's enable line when a pulse stops; our node's, or another
    )
    stop_proof: bool = False  # it is armed only after its hardware stop was pressed on the same day
    certificate: str | None = None  # file with a proof that its loop is stable, without which it is not armed
    latency_days: float = 0.0  # oldest latency test that vouches for the computer; 0: none is asked for
    rules: int = MONITOR_RULES  # of the monitor; an old log has older ones
    present: bool = False  # somebody must be at a page that looks on; else nothing arms, and what runs ramps down
    drivers: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # from outside, of a log: none is loaded

    def __post_init__(self) -> None:
        require_bicycle(self.bicycle)
        carried = [CARRIES[name] & part for port in self.ports for name in port.carries for part in ROLES.values()]
        if sorted(filter(None, carried)) != sorted(ROLES.values()):
            carriers = [", ".join(port.carries) for port in self.ports]
            raise InputError(
                f"the ports of a rig must carry {', '.join(ROLES)} once each, together or apart ('sensors' is the "
                f"first three), found {carriers}: say in each [[port]] what it carries"
            )
        if self.closed_by not in ("computer", "node"):
            raise InputError(f"the loop of a rig is closed by computer or node, found '{self.closed_by}': choose one")
        self._require_place()
        self._require_speed_drive()
        self._require_losses()
        if self.heartbeat == "node" and not any(port.device == "node" for port in self.ports):
            raise InputError(
                'heartbeat = "node" in [drive] wants a [[port]] of our node, whose pin makes the pulse, found none: '
                "add one, or say heartbeat = true for a pulse of another board"
            )
        if self.drive_kind == "angle":
            self.limits.require_order((("steer_command", "steer"),))
        if self.command_delay is not None and not 0.0 < self.command_delay <= self.dt:
            raise InputError(
                f"the rig's command delay must be above 0 and at most one period of {self.dt:g} s, found "
                f"{self.command_delay:g} s: measure it with a torque step, or leave it out"
            )
        for port in self.ports:
            if port.device in self.drivers:
                continue
            driver = device(port.device)
            if port.role & ~driver.carries:
                able = ", ".join(name for name, part in CARRIES.items() if name != "sensors" and part & driver.carries)
                raise InputError(
                    f"a {port.device} can carry {able}, found {', '.join(port.carries)}: correct what its [[port]] "
                    "carries"
                )
            driver.require_room(port.role, driver.settled(port.settings), self.rate, port.baud)

    def beats_at(self, port: RigPort) -> bool:
        """Tell whether a port's node makes the heartbeat of another device's drive: it is armed with that drive."""
        return self.heartbeat == "node" and port.device == "node" and not port.role & ROLE_DRIVE

    def _require_losses(self) -> None:
        """Refuse losses of torque commands where the drive obeys something else."""
        stated = [name for name in self.losses.told if name != "friction"]
        if self.drive is not None and stated:
            raise InputError(
                f"{', '.join(stated)} of a drive say what becomes of a torque commanded, but the drive of the rig "
                f"'{self.name}' obeys a steer {self.drive.kind}: leave them out; friction may stay"
            )

    def _require_place(self) -> None:
        """Refuse two sensors of place, settings without one, and one in a node that tells no place."""
        sensors = sum("place" in port.carries for port in self.ports)
        if sensors > 1:
            raise InputError(
                f"a rig has one sensor of place, found {sensors} ports that carry it: leave out the others"
            )
        if bool(sensors) != (self.place is not None):
            half = "[place] and no port that carries it" if self.place else "a port that carries place and no [place]"
            raise InputError(
                f'a sensor of place wants a [[port]] with carries = ["place"] and a table [place], found {half}: add '
                "what is missing"
            )

    def _require_speed_drive(self) -> None:
        """Refuse a drive that keeps the speed without its settings, settings without it, and two of them."""
        drives = sum("speed" in port.carries for port in self.ports)
        if drives > 1 or bool(drives) != (self.speed_drive is not None):
            raise InputError(
                'a treadmill or driven wheel wants one [[port]] with carries = ["speed"] and a table [speed_drive], '
                f"found {drives} such ports and {'a' if self.speed_drive else 'no'} table: correct what is wrong"
            )

    def __repr__(self) -> str:
        devices = ", ".join(port.device for port in self.ports)
        return f"Rig({self.name}: {self.bicycle.name}, {self.rate:g} Hz, {devices})"

    @property
    def dt(self) -> float:
        """Nominal period of the loop [s]."""
        return 1.0 / self.rate

    @property
    def obeyed_after(self) -> float:
        """Time from a sample to the moment its command is obeyed [s]: `command_delay`, or one period."""
        return self.dt if self.command_delay is None else self.command_delay

    @property
    def torque_gone(self) -> float:
        """Time from a motion to the moment when a torque that is cut for it is gone [s]: below 1 % of what it was."""
        return self.dt + self.obeyed_after + self.input_delay + LAGS_TO_NOTHING * self.drive_lag

    @property
    def stop_time(self) -> float:
        """Longest time from a stop to the moment when the torque is gone [s], whatever becomes of the computer.

        At worst the computer dies as the ramp ends: then nothing but the watchdog takes the last torque away, and
        commands expire no later. What was obeyed last goes through the drive's input and lag.
        """
        return self.limits.ramp.value + self.watchdog + self.torque_gone

    @property
    def drive_kind(self) -> str:
        """Quantity that the drive obeys: torque, rate or angle."""
        return self.drive.kind if self.drive else "torque"

    @property
    def timing(self) -> LoopTiming:
        """Timing of the loop, for the design of controllers; an inner loop in the drive has a lag of its own."""
        lag = 0.0 if self.drive else self.drive_lag
        return LoopTiming(rate=self.rate, delay=self.obeyed_after / self.dt, drive_lag=lag)

    def require_path_for_each_port(self, paths: Sequence[str]) -> None:
        """Refuse paths of devices that are not as many as the ports. Raises InputError."""
        if len(paths) != len(self.ports):
            raise InputError(
                f"wanted as many paths as the rig '{self.name}' has ports, {len(self.ports)}, found {len(paths)} "
                f"({', '.join(map(str, paths)) or 'none'}): give one for each, in the order of the rig file; on the "
                "command line give --port once for each"
            )

    def calibrated(self, **scales: float) -> Calibration:
        """Counts to SI for this machine; ``scales`` are what the device says of itself.

        Raises
        ------
        InputError
            For a calibration key that does not exist.
        """
        values = {"wheel_radius": self.bicycle.rR, **scales, **self.calibration}
        if values["wheel_radius"] == 0.0:
            raise InputError(
                f"{self.bicycle.name} has a skate for its rear wheel, so nothing turns that would show a speed: theory "
                "knows it (eig, modes, design), and no machine rides it; take a bicycle with a rear wheel"
            )
        try:
            return Calibration(**values)
        except TypeError:
            known = ", ".join(f.name for f in fields(Calibration))
            raise InputError(
                f"unknown calibration key among {sorted(self.calibration)}: the keys are {known}"
            ) from None
