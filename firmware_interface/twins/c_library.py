"""Library of the C firmware for this computer.

It is built from the sources that a microcontroller runs.
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

import numpy as np

from riderless.firmware_interface.errors import DeviceError

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
