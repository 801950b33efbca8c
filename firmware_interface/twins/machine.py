"""Emulated machine on pseudo-terminals.

One plant, a pseudo-terminal for each device on it, one clock. It steps at `STEP_RATE`, or once per sample where the
drive samples by itself and no other device wants more: fewer steps are sooner done on a busy computer. In each step the
plant advances under the torque the drive made of what it had been told before; then every device takes the bytes that
have come in, answers, measures, and says what it says unasked. Each way of each line is as slow as its baud rate and as
damaged as its faults ask for.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module

import numpy as np

from riderless.firmware_interface.devices.link import ROLE_DRIVE, RX_SIZE
from riderless.firmware_interface.devices.outside import outside_twin
from riderless.firmware_interface.devices.registry import DEVICES, device
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.framing import BITS_PER_BYTE
from riderless.firmware_interface.twins.faults import READING_NAMES, TO_COMPUTER, TO_NODE, Faults, pack_faults
from riderless.firmware_interface.twins.faulty_link import fetch, new_mail, post
from riderless.firmware_interface.twins.paced_line import PacedLine, SamplingSchedule
from riderless.firmware_interface.twins.place.packet_line import PacketLine, PacketOutlet
from riderless.firmware_interface.twins.pseudo_port import PseudoPort
from riderless.firmware_interface.twins.twin import STEP_RATE, Twin, TwinConfig
from riderless.firmware_interface.twins.virtual_node import PlantLike, Report, take_readings


@dataclass(frozen=True)
class StationConfig:
    """Device of the machine: its name in the registry, what it is, and the baud rate of its line."""

    device: str
    twin: TwinConfig
    baud: int
    line_faults: Faults = ()  # kinds that damage bytes; `way` says which


@dataclass(frozen=True)
class MachineConfig:
    """Devices of an emulated machine, in the order of its ports; one of them carries the drive.

    ``step_rate`` [Hz] is `STEP_RATE` where a device answers when asked.
    """

    stations: tuple[StationConfig, ...]
    step_rate: int = STEP_RATE

    def __post_init__(self) -> None:
        drives = sum(bool(station.twin.carries & ROLE_DRIVE) for station in self.stations)
        if drives != 1:
            raise DeviceError(f"an emulated machine needs one drive, found {drives}: let one of its devices carry it")

    def make(self, plant: PlantLike, faults: Faults = (), report: np.ndarray | None = None) -> "VirtualMachine":
        """Make the machine, switched on; ``faults`` damage the bytes of its first line."""
        return VirtualMachine(plant, self, faults, report)


def new_twin(name: str, config: TwinConfig) -> Twin:
    """Make the twin of a device, as after power-up; raises DeviceError."""
    if name not in DEVICES:
        return outside_twin(name)(config)
    twin: Twin = import_module(f"riderless.firmware_interface.twins.{DEVICES[name]}").make(config)
    return twin


def _outlet(config: StationConfig, up: np.void) -> tuple[PseudoPort | PacketOutlet, PacedLine]:
    """Make the port of a device, and the line on which ``up`` comes to it."""
    driver = device(config.device)
    if not driver.over_udp:
        port = PseudoPort()
        return port, PacedLine(port.fd, up)
    outlet = PacketOutlet()
    return outlet, PacketLine(outlet.fd, up, driver.traffic(config.twin.carries, config.twin.settings).up)


class _Station:
    """Twin, its pseudo-terminal, and the bytes under way on its line."""

    def __init__(self, config: StationConfig, faults: Faults) -> None:
        self._config = config
        self.twin = new_twin(config.device, config.twin)
        self.drives = bool(config.twin.carries & ROLE_DRIVE)
        self._faults = pack_faults(config.line_faults + faults)
        pace = 0.0 if device(config.device).over_udp else BITS_PER_BYTE / config.baud
        self._up, self._down = (new_mail(pace) for _ in range(2))
        self.port, self.line = _outlet(config, self._up)
        self.path = self.port.path
        self._rx = np.zeros(RX_SIZE, np.uint8)

    def compile(self) -> None:
        """Let a twin that is thrown away hear and speak: the first question would else wait for the compiler."""
        twin = new_twin(self._config.device, self._config.twin)
        twin.hear(b"\n\0", 0.0)
        twin.instant(0.0, np.zeros(len(READING_NAMES)))

    def see(self, plant: PlantLike) -> None:
        """Let a sensor of place look at the bicycle; a plant on a stand has no place but the belt's middle."""
        look = getattr(self.twin, "see", None)
        if look is not None:
            look(*(float(getattr(plant, name, 0.0)) for name in ("x_P", "y_P", "psi", "phi", "pace")))

    def drive(self, plant: PlantLike) -> None:
        """Let a treadmill keep the speed of the bicycle; a plant on a stand has none."""
        kept, keep = getattr(self.twin, "belt_speed", None), getattr(plant, "keep_speed", None)
        if kept is not None and keep is not None:
            keep(*kept)

    def step(self, t: float, now: float, since: float, readings: np.ndarray) -> None:
        """Hear, answer, measure, speak.

        Parameters
        ----------
        t : float
            Time on the device's clock [s].
        now : float
            Time on the host's clock [s].
        since : float
            Host time of the step before [s]. What has come in began its way down the line then: where a step is as
            long as a sample, a command would otherwise be heard a whole sample late.
        readings : ndarray, shape (len(READING_NAMES),)
            What the sensors measure, in their order and units.
        """
        n = self.line.read(self._rx)
        if n > 0 or self._faults.size > 0:  # an attacker may speak when nobody does
            post(self._down, self._faults, TO_NODE, self._rx, n, t, since)
        n = fetch(self._down, now, self._rx)
        if n > 0:
            self._say(self.twin.hear(self._rx[:n].tobytes(), t), t, now)
        self._say(self.twin.instant(t, readings), t, now)

    def _say(self, data: bytes, t: float, now: float) -> None:
        if data:
            post(self._up, self._faults, TO_COMPUTER, np.frombuffer(bytearray(data), np.uint8), len(data), t, now)

    @property
    def lost(self) -> int:
        """Bytes that nobody read in time."""
        return self.line.bytes_dropped + int(self._up["lost"])

    def close(self) -> None:
        """Hang up."""
        self.port.close()


class VirtualMachine:
    """Twins on pseudo-terminals in front of one plant; the interface of `VirtualNode`.

    Attributes
    ----------
    paths : list of str
        Pseudo-terminals, in the order of the stations.
    """

    def __init__(
        self, plant: PlantLike, config: MachineConfig, faults: Faults = (), report: np.ndarray | None = None
    ) -> None:
        self._plant = plant
        self._report = np.zeros(len(Report._fields)) if report is None else report
        self._period = 1.0 / config.step_rate
        self._stations = [_Station(c, faults if i == 0 else ()) for i, c in enumerate(config.stations)]
        self._drive = next(station.twin for station in self._stations if station.drives)
        self._readings = np.zeros(len(READING_NAMES))
        self._k = 0
        self._schedule = SamplingSchedule(self._period)
        self.paths = [station.path for station in self._stations]

    def warm_up(self) -> None:
        """Run the first two steps untimed: what is to be compiled, the plant too, then is."""
        for station in self._stations:
            station.compile()
        for _ in range(2):
            self._step(time.monotonic())

    def serve(self, stop: Callable[[], bool]) -> None:
        """Run in real time until ``stop()``."""
        lines: Sequence[PacedLine] = [station.line for station in self._stations]
        self._schedule.begin()
        while not stop():
            self._step(self._schedule.wait(lines))
            for station in self._stations:
                station.port.release_if_left()

    def close(self) -> None:
        """Hang up everywhere."""
        for station in self._stations:
            station.close()

    def _step(self, now: float) -> None:
        t = self._k * self._period
        if self._k > 0:
            self._plant.advance(self._drive.T, self._drive.enabled, self._period)
        take_readings(self._plant, self._readings)
        for station in self._stations:
            station.see(self._plant)
            station.step(t, now, now + 1 / STEP_RATE - self._period, self._readings)
            station.drive(self._plant)
        self._k += 1
        self._write_report(t, now)

    def _write_report(self, t: float, now: float) -> None:
        report = Report(
            t=t,
            samples=self._k,
            slips=self._schedule.slips,
            bytes_dropped=sum(station.lost for station in self._stations),
            enabled=self._drive.enabled,
            T=self._drive.T,
        )
        self._report[:] = report
