"""Driver of a distance sensor across the belt.

A string potentiometer or laser, which sends a line of ASCII for each reading.

A line ends with CR, LF or both. Whatever stands in it, the ``field``-th number counts (0 is the first): digits with an
optional sign, decimal point and power of ten. So ``123.4``, ``-.512``, ``1.5e-1``, ``D=0123.4 mm`` and ``7;123.4;OK``
all read; a line without that number (``ERR``, ``----``) is no fix. The place to the right of the belt's middle is::

    y = number * mm_per_unit + offset_mm

A sensor that stands on the right and looks to the left has a negative ``mm_per_unit``. The sensor is told nothing, and
needs nothing but its own free running. Lines longer than `LONGEST_READING` are thrown away.
"""

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
from riderless.firmware_interface.devices.link import ROLE_PLACE, new_link, say_nothing
from riderless.firmware_interface.devices.place.listening import listen_for_fix, require_in_range
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.messages import FIX_Y
from riderless.firmware_interface.port import SerialPort

LONGEST_READING = np.int64(40)  # bytes without its end
_USUAL_LINE = 10  # bytes with its end, such as "-0123.4\r\n"
_LF, _CR, _POINT, _MINUS, _PLUS, _ZERO, _NINE = (np.int64(ord(c)) for c in "\n\r.-+09")
_POWERS = (np.int64(ord("e")), np.int64(ord("E")))
_FIELD, _NM_PER_UNIT, _OFFSET_UM, _AGE_US, _SIGMA_MM, _LINES = range(6)  # places in the link's memory
_MOST_MM = 1e6  # 1 km, beyond which no distance sensor reads
_MOST_DIGITS = 15
_MOST_POWER = np.int64(99)  # of ten: more would be no finite number, and no distance either
_LISTEN = 1.0  # s, for a line before the loop


@njit(cache=True, nogil=True)
def receive(link, rx, n):
    """Take ``rx[:n]`` off the line; returns the number of new fixes. Runs inside the tick."""
    receiver, fixes = link.receiver, 0
    for i in range(n):
        byte = np.int64(rx[i])
        if byte in (_LF, _CR):
            if receiver.filled > LONGEST_READING:
                receiver.frames_bad_length += 1
            elif receiver.filled > 0:
                fixes += _take_line(link, receiver.payload, receiver.filled)
            receiver.filled = 0
        elif receiver.filled < LONGEST_READING:
            receiver.payload[receiver.filled] = byte
            receiver.filled += 1
        else:
            receiver.bytes_skipped += 1
            receiver.filled = LONGEST_READING + 1  # too long to be one of ours: wait for its end
    return fixes


@njit(cache=True, nogil=True)
def _take_line(link, data, n):
    """Make the line ``data[:n]`` the newest fix; 1 if it was one. Runs inside the tick."""
    receiver, memory, fix = link.receiver, link.memory, link.fix
    wanted, i = memory[_FIELD], np.int64(0)
    while i < n:
        if not (_is_digit(data[i]) or (data[i] == _POINT and i + 1 < n and _is_digit(data[i + 1]))):
            i += 1
            continue
        number, digits, i = _read_number(data, i, n)
        if wanted > 0:
            wanted -= 1
            continue
        y = 1e-6 * number * memory[_NM_PER_UNIT] + 1e-3 * memory[_OFFSET_UM]  # mm
        if digits > _MOST_DIGITS or abs(y) > _MOST_MM:
            break
        receiver.frames_ok += 1
        fix.seq += 1
        fix.has, fix.y_mm = FIX_Y, np.int64(np.rint(y))
        fix.age_us, fix.sigma_mm = memory[_AGE_US], memory[_SIGMA_MM]
        return 1
    receiver.frames_bad_length += 1
    return 0


@njit(cache=True, nogil=True)
def _read_number(data, i, n):
    """Read the number that begins at ``data[i]``, its sign before that: its value, its digits, the place after it."""
    sign = -1.0 if i > 0 and data[i - 1] == _MINUS else 1.0
    number, digits, decimals = 0.0, 0, -1
    while i < n and (_is_digit(data[i]) or (data[i] == _POINT and decimals < 0)):
        if data[i] == _POINT:
            decimals = 0
        else:
            number, digits = 10.0 * number + np.float64(np.int64(data[i]) - _ZERO), digits + 1
            decimals += decimals >= 0
        i += 1
    power, i = _read_power(data, i, n)
    return sign * number / 10.0 ** (max(decimals, 0) - power), digits, i


@njit(cache=True, nogil=True)
def _read_power(data, i, n):
    """Read the power of ten, such as ``e-1``, at ``data[i]`` and the place after it; 0 where none stands there."""
    signed = i + 1 < n and data[i + 1] in (_MINUS, _PLUS)
    after = i + 1 + signed
    if after >= n or data[i] not in _POWERS or not _is_digit(data[after]):
        return 0, i
    power = np.int64(0)
    while after < n and _is_digit(data[after]):
        power = min(10 * power + np.int64(data[after]) - _ZERO, _MOST_POWER)
        after += 1
    return (-power if data[i + 1] == _MINUS else power), after


@njit(cache=True, nogil=True)
def _is_digit(byte):
    return _ZERO <= byte <= _NINE


def prepare(link: np.void, settings: DeviceSettings) -> None:
    """Write the settings into the memory of a fresh link."""
    link["memory"][_FIELD] = round(settings["field"])
    link["memory"][_NM_PER_UNIT] = round(1e6 * settings["mm_per_unit"])
    link["memory"][_OFFSET_UM] = round(1e3 * settings["offset_mm"])
    link["memory"][_AGE_US] = round(1e3 * settings["latency_ms"])
    link["memory"][_SIGMA_MM] = round(settings["sigma_mm"])


def introduce(port: SerialPort, wants: DeviceRequirements) -> Introduction:
    """Listen for a line with the number in it.

    Raises
    ------
    DeviceError
        For an impossible setting, silence, or lines without that number.
    """
    require_in_range("a distance sensor", wants.settings, _RANGES, DEVICE.settings)
    if not 0.0 < abs(wants.settings["mm_per_unit"]) <= 1e4:
        raise DeviceError(
            f"the setting mm_per_unit of a distance sensor must be other than 0 and at most 10000, found "
            f"{wants.settings['mm_per_unit']:g}: 1 where it sends millimetres, 1000 where it sends metres"
        )
    link = new_link()
    prepare(link, wants.settings)
    good, heard = listen_for_fix(port, link, receive, _LISTEN)
    if good:
        return Introduction(name="distance sensor")
    lines = repr(heard[-60:].decode("ascii", "replace")) if heard else "silence"
    raise DeviceError(
        f"the distance sensor on {port.path} should send lines with {1 + round(wants.settings['field'])} number"
        f"{'s' if wants.settings['field'] else ''} or more, found {lines}: correct field, the baud rate, or let it run "
        "freely"
    )


_RANGES = {"field": (0, 9), "rate_Hz": (1, 1000), "latency_ms": (0, 250), "sigma_mm": (0, 1000)}


def _traffic(carries: int, settings: DeviceSettings) -> Traffic:
    return Traffic(_USUAL_LINE, 0, f"a line of {_USUAL_LINE} bytes at most each time", settings["rate_Hz"])


DEVICE = Device(
    name="distance",
    carries=ROLE_PLACE,
    receive=receive,
    speak=say_nothing,
    introduce=introduce,
    traffic=_traffic,
    prepare=prepare,
    settings={
        "field": DeviceSetting(0.0, "", "which number of a line is the distance, 0 for the first"),
        "mm_per_unit": DeviceSetting(1.0, "mm", "of what it sends; negative where it grows to the left"),
        "offset_mm": DeviceSetting(0.0, "mm", "place to the right of the belt's middle where it sends 0"),
        "rate_Hz": DeviceSetting(100.0, "Hz", "at which it sends lines"),
        "latency_ms": DeviceSetting(5.0, "ms", "from the reading to the end of its line"),
        "sigma_mm": DeviceSetting(2.0, "mm", "standard deviation of a reading"),
    },
    examples=(
        ExampleMessage(b"123.4\r\n", True, {}, "millimetres"),
        ExampleMessage(b"D=-0123.4 mm\r\n", True, {}, "with words around it"),
        ExampleMessage(b"ERR\r\n", False, {}, "nothing in sight"),
    ),
)
