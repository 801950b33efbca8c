"""Driver of a VESC by its serial packets.

Steer drive and steer encoder.

A packet is ``02 length payload CRC 03``, or ``03`` and a length of two bytes for more than 255; the CRC-16
(XMODEM, high byte first) is of the payload alone. Each tick sets the current and asks for five values in one question;
the answer acknowledges the command that was said with it. A VESC knows no "off" but a current of zero; ours is a
brake current of zero, which does the same and can be told from a torque of zero on the line.

- Its **time-out** is not latched: the next command ends it. Questions do not feed it. It is looked at every 10 ms,
  so it strikes, and its end is told, up to that much late. What it is set to (VESC Tool, App Settings, General)
  is not asked here: the supervisor proves it while arming. Set its brake current to 0, or it brakes the steer.
- A **fault** holds for half a second by default and then clears itself; commands are ignored until then.
- A **rate** is told by SET_RPM in electrical revolutions per minute: motor turns times pole pairs. Its speed controller
  lets the motor go below a least speed, 900 from the factory: set Minimum ERPM to 0 in VESC Tool (PID Controllers),
  or the steer hangs loose wherever it should turn slowly, and allow it to brake.
- An **angle** is told by SET_POS in millionths of a degree, of that same encoder; it goes there by the shorter way.
- **Torque** is the mean of the motor's q-axis current since the last answer, times torque constant and gear ratio.
- The **steer angle** is ``pid_pos``, degrees from 0 to 360 of the encoder VESC Tool was told of. It is unwrapped
  here, beginning with the turn nearest to zero. With a position angle division in VESC Tool other than 1 it begins
  at an arbitrary part of a turn: leave it at 1.
- Its **supply** is told up to 65.5 V; more is told as that.
- It tells no time of its own: ``t_us`` stays 0.

Source: github.com/vedderb/bldc at 7.01: packet.c, commands.c, timeout.c, mc_interface.c; the status since 5.03.
"""

import math
import struct
from collections.abc import Callable

import numpy as np

from riderless.firmware_interface.devices.driver import (
    Device,
    DeviceRequirements,
    DeviceSetting,
    DeviceSettings,
    ExampleMessage,
    Introduction,
    Traffic,
)
from riderless.firmware_interface.devices.link import ROLE_DRIVE, ROLE_STEER
from riderless.firmware_interface.devices.vesc_codes import (
    VESC_FAULT_NAMES,
    VESC_KILLED,
    VESC_TIMED_OUT,
    VescCommand,
    VescValue,
)
from riderless.firmware_interface.devices.vesc_packets import (
    FOUR_BYTE_PAYLOAD,
    SHORT_OVERHEAD,
    SHORT_PACKET,
    high_first_number,
    take_packets,
    write_packet,
)
from riderless.firmware_interface.devices.vesc_packets import encode_packet as encode_packet
from riderless.firmware_interface.devices.vesc_packets import packet_payloads as packet_payloads
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.messages import (
    COMMAND_ENABLE,
    COMMAND_KIND_ANGLE,
    COMMAND_KIND_RATE,
    COMMAND_KIND_TORQUE,
    FAULT_DRIVE,
    STATUS_ENABLED,
    STATUS_STOP_BUTTON,
    STATUS_WATCHDOG,
)
from riderless.firmware_interface.port import SerialPort, ask_and_listen

_SELECTED = (VescValue.IQ, VescValue.V_IN, VescValue.FAULT, VescValue.PID_POS, VescValue.STATUS)
VALUES = struct.Struct(">BIihBiB")  # payload of the answer: its kind, the selection, the values in their order
VESC_COUNTS_PER_TURN = 360_000_000  # millionths of a degree

# Not plain ints: numba compiles a function anew for every literal int it is handed.
_GET_VALUES_SELECTIVE = np.int64(VescCommand.GET_VALUES_SELECTIVE)
_SET_CURRENT, _SET_CURRENT_BRAKE = np.int64(VescCommand.SET_CURRENT), np.int64(VescCommand.SET_CURRENT_BRAKE)
_SET_RPM, _SET_POS = np.int64(VescCommand.SET_RPM), np.int64(VescCommand.SET_POS)
VESC_SELECTION = np.int64(sum(1 << value for value in _SELECTED))
_ANSWER = np.int64(VALUES.size) + SHORT_OVERHEAD  # bytes of the packet that holds our values
_HEAD = np.frombuffer(struct.pack(">BBBI", SHORT_PACKET, VALUES.size, _GET_VALUES_SELECTIVE, VESC_SELECTION), np.uint8)
_IQ_AT, _V_IN_AT, _FAULT_AT, _POSITION_AT, _STATUS_AT = 7, 11, 13, 14, 18  # places in that packet
_VALUE_MAX = 2.0**31 - 1  # of the field; what may flow the supervisor and the VESC decide
_ON, _POSITION = 0, 1  # places in the link's memory: ENABLE in the last command, the unwrapped angle
_SELECTION_TOLD = slice(1, 5)  # of the payload of an answer: the selection it answers
_TIMEOUT = 1.0  # s, for an answer before the loop


@njit(cache=True, nogil=True, error_model="numpy")  # a division by zero makes no torque
def vesc_set_point(link, command):
    """Turn a command into what a VESC is told: kind of command and its number. Runs inside the tick.

    Parameters
    ----------
    link, command
        As for `link.say`.
    """
    if command.kind == COMMAND_KIND_RATE:
        kind, value = _SET_RPM, command.T_cmd / link.unit
    elif command.kind == COMMAND_KIND_ANGLE:
        kind, value = _SET_POS, 1e6 * command.T_cmd / link.unit
    else:
        kind, value = _SET_CURRENT, 1e3 * command.T_cmd / link.scale
    on = command.flags & COMMAND_ENABLE != 0 and math.isfinite(value)
    value = min(max(value, -_VALUE_MAX), _VALUE_MAX) if on else 0.0
    link.memory[_ON] = on
    link.said_seq = command.seq
    return kind if on else _SET_CURRENT_BRAKE, np.int64(np.rint(value))


@njit(cache=True, nogil=True)
def speak(link, command, send, out):
    """Write the current, speed or position if there is one to ``send``, and the question; returns the bytes.

    Runs inside the tick.

    Parameters
    ----------
    link, command, send, out
        As for `link.say`.
    """
    n = np.int64(0)
    if send and link.role & ROLE_DRIVE:
        kind, value = vesc_set_point(link, command)
        n = write_packet(out, n, kind, value)
    return write_packet(out, n, _GET_VALUES_SELECTIVE, VESC_SELECTION)


@njit(cache=True, nogil=True)
def receive(link, rx, n):
    """Take ``rx[:n]`` off the line; returns the number of new readings. Runs inside the tick."""
    return take_packets(link, rx, n, _HEAD, _ANSWER, take_vesc_values)


@njit(cache=True, nogil=True)
def take_vesc_values(link, data, start):
    """Make the answer whose packet begins at ``start`` the reading. Runs inside the tick."""
    raw, memory = link.raw, link.memory
    fault, status = data[start + _FAULT_AT], data[start + _STATUS_AT]
    position = high_first_number(data, start + _POSITION_AT, np.int64(4))
    torque_mNm = 10.0 * high_first_number(data, start + _IQ_AT, np.int64(4)) * link.scale  # from units of 0.01 A
    step = (position - memory[_POSITION]) % VESC_COUNTS_PER_TURN
    steer = memory[_POSITION] + (step - VESC_COUNTS_PER_TURN if 2 * step > VESC_COUNTS_PER_TURN else step)
    inside = abs(torque_mNm) < 2.0**31 and abs(steer) < 2**31 and 0 <= position <= VESC_COUNTS_PER_TURN
    raw.off_scale = not inside
    if inside:
        memory[_POSITION] = steer
        raw.steer_counts = steer
        raw.torque_mNm = np.int64(np.rint(torque_mNm))
    raw.bus_mV = min(max(100 * high_first_number(data, start + _V_IN_AT, np.int64(2)), 0), 0xFFFF)
    timed_out, killed = status & VESC_TIMED_OUT != 0, status & VESC_KILLED != 0
    on = memory[_ON] != 0 and fault == 0 and not timed_out and not killed
    raw.status = (
        (STATUS_ENABLED if on else 0) | (STATUS_WATCHDOG if timed_out else 0) | (STATUS_STOP_BUTTON if killed else 0)
    )
    raw.faults = FAULT_DRIVE if fault != 0 else 0
    raw.command_seq = link.said_seq
    raw.seq += 1


def introduce(port: SerialPort, wants: DeviceRequirements) -> Introduction:
    """Ask for firmware and values, never feeding its time-out.

    The watchdog is the one the rig wants: the VESC is not asked, the supervisor proves it while arming.

    Raises
    ------
    DeviceError
        For an impossible setting; when nothing or something else answers; when the firmware does not tell its
        status; for a fault, or no supply.
    """
    return introduce_vesc(port, wants, lambda: vesc_name(port), lambda question: ask_vesc(port, question, 6)[0])


def introduce_vesc(
    port: SerialPort, wants: DeviceRequirements, ask_name: Callable[[], str], ask: Callable[[bytes], bytes]
) -> Introduction:
    """Introduce a VESC that is asked in its own way, as `introduce`.

    Parameters
    ----------
    port : SerialPort
    wants : DeviceRequirements
    ask_name : callable
        Asks for make, hardware and firmware.
    ask : callable
        Returns the payload that answers that of a question; empty if none does.

    Raises
    ------
    DeviceError
    """
    unit = _unit(wants)
    constant, ratio = _positive(wants.settings, "torque_constant_Nm_A"), _positive(wants.settings, "gear_ratio")
    scale, limit = constant * ratio, _positive(wants.settings, "current_limit_A")
    name = ask_name()
    answer = ask(struct.pack(">BI", _GET_VALUES_SELECTIVE, VESC_SELECTION))
    if len(answer) != VALUES.size or int.from_bytes(answer[_SELECTION_TOLD], "big") != VESC_SELECTION:
        what = "an answer without it" if answer else "no answer to that question"
        raise DeviceError(
            f"the {name} on {port.path} should tell its status, without which its time-out cannot be proven, but found "
            f"{what}: load firmware 5.03 or newer with VESC Tool"
        )
    _, _, _, v_in, fault, *_ = VALUES.unpack(answer)
    require_vesc_healthy(port, name, fault, v_in)
    return Introduction(
        name=name,
        torque_limit=limit * scale,
        watchdog=wants.watchdog,
        steer_counts_per_turn=float(VESC_COUNTS_PER_TURN),
        scale=scale,
        unit=unit,
        obeys=1 << wants.kind,
    )


def require_vesc_healthy(port: SerialPort, name: str, fault: int, v_in: int) -> None:
    """Refuse a fault, and a VESC without a supply.

    Parameters
    ----------
    port : SerialPort
    name : str
        Of the VESC.
    fault : int
        Its code; 0 for none.
    v_in : int
        Supply [0.1 V].

    Raises
    ------
    DeviceError
    """
    if fault:
        raise DeviceError(
            f"the {name} on {port.path} should be free of faults, found fault {fault} "
            f"({VESC_FAULT_NAMES.get(fault, 'named in VESC Tool')}); remove the cause and start again"
        )
    if v_in <= 0:
        raise DeviceError(
            f"the {name} on {port.path} should have a supply, found {0.1 * v_in:g} V; connect the battery, "
            "a VESC on USB alone answers but cannot drive"
        )


def _unit(wants: DeviceRequirements) -> float:
    """Steer rate [rad/s] per electrical revolution a minute, or angle [rad] per degree; raises DeviceError."""
    if wants.kind == COMMAND_KIND_TORQUE:
        return 1.0
    if wants.kind == COMMAND_KIND_ANGLE:
        return math.radians(1.0) / _positive(wants.settings, "encoder_ratio")
    pairs = wants.settings["pole_pairs"]
    if not (0.0 < pairs < math.inf and pairs == round(pairs)):
        raise DeviceError(
            f"a VESC that is commanded a rate needs pole_pairs, a whole number from 1, found {pairs:g}: give that of "
            "the motor under its [[port]], half the number of its magnets"
        )
    return 2.0 * math.pi / (60.0 * pairs * _positive(wants.settings, "gear_ratio"))


def _positive(settings: DeviceSettings, name: str) -> float:
    value = settings[name]
    if not 0.0 < value < math.inf:
        raise DeviceError(
            f"the setting {name} of a VESC must be positive, found {value:g} {DEVICE.settings[name].unit}".rstrip()
            + "; a motor that turns the other way has torque_sign = -1 in the calibration"
        )
    return value


def ask_vesc(port: SerialPort, question: bytes, least: int) -> tuple[bytes, bytes]:
    """Ask; returns the payload that answers (empty if none), of at least so many bytes, and all that was heard."""
    heard = b""
    for data in ask_and_listen(port, lambda k: encode_packet(question), _TIMEOUT):
        heard = (heard + data)[-4096:]
        for payload in packet_payloads(heard):
            if payload[0] == question[0] and len(payload) >= least:
                return payload, heard
    return b"", heard


def _first_answer(port: SerialPort) -> bytes:
    """Ask for the firmware; raises DeviceError."""
    question = bytes([VescCommand.FW_VERSION])
    answer, heard = ask_vesc(port, question, 3)
    if answer:
        return answer
    wanted = f"a VESC on {port.path} should tell its firmware within {_TIMEOUT:g} s"
    if not heard:
        raise DeviceError(
            f"{wanted}, but nothing came; is it powered, is this its port, and is UART among its apps in VESC Tool?"
        )
    if question in packet_payloads(heard):
        raise DeviceError(f"{wanted}, but only the question came back; are transmit and receive wired together?")
    raise DeviceError(
        f"{wanted}, but {len(heard)} bytes of something else came; is it another device, "
        f"or is {port.baud} not its baud rate?"
    )


def vesc_name(port: SerialPort) -> str:
    """Ask for make, hardware and firmware; raises DeviceError for silence, and for what is no motor controller."""
    return name_of_version(port, _first_answer(port))


def name_of_version(port: SerialPort, version: bytes) -> str:
    """Make, hardware and firmware, of the answer to FW_VERSION; raises DeviceError for what is no motor controller."""
    hardware, _, rest = version[3:].partition(b"\0")
    name = " ".join(filter(None, ("VESC", hardware.decode("ascii", errors="replace"))))
    name += f" {version[1]}.{version[2]:02d}"
    kind = rest[14] if len(rest) > 14 else 0  # behind its number (12), whether it is paired, and the test version
    if kind != 0:
        raise DeviceError(
            f"the {name} on {port.path} should be a motor controller, found hardware of type {kind} (1 is a battery's, "
            "2 another module); is this the drive's port?"
        )
    return name


def _traffic(carries: int, settings: DeviceSettings) -> Traffic:
    up, reply = int(_ANSWER), int(FOUR_BYTE_PAYLOAD + SHORT_OVERHEAD)
    down, kinds = (2 * reply, "a current and a question") if carries & ROLE_DRIVE else (reply, "a question")
    return Traffic(up, down, f"{kinds} of {down} bytes down, and an answer of {up} bytes up each period")


DEVICE = Device(
    name="vesc",
    carries=ROLE_DRIVE | ROLE_STEER,
    receive=receive,
    speak=speak,
    introduce=introduce,
    traffic=_traffic,
    test_settings={"torque_constant_Nm_A": 0.2, "gear_ratio": 2.0, "current_limit_A": 20.0},
    settings={
        "torque_constant_Nm_A": DeviceSetting(None, "N m/A", "torque of the motor per ampere of its q-axis current"),
        "gear_ratio": DeviceSetting(1.0, "", "turns of the motor per turn of the steer"),
        "pole_pairs": DeviceSetting(0.0, "", "pole pairs of the motor, for a drive that is commanded a rate"),
        "encoder_ratio": DeviceSetting(1.0, "", "turns of the encoder per turn of the steer, for an angle"),
        "current_limit_A": DeviceSetting(None, "A", "the largest motor current the VESC is set to allow"),
    },
    examples=(
        ExampleMessage(
            # 1.50 A, 25.1 V, no fault, 350 degrees, timed out
            bytes.fromhex("021132002181200000009600fb0014dc938001a39603"),
            True,
            {"steer_counts": -10_000_000, "bus_mV": 25_100, "status": STATUS_WATCHDOG, "faults": 0, "off_scale": 0},
            "worked by hand from comm/commands.c, its CRC by binascii.crc_hqx",
        ),
        ExampleMessage(
            bytes.fromhex("0217320002a18a00000000000afffff6d50176ffffb5da00155e8203"),
            False,
            {"seq": 0},
            "tommasoclini/vesc-rs tests/command_reply.rs: its CRC is wrong",
        ),
    ),
)
