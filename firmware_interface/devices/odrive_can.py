"""Driver of an ODrive by CANSimple, through an adapter that speaks slcan.

Firmware 0.5.6 (board v3.x) and 0.6 (S1, Pro): steer drive and its encoder. An axis is a node; an identifier is
``node << 5 | message``, numbers are low byte first.

- **Nothing is asked in the loop.** Firmware 0.5 feeds its watchdog with any frame to the axis, questions too: a loop
  that commands nothing more but goes on asking would keep the torque alive. So the axis is set up to tell by itself, in
  each period of the loop: heartbeat, encoder estimates, currents and supply. Currents end a reading; it counts if the
  other three came since the last one.
- **Another master** on the bus is known by what it says to the axis: our adapter does not hear itself. Whoever asks
  feeds the watchdog as well. From then on the drive is reported as obeying foreign commands.
- **Its watchdog** cannot be set by CANSimple: set it by USB and save. Firmware 0.5 lets it run while idle, so it is
  waited for before the loop, without torque; the supervisor proves it while arming. It is latched, and an expired one
  strikes again until it is fed, so a set-point goes before the errors are cleared.
- **The mode of control** is told again with each request to switch on, so that an axis that has restarted makes no
  place of a torque. Firmware 0.5 does not tell it. Firmware 0.6 tells any value by its number (RxSdo, TxSdo), and the
  numbers differ from one version to the next: those that the rig gives are read, before the loop, and nothing is
  written by them.
- **The torque** reported is the measured current times the torque constant of the rig: the drive's own is not told.

Source: can_simple.cpp, axis.cpp and can-protocol.csv of ODrive's firmware 0.5.6; can_simple_messages.hpp and
ODriveEnums.h of ODriveArduino for 0.6; can_simple.py and can_param_access.py of ODriveResources.
"""

import math
import struct

import numpy as np

from riderless.firmware_interface.devices.driver import (
    Device,
    DeviceRequirements,
    DeviceSetting,
    DeviceSettings,
    ExampleMessage,
    Introduction,
    Traffic,
    require_positive,
    require_whole,
)
from riderless.firmware_interface.devices.link import ROLE_DRIVE, ROLE_STEER
from riderless.firmware_interface.devices.odrive_codes import (
    AXIS_CLOSED_LOOP,
    AXIS_ESTOP_REQUESTED,
    AXIS_IDLE,
    AXIS_WATCHDOG_EXPIRED,
    CONTROL_MODES,
    INPUT_PASSTHROUGH,
)
from riderless.firmware_interface.devices.odrive_setup import ODRIVE_COUNTS_PER_TURN
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.messages import (
    COMMAND_CLEAR,
    COMMAND_ENABLE,
    COMMAND_KIND_ANGLE,
    COMMAND_KIND_RATE,
    FAULT_DRIVE,
    FAULT_ENCODER,
    STATUS_ENABLED,
    STATUS_FOREIGN,
    STATUS_STOP_BUTTON,
    STATUS_WATCHDOG,
)
from riderless.firmware_interface.port import SerialPort, ask_and_listen
from riderless.firmware_interface.slcan import (
    EXTENDED,
    REMOTE,
    CanFrame,
    bits_of_single,
    can_frames,
    little_endian,
    opening,
    require_room_on_bus,
    single_at,
    take_frames,
    write_frame,
)

# Messages, as 0.5.6 and 0.6 number them alike.
_VERSION, _HEARTBEAT, _ESTIMATES, _CURRENTS, _BUS = 0x00, 0x01, 0x09, 0x14, 0x17
_ASK_VALUE, _TELL_VALUE = 0x04, 0x05  # 0.6: RxSdo, TxSdo
_SET_STATE, _SET_MODES, _SET_ANGLE, _SET_RATE, _SET_TORQUE, _CLEAR_ERRORS = 0x07, 0x0B, 0x0C, 0x0D, 0x0E, 0x18
# Errors of 0.6 that the loop tells apart; those of 0.5 are in `odrive_codes`.
_MISSING_ESTIMATE_06, _WATCHDOG_06, _ESTOP_06, _SPINOUT_06 = 0x8, 0x0100_0000, 0x0200_0000, 0x0400_0000
_NODES = 63  # 0x3F is everybody's
_READ_BACK = {  # where it stands in the drive, and how its bytes are read
    "control_mode": ("axis0.controller.config.control_mode", "<B"),
    "input_mode": ("axis0.controller.config.input_mode", "<B"),
    "enable_watchdog": ("axis0.config.enable_watchdog", "<B"),
    "watchdog_timeout": ("axis0.config.watchdog_timeout", "<f"),
}

_REPEAT = 10  # ticks until the drive is told again to switch on
_VALUE_MAX = 9999.0  # N m, turns/s or turns of the motor, more than any
_LISTEN, _SETTLE, _ANSWER = 0.5, 2.0, 0.3  # s
_AGAIN = 0.05  # s
_PACE_OFF_BY = 0.1  # share of a rate

# Places in the link's memory.
_NODE, _IS_06, _STATE, _ERROR, _FLAGS, _HEARD, _POSITION, _BUS_MV, _REQUESTED, _FOREIGN, _SPOILT = range(11)
_HEARD_BEAT, _HEARD_ESTIMATES, _HEARD_BUS, _HEARD_ALL = 1, 2, 4, 7  # bits of _HEARD


@njit(cache=True, nogil=True)
def receive(link, rx, n):
    """Take ``rx[:n]`` off the line; returns the number of new readings. Runs inside the tick."""
    return take_frames(link, rx, n, _take)


@njit(cache=True, nogil=True)
def _take(link, identifier, kind, size, data):
    """Take a frame; returns 1 if it ends a reading. Runs inside the tick."""
    memory = link.memory
    if kind & EXTENDED or identifier >> 5 != memory[_NODE]:
        return 0
    message = identifier & 0x1F
    if _is_commanded(message, kind, size, memory[_IS_06] != 0):
        memory[_FOREIGN] = 1
        return 0
    if size < 8:
        return 0
    if message == _HEARTBEAT:
        memory[_ERROR], memory[_STATE] = little_endian(data, 0, 4), data[4]
        memory[_FLAGS] = 0 if memory[_IS_06] else little_endian(data, 5, 3) & 0x010101
        memory[_HEARD] |= _HEARD_BEAT
    elif message == _ESTIMATES:
        _take_estimate(link, single_at(data, 0) * ODRIVE_COUNTS_PER_TURN)
    elif message == _BUS:
        supply = single_at(data, 0)
        memory[_BUS_MV] = np.int64(np.rint(min(max(1e3 * supply, 0.0), 65535.0))) if math.isfinite(supply) else 0
        memory[_HEARD] |= _HEARD_BUS
    elif message == _CURRENTS:
        return _end_reading(link, single_at(data, 4))
    return 0


@njit(cache=True, nogil=True)
def _is_commanded(message, kind, size, is_06):
    """Tell whether a frame is one that only a master sends. Runs inside the tick."""
    tells = message in (_VERSION, _HEARTBEAT, _ESTIMATES, 0x0A, _CURRENTS, 0x15, _BUS) or 0x03 <= message <= 0x06
    by_number = is_06 and message == _ASK_VALUE  # which writes a value too
    return kind & REMOTE != 0 or size == 0 or by_number or not (tells or message >= 0x1C)


@njit(cache=True, nogil=True)
def _take_estimate(link, counts):
    """Keep the encoder's place. Runs inside the tick."""
    memory, inside = link.memory, abs(counts) < 2.0**31
    memory[_POSITION] = np.int64(np.rint(counts)) if inside else memory[_POSITION]
    memory[_SPOILT] = not inside
    memory[_HEARD] |= _HEARD_ESTIMATES


@njit(cache=True, nogil=True)
def _end_reading(link, current):
    """Make what came since the last reading the next one; returns 1 if all of it came. Runs inside the tick."""
    raw, memory = link.raw, link.memory
    heard, memory[_HEARD] = memory[_HEARD], 0
    if heard != _HEARD_ALL:
        link.receiver.samples_lost += raw.seq > 0
        return 0
    torque_mNm = 1e3 * current * link.per_amp
    inside = abs(torque_mNm) < 2.0**31
    raw.steer_counts = memory[_POSITION]
    raw.torque_mNm = np.int64(np.rint(torque_mNm)) if inside else 0
    raw.bus_mV = memory[_BUS_MV]
    raw.off_scale = memory[_SPOILT] != 0 or not inside
    error, flags, expired, stopped = memory[_ERROR], memory[_FLAGS], AXIS_WATCHDOG_EXPIRED, AXIS_ESTOP_REQUESTED
    lost = flags & 0x0100 != 0  # 0.5: the encoder's own errors
    if memory[_IS_06]:
        expired, stopped = _WATCHDOG_06, _ESTOP_06
        lost = error & (_MISSING_ESTIMATE_06 | _SPINOUT_06) != 0
    on = memory[_STATE] == AXIS_CLOSED_LOOP and error == 0
    raw.status = (
        (STATUS_ENABLED if on else 0)
        | (STATUS_WATCHDOG if error & expired else 0)
        | (STATUS_STOP_BUTTON if error & stopped else 0)
        | (STATUS_FOREIGN if memory[_FOREIGN] else 0)
    )
    raw.faults = (FAULT_DRIVE if error & ~expired != 0 or flags != 0 else 0) | (FAULT_ENCODER if lost else 0)
    raw.command_seq = link.said_seq
    raw.seq = (raw.seq + 1) & 0xFFFF
    return 1


@njit(cache=True, nogil=True)
def speak(link, command, send, out):
    """Write the set-point if there is one to ``send``, then what changes the state; returns the number of bytes.

    Runs inside the tick.

    Parameters
    ----------
    link, command, send, out
        As for `link.say`.
    """
    n, memory = np.int64(0), link.memory
    if not send or not link.role & ROLE_DRIVE:
        return n  # silence alone lets its watchdog strike
    value = command.T_cmd / (link.unit if command.kind in (COMMAND_KIND_RATE, COMMAND_KIND_ANGLE) else link.scale)
    on = command.flags & COMMAND_ENABLE != 0 and math.isfinite(value)
    bits = bits_of_single(min(max(value, -_VALUE_MAX), _VALUE_MAX)) if on else np.int64(0)
    if on and command.kind == COMMAND_KIND_RATE:
        n = _write(link, out, n, _SET_RATE, bits, 8)
    elif on and command.kind == COMMAND_KIND_ANGLE:
        n = _write(link, out, n, _SET_ANGLE, bits, 8)
    else:
        n = _write(link, out, n, _SET_TORQUE, bits, 4)
    link.said_seq = command.seq
    state, error = memory[_STATE], memory[_ERROR]
    if not on and command.flags & COMMAND_CLEAR and error != 0:
        n = _write(link, out, n, _CLEAR_ERRORS, 0, 1)
    memory[_REQUESTED] = max(0, memory[_REQUESTED] - 1)
    if on and state not in (0, AXIS_CLOSED_LOOP) and error == 0 and memory[_REQUESTED] == 0:  # 0: not heard of yet
        memory[_REQUESTED] = _REPEAT
        mode = 1 if command.kind not in (COMMAND_KIND_RATE, COMMAND_KIND_ANGLE) else 1 + np.int64(command.kind)
        n = _write(link, out, n, _SET_MODES, mode | INPUT_PASSTHROUGH << 32, 8)
        n = _write(link, out, n, _SET_STATE, AXIS_CLOSED_LOOP, 4)
    elif not on and (state == AXIS_CLOSED_LOOP or memory[_REQUESTED] > 0):  # it may have switched on unseen
        n = _write(link, out, n, _SET_STATE, AXIS_IDLE, 4)
    return n


@njit(cache=True, nogil=True)
def _write(link, out, n, message, data, size):
    """Write a frame to the axis. Runs inside the tick."""
    return write_frame(out, n, link.memory[_NODE] << 5 | message, False, np.int64(data), np.int64(size))


def _prepare(link: np.void, settings: DeviceSettings) -> None:
    link["memory"][_NODE] = settings["node_id"]
    link["memory"][_IS_06] = settings["firmware"] > 0.55


def introduce(port: SerialPort, wants: DeviceRequirements) -> Introduction:
    """Open the adapter, listen, make the axis idle and free of errors, set the mode, and wait for its watchdog.

    Raises
    ------
    DeviceError
        When nothing is heard, another master speaks, the axis tells too little or has another firmware, stays in
        another state or in error, or its watchdog does not strike.
    """
    settings = wants.settings
    _require_sense(settings)
    node, is_06, gear = int(settings["node_id"]), settings["firmware"] > 0.55, settings["gear_ratio"]
    require_room_on_bus(5.0 * wants.rate, False, settings["bit_rate"], f"an ODrive at {wants.rate:g} Hz")
    opened = opening(settings["bit_rate"])
    heard = _Heard(node)
    for data in ask_and_listen(port, lambda k: opened if k == 0 else b"", _LISTEN, _AGAIN):
        heard.take(data)
    heard.require_alone(port, settings["bit_rate"], is_06)
    heard.require_pace(port, wants.rate)
    version = _version(port, heard, is_06)
    _make_ready(port, heard, is_06, wants.kind)
    unread = ""
    if is_06:
        wanted = CONTROL_MODES[wants.kind], INPUT_PASSTHROUGH, 1, wants.watchdog
        unread = _require_values(port, heard, settings, version, dict(zip(_READ_BACK, wanted, strict=True)))
    else:
        _await_watchdog(port, heard, wants.watchdog)
    return Introduction(
        name=f"ODrive {version}, node {node}{unread}",
        rate_hz=round(wants.rate),
        torque_limit=settings["torque_limit_Nm"],
        watchdog=wants.watchdog,
        steer_counts_per_turn=ODRIVE_COUNTS_PER_TURN,
        scale=gear,
        per_amp=settings["torque_constant_Nm_A"] * gear,
        unit=2.0 * math.pi / gear,
        obeys=1 << wants.kind,
    )


class _Heard:
    """Frames that came off the bus while one listened."""

    def __init__(self, node: int) -> None:
        self.node, self.n = node, 0  # bytes
        self.nodes: set[int] = set()
        self.frames: list[CanFrame] = []  # of ours
        self.state, self.error = 0, 0
        self._rest = b""

    def take(self, data: bytes) -> list[CanFrame]:
        """Take bytes; returns the frames of our node among them."""
        self.n += len(data)
        whole, end, self._rest = (self._rest + data).rpartition(b"\r")
        frames = list(can_frames(whole + end))
        self.nodes |= {frame.identifier >> 5 for frame in frames if not frame.extended}
        ours = [frame for frame in frames if not frame.extended and frame.identifier >> 5 == self.node]
        for frame in ours:
            if frame.identifier & 0x1F == _HEARTBEAT and len(frame.data) == 8:
                self.error, self.state = struct.unpack_from("<IB", frame.data)
        self.frames += ours
        return ours

    def require_alone(self, port: SerialPort, bit_rate: float, is_06: bool) -> None:
        """Refuse silence, another node, and another master."""
        wanted = f"an ODrive of node_id {self.node} behind the CAN adapter on {port.path} should be heard"
        if not self.n:
            raise DeviceError(
                f"{wanted}, but nothing came; is this its port, does it speak slcan, and is the drive powered?"
            )
        if not self.nodes:
            raise DeviceError(
                f"{wanted}, but no frame came, {self.n} bytes of something else came; is the drive's "
                f"can.config.baud_rate {bit_rate:.0f} bit/s, and are both ends of the bus closed by 120 ohm?"
            )
        if not self.frames:
            found = ", ".join(map(str, sorted(self.nodes)))
            raise DeviceError(f"{wanted}, found node {found}: correct node_id under its [[port]]")
        for frame in self.frames:
            message = frame.identifier & 0x1F
            if _is_commanded(message, REMOTE * frame.remote, len(frame.data), is_06):
                raise DeviceError(
                    f"nobody else should command node {self.node} on the CAN bus of {port.path}, found message "
                    f"{message:#04x} of another master: end it, for it keeps the drive's watchdog alive"
                )

    def require_pace(self, port: SerialPort, rate: float) -> None:
        """Refuse an axis that does not tell what the loop wants, as often as it wants it."""
        messages, near = [frame.identifier & 0x1F for frame in self.frames], _PACE_OFF_BY * rate + 1.0 / _LISTEN
        for message, name in {_HEARTBEAT: "heartbeat", _ESTIMATES: "encoder", _CURRENTS: "iq", _BUS: "bus_vi"}.items():
            found = messages.count(message) / _LISTEN
            if not abs(found - rate) <= near:
                raise DeviceError(
                    f"node {self.node} on {port.path} should tell {name} {rate:g} times a second, found {found:g}: set "
                    f"axis0.config.can.{name}_rate_ms (0.6: _msg_rate_ms) to {1e3 / rate:g} in odrivetool and save"
                )


def _require_sense(settings: DeviceSettings) -> None:
    if settings["firmware"] not in (0.5, 0.6):
        raise DeviceError(
            f"firmware of an odrive_can is 0.5 (board v3.x) or 0.6 (S1, Pro), found {settings['firmware']:g}: correct "
            "it under its [[port]]"
        )
    require_whole(
        "odrive_can", settings, node_id=range(_NODES), **{f"{name}_id": range(1 << 16) for name in _READ_BACK}
    )
    given = [f"{name}_id" for name in _READ_BACK if settings[f"{name}_id"] != 0]
    if given and settings["firmware"] == 0.5:
        raise DeviceError(f"firmware 0.5 tells no value by a number, found {given[0]}: leave it out under its [[port]]")
    require_positive("odrive_can", settings, "gear_ratio", "torque_limit_Nm", "torque_constant_Nm_A")


def _version(port: SerialPort, heard: _Heard, is_06: bool) -> str:
    """Ask for the version, which firmware 0.5 has no answer to; raises DeviceError where it is another."""
    question = CanFrame(heard.node << 5 | _VERSION, remote=True).line
    found = "0.5"
    for data in ask_and_listen(port, lambda k: question, _ANSWER, _ANSWER / 2):
        for frame in heard.take(data):
            if frame.identifier & 0x1F == _VERSION and len(frame.data) == 8:
                found = ".".join(map(str, frame.data[4:7]))
    if found.startswith("0.6") != is_06:
        wanted = "0.6" if is_06 else "0.5.6"
        raise DeviceError(
            f"node {heard.node} on {port.path} should run firmware {wanted}, but answers as {found}: correct "
            "`firmware` under its [[port]]"
        )
    return found if is_06 else "0.5"


def _make_ready(port: SerialPort, heard: _Heard, is_06: bool, kind: int) -> None:
    """Make the axis idle, set the mode of control, and clear its errors; raises DeviceError for what stays."""
    first = heard.node << 5
    lines = (
        CanFrame(first | _SET_STATE, struct.pack("<I", AXIS_IDLE)),
        CanFrame(first | _SET_MODES, struct.pack("<II", CONTROL_MODES[kind], INPUT_PASSTHROUGH)),
        CanFrame(first | _SET_TORQUE, bytes(4)),  # feeds the watchdog, which would strike again
        CanFrame(first | _CLEAR_ERRORS, b"\0"),
    )
    request = b"".join(frame.line for frame in lines)
    answered = False
    for data in ask_and_listen(port, lambda k: request, _SETTLE, _AGAIN):
        beats = [frame for frame in heard.take(data) if frame.identifier & 0x1F == _HEARTBEAT]
        if answered and beats and heard.state == AXIS_IDLE and heard.error == 0:
            return
        answered = answered or bool(beats)  # one may have been under way already
    raise DeviceError(
        f"node {heard.node} on {port.path} should become idle (state {AXIS_IDLE}) and free of errors, found state "
        f"{heard.state}, error {heard.error:#x}: see dump_errors(odrv0) in odrivetool, and mend it"
    )


def _await_watchdog(port: SerialPort, heard: _Heard, wanted: float) -> None:
    """Be silent until its watchdog strikes; raises DeviceError if it does not within the time and a little."""
    for data in ask_and_listen(port, lambda k: b"", wanted + _AGAIN, 1.0):
        heard.take(data)
        if heard.error & AXIS_WATCHDOG_EXPIRED:
            return
    raise DeviceError(
        f"the watchdog of node {heard.node} on {port.path} should strike {1e3 * wanted:g} ms after the last command, "
        f"but did not: set axis0.config.watchdog_timeout = {wanted:g} and enable_watchdog = True in odrivetool and save"
    )


def _require_values(
    port: SerialPort, heard: _Heard, settings: DeviceSettings, version: str, wanted: dict[str, float]
) -> str:
    """Read mode and watchdog, and refuse others than wanted; returns words for those whose number the rig lacks."""
    unread = []
    for name, value in wanted.items():
        number, (path, form) = int(settings[f"{name}_id"]), _READ_BACK[name]
        if number == 0:
            unread.append(name)
            continue
        found = _ask_value(port, heard, number, form)
        if found is None or not math.isclose(found, value, rel_tol=1e-6):
            raise DeviceError(
                f"{path} of node {heard.node} on {port.path} should be {value:g}, found "
                f"{'no answer' if found is None else format(found, 'g')}: set and save it in odrivetool, or correct "
                f"{name}_id ({number}) under its [[port]] by the flat_endpoints.json of firmware {version}"
            )
    return f" ({', '.join(unread)} not read back)" if unread else ""


def _ask_value(port: SerialPort, heard: _Heard, number: int, form: str) -> float | None:
    """Ask for the value of this number; None if no answer fits."""
    question = CanFrame(heard.node << 5 | _ASK_VALUE, struct.pack("<BHB", 0, number, 0)).line
    for data in ask_and_listen(port, lambda k: question, _ANSWER, _ANSWER / 2):
        for frame in heard.take(data):
            answers = frame.identifier & 0x1F == _TELL_VALUE and len(frame.data) >= 4 + struct.calcsize(form)
            if answers and struct.unpack_from("<H", frame.data, 1)[0] == number:
                return float(struct.unpack_from(form, frame.data, 4)[0])
    return None


def _traffic(carries: int, settings: DeviceSettings) -> Traffic:
    line, set_point = len(CanFrame(0, bytes(8)).line), len(CanFrame(0, bytes(4)).line)
    up, down = 4 * line, line if carries & ROLE_DRIVE else 0
    what = f"a set-point of {set_point} to {line} bytes down and four lines of {line} bytes up each period"
    return Traffic(up, down, what)


DEVICE = Device(
    name="odrive_can",
    carries=ROLE_DRIVE | ROLE_STEER,
    receive=receive,
    speak=speak,
    introduce=introduce,
    traffic=_traffic,
    prepare=_prepare,
    has_checksum=False,
    test_settings={
        "node_id": 3.0,
        "bit_rate": 1e6,
        "gear_ratio": 2.0,
        "torque_limit_Nm": 7.0,
        "torque_constant_Nm_A": 0.1,
    },
    settings={
        "node_id": DeviceSetting(0.0, "", "of the axis, 0 to 62"),
        "bit_rate": DeviceSetting(500_000.0, "bit/s", "of the CAN bus"),
        "firmware": DeviceSetting(0.5, "", "0.5 of the board v3.x, 0.6 of S1 and Pro"),
        "gear_ratio": DeviceSetting(1.0, "", "turns of the motor per turn of the steer"),
        "torque_limit_Nm": DeviceSetting(None, "N m", "the largest torque on the steer that motor and gear bear"),
        **{
            f"{name}_id": DeviceSetting(0.0, "", f"firmware 0.6: number of {path}, to read it back; 0: it is not")
            for name, (path, _) in _READ_BACK.items()
        },
        "torque_constant_Nm_A": DeviceSetting(None, "N m/A", "that the drive is set to: 8.27 / KV of the motor"),
    },
    examples=(
        ExampleMessage(
            b"t0618000000000800000\r",
            False,
            {"seq": 0},
            "a heartbeat of node 3 that lacks a byte",
        ),
        ExampleMessage(
            b"t06E40000803F\r",
            True,
            {"seq": 0, "status": 0},
            "1 N m to node 3, worked by hand from can-protocol.csv of 0.5.6: another master's, no reading",
        ),
    ),
)
