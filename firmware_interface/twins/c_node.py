"""Node on the firmware in C.

It runs ``firmware/node.c`` in the place of the compiled Python rules, on this machine. It is asked the same questions,
so a virtual node can run on it: ``NodeConfig(core="c")``. Clock, stop button, faults and readings come from Python, as
on a board they come from its pins; rules, frames and counters are C's alone. :func:`new_c_node`, :func:`c_drive_output`
and :func:`c_sampling_instant` do what those of ``faulty_node.py`` do; of its faults they play those of the line, and
those that come from around the firmware.
"""

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from ctypes import POINTER, Structure, c_bool, c_float, c_int16, c_int32, c_size_t, c_uint8, c_uint16, c_uint32
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from riderless.firmware_interface.calibration import steer_command, to_counts
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.framing import MAX_FRAME
from riderless.firmware_interface.messages import COMMAND_KIND_BOUND, COMMAND_KIND_TORQUE, FAULT_DRIVE
from riderless.firmware_interface.node.layouts import COMMAND_SCALES, GUARD
from riderless.firmware_interface.twins.faults import LINK_KINDS, TO_COMPUTER, FaultKind, Faults, pack_faults
from riderless.firmware_interface.twins.faulty_link import fetch, new_mail, post
from riderless.firmware_interface.twins.twin import active_fault

# Library of the C firmware for this computer.

SOURCES = Path(__file__).resolve().parents[1] / "firmware"
FLAGS = ("-std=c99", "-O2", "-fPIC", "-shared")
_FILES = ("node.c", "host.c", "node.h")
_COMPILERS = ("cc", "gcc", "clang")


class Identity(Structure):
    """``struct node_identity``."""

    _fields_ = (
        ("firmware", c_uint8 * 16),
        ("rate_hz", c_uint16),
        ("torque_limit_mNm", c_uint16),
        ("watchdog_ms", c_uint16),
        ("gyro_lsb", c_float),
        ("accel_lsb", c_float),
        ("steer_counts_per_turn", c_uint32),
        ("obeys", c_uint8),
        ("rate_limit_mrad_s", c_uint16),
        ("angle_limit_100urad", c_uint16),
        ("steer_limit_counts", c_uint32),
        ("lean_limit_mrad", c_uint16),
        ("torque_step_mNm", c_uint16),
    )


class Start(Structure):
    """``struct node_start``."""

    _fields_ = (("reset_cause", c_uint8), ("flash_good", c_bool), ("serial", c_uint8 * 12))


class Readings(Structure):
    """``struct node_readings``."""

    _fields_ = (
        ("gyro_counts", c_int16 * 3),
        ("accel_counts", c_int16 * 3),
        ("steer_counts", c_int32),
        ("wheel_mrad_s", c_int32),
        ("torque_mNm", c_int16),
        ("bus_mV", c_uint16),
    )


class Guard(Structure):
    """``struct node_guard``."""

    _fields_ = (
        ("steer_zero_counts", c_int32),
        ("steer_limit_counts", c_uint32),
        ("lean_limit_mrad", c_uint16),
        ("torque_step_mNm", c_uint16),
        ("roll", c_int32 * 4),
        ("yaw", c_int32 * 4),
        ("side", c_int32 * 4),
        ("speed_scale", c_int32),
    )


class FirmwareState(Structure):
    """``struct node``: what the firmware remembers."""

    _fields_ = (
        ("identity", POINTER(Identity)),
        ("start", POINTER(Start)),
        ("session", c_uint32),
        ("nonce", c_uint32),
        ("salt", c_uint32),
        ("age_us", c_uint32),
        ("command_sample", c_uint32),
        ("command_value", c_int32),
        ("command_expiry_ms", c_uint16),
        ("command_seq", c_uint16),
        ("command_flags", c_uint8),
        ("kind", c_uint8),
        ("heard", c_bool),
        ("pending", c_bool),
        ("hello_pending", c_bool),
        ("hello_seq", c_uint16),
        ("hello_session", c_uint32),
        ("stranger", c_uint8),
        ("seq", c_uint32),
        ("now_us", c_uint32),
        ("value", c_int32),
        ("obeyed_seq", c_uint16),
        ("status", c_uint8),
        ("faults", c_uint8),
        ("enabled", c_bool),
        ("off_seen", c_bool),
        ("tripped", c_bool),
        ("foreign", c_bool),
        ("heartbeat", c_bool),
        ("commands", c_uint32),
        ("trips", c_uint32),
        ("refused", c_uint32),
        ("guard", Guard),
        ("lean", c_int32),
        ("lean_drift", c_int32),
        ("lean_samples", c_int32),
        ("last_steer", c_int32),
        ("still", c_uint32),
        ("cut", c_uint32),
        ("struck", c_uint8),
        ("wish", c_int32),
        ("filled", c_uint16),
        ("crc", c_uint16),
        ("distance", c_uint8),
        ("latest", c_uint8 * 2),
        ("payload", c_uint8 * 73),
        ("frames_ok", c_uint32),
        ("rejected", c_uint32),
    )


_STRUCTS = (Identity, Start, Readings, Guard, FirmwareState)
_LAYOUT = (  # as in host.c
    *(ctypes.sizeof(kind) for kind in _STRUCTS),
    *(getattr(kind, name).offset for kind in _STRUCTS for name, _ in kind._fields_),
)


def build_library() -> Path:
    """Build the library unless these sources have been built before; returns where it lies.

    Raises
    ------
    DeviceError
        If there is no C compiler, or it does not accept the sources.
    """
    compiler = next((path for path in map(shutil.which, _COMPILERS) if path), None)
    if compiler is None:
        raise DeviceError(
            f"a node on the C core needs a C compiler, found none of {', '.join(_COMPILERS)}: install one (on Debian "
            "`apt-get install gcc libc6-dev`) or take the Python core"
        )
    digest = hashlib.sha256("\n".join((compiler, platform.machine(), *FLAGS)).encode())
    for name in _FILES:
        digest.update((SOURCES / name).read_bytes())
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "riderless"
    library = home / f"node-{digest.hexdigest()[:16]}.so"
    if not library.exists():
        try:
            home.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=home) as folder:
                _compile(compiler, Path(folder) / library.name).replace(library)  # whole: others may build it too
        except OSError as problem:
            raise DeviceError(
                f"the C core of the node should be kept in {home}, but: {problem}; set XDG_CACHE_HOME to another folder"
            ) from problem
    return library


def _compile(compiler: str, library: Path) -> Path:
    """Build the library there; returns where it lies."""
    sources = [str(SOURCES / name) for name in _FILES if name.endswith(".c")]
    run = subprocess.run([compiler, *FLAGS, "-o", str(library), *sources], capture_output=True, text=True)
    if run.returncode != 0:
        complaint = next(iter(run.stderr.splitlines()), f"nothing, and ended with exit code {run.returncode}")
        raise DeviceError(f"the C core of the node should build with {compiler}, which said: {complaint}")
    return library


@cache
def load_library(path: Path | None = None) -> ctypes.CDLL:
    """Load the C core as a library, built at first use unless its ``path`` is given.

    Raises
    ------
    DeviceError
        If it cannot be built or loaded, or is another version's.
    """
    path = path or build_library()
    try:
        library = ctypes.CDLL(str(path))
        length = c_size_t.in_dll(library, "host_layout_length").value
        layout = tuple((c_size_t * length).in_dll(library, "host_layout"))
    except (OSError, ValueError) as problem:
        raise DeviceError(f"{path} should be a library of the node's C core, but: {problem}") from problem
    if layout != _LAYOUT:
        raise DeviceError(f"{path} was built from another version of node.h: build it again (`make host`)")
    node, data = POINTER(FirmwareState), POINTER(c_uint8)
    for name, result, arguments in (
        ("node_init", None, (node, POINTER(Identity), POINTER(Start))),
        ("node_receive", None, (node, data, c_size_t)),
        ("node_latch", c_int32, (node, c_uint32, c_bool, c_uint8)),
        ("node_hello", c_size_t, (node, data)),
        ("node_sample", c_size_t, (node, POINTER(Readings), data)),
        ("node_close_frame", c_size_t, (data, c_size_t)),
    ):
        function = library[name]
        function.restype, function.argtypes = result, arguments
        setattr(library, name, function)
    return library


def as_c_pointer(data: np.ndarray) -> "ctypes._Pointer[c_uint8]":
    """Pointer to a uint8 array, as C takes it."""
    return data.ctypes.data_as(POINTER(c_uint8))


_RX_SIZE = 4096  # bytes
_AROUND = (FaultKind.STOP_BUTTON, FaultKind.DRIVE_TRIPS, FaultKind.BUS)  # faults that come from outside the firmware


class FirmwareInC:
    """Firmware in C, asked as the functions of ``node/rules.py`` are.

    Parameters
    ----------
    firmware : record of ``FIRMWARE``
        As `new_firmware` makes it. Read from it: what it is, its calibration, stop button and faults. Written to it
        at each instant, for whoever watches: torque, raw sample and counters.
    path : Path, optional
        Of the library.

    Attributes
    ----------
    state : FirmwareState
        What the firmware remembers.
    """

    def __init__(self, firmware: np.void, path: Path | None = None) -> None:
        self.state = FirmwareState()
        self._library, self._firmware = load_library(path), firmware
        self._identity, self._start, self._readings = Identity(), Start(), Readings()
        for name, _ in Identity._fields_[1:]:
            bounds = firmware["bounds"] if name in (GUARD.names or ()) else firmware["hello"]
            setattr(self._identity, name, bounds[name].item())
        hello = firmware["hello"]
        self._identity.firmware[:] = hello["firmware"].tolist()
        self._start.reset_cause, self._start.flash_good = int(hello["reset_cause"]), bool(hello["flash_good"])
        self._start.serial[:] = hello["serial"].tolist()
        self._library.node_init(self.state, self._identity, self._start)
        self.state.salt = firmware["salt"].item()

    def receive(self, rx: np.ndarray, n: int) -> None:
        """Take ``rx[:n]`` (uint8) off the line."""
        self._library.node_receive(self.state, as_c_pointer(rx), n)
        self._firmware["rejected"] = self.state.rejected

    def latch(self, t: float) -> float:
        """Torque [N m], rate or angle, positive to the right, from the instant ``t`` [s since power-up] to the next."""
        firmware, state = self._firmware, self.state
        now_us = int(np.rint(1e6 * t))
        stop_button, faults = bool(firmware["stop_button"]), int(firmware["faults"])
        value = self._library.node_latch(state, now_us & 0xFFFFFFFF, stop_button, faults)
        kind = int(state.kind)
        firmware["kind"], firmware["value"] = kind, 1e-3 * value if COMMAND_SCALES[kind] == 1e3 else 1e-4 * value
        if kind in (COMMAND_KIND_TORQUE, COMMAND_KIND_BOUND):
            firmware["T"] = firmware["cal"]["torque_sign"] * 1e-3 * value
        else:
            firmware["T"] = steer_command(firmware["value"], kind, firmware["cal"]) if state.enabled else 0.0
        firmware["now_us"], firmware["heard_us"] = now_us, now_us - state.age_us
        for name in ("enabled", "heartbeat", "commands", "trips", "refused", "session"):
            firmware[name] = getattr(state, name)
        firmware["raw"]["status"], firmware["raw"]["command_seq"] = state.status, state.obeyed_seq
        return float(firmware["T"])

    def hello(self, out: np.ndarray) -> int:
        """Write the HELLO frame to ``out`` (uint8) if it was asked for; returns its bytes, 0 if it was not."""
        return int(self._library.node_hello(self.state, as_c_pointer(out)))

    def sample(self, readings: np.ndarray, bus: float, out: np.ndarray) -> int:
        """Write the SAMPLE frame of the latest instant; arguments as for `firmware_sample`."""
        raw = self._firmware["raw"]
        to_counts(readings, self._firmware["cal"], raw)
        for name in ("gyro_counts", "accel_counts"):
            getattr(self._readings, name)[:] = raw[name].tolist()
        for name in ("steer_counts", "wheel_mrad_s", "torque_mNm"):
            setattr(self._readings, name, raw[name].item())
        self._readings.bus_mV = int(np.rint(1e3 * min(max(bus, 0.0), 65.535)))
        return int(self._library.node_sample(self.state, self._readings, as_c_pointer(out)))


class _CNode(NamedTuple):
    """Node on the C core, and both ways of its line."""

    firmware: np.void
    core: FirmwareInC
    around: Faults
    faults: np.ndarray  # (n,) FAULT
    up: np.void  # MAIL, to the computer
    down: np.void  # MAIL, from it
    rx: np.ndarray  # bytes come in
    frame: np.ndarray  # a frame to go out


def new_c_node(firmware: np.void, faults: Faults = (), byte_time: float = 0.0, library: Path | None = None) -> _CNode:
    """Make a node as after power-up.

    Parameters
    ----------
    firmware : record of FIRMWARE
    faults : Faults
    byte_time : float
        s, of one byte on its way to the computer.
    library : Path or None
        One with a controller on board; by default the plain node's.

    Raises
    ------
    DeviceError
        For a fault inside the node, which C does not play, and as `load_library` does.
    """
    inside = [fault.kind.name for fault in faults if fault.kind not in (*LINK_KINDS, *_AROUND)]
    if inside:
        raise DeviceError(
            f"a node on the C core plays faults of the line and {', '.join(kind.name for kind in _AROUND)}, "
            f"found {inside[0]}: leave it out or take the Python core"
        )
    return _CNode(
        firmware=firmware,
        core=FirmwareInC(firmware, library),
        around=tuple(fault for fault in faults if fault.kind in _AROUND),
        faults=pack_faults(faults),
        up=new_mail(byte_time),
        down=new_mail(),
        rx=np.zeros(_RX_SIZE, np.uint8),
        frame=np.zeros(MAX_FRAME, np.uint8),
    )


def c_drive_output(node: _CNode, t: float) -> tuple[float, bool]:
    """Torque [N m] the drive makes since the last sampling instant, at ``t`` [s], and whether it is enabled."""
    return float(node.firmware["T"]), bool(node.firmware["enabled"])


def c_sampling_instant(node: _CNode, readings: np.ndarray, bus: float, t: float, now: float) -> bool:
    """Go through one sampling instant: take what came in, decide, measure, and post what is to be said.

    Parameters
    ----------
    node, readings, bus, t, now
        As for `faulty_node.sampling_instant`.

    Returns
    -------
    bool
        True: it always takes a sample.
    """
    core, firmware = node.core, node.firmware
    if node.around:
        firmware["stop_button"] = active_fault(node.around, FaultKind.STOP_BUTTON, t) is not None
        firmware["faults"] = FAULT_DRIVE if active_fault(node.around, FaultKind.DRIVE_TRIPS, t) else 0
        supply = active_fault(node.around, FaultKind.BUS, t)
        bus = bus if supply is None else supply.size
    core.receive(node.rx, fetch(node.down, now, node.rx))
    core.latch(t)
    post(node.up, node.faults, TO_COMPUTER, node.frame, core.hello(node.frame), t, now)
    post(node.up, node.faults, TO_COMPUTER, node.frame, core.sample(readings, bus, node.frame), t, now)
    return True
