"""Node on the firmware in C.

It runs ``firmware/node.c`` in the place of the compiled Python rules, on this machine. It is asked the same questions,
so a virtual node can run on it: ``NodeConfig(core="c")``. Clock, stop button, faults and readings come from Python, as
on a board they come from its pins; rules, frames and counters are C's alone. :func:`new_c_node`, :func:`c_drive_output`
and :func:`c_sampling_instant` do what those of ``faulty_node.py`` do; of its faults they play those of the line, and
those that come from around the firmware.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from riderless.firmware_interface.calibration import steer_command, to_counts
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.framing import MAX_FRAME
from riderless.firmware_interface.messages import COMMAND_KIND_TORQUE, FAULT_DRIVE
from riderless.firmware_interface.node.layouts import COMMAND_SCALES, GUARD
from riderless.firmware_interface.twins.c_library import (
    FirmwareState,
    Identity,
    Readings,
    Start,
    as_c_pointer,
    load_library,
)
from riderless.firmware_interface.twins.faults import LINK_KINDS, TO_COMPUTER, FaultKind, Faults, pack_faults
from riderless.firmware_interface.twins.faulty_link import fetch, new_mail, post
from riderless.firmware_interface.twins.twin import active_fault

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
        if kind == COMMAND_KIND_TORQUE:
            firmware["T"] = firmware["cal"]["torque_sign"] * 1e-3 * value
        else:
            firmware["T"] = steer_command(firmware["value"], kind, firmware["cal"]) if state.enabled else 0.0
        firmware["now_us"], firmware["heard_us"] = now_us, now_us - state.age_us
        for name in ("enabled", "commands", "trips", "refused", "session"):
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


def new_c_node(firmware: np.void, faults: Faults = (), byte_time: float = 0.0) -> _CNode:
    """Make a node as after power-up; ``byte_time`` [s] is what one byte takes on its way to the computer.

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
        core=FirmwareInC(firmware),
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
