"""Helpers: a link told bytes, and a sensor's twin behind its driver."""

import numpy as np

from riderless.firmware_interface.devices.link import new_link
from riderless.firmware_interface.devices.registry import device
from riderless.firmware_interface.twins.place.sending import new_place_twin, send_place
from riderless.firmware_interface.twins.place.sensor import see_place

DATUM = {"lat_deg": 52.0116, "lon_deg": 4.3571, "lane_deg": 30.0}
CAMERA = {"x0_mm": 120.0, "y0_mm": -80.0, "lane_deg": 15.0, "y_to_the_right": -1.0}


def settings_of(name, **given):
    """All settings of a sensor, with a datum."""
    return device(name).settled({**(CAMERA if name == "camera" else DATUM if name != "distance" else {}), **given})


def listener(name, **given):
    """A fresh link to a sensor."""
    link = new_link()
    device(name).prepare(link, settings_of(name, **given))
    return link


def told(name, *chunks, **given):
    """Link after these bytes, each of which came in one tick, and the number of fixes."""
    link, fixes = listener(name, **given), 0
    for chunk in chunks:
        data = np.frombuffer(bytearray(chunk) or bytearray(1), np.uint8)
        fixes += device(name).receive(link, data, len(chunk))
    return link, fixes


def seen(name, faults=(), seconds=3.0, noise=1.0, where=lambda t: (4.0 * t, 0.1, 0.0, 0.0), rate=200, **given):
    """Fixes (t, x, y [m], psi [rad], age [s]) that the driver makes of a twin's bytes."""
    twin = new_place_twin(name, settings_of(name, **given), seed=3, faults=faults, noise=noise)
    link, out, rows, seq = listener(name, **given), np.zeros(1024, np.uint8), [], 0
    for k in range(round(rate * seconds)):
        see_place(twin, k / rate, *where(k / rate))
        device(name).receive(link, out, send_place(twin, k / rate, out))
        fix = link["fix"]
        if fix["seq"] != seq:
            seq = int(fix["seq"])
            rows.append(
                (k / rate, 1e-3 * fix["x_mm"], 1e-3 * fix["y_mm"], 1e-6 * fix["psi_urad"], 1e-6 * fix["age_us"])
            )
    return np.array(rows)
