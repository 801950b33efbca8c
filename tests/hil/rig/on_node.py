"""A node in C with an exported controller on board, beside the compiled rules with the tick's own functions."""

import random
import struct
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from riderless.firmware_interface.calibration import Calibration
from riderless.firmware_interface.framing import new_decoder
from riderless.firmware_interface.messages import COMMAND_CLEAR, COMMAND_ENABLE, COMMAND_KIND_BOUND
from riderless.firmware_interface.node import reference_codec
from riderless.firmware_interface.node.firmware_state import new_firmware
from riderless.firmware_interface.node.guard_limits import GuardLimits
from riderless.firmware_interface.node.protocol import encode_sample
from riderless.firmware_interface.node.rules import (
    firmware_hello,
    firmware_latch,
    firmware_measure,
    firmware_receive,
)
from riderless.firmware_interface.twins.c_node import SOURCES, FirmwareInC
from riderless.hil.controllers.controller import Controller
from riderless.hil.loop.on_board import ask_board_controller, board_controller
from riderless.hil.rig.controller_in_c import controller_in_c
from riderless.hil.rig.rig import Rig
from riderless.hil.runners.assembly import new_loop
from tests.firmware_interface.firmware.test_c_build import STRICT
from tests.firmware_interface.firmware.test_c_firmware import hear, said
from tests.firmware_interface.wire import as_bytes

MOUNTED = {  # no number of it is a round one, no sign the usual one
    "mounting": ((0.36, 0.48, -0.8), (-0.8, 0.6, 0.0), (0.48, 0.64, 0.6)),
    "gyro_offset": (0.011, -0.02, 0.007),
    "accel_offset": (0.1, -0.05, 0.2),
    "steer_offset": 0.31,
    "steer_sign": -1,
    "wheel_sign": -1,
    "torque_sign": -1,
    "steer_gear_ratio": 2.5,
    "wheel_radius": 0.337,
    "max_rate": 3.0,
    "max_steer": 1.2,
}


def as_told(rig: Rig) -> Calibration:
    """Calibration of a rig with the scales of the emulated sensor, in the single precision of HELLO."""
    usual = rig.calibrated()
    return replace(usual, gyro_lsb=float(np.float32(usual.gyro_lsb)), accel_lsb=float(np.float32(usual.accel_lsb)))


def node_library(folder: Path, controller: Controller, rig: Rig, *flags: str) -> Path:
    """Library of node.c with a controller on board."""
    for name, text in controller_in_c(controller, rig).items():
        (folder / name).write_text(text)
    library = folder / "node.so"
    sources = [SOURCES / "node.c", SOURCES / "host.c", *folder.glob("riderless_*.c")]
    command = ["gcc", *STRICT, "-O2", "-ffp-contract=off", "-DCONTROLLER", *flags, "-fPIC", "-shared"]
    command += [f"-I{folder}", f"-I{SOURCES}", *map(str, sources), "-o", str(library), "-lm"]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return library


class Pair:
    """Both nodes, fed alike; every step compares them."""

    def __init__(self, library: Path, controller: Controller, rig: Rig) -> None:
        calibration = as_told(rig)
        self.python, self.c = (new_firmware(calibration, round(rig.rate), controller=True) for _ in range(2))
        self.decoder, self.core = new_decoder(), FirmwareInC(self.c, library)
        self._loop = lambda: new_loop(rig, controller, calibration.as_record())
        self.board, self.session = board_controller(self._loop()), 0

    def step(self, t: float, line: bytes, faults: int, readings: np.ndarray) -> None:
        for firmware in (self.python, self.c):
            firmware["faults"] = faults
        firmware_receive(self.python, self.decoder, as_bytes(line), len(line))
        hear(self.core, line)
        T = firmware_latch(self.python, t)
        assert self.core.latch(t) == T
        assert said(self.core.hello) == said(firmware_hello, self.python)
        firmware_measure(self.python, readings, 24.0)
        if self.session != self.python["session"]:
            self.board, self.session = board_controller(self._loop()), int(self.python["session"])
        ask_board_controller(self.board, self.python)
        assert said(self.core.sample, readings, 24.0) == said(encode_sample, self.python["raw"])
        assert self.core.state.wish == self.python["wish"]
        for name in ("T", "value", "enabled", "trips", "refused"):
            assert self.c[name] == self.python[name], name


def instants(rig: Rig, n: int, seed: int, session: Callable[[], int]) -> Iterator[tuple[float, bytes, int, np.ndarray]]:
    """What comes at each instant: time, bytes, faults and readings; of no bicycle, now and then beyond a scale.

    Every 300 instants begins a new session; ``session`` tells its number.
    """
    rng, noise = random.Random(seed), np.random.default_rng(seed)
    guard = GuardLimits(steer=1.4, lean=0.9, torque_step=14.0, rate_hz=round(rig.rate), calibration=rig.calibrated())
    stage, enable, bound, speed = 0, 0, 0, 4.0
    for k in range(n):
        if k % 60 == 0:
            stage, bound = rng.choice([(0, 0), (1, 0), (2, 7000), (2, 7000), (2, 300), (2, -50), (3, 7000)])
            speed = rng.uniform(0.0, 9.0)
        enable = COMMAND_ENABLE if k % 60 > 3 and k % 300 < 290 else COMMAND_CLEAR
        command = reference_codec.Command(
            k & 0xFFFF, bound, 15, k - 1 & 0xFFFFFFFF, session(), enable | stage << 2 | COMMAND_KIND_BOUND << 4
        )
        line = (
            b""
            if 30 < k % 60 < min(30 + 0.04 * rig.rate, 59) or rng.random() < 0.05
            else reference_codec.encode(command)
        )
        if k % 300 == 0:
            request = reference_codec.HelloRequest(k & 0xFFFF, k + 99, COMMAND_KIND_BOUND, *guard.as_fields())
            line = reference_codec.encode(request)
        size = 30.0 if rng.random() < 0.005 else 1.0
        readings = size * noise.normal(size=9) * [0.2, 0.3, 0.3, 1.0, 1.0, 1.0, 0.1, 0.0, 2.0]
        readings[7] = speed / rig.calibrated().wheel_radius
        yield 4270.0 + k * rig.dt, line, rng.choice([0] * 400 + [1, 2, 4]), readings


def spoken(library: Path, rig: Rig, n: int, seed: int = 1) -> tuple[bytes, bytes]:
    """What comes at each instant as `c_instants.c` reads it, and what a node of that library says to it."""
    firmware = new_firmware(as_told(rig), round(rig.rate), controller=True)
    core = FirmwareInC(firmware, library)
    start = struct.pack("<II", core.state.salt, core.state.seq)
    written, told = [bytes(core._identity), bytes(core._start), start], []
    for t, line, faults, readings in instants(rig, n, seed, lambda: core.state.session):
        firmware["faults"] = faults
        hear(core, line)
        core.latch(t)
        told.append(struct.pack("<iBBxx", core.state.value, core.state.kind, core.state.enabled))
        told.append(said(core.hello) + said(core.sample, readings, 24.0))
        now_us = int(np.rint(1e6 * t)) & 0xFFFFFFFF
        written += [struct.pack("<IHBB", now_us, len(line), 0, faults), bytes(core._readings), line]
    return b"".join(written), b"".join(told)


def wishes_of(library: Path, controller: Controller, rig: Rig, n: int, seed: int = 1) -> np.ndarray:
    """Wishes of the node in C [mN m] at each instant, which are those of the tick's own functions."""
    pair, wishes = Pair(library, controller, rig), []
    enabled = 0
    for instant in instants(rig, n, seed, lambda: int(pair.python["session"])):
        pair.step(*instant)
        wishes.append(int(pair.core.state.wish))
        enabled += int(pair.c["value"] != 0.0)
    assert enabled > n // 8
    assert pair.c["trips"] > 3
    return np.array(wishes)


def wishes_alone(library: Path, rig: Rig, n: int, seed: int = 1) -> np.ndarray:
    """Wishes of the node in C [mN m] at each instant, beside nobody's."""
    firmware, wishes = new_firmware(as_told(rig), round(rig.rate), controller=True), []
    core = FirmwareInC(firmware, library)
    for t, line, faults, readings in instants(rig, n, seed, lambda: core.state.session):
        firmware["faults"] = faults
        hear(core, line)
        core.latch(t)
        said(core.sample, readings, 24.0)
        wishes.append(int(core.state.wish))
    return np.array(wishes)
