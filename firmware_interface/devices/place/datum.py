"""Datum: latitude and longitude to lane coordinates.

Lane coordinates are metres along the lane and to the right of it. The origin is a point on the lane's middle,
``lane_deg`` the direction in which it is ridden, clockwise from true north. On the WGS84 ellipsoid, with M and N its
radii of curvature at the origin (meridian and prime vertical)::

    north = M dlat + 0.5 N sin(lat) cos(lat) dlon^2          east = N cos(lat + dlat) dlon
    x = north cos(lane) + east sin(lane)                     y = -north sin(lane) + east cos(lane)

good to a millimetre within 1 km of the origin. Farther than `FARTHEST_FIX` from it nothing is a fix.
"""

import math
from collections.abc import Callable

import numpy as np

from riderless.firmware_interface.devices.driver import DeviceSetting, DeviceSettings
from riderless.firmware_interface.devices.link import new_link
from riderless.firmware_interface.devices.place.listening import listen_for_fix, require_in_range
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.messages import FIX_PSI, FIX_X, FIX_Y
from riderless.firmware_interface.port import SerialPort

FARTHEST_FIX = 5000.0  # m, from the origin
SEMI_MAJOR, FLATTENING = 6378137.0, 1.0 / 298.257223563  # m, 1: of WGS84
_E2 = FLATTENING * (2.0 - FLATTENING)
NO_SOLUTION, AUTONOMOUS, RTK_FLOAT, RTK_FIXED = 0, 1, 2, 3  # how good a position is, the better the larger
SOLUTIONS = ("no solution", "a position without RTK", "RTK float", "RTK fixed")
LEAST_HEADING_SPEED = 1.0  # m/s, below which a course says nothing about a heading
# places in the link's memory of every receiver; SEEN is one more than the last solution, a driver's own begin at OWN
LAT, LON, LANE, AGE_US, SIGMA_MM, LEAST, COURSE, SEEN, OWN = range(9)
_LISTEN = 2.0  # s, for a message before the loop

RECEIVER_SETTINGS = {
    "lat_deg": DeviceSetting(None, "deg", "latitude of a point on the lane's middle, north positive"),
    "lon_deg": DeviceSetting(None, "deg", "its longitude, east positive"),
    "lane_deg": DeviceSetting(None, "deg", "direction in which the lane is ridden, clockwise from true north"),
    "rate_Hz": DeviceSetting(10.0, "Hz", "at which it sends positions"),
    "latency_ms": DeviceSetting(80.0, "ms", "from the epoch of a position to the end of its message"),
    "sigma_mm": DeviceSetting(20.0, "mm", "standard deviation of a coordinate"),
    "rtk": DeviceSetting(2.0, "", "worst position that counts: 2 RTK fixed, 1 RTK float, 0 any"),
    "course": DeviceSetting(0.0, "", "1: the course over ground corrects the heading too"),
}
_RANGES = {
    "lat_deg": (-89.0, 89.0),
    "lon_deg": (-180.0, 180.0),
    "lane_deg": (-360.0, 360.0),
    "rate_Hz": (1, 100),
    "latency_ms": (0, 250),
    "sigma_mm": (1, 5000),
    "rtk": (0, 2),
    "course": (0, 1),
}


def find_receiver(
    port: SerialPort, settings: DeviceSettings, name: str, wanted: str, receive: Callable[..., int]
) -> tuple[str, np.void]:
    """Listen for a position that is good enough.

    Parameters
    ----------
    port : SerialPort
    settings : mapping
        Of the rig.
    name : str
        Of the driver, as in the registry.
    wanted : str
        Messages that count.
    receive : compiled function
        Of the driver.

    Returns
    -------
    str
        Kind of receiver, and its solution.
    record of LINK_STATE
        With the position.

    Raises
    ------
    DeviceError
        For an impossible setting, silence, or a position that is not good enough.
    """
    require_in_range(f"a {name}", settings, _RANGES, RECEIVER_SETTINGS)
    for key in ("rtk", "course"):
        if settings[key] != round(settings[key]):
            raise DeviceError(
                f"the setting {key} of a {name} must be a whole number, found {settings[key]:g}: correct it under its "
                "[[port]]"
            )
    link = new_link()
    prepare_receiver(link, settings)
    fix, heard = listen_for_fix(port, link, receive, _LISTEN)
    receiver = f"{name.upper()} receiver"
    if not fix:
        raise DeviceError(_why_no_position(f"{receiver} on {port.path}", wanted, link, heard))
    return f"{receiver}, {SOLUTIONS[link['memory'][SEEN] - 1]}", link


def _why_no_position(receiver: str, wanted: str, link: np.void, heard: bytes) -> str:
    """Make the sentence for a receiver (kind and port) that gave no position that is good enough.

    Parameters
    ----------
    receiver, wanted : str
    link : record of LINK_STATE
    heard : bytes
    """
    seen = int(link["memory"][SEEN])
    if seen == 0:
        answer = f"{len(heard)} bytes without one" if heard else "silence"
        return (
            f"the {receiver} should send {wanted}, found {answer}: switch it on for this port in the receiver, or "
            "correct the baud rate"
        )
    return (
        f"the {receiver} should have {SOLUTIONS[int(link['memory'][LEAST])]} within 5 km of the rig's datum, found "
        f"{SOLUTIONS[seen - 1]}: wait for its corrections, or correct rtk, lat_deg and lon_deg under its [[port]]"
    )


def prepare_receiver(link: np.void, settings: DeviceSettings) -> None:
    """Write the settings into the memory of a fresh link."""
    memory = link["memory"]
    memory[LAT], memory[LON] = round(1e9 * settings["lat_deg"]), round(1e9 * settings["lon_deg"])
    memory[LANE] = round(1e6 * math.radians(settings["lane_deg"]))
    memory[AGE_US], memory[SIGMA_MM] = round(1e3 * settings["latency_ms"]), round(settings["sigma_mm"])
    memory[LEAST], memory[COURSE] = 1 + round(settings["rtk"]), round(settings["course"])


@njit(cache=True, nogil=True)
def ground_place(lat0, lon0, lane, lat, lon):
    """Place x along the lane and y to the right of it [m] of a position.

    Runs inside the tick.

    Parameters
    ----------
    lat0, lon0 : int
        Origin [1e-9 deg].
    lane : float
        Direction of the lane [rad], clockwise from north.
    lat, lon : int
        Position [1e-9 deg].
    """
    begin, degree = 1e-9 * math.radians(1.0) * lat0, 1e-9 * math.radians(1.0)
    dlat, dlon = degree * (lat - lat0), degree * (lon - lon0)
    if dlon > math.pi:
        dlon -= 2.0 * math.pi
    elif dlon < -math.pi:
        dlon += 2.0 * math.pi
    bent = 1.0 - _E2 * math.sin(begin) ** 2
    vertical = SEMI_MAJOR / math.sqrt(bent)
    meridian = vertical * (1.0 - _E2) / bent
    north = meridian * dlat + 0.5 * vertical * math.sin(begin) * math.cos(begin) * dlon * dlon
    east = vertical * math.cos(begin + dlat) * dlon
    c, s = math.cos(lane), math.sin(lane)
    return north * c + east * s, east * c - north * s


@njit(cache=True, nogil=True)
def take_position(link, lat, lon, solution, sigma_mm):
    """Make a position the newest fix; 1 if it is good and near enough. Runs inside the tick.

    Parameters
    ----------
    link : record of LINK_STATE
    lat, lon : int
        1e-9 deg
    solution : int
        NO_SOLUTION to RTK_FIXED.
    sigma_mm : int
        Standard deviation of a coordinate [mm].
    """
    memory, fix = link.memory, link.fix
    if solution < memory[LEAST]:
        return 0
    x, y = ground_place(memory[LAT], memory[LON], 1e-6 * memory[LANE], lat, lon)
    if not abs(x) + abs(y) < FARTHEST_FIX:
        return 0
    fix.seq += 1
    fix.has = FIX_X | FIX_Y
    fix.x_mm, fix.y_mm = np.int64(np.rint(1e3 * x)), np.int64(np.rint(1e3 * y))
    fix.age_us = memory[AGE_US]
    fix.sigma_mm = min(max(sigma_mm, 1), 65535)
    return 1


@njit(cache=True, nogil=True)
def take_course(link, course, speed):
    """Give the newest fix a heading: the course over ground [rad, clockwise from north] at a speed [m/s].

    Runs inside the tick.
    """
    memory, fix = link.memory, link.fix
    if memory[COURSE] == 0 or speed < LEAST_HEADING_SPEED:
        return
    off = course - 1e-6 * memory[LANE]
    off -= 2.0 * math.pi * np.rint(off / (2.0 * math.pi))
    fix.has |= FIX_PSI
    fix.psi_urad = np.int64(np.rint(1e6 * off))
