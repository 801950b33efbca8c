"""Settings of a drive of the rear wheel.

They are the same for all protocols.
"""

import math

from riderless.firmware_interface.devices.driver import DeviceSettings, require_positive


def wheel_travel(device: str, settings: DeviceSettings) -> float:
    """Way of the bicycle per turn of the motor [m].

    Raises
    ------
    DeviceError
        ``gear_ratio`` or ``wheel_radius_m`` is not positive.
    """
    require_positive(device, settings, "gear_ratio", "wheel_radius_m")
    return 2.0 * math.pi * settings["wheel_radius_m"] / settings["gear_ratio"]
