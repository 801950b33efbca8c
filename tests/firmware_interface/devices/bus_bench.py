"""Driver and twin of a drive on a bus, before the loop and in it."""

import json
from collections.abc import Iterator
from types import ModuleType

import numpy as np
import pytest

from riderless.firmware_interface.calibration import Calibration
from riderless.firmware_interface.devices.driver import DeviceRequirements, Introduction
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.messages import COMMAND, COMMAND_ENABLE, COMMAND_KIND_TORQUE
from riderless.firmware_interface.slcan import CanFrame
from riderless.firmware_interface.twins.conformance import BAUD, TRUE_READINGS, take
from riderless.firmware_interface.twins.twin import TwinConfig
from riderless.firmware_interface.twins.twin_in_memory import TwinPort
from tests.firmware_interface.devices.pairs import Pair
from tests.paths import REFERENCE


def can_frames_of(device: str) -> list[tuple[CanFrame, dict]]:
    """Frames of CAN, and what they mean."""
    return [
        (CanFrame(int(f["identifier"], 16), bytes.fromhex(f["data"]), f["extended"]), f["means"])
        for f in known_frames(device)
    ]


def known_frames(device: str) -> Iterator[dict]:
    """Frames of makers and users of a device."""
    known = json.loads((REFERENCE / "can_frames.json").read_text(encoding="utf-8"))["frames"]
    return (frame for frame in known if frame["device"] == device)


class BusPort(TwinPort):
    """A twin whose bus has something else on it too; ``others`` are lines, now and then."""

    def __init__(self, twin, others=b"", name="can0"):
        super().__init__(twin, name, BAUD, TRUE_READINGS)
        self.others = others

    def step(self, data=b""):
        return super().step(data) + (self.others if self.k % 20 == 0 else b"")


class BusBench:
    """Driver and twin of a device at 200 Hz, with a watchdog of 50 ms.

    Parameters
    ----------
    driver_file, twin_file : module
    settings : mapping
        Beyond those with which the driver is tried.
    port : str
    """

    def __init__(self, driver_file: ModuleType, twin_file: ModuleType, port: str = "can0", **settings: float) -> None:
        self.driver, self.make, self.port = driver_file.DEVICE, twin_file.make, port
        self.settings = self.driver.settled({**self.driver.test_settings, **settings})

    def config(self, settings=None, faults=(), **changes) -> TwinConfig:
        settings = settings or self.settings
        calibration = Calibration(wheel_radius=0.3, steer_gear_ratio=settings["gear_ratio"])
        given = {"rate_hz": 200, "watchdog": 0.05, "torque_limit": 7.0, "kind": COMMAND_KIND_TORQUE, **changes}
        return TwinConfig(
            carries=self.driver.carries, calibration=calibration, settings=settings, faults=faults, **given
        )

    def introduced(self, config=None, wanted=None, others=b"", kind=COMMAND_KIND_TORQUE, port=None):
        """What it says of itself, and its port."""
        port = port or BusPort(self.make(config or self.config()), others, self.port)
        wants = DeviceRequirements(rate=200, watchdog=0.05, settings=wanted or self.settings, kind=kind)
        return self.driver.introduce(port, wants), port

    def refused(self, *args, **kwargs) -> str:
        """The sentence with which the driver refuses it."""
        with pytest.raises(DeviceError) as caught:
            self.introduced(*args, **kwargs)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    def saying(self, data=b"") -> BusPort:
        """A port behind which something says this and hears nothing."""
        twin = self.make(self.config())
        twin.instant, twin.hear = lambda *_: data, lambda *_: b""
        return BusPort(twin, name=self.port)

    def status_after(self, line: bytes) -> int:
        """What a drive that is on reports once this line has come in the loop."""
        pair = Pair(self.driver.name)
        pair.enable()
        pair.pending += line
        pair.periods(3, flags=COMMAND_ENABLE)
        return int(pair.raw["status"])

    def linked(self, introduction: Introduction, settings=None) -> np.void:
        return self.driver.new_link(settings or self.settings, self.driver.carries, 0.005, introduction)

    def spoken(self, link, value=0.0, flags=0, kind=COMMAND_KIND_TORQUE, send=1) -> bytes:
        """What the driver says of a command."""
        command, out = np.zeros(1, COMMAND)[0], np.zeros(256, np.uint8)
        command["kind"], command["T_cmd"], command["flags"], command["expiry_ms"] = kind, value, flags, 50
        return out[: self.driver.speak(link, command, send, out)].tobytes()

    def tell(self, link, port, periods, **how) -> None:
        """Let periods of the loop pass."""
        for _ in range(periods):
            take(link, port.step(self.spoken(link, **how)) + b"".join(port.step() for _ in range(4)))

    def cut(self, port) -> None:
        """Let the line be silent until the torque is gone, which takes 100 ms at most."""
        begun = port.k
        while port.twin.T != 0.0:
            port.step()
            assert port.k - begun <= 100, "steps of 1 ms"
