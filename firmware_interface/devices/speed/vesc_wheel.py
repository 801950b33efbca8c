"""Driver of a VESC on the rear wheel.

By its packets, ten times a second: a speed is set, and the wheel's speed requested. It is told SET_RPM, in electrical
revolutions per minute. As soon as it shall not run it is told a brake current of zero: the motor is loose and the wheel
rolls out, for a wheel that brakes takes the tyre's grip from a bicycle that nobody steers. Its own time-out (VESC Tool,
App Settings, General) does the same, with a brake current of 0 there.

Each question is answered with speed, supply, fault and status. An answer has no number, so a VESC that
said the same again and again would not be noticed by that; the wheel's own sensor shows what it does.

Sources and habits: `riderless.firmware_interface.devices.vesc`.
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
)
from riderless.firmware_interface.devices.link import ROLE_SPEED
from riderless.firmware_interface.devices.speed.speed_memory import (
    SPEED_ANSWERED,
    SPEED_FAULT,
    SPEED_HEARD,
    SPEED_LINE_RATE,
    SPEED_REPORTED,
    SPEED_SAID,
    SPEED_SAY_RUN,
    SPEED_SAY_SPEED,
    SPEED_STATUS,
    SPEED_STOPPED,
    SPEED_TIMED_OUT,
    take_order,
)
from riderless.firmware_interface.devices.speed.wheel_settings import wheel_travel
from riderless.firmware_interface.devices.vesc import ask_vesc, require_vesc_healthy, vesc_name
from riderless.firmware_interface.devices.vesc_codes import VESC_KILLED, VESC_TIMED_OUT, VescCommand, VescValue
from riderless.firmware_interface.devices.vesc_packets import (
    FOUR_BYTE_PAYLOAD,
    SHORT_OVERHEAD,
    SHORT_PACKET,
    high_first_number,
    take_packets,
    write_packet,
)
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.port import SerialPort

WHEEL_VALUES = struct.Struct(">BIihBB")  # payload of the answer: its kind, the selection, then the values
WHEEL_SELECTION = np.int64(
    sum(1 << value for value in (VescValue.RPM, VescValue.V_IN, VescValue.FAULT, VescValue.STATUS))
)
_QUESTION = np.int64(VescCommand.GET_VALUES_SELECTIVE)
_SET_RPM, _SET_CURRENT_BRAKE = np.int64(VescCommand.SET_RPM), np.int64(VescCommand.SET_CURRENT_BRAKE)
_ANSWER = np.int64(WHEEL_VALUES.size) + SHORT_OVERHEAD  # bytes of the packet
_HEAD = np.frombuffer(
    struct.pack(">BBBI", SHORT_PACKET, WHEEL_VALUES.size, int(_QUESTION), int(WHEEL_SELECTION)), np.uint8
)
_RPM_AT, _FAULT_AT, _STATUS_AT = 7, 13, 14  # places in that packet
_MOST = 2.0**31 - 1


@njit(cache=True, nogil=True)
def receive(link, rx, n):
    """Take ``rx[:n]`` off the line; returns the number of answers. Runs inside the tick."""
    return take_packets(link, rx, n, _HEAD, _ANSWER, _take)


@njit(cache=True, nogil=True)
def _take(link, data, start):
    """Make the answer at ``start`` what was heard. Runs inside the tick."""
    memory, fault, status = link.memory, data[start + _FAULT_AT], data[start + _STATUS_AT]
    rpm = high_first_number(data, start + _RPM_AT, np.int64(4))
    memory[SPEED_REPORTED] = np.int64(math.floor(rpm * link.unit + 0.5))
    memory[SPEED_STATUS] = (
        (SPEED_FAULT if fault != 0 else 0)
        | (SPEED_STOPPED if status & VESC_KILLED != 0 else 0)
        | (SPEED_TIMED_OUT if status & VESC_TIMED_OUT != 0 else 0)
    )
    memory[SPEED_ANSWERED] = memory[SPEED_SAID]
    memory[SPEED_HEARD] += 1


@njit(cache=True, nogil=True)
def speak(link, command, send, out):
    """Write the speed that the loop left in the link's memory, if it wants one said, and the question.

    Runs inside the tick.

    Parameters
    ----------
    link, command, send, out
        As for `riderless.firmware_interface.devices.link.say`.
    """
    memory = link.memory
    if not take_order(memory):
        return 0
    runs = memory[SPEED_SAY_RUN] != 0
    rpm = min(max(memory[SPEED_SAY_SPEED], 0) / link.unit, _MOST) if runs else 0.0
    n = write_packet(out, np.int64(0), _SET_RPM if runs else _SET_CURRENT_BRAKE, np.int64(math.floor(rpm + 0.5)))
    return write_packet(out, n, _QUESTION, WHEEL_SELECTION)


def _prepare_vesc_wheel(link: np.void, settings: DeviceSettings) -> None:
    """Write the way [mm/s] per electrical revolution a minute into a fresh link; raises DeviceError."""
    pairs = settings["pole_pairs"]
    if not (0.0 < pairs < math.inf and pairs == round(pairs)):
        raise DeviceError(
            f"a vesc_wheel needs pole_pairs, a whole number from 1, found {pairs:g}: give that of the motor under its "
            "[[port]], half the number of its magnets"
        )
    link["unit"] = 1e3 * wheel_travel("vesc_wheel", settings) / (60.0 * pairs)


def introduce(port: SerialPort, wants: DeviceRequirements) -> Introduction:
    """Ask for firmware and values; it is told nothing that moves it.

    Raises
    ------
    DeviceError
        Silence, another device, firmware that does not tell its status, a fault, no supply, or a kill switch.
    """
    name = vesc_name(port)
    answer, _ = ask_vesc(port, struct.pack(">BI", int(_QUESTION), int(WHEEL_SELECTION)), 6)
    if len(answer) != WHEEL_VALUES.size or int.from_bytes(answer[1:5], "big") != WHEEL_SELECTION:
        raise DeviceError(
            f"the {name} on {port.path} should tell its speed and status, found {len(answer)} bytes of answer: load "
            "firmware 5.03 or newer with VESC Tool"
        )
    _, _, _, v_in, fault, status = WHEEL_VALUES.unpack(answer)
    require_vesc_healthy(port, name, fault, v_in)
    if status & VESC_KILLED:
        raise DeviceError(f"the {name} on {port.path} is stopped by its kill switch: release it")
    return Introduction(name=f"{name}, rear wheel")


def _traffic(carries: int, settings: DeviceSettings) -> Traffic:
    up, down = int(_ANSWER), int(2 * (FOUR_BYTE_PAYLOAD + SHORT_OVERHEAD))
    return Traffic(up, down, f"an answer of {up} bytes up, a speed and a question of {down} down", SPEED_LINE_RATE)


DEVICE = Device(
    name="vesc_wheel",
    carries=ROLE_SPEED,
    receive=receive,
    speak=speak,
    introduce=introduce,
    traffic=_traffic,
    prepare=_prepare_vesc_wheel,
    test_settings={"pole_pairs": 7.0, "wheel_radius_m": 0.3, "gear_ratio": 4.0},
    settings={
        "pole_pairs": DeviceSetting(None, "", "pole pairs of the motor"),
        "gear_ratio": DeviceSetting(1.0, "", "turns of the motor per turn of the rear wheel"),
        "wheel_radius_m": DeviceSetting(None, "m", "rolling radius of the rear wheel"),
    },
    examples=(
        ExampleMessage(
            bytes.fromhex("02 0D 32 00208180 000007D0 00FB 00 00 C3A3 03"),
            True,
            {},
            "2000 revolutions a minute, 25.1 V; worked by hand, its CRC by binascii.crc_hqx",
        ),
        ExampleMessage(bytes.fromhex("02 0D 32 00208180 000007D0 00FB 00 00 C3A4 03"), False, {}, "another CRC"),
    ),
)
