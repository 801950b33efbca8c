"""Setting an ODrive up before the loop: asked and told line by line, everything read back."""

from firmware_interface.devices.device import Introduction, Wants
from firmware_interface.errors import DeviceError
from firmware_interface.port import Port, answers

COUNTS_PER_TURN = 1e6
_TORQUE_CONTROL, _PASSTHROUGH = 1, 1
_TRIES, _WAIT = 3, 0.3  # s


def introduce(port: Port, wants: Wants) -> Introduction:
    """Check the firmware, set torque control and the watchdog, read both back.

    Raises
    ------
    DeviceError
        When nothing answers, the firmware is another, motor or encoder are not ready, or a setting does not stay.
    """
    settings = wants.settings
    axis, gear = f"axis{round(settings['axis'])}", settings["gear_ratio"]
    major, minor = (round(ask(port, f"r fw_version_{part}")) for part in ("major", "minor"))
    if (major, minor) != (0, 5):
        raise DeviceError(
            f"the ODrive on {port.path} should run firmware 0.5, found {major}.{minor}: load 0.5.6 with "
            "`odrivetool dfu`"
        )
    for name, todo in {
        f"{axis}.motor.is_calibrated": "motor calibration",
        f"{axis}.encoder.is_ready": "encoder offset calibration",
    }.items():
        if ask(port, f"r {name}") != 1.0:
            raise DeviceError(
                f"{name} of the ODrive on {port.path} should be true, found false: run the {todo} in odrivetool, "
                "save it, "
                "and restart the drive"
            )
    put(port, f"{axis}.controller.config.control_mode", _TORQUE_CONTROL)
    put(port, f"{axis}.controller.config.input_mode", _PASSTHROUGH)
    put(port, f"{axis}.config.watchdog_timeout", wants.watchdog)
    put(port, f"{axis}.config.enable_watchdog", 1)
    constant, current = (ask(port, f"r {axis}.motor.config.{name}") for name in ("torque_constant", "current_lim"))
    if not (constant > 0.0 and current > 0.0):
        raise DeviceError(
            f"torque constant and current limit of the ODrive on {port.path} should be positive, found "
            f"{constant:g} N m/A "
            f"and {current:g} A: set them in odrivetool"
        )
    return Introduction(
        name=f"ODrive 0.{minor}.{round(ask(port, 'r fw_version_revision'))}",
        torque_limit=min(settings["torque_limit_Nm"], current * constant * gear),
        watchdog=wants.watchdog,
        steer_counts_per_turn=COUNTS_PER_TURN,
        scale=gear,
        per_amp=constant * gear,
    )


def line_of(text: str) -> bytes:
    """A line with its checksum."""
    body = f"{text} ".encode()
    return body + b"*%d\n" % checksum(body)


def checksum(body: bytes) -> int:
    """Exclusive or of all bytes."""
    value = 0
    for byte in body:
        value ^= byte
    return value


def checked(line: bytes) -> str | None:
    """What an answer says, if its checksum fits."""
    body, star, told = line.strip(b"\r\n").partition(b"*")
    if not star or not told.isdigit() or int(told) != checksum(body):
        return None
    return body.decode("ascii", errors="replace").strip()


def ask(port: Port, question: str) -> float:
    """The number an ODrive answers.

    Raises
    ------
    DeviceError
        When there is no answer, or it is no number.
    """
    heard = b""
    for _ in range(_TRIES):
        for _ in answers(port, lambda k: b"", 0.01):  # what an earlier question has left
            pass
        said = b""
        for data in answers(port, lambda k: b"\n" + line_of(question), _WAIT, again=2 * _WAIT):
            said += data
            lines = said.splitlines(keepends=True)
            good = [text for line in lines if line.endswith(b"\n") and (text := checked(line)) is not None]
            if good:
                return _number(port, question, good[0])
        heard += said
    wanted = f"an ODrive on {port.path} should answer `{question}`"
    if not heard:
        raise DeviceError(f"{wanted}, but nothing came; is it powered, and is this its port?")
    raise DeviceError(
        f"{wanted} with a checksum, but {len(heard)} bytes of something else came ({heard[:40]!r}); is "
        "it another device, "
        f"or is {port.baud} not its baud rate?"
    )


def put(port: Port, name: str, value: float) -> None:
    """Set a property and read it back; raises DeviceError if it does not stay."""
    for _ in answers(port, lambda k: line_of(f"w {name} {value:g}"), 0.02, again=1.0):
        pass
    found = ask(port, f"r {name}")
    if abs(found - value) > 1e-6 * max(1.0, abs(value)):
        raise DeviceError(
            f"{name} of the ODrive on {port.path} should stay at {value:g} when set, found {found:g}: "
            "set it in odrivetool, save, and restart the drive"
        )


def _number(port: Port, question: str, answer: str) -> float:
    words = {"true": 1.0, "false": 0.0}
    try:
        return words[answer.lower()] if answer.lower() in words else float(answer)
    except ValueError:
        raise DeviceError(
            f"the ODrive on {port.path} should answer `{question}` with a number, found {answer!r}: is its "
            "firmware 0.5?"
        ) from None
