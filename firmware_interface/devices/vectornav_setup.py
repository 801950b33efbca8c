"""Setting a VectorNav up before the loop: registers written and read back, then its stream waited for."""

import binascii

from firmware_interface.devices.device import Introduction, Wants
from firmware_interface.errors import DeviceError
from firmware_interface.port import Port, answers

GYRO_LSB, ACCEL_LSB = 2.0**-20, 2.0**-16  # rad/s and m/s^2 per count, finer than the sensor's noise
FASTEST = 800  # Hz; the stream is a whole divisor of it
MODEL, FIRMWARE, ASYNC_TYPE, BINARY_OUTPUT = 1, 4, 6, 75  # registers
ERRORS = {
    1: "hard fault",
    2: "serial buffer overflow",
    3: "invalid checksum",
    4: "invalid command",
    5: "not enough parameters",
    6: "too many parameters",
    7: "invalid parameter",
    8: "invalid register",
    9: "unauthorised access",
    10: "watchdog reset",
    11: "output buffer overflow",
    12: "insufficient baud rate",
}
_TRIES, _WAIT = 4, 0.25  # s
_STREAM = bytes((0xFA, 0x01, 0x29, 0x01))
_SIZE = 50  # bytes of a message


def introduce(port: Port, wants: Wants) -> Introduction:
    """Silence it, learn what it is, order our binary message at the loop's rate, wait for the first.

    Raises
    ------
    DeviceError
        When nothing answers, the rate is no divisor of 800 Hz, or a register does not take what is written.
    """
    divisor = round(FASTEST / wants.rate)
    if divisor < 1 or abs(divisor * wants.rate - FASTEST) > 1e-6:
        rates = ", ".join(f"{FASTEST / d:g}" for d in (1, 2, 4, 5, 8))
        raise DeviceError(
            f"a VectorNav streams at {FASTEST} Hz divided by a whole number, found a loop of {wants.rate:g} Hz: "
            f"set rate_Hz to one of {rates}"
        )
    on = round(wants.settings.get("serial_port", 1.0))
    write(port, ASYNC_TYPE, "0")
    model, firmware = read(port, MODEL), read(port, FIRMWARE)
    write(port, BINARY_OUTPUT, f"{on},{divisor},01,0129")
    kept = [int(word, 16) for word in read(port, BINARY_OUTPUT).split(",")]
    if kept != [on, divisor, 0x01, 0x0129]:
        raise DeviceError(
            f"register {BINARY_OUTPUT} of the {model} on {port.path} should read {on},{divisor},01,0129 after "
            "being written, "
            f"found {kept}: is another program talking to it?"
        )
    _await_stream(port, model)
    return Introduction(f"{model} {firmware}", round(wants.rate), gyro_lsb=GYRO_LSB, accel_lsb=ACCEL_LSB)


def line_of(text: str) -> bytes:
    """``$text*CC`` and a line end; CC is the exclusive or of what stands between."""
    return f"${text}*{_xor(text.encode()):02X}\r\n".encode()


def checked(line: bytes) -> str | None:
    """What stands between ``$`` and ``*`` of a line whose check fits: two digits, four (CRC-16), or ``XX`` for none."""
    start = line.rfind(b"$")
    body, star, told = line[start + 1 :].strip(b"\r\n").partition(b"*")
    if start < 0 or not star:
        return None
    right = {
        2: told.upper() in (b"XX", b"%02X" % _xor(body)),
        4: told.upper() == b"%04X" % binascii.crc_hqx(body, 0),
    }
    return body.decode("ascii", errors="replace") if right.get(len(told), False) else None


def read(port: Port, register: int) -> str:
    """The text of a register; raises DeviceError."""
    return _answered(port, f"VNRRG,{register:02d}")


def write(port: Port, register: int, values: str) -> None:
    """Write a register and wait for its echo; raises DeviceError."""
    _answered(port, f"VNWRG,{register:02d},{values}")


def _answered(port: Port, request: str) -> str:
    """Ask until the same words come back; what follows the register's number."""
    command, register = request.split(",")[:2]
    heard = b""
    for data in answers(port, lambda k: line_of(request), _TRIES * _WAIT, again=_WAIT):
        heard = (heard + data)[-8192:]
        for text in filter(None, map(checked, heard.split(b"\n")[:-1])):
            said, _, rest = text.partition(",")
            if said == "VNERR":
                code = int(rest, 16) if rest[:2].isalnum() else 0
                meaning = ERRORS.get(code, "unknown error")
                hint = "raise the baud rate of the sensor (register 5)" if code == 12 else "is it a VN-100 or VN-200?"
                raise DeviceError(f"the VectorNav on {port.path} refused `{request}`: {meaning} (error {code}); {hint}")
            number, _, values = rest.partition(",")
            if said == command and number.isdigit() and int(number) == int(register):
                return values
    wanted = f"a VectorNav on {port.path} should answer `{request}` at {port.baud} baud"
    if not heard:
        raise DeviceError(f"{wanted}, but nothing came; is it powered, is this its port, and this its baud rate?")
    raise DeviceError(f"{wanted}, but {len(heard)} bytes of something else came; is it another device or baud rate?")


def _await_stream(port: Port, model: str) -> None:
    heard = b""
    for data in answers(port, lambda k: b"", 2.0, again=10.0):
        heard += data
        at = heard.find(_STREAM)
        while at >= 0 and len(heard) >= at + _SIZE:
            if binascii.crc_hqx(heard[at + 1 : at + _SIZE], 0) == 0:
                return
            at = heard.find(_STREAM, at + 1)
    raise DeviceError(
        f"the {model} on {port.path} should stream its binary message, but {len(heard)} bytes came and no such "
        "message: "
        "is the baud rate high enough, and does `serial_port` name the sensor's port we are on?"
    )


def _xor(data: bytes) -> int:
    value = 0
    for byte in data:
        value ^= byte
    return value
