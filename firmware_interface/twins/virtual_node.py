"""Virtual node on a pseudo-terminal.

It has the bytes of the microcontroller, in front of a given plant.

It keeps the rules of ``node/rules.py``, its own watchdog included, paces its bytes as the line would at
its baud rate, and misbehaves as ``faults.py`` says when asked to. A program that opens
:attr:`VirtualNode.path` cannot tell it from a node.
"""

import multiprocessing
import secrets
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from riderless.firmware_interface.calibration import Calibration
from riderless.firmware_interface.child_processes import QUIET_SPAWN
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.framing import BITS_PER_BYTE, FRAME_OVERHEAD
from riderless.firmware_interface.node.firmware_state import new_firmware
from riderless.firmware_interface.node.guard_limits import GuardLimits
from riderless.firmware_interface.node.layouts import SAMPLE_SIZE
from riderless.firmware_interface.twins.c_node import c_drive_output, c_sampling_instant, new_c_node
from riderless.firmware_interface.twins.faults import READING_NAMES, TO_NODE, Faults
from riderless.firmware_interface.twins.faulty_link import post
from riderless.firmware_interface.twins.faulty_node import drive_output, new_faulty_node, sampling_instant
from riderless.firmware_interface.twins.paced_line import PacedLine, SamplingSchedule, bytes_carried
from riderless.firmware_interface.twins.pseudo_port import PseudoPort

CONTEXT: BaseContext = QUIET_SPAWN  # of the process that serves: a fork would copy threads' locks
START_TIMEOUT = 120.0  # s; a first start compiles
STOP_TIMEOUT = 5.0  # s


class _NodeCore(NamedTuple):
    """Functions that keep the node's rules: switch it on, what its drive makes, one sampling instant."""

    new_node: Callable[..., Any]
    drive_output: Callable[..., tuple[float, bool]]
    sampling_instant: Callable[..., bool]


CORES = {
    "python": _NodeCore(new_faulty_node, drive_output, sampling_instant),
    "c": _NodeCore(new_c_node, c_drive_output, c_sampling_instant),
}


class PlantLike(Protocol):
    """Plant behind the instruments; ``riderless.models.plant.plant.Plant`` is one."""

    def advance(self, T_cmd: float, enabled: bool, dt: float) -> object:
        """Let ``dt`` s pass under the command ``T_cmd``: N m, or rad/s or rad where the drive has an inner loop."""

    def read(self) -> np.ndarray | np.void:
        """Nine readings, as for ``calibration.to_counts``: float64 in an array or a record."""


def take_readings(plant: PlantLike, readings: np.ndarray) -> None:
    """Write what the plant gives into ``readings``; raises DeviceError if that is another number of them."""
    values = np.frombuffer(plant.read(), np.float64)
    if len(values) != len(readings):
        raise DeviceError(f"the plant of a twin must give {len(readings)} readings, found {len(values)}")
    readings[:] = values


@dataclass(frozen=True, kw_only=True)
class NodeConfig:
    """Configuration of a virtual node.

    Parameters
    ----------
    calibration : Calibration
        How its instruments are mounted and scaled. (It reports the wheel's rate, so the default's
        wheel radius is never used.)
    rate_hz, torque_limit, watchdog_ms, name, rate_limit, angle_limit
        As for ``node.rules.new_firmware``.
    baud : int
        bit/s of the line it pretends to be.
    bus : float
        V, supply of the drive.
    core : str
        Who keeps its rules: "python" (``node/rules.py``), or "c" (``firmware/node.c``), which plays fewer faults
        and exists on a pseudo-terminal only.
    guard : GuardLimits or None
        Limits of its guard where no request brings them, in simulated time.
    library : Path or None
        C core with a controller on board.
    """

    calibration: Calibration = field(default_factory=lambda: Calibration(wheel_radius=0.3))
    rate_hz: int = 200
    torque_limit: float = 7.0
    watchdog_ms: int = 25
    name: str = "riderless twin"
    baud: int = 921600
    bus: float = 24.0
    core: str = "python"
    rate_limit: float | None = None
    angle_limit: float | None = None
    guard: GuardLimits | None = None
    library: Path | None = None

    def __post_init__(self) -> None:
        self.new_firmware()
        if self.core not in CORES:
            raise DeviceError(f"the core of a virtual node must be one of {', '.join(CORES)}, found {self.core!r}")
        needed = self.rate_hz * (SAMPLE_SIZE + FRAME_OVERHEAD) * BITS_PER_BYTE
        if self.baud < needed:
            raise DeviceError(
                f"samples at {self.rate_hz} Hz need at least {needed} bit/s, found {self.baud} bit/s; "
                "raise the baud rate or lower the sampling rate"
            )

    def make(self, plant: PlantLike, faults: Faults = (), report: np.ndarray | None = None) -> "VirtualNode":
        """Make the node, switched on."""
        return VirtualNode(plant, self, faults, report)

    def new_firmware(self) -> np.void:
        """Make the firmware of such a node, as after power-up."""
        return new_firmware(
            self.calibration,
            self.rate_hz,
            self.torque_limit,
            self.watchdog_ms,
            self.name,
            rate_limit=self.rate_limit,
            angle_limit=self.angle_limit,
            controller=self.library is not None,
        )


class _Serving(Protocol):
    """Emulation that a process of its own can serve: a `VirtualNode`, or a whole machine of twins."""

    paths: list[str]

    def warm_up(self) -> None:
        """Compile what there is to compile."""

    def serve(self, stop: Callable[[], bool]) -> None:
        """Run in real time until ``stop()``."""

    def close(self) -> None:
        """Hang up."""


class _Servable(Protocol):
    """Configuration that can make a `_Serving`; `NodeConfig` and `twins.machine.MachineConfig` do."""

    def make(self, plant: PlantLike, faults: Faults = (), report: np.ndarray | None = None) -> _Serving:
        """Switch it on in front of ``plant``."""


class Report(NamedTuple):
    """Record that a twin keeps of what it did. Times: ``_t`` device, ``_host`` monotonic clock, s."""

    t: float = 0.0  # latest sampling instant
    samples: float = 0.0  # sent, or held back by a fault
    slips: float = 0.0  # times the twin woke too late and moved its schedule
    bytes_dropped: float = 0.0  # nobody read them in time
    frames_rejected: float = 0.0
    commands: float = 0.0  # obeyed
    enabled: float = 0.0
    T: float = 0.0  # N m, rad/s or rad, commanded to the drive at present
    watchdog_trips: float = 0.0
    refused: float = 0.0  # foreign commands
    heard_t: float = 0.0  # sampling instant of the sample that the newest command answers
    heard_host: float = 0.0  # when it was read
    zero_t: float = 0.0  # sampling instant at which the torque last went to zero
    zero_host: float = 0.0


class VirtualNode:
    """Virtual node on a pseudo-terminal.

    Parameters
    ----------
    plant : PlantLike
    config : NodeConfig
    faults : Faults
    report : (len(Report._fields),) float64 array, optional
        Where to keep the live :class:`Report`; memory shared with another process, for instance.

    Attributes
    ----------
    path : str
        The pseudo-terminal to open; ``paths`` is a list of it.
    """

    def __init__(
        self, plant: PlantLike, config: NodeConfig, faults: Faults = (), report: np.ndarray | None = None
    ) -> None:
        self.config = config
        self._plant = plant
        self._report = np.zeros(len(Report._fields)) if report is None else report
        self._core = CORES[config.core]
        firmware = config.new_firmware()
        firmware["salt"] = secrets.randbits(32)  # as the noise since power-up
        more = {} if config.library is None else {"library": config.library}
        self._node = self._core.new_node(firmware, faults, BITS_PER_BYTE / config.baud, **more)
        self._readings = np.zeros(len(READING_NAMES))
        self._rx = np.zeros(bytes_carried(1 / config.rate_hz, config.baud), np.uint8)
        self._k = 0  # sampling instants so far
        self._schedule = SamplingSchedule(1 / config.rate_hz)
        self._heard_host = self._zero_t = self._zero_host = 0.0
        self._port = PseudoPort()
        self.path = self._port.path
        self.paths = [self.path]
        self._line = PacedLine(self._port.fd, self._node.up)

    def warm_up(self) -> None:
        """Run the first two sampling instants untimed: what is to be compiled, the plant too, then is.

        Raises
        ------
        DeviceError
            If the plant does not give nine readings.
        """
        for _ in range(2):
            self._instant(time.monotonic(), 1 / self.config.rate_hz)

    def serve(self, stop: Callable[[], bool]) -> None:
        """Run in real time until ``stop()`` is true."""
        period = 1 / self.config.rate_hz
        self._schedule.begin()
        while not stop():
            self._instant(self._schedule.wait([self._line]), period)
            self._port.release_if_left()

    def close(self) -> None:
        """Hang up; the path is gone afterwards."""
        self._port.close()

    def _instant(self, now: float, period: float) -> None:
        """Go through one sampling instant, in the order ``faulty_node.py`` prescribes."""
        node, firmware = self._node, self._node.firmware
        t = self._k * period
        T_before, obeyed = float(firmware["T"]), int(firmware["commands"])
        if self._k > 0:
            T, enabled = self._core.drive_output(node, (self._k - 1) * period)
            self._plant.advance(T, enabled, period)
        take_readings(self._plant, self._readings)
        post(node.down, node.faults, TO_NODE, self._rx, self._line.read(self._rx), t, now)
        self._core.sampling_instant(node, self._readings, self.config.bus, t, now)
        if int(firmware["commands"]) > obeyed:
            self._heard_host = now
        if firmware["T"] == 0 and T_before != 0:
            self._zero_t, self._zero_host = t, time.monotonic()
        self._k += 1
        self._write_report(t)

    def _write_report(self, t: float) -> None:
        fw = self._node.firmware
        self._report[:] = Report(
            t=t,
            samples=self._k,
            slips=self._schedule.slips,
            bytes_dropped=self._line.bytes_dropped + int(self._node.up["lost"]),
            frames_rejected=fw["rejected"],
            commands=fw["commands"],
            enabled=fw["enabled"],
            T=fw["T"],
            watchdog_trips=fw["trips"],
            refused=fw["refused"],
            heard_t=1e-6 * fw["heard_us"],
            heard_host=self._heard_host,
            zero_t=self._zero_t,
            zero_host=self._zero_host,
        )


class VirtualProcess:
    """Node or machine of twins that serves in a process of its own; made by :func:`spawn`.

    Attributes
    ----------
    paths : list of str
        The pseudo-terminals to open; ``path`` is the first.
    pid : int
    """

    def __init__(self, process: BaseProcess, paths: list[str], stop: Any, report: Any) -> None:
        self.paths = paths
        self.path = paths[0]
        self.pid = process.pid
        self._process = process
        self._stop = stop
        self._report = report

    @property
    def report(self) -> Report:
        """Record of the twin at this moment (read without a lock: fields may be one period apart)."""
        return Report(*self._report)

    def stop(self) -> None:
        """Ask it to end and wait until it has; harmless when it has ended already."""
        self._stop.value = 1
        self._process.join(timeout=STOP_TIMEOUT)
        if self._process.is_alive():
            self.kill()

    def kill(self) -> None:
        """End it as a pulled plug would."""
        self._process.kill()
        self._process.join()

    def result(self) -> Report:
        """Stop it and return its final record.

        Raises
        ------
        DeviceError
            If it had failed.
        """
        self.stop()
        if self._process.exitcode != 0:
            raise DeviceError(
                f"the virtual node should have run to its end, but ended with exit code "
                f"{self._process.exitcode}; its own message stands on standard error"
            )
        return self.report

    def __enter__(self) -> "VirtualProcess":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def spawn(
    make_plant: Callable[..., PlantLike], config: _Servable, args: tuple = (), faults: Faults = ()
) -> VirtualProcess:
    """Start a virtual node, or a machine of twins, in a process of its own and wait until it serves.

    Parameters
    ----------
    make_plant : callable
        Called as ``make_plant(*args)`` in the new process; it and ``args`` must be picklable.
    config : NodeConfig or MachineConfig
    args : tuple
    faults : Faults

    Raises
    ------
    DeviceError
        If the plant could not be made, or nothing is served within `START_TIMEOUT`.
    """
    context: Any = CONTEXT
    ours, theirs = context.Pipe(duplex=False)
    stop = context.RawValue("b", 0)
    report = context.RawArray("d", len(Report._fields))
    process = context.Process(
        target=_serve, args=(make_plant, args, config, faults, theirs, stop, report), name="virtual node", daemon=True
    )
    process.start()
    theirs.close()
    try:
        if not ours.poll(START_TIMEOUT):
            process.kill()
            raise DeviceError(f"the virtual node should serve within {START_TIMEOUT:g} s, but does not")
        paths, problem = ours.recv()
    except EOFError:
        process.join()
        paths, problem = [], f"it ended with exit code {process.exitcode}"
    if problem:
        raise DeviceError(f"the virtual node could not start: {problem}")
    return VirtualProcess(process, paths, stop, report)


def _serve(
    make_plant: Callable[..., PlantLike],
    args: tuple,
    config: _Servable,
    faults: Faults,
    pipe: Connection,
    stop: Any,
    report: Any,
) -> None:
    """Run as the body of the process: tell the path, serve until told to stop or left alone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # for the controller, which then stops us; of a fork, not held back
    try:
        node = config.make(make_plant(*args), faults, np.frombuffer(report))
        node.warm_up()
    except Exception as problem:
        pipe.send(([], f"{type(problem).__name__}: {problem}"))
        raise SystemExit(1) from problem
    pipe.send((node.paths, ""))
    parent = multiprocessing.parent_process()
    try:
        node.serve(lambda: stop.value != 0 or (parent is not None and not parent.is_alive()))
    finally:
        node.close()
