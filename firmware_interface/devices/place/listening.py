"""Common parts of the sensors of place.

They send by themselves, get no messages, and their settings have ranges.
"""

from collections.abc import Callable, Mapping

import numpy as np

from riderless.firmware_interface.devices.driver import DeviceSetting, DeviceSettings
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.port import SerialPort, ask_and_listen


def listen_for_fix(port: SerialPort, link: np.void, receive: Callable[..., int], timeout: float) -> tuple[bool, bytes]:
    """Listen until the driver makes a fix of what it hears.

    Parameters
    ----------
    port : SerialPort
    link : record of LINK_STATE
        Fresh, with its settings.
    receive : compiled function
        Of the driver.
    timeout : float
        s

    Returns
    -------
    bool
        True for a fix.
    bytes
        All that was heard.

    Raises
    ------
    DeviceError
        If the port fails.
    """
    heard = bytearray()
    for data in ask_and_listen(port, lambda k: b"", timeout):
        heard += data
        if receive(link, np.frombuffer(bytearray(data) or bytearray(1), np.uint8), len(data)) > 0:
            return True, bytes(heard)
    return False, bytes(heard)


def require_in_range(
    sensor: str,
    settings: DeviceSettings,
    ranges: Mapping[str, tuple[float, float]],
    described: Mapping[str, DeviceSetting],
) -> None:
    """Refuse a setting outside its range; raises DeviceError.

    Parameters
    ----------
    sensor : str
        What it is called in the sentence, "a camera".
    settings : mapping
        To look at.
    ranges : mapping
        Least and most of each setting that has a range.
    described : mapping
        Settings of the driver, with their units.
    """
    for key, (least, most) in ranges.items():
        if not least <= settings[key] <= most:
            bounds = f"{least:g} and {most:g} {described[key].unit}".rstrip()
            raise DeviceError(
                f"the setting {key} of {sensor} must lie between {bounds}, found {settings[key]:g}: correct it under "
                "its [[port]]"
            )
