"""Part of a rig that its sampled loop depends on."""

from typing import Protocol

from riderless.hil.loop.observer import Observer
from riderless.hil.loop.place.settings import PlaceSettings
from riderless.models.linear.prescribed_steer import InnerLoop
from riderless.models.parameters import Bicycle


class LoopHardware(Protocol):
    """Part of a rig that its sampled loop depends on; `riderless.hil.rig.rig.Rig` has all of it."""

    @property
    def bicycle(self) -> Bicycle: ...
    @property
    def observer(self) -> Observer: ...
    @property
    def dt(self) -> float: ...
    @property
    def drive(self) -> InnerLoop | None: ...
    @property
    def drive_lag(self) -> float: ...
    @property
    def command_delay(self) -> float | None: ...
    @property
    def x_imu(self) -> float: ...
    @property
    def z_imu(self) -> float: ...
    @property
    def place(self) -> PlaceSettings | None: ...
