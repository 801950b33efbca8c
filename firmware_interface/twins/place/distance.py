"""Twin of the distance sensor.

A line of ASCII for each reading across the belt, some time after it was taken.
"""

from collections.abc import Mapping

from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.twins.place.sensor import (
    PlaceTwin,
    SensorHabits,
    forget_reading,
    is_due,
    sensor_of,
    write_decimal,
)
from riderless.firmware_interface.twins.twin import TwinConfig

_UNITS_PER_M, _OFFSET, _FIELDS = range(3)  # among its settings


def distance_habits(settings: Mapping[str, float]) -> SensorHabits:
    """Habits of a string potentiometer or laser: a line in a hundred missing, one in 500 a metre off, as on spokes."""
    return SensorHabits(
        setting=(1e3 / settings["mm_per_unit"], 1e-3 * settings["offset_mm"], float(round(settings["field"])))
    )


@njit(cache=True, nogil=True)
def send_distance(s, t, out):
    """Write the lines that have come to their end by ``t`` [s]; returns the number of bytes."""
    n = 0
    while is_due(s, t):
        for _ in range(int(s.setting[_FIELDS])):
            out[n], out[n + 1] = 48, 59  # "0;"
            n += 2
        n = write_decimal(out, n, (s.value[s.first, 1] - s.setting[_OFFSET]) * s.setting[_UNITS_PER_M], 1e4, 1, 4)
        out[n], out[n + 1] = 13, 10
        n += 2
        forget_reading(s)
    return n


def make(config: TwinConfig) -> PlaceTwin:
    """Make a sensor as after power-up."""
    return PlaceTwin(sensor_of(config, "distance", distance_habits(config.settings)), send_distance)
