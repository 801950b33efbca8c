"""Identification of the node before the loop.

In plain Python; nothing is urgent yet.
"""

import math
from dataclasses import dataclass

from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.messages import (
    COMMAND_KIND_ANGLE,
    COMMAND_KIND_BOUND,
    COMMAND_KIND_RATE,
    COMMAND_KIND_TORQUE,
    COMMAND_KINDS,
)
from riderless.firmware_interface.node import reference_codec
from riderless.firmware_interface.node.guard_limits import GuardLimits
from riderless.firmware_interface.node.layouts import RESET_CAUSES
from riderless.firmware_interface.port import SerialPort, ask_and_listen

_LONGEST_FRAME = 300  # bytes: more than any frame, so that one which is cut off here stays too long


@dataclass(frozen=True)
class Hello:
    """Answer of the node about itself, in SI units; the names are those of `devices.driver.Introduction`."""

    name: str  # of its firmware
    rate_hz: int  # samples per second
    torque_limit: float  # N m, never exceeded
    watchdog: float  # s without a command until the torque is zero
    gyro_lsb: float  # rad/s per count
    accel_lsb: float  # m/s^2 per count
    steer_counts_per_turn: int  # of the encoder's own shaft
    session: int  # in which commands count; 0 if none was asked for
    obeys: int = 1 << COMMAND_KIND_TORQUE  # kinds of command, as bits
    rate_limit: float | None = None  # rad/s, never exceeded; None where it obeys no rate
    angle_limit: float | None = None  # rad from its encoder's zero, never exceeded; None where it obeys no angle
    reset_cause: str = RESET_CAUSES[0]  # of its latest start
    flash_good: bool = True  # the check of its program at that start
    serial: str = ""  # of its processor, in hexadecimal digits
    # limits of its guard in force; None where it has no such guard
    steer_limit: float | None = None  # rad of the encoder's shaft, from straight ahead
    lean_limit: float | None = None  # rad
    torque_step: float | None = None  # N m, change of torque per instant


def ask_hello(
    port: SerialPort,
    timeout: float = 1.0,
    nonce: int = 0,
    kind: int = COMMAND_KIND_TORQUE,
    guard: GuardLimits | None = None,
) -> Hello:
    """Ask the node on a port who it is, until it answers.

    Parameters
    ----------
    port : SerialPort
    timeout : float
        s
    nonce : int
        Of 32 bits, drawn anew for each session that is to be opened; 0 asks only.
    kind : int
        ``COMMAND_KIND_*`` that the session is for.
    guard : GuardLimits or None
        Limits of the node's guard in that session; by default its own bounds.

    Raises
    ------
    DeviceError
        If within ``timeout`` s nothing comes, only garbage, another version of the protocol, or the node has its
        drive enabled for somebody else; if it does not obey that kind.
    """
    heard = _Heard()
    limits = guard.as_fields() if guard is not None else ()

    def request(k: int) -> bytes:
        heard.wanted.add((nonce + k) & 0xFFFF)  # an answer to somebody before us has another number
        # the delimiter in front ends whatever a dead controller left half-said
        return b"\0" + reference_codec.encode(reference_codec.HelloRequest((nonce + k) & 0xFFFF, nonce, kind, *limits))

    for data in ask_and_listen(port, request, timeout):
        answer = heard.take(data)
        if answer is not None and nonce != 0:
            _require_kind(port, answer, kind)
        if answer is not None and (nonce == 0 or answer.session != 0):
            return answer
        heard.occupied = heard.occupied or answer is not None
    raise DeviceError(_why_no_hello(port, timeout, heard))


class _Heard:
    """Bytes that came in while waiting for HELLO, and their frames."""

    def __init__(self) -> None:
        self.n = 0  # bytes
        self.good = 0  # frames with the right CRC
        self.rejected = 0
        self.other_version: int | None = None
        self.wanted: set[int] = set()  # numbers of our requests
        self.occupied = False  # it answered, and opened no session
        self.echoes = 0  # our requests that came back
        self.login = False  # a terminal asks who we are
        self._rest = b""  # of an unfinished frame

    def take(self, data: bytes) -> Hello | None:
        """Take bytes off the line; returns the answer once it is complete."""
        self.n += len(data)
        *frames, rest = (self._rest + data).split(b"\0")
        self._rest = rest[:_LONGEST_FRAME]
        self.login = self.login or b"login:" in data or b"Password:" in data
        for stuffed in filter(None, frames):
            payload = reference_codec.unframe(stuffed)
            if payload is None:
                self.rejected += 1
                continue
            self.good += 1
            if payload[0] != reference_codec.VERSION:
                self.other_version = payload[0]
            message = reference_codec.decode(stuffed)
            self.echoes += isinstance(message, reference_codec.HelloRequest)
            if isinstance(message, reference_codec.HelloFrame) and message.seq in self.wanted:
                return hello_in_si(message)
        return None


def _require_kind(port: SerialPort, answer: Hello, kind: int) -> None:
    """Refuse a node that cannot obey the commands there will be; raises DeviceError."""
    if answer.obeys >> kind & 1:
        return
    if kind == COMMAND_KIND_BOUND:
        raise DeviceError(
            f"the node '{answer.name}' on {port.path} should close the loop, as the rig says, but has no controller on "
            "board: load firmware that has (make flash CONTROLLER=... in firmware_interface/firmware), or set "
            'closed_by = "computer" in [loop] of the rig'
        )
    found = " or ".join(name for k, name in enumerate(COMMAND_KINDS) if answer.obeys >> k & 1) or "nothing"
    raise DeviceError(
        f"the node '{answer.name}' on {port.path} should obey a steer {COMMAND_KINDS[kind]}, as the rig's drive does, "
        f"but it obeys a {found}: load firmware that does, or take a rig and gains of its kind"
    )


def hello_in_si(answer: reference_codec.HelloFrame) -> Hello:
    """Convert the fields of a HELLO frame to SI units."""
    return Hello(
        name=answer.firmware.rstrip(b"\0").decode("ascii", errors="replace"),
        rate_hz=answer.rate_hz,
        torque_limit=1e-3 * answer.torque_limit_mNm,
        watchdog=1e-3 * answer.watchdog_ms,
        gyro_lsb=answer.gyro_lsb,
        accel_lsb=answer.accel_lsb,
        steer_counts_per_turn=answer.steer_counts_per_turn,
        session=answer.session,
        obeys=answer.obeys,
        rate_limit=1e-3 * answer.rate_limit_mrad_s if answer.obeys >> COMMAND_KIND_RATE & 1 else None,
        angle_limit=1e-4 * answer.angle_limit_100urad if answer.obeys >> COMMAND_KIND_ANGLE & 1 else None,
        reset_cause=RESET_CAUSES[answer.reset_cause if answer.reset_cause < len(RESET_CAUSES) else 0],
        flash_good=bool(answer.flash_good),
        serial=answer.serial.hex(),
        steer_limit=2 * math.pi * answer.steer_limit_counts / max(answer.steer_counts_per_turn, 1)
        if answer.steer_limit_counts
        else None,
        lean_limit=1e-3 * answer.lean_limit_mrad if answer.lean_limit_mrad else None,
        torque_step=1e-3 * answer.torque_step_mNm if answer.torque_step_mNm else None,
    )


def _why_no_hello(port: SerialPort, timeout: float, heard: _Heard) -> str:
    """Sentence that says what came instead of HELLO."""
    wanted = f"a node on {port.path} should say HELLO within {timeout:g} s"
    if heard.n == 0:
        return f"{wanted}, but nothing came; is it powered, and is this its port?"
    if heard.echoes == heard.good > 0 or heard.login:
        return (
            f"{wanted}, but only what was sent to it came back: are transmit and receive wired together, or is a login "
            "prompt (getty) on this port? end that with `systemctl stop serial-getty@PORT`"
        )
    if heard.occupied:
        return (
            f"a node on {port.path} should open a session, but its drive is enabled for another program: end that one, "
            "or switch the node off and on"
        )
    if heard.other_version is not None:
        old = heard.other_version < reference_codec.VERSION
        flash = "load the firmware of this riderless (make flash in firmware_interface/firmware)"
        return (
            f"{wanted} in protocol version {reference_codec.VERSION}, but it speaks version {heard.other_version}; "
            f"{flash if old else 'update riderless'}"
        )
    if heard.good > 0:
        return (
            f"{wanted}, but {heard.good} other good frames came and no HELLO ({heard.rejected} rejected); "
            "is its receive wire connected?"
        )
    return (
        f"{wanted}, but {heard.n} bytes of something else came ({heard.rejected} frames rejected); "
        f"is it another device, or is {port.baud} not its baud rate?"
    )
