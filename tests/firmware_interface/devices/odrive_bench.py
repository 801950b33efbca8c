"""An ODrive's driver and its twin on one bench, tick by tick, with hands on the line between them."""

from collections.abc import Callable
from functools import reduce
from operator import xor

import numpy as np

from riderless.firmware_interface.calibration import Calibration
from riderless.firmware_interface.devices.link import ROLE_DRIVE, ROLE_STEER, ROLE_WHEEL, TX_SIZE, new_link
from riderless.firmware_interface.devices.odrive import receive, speak
from riderless.firmware_interface.messages import COMMAND, COMMAND_CLEAR, COMMAND_ENABLE
from riderless.firmware_interface.twins.odrive import TORQUE_CONSTANT, ODriveTwin
from riderless.firmware_interface.twins.twin import TwinConfig

ALL = ROLE_DRIVE | ROLE_STEER | ROLE_WHEEL
GEAR = 8.0
SETTINGS = {"axis": 0.0, "wheel_axis": 1.0, "gear_ratio": GEAR, "torque_limit_Nm": 7.0}
READINGS = np.array([0.0, 0.0, 0.0, 0.0, 0.0, -9.81, 0.25 * np.pi, 4.0 * np.pi, -1.5])  # an eighth of a turn, 2 turns/s
TRUTH = {"steer_counts": 125_000, "wheel_mrad_s": 12_566, "torque_mNm": -1500, "bus_mV": 24_000}
PERIOD = 0.005  # s

# Checksums worked by hand: the exclusive or of the characters before the star.
BATCH = (
    b"r axis0.current_state *46\n"
    b"f 0 *86\n"
    b"r axis0.error *23\n"
    b"r axis0.motor.current_control.Iq_measured *46\n"
    b"f 1 *87\n"
    b"r vbus_voltage *93\n"
)
ANSWERS = ("8", "0.125000 0.5", "0", "-1.875000", "7.5 2.000000", "24.000000")  # what the bench's truth looks like


def config(faults=(), calibration=None, **changes) -> TwinConfig:
    return TwinConfig(
        carries=ALL,
        calibration=calibration or Calibration(wheel_radius=0.34),
        rate_hz=200,
        watchdog=0.025,
        torque_limit=7.0,
        settings={**SETTINGS, **changes},
        faults=faults,
    )


def checked(words: str, end: bytes = b"\n") -> bytes:
    """A line with its checksum, by our own arithmetic."""
    body = words.encode()
    return body + b"*%d" % reduce(xor, body, 0) + end


def answered(*words: str) -> bytes:
    return b"".join(checked(word, b"\r\n") for word in words)


def counters(link) -> dict[str, int]:
    names = ("frames_ok", "frames_bad_crc", "frames_bad_length", "frames_bad_version", "bytes_skipped", "samples_lost")
    return {name: int(link["receiver"][name]) for name in names if link["receiver"][name]}


def lines_of(data: bytes) -> list[bytes]:
    return data.splitlines(keepends=True)


def as_array(data: bytes) -> np.ndarray:
    return np.frombuffer(bytearray(data), np.uint8)


def fresh_link(role: int = ALL) -> np.void:
    link = new_link()
    link["role"], link["axis"], link["wheel_axis"] = role, 0, 1
    link["scale"], link["per_amp"] = GEAR, GEAR * TORQUE_CONSTANT
    return link


def command(T: float = 0.0, flags: int = 0, seq: int = 1) -> np.void:
    c = np.zeros(1, COMMAND)[0]
    c["T_cmd"], c["flags"], c["seq"] = T, flags, seq
    return c


def said(link, c=None, send=1) -> bytes:
    out = np.zeros(TX_SIZE, np.uint8)
    return out[: speak(link, command() if c is None else c, send, out)].tobytes()


def heard(link, data: bytes) -> int:
    return int(receive(link, as_array(data), len(data)))


def tuned_in(role: int = ALL) -> np.void:
    """A link that has found the thread; its next words are a batch."""
    link = fresh_link(role)
    mark = said(link, send=0).split()[2].decode()
    assert heard(link, checked(mark, b"\r\n")) == 0
    return link


Hand = Callable[[bytes], bytes]


def untouched(data: bytes) -> bytes:
    return data


class Bench:
    """Driver and twin; the twin's watchdog runs from the beginning, as after an introduction."""

    def __init__(self, twin: ODriveTwin | None = None) -> None:
        self.twin = twin or ODriveTwin(config())
        self.link = fresh_link()
        self.t = 0.0
        self.seq = 0
        self.samples = 0
        for line in (
            "w axis0.config.watchdog_timeout 0.025",
            "w axis0.config.enable_watchdog 1",
        ):
            self.twin.hear(checked(line), self.t)
        self.t += PERIOD
        self.twin.instant(self.t, READINGS)

    def tick(self, flags=0, T=0.0, send=1, down: Hand = untouched, up: Hand = untouched, steps: int = 5) -> int:
        """One period; returns the new samples. ``down`` and ``up`` may damage what passes."""
        if send:
            self.seq += 1
        words = said(self.link, command(T, flags, self.seq & 0xFFFF), send)
        answers = self.twin.hear(down(words), self.t)
        for _ in range(steps):
            self.t += PERIOD / steps
            self.twin.instant(self.t, READINGS)
        samples = heard(self.link, up(answers))
        self.samples += samples
        return samples

    def run(self, ticks: int, **how) -> int:
        return sum(self.tick(**how) for _ in range(ticks))

    def enable(self) -> "Bench":
        """Clear what is latched, switch on."""
        self.run(12, flags=COMMAND_CLEAR)
        self.run(12, flags=COMMAND_ENABLE)
        assert self.link["raw"]["status"] == 1
        return self

    @property
    def truthful(self) -> bool:
        """Whether every reading is what it should be, and nothing was taken for another."""
        raw = self.link["raw"]
        return all(int(raw[name]) == value for name, value in TRUTH.items()) and not raw["off_scale"]
