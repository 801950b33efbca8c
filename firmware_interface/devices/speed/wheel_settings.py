"""Settings of a drive of the rear wheel.

They are the same for all protocols.
"""

import math

from riderless.firmware_interface.devices.driver import DeviceSettings
from riderless.firmware_interface.errors import DeviceError


def wheel_travel(device: str, settings: DeviceSettings) -> float:
    """Way of the bicycle per turn of the motor [m].

    Raises
    ------
    DeviceError
        ``gear_ratio`` or ``wheel_radius_m`` is not positive.
    """
    for name, unit in (("gear_ratio", ""), ("wheel_radius_m", " m")):
        if not 0.0 < settings[name] < math.inf:
            raise DeviceError(
                f"{name} of the {device} must be positive, found {settings[name]:g}{unit}: correct its [[port]]"
            )
    return 2.0 * math.pi * settings["wheel_radius_m"] / settings["gear_ratio"]
