"""Protocols of a campaign.

Each is one file and one line below.

A protocol is a module with ``Settings``, what a campaign file may say of it (`condition.Settings` and more), and
``plan(settings, bench) -> list[Condition]``, its runs in the order in which they are to be made.
"""

from types import ModuleType

from riderless.experiments.campaigns.protocols import (
    auto,
    coast_down,
    controllers,
    identification,
    release,
    sine_sweep,
    speed_sweep,
    treadmill,
)

PROTOCOLS: dict[str, ModuleType] = {
    "treadmill": treadmill,
    "release": release,
    "coast_down": coast_down,
    "speed_sweep": speed_sweep,
    "controllers": controllers,
    "sine_sweep": sine_sweep,
    "identification": identification,
    "auto": auto,
}
