"""Ends of a line in a few lines of ordinary Python: a host that listens, a device that answers."""

import os
import secrets
import select
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from riderless.firmware_interface.calibration import DEVICE_CLOCK, Calibration, calibrate
from riderless.firmware_interface.messages import RAW, SAMPLE
from riderless.firmware_interface.node.hello import ask_hello
from riderless.firmware_interface.node.protocol import RECEIVER, receive_samples
from riderless.firmware_interface.port import SerialPort
from tests.firmware_interface.wire import command_frame, record


class Listener:
    """Receives samples on a port, keeps their numbers, and sends commands in a session of its own."""

    def __init__(self, port: SerialPort) -> None:
        self.port, self.fd, self.session = port, port.fd, 0
        self.receiver = record(RECEIVER)
        self.raw = record(RAW)
        self.numbers: list[int] = []  # of the newest sample of each read
        self._commands = 0

    def wait_for_samples(self, count: int, timeout: float = 120.0) -> None:
        """Read until ``count`` more samples have come."""
        end = time.monotonic() + timeout
        while count > 0:
            readable, _, _ = select.select([self.fd], [], [], max(0.0, end - time.monotonic()))
            assert readable, f"{count} more samples should have come within {timeout} s"
            data = bytearray(os.read(self.fd, 4096))
            new = receive_samples(self.receiver, np.frombuffer(data, np.uint8), len(data), self.raw)
            count -= new
            if new:
                self.numbers.append(int(self.raw["seq"]))

    def command(self, T: float, flags: int) -> None:
        if not self.session:
            self.session = ask_hello(self.port, 60.0, nonce=1 + secrets.randbelow(2**32 - 1)).session
        self._commands += 1
        newest = int(self.raw["seq_high"]) << 16 | int(self.raw["seq"])
        os.write(self.fd, command_frame(self._commands, T, flags, sample_seq=newest, session=self.session))

    def sample(self) -> np.void:
        sample = record(SAMPLE)
        calibrate(self.raw, Calibration(wheel_radius=0.3).as_record(), record(DEVICE_CLOCK), sample)
        return sample


@contextmanager
def device(master: int, answer: Callable[[bytes], bytes]) -> Iterator[None]:
    """Something that answers whatever comes in, in a thread, until the block ends."""

    done = threading.Event()

    def serve() -> None:
        while not done.is_set():
            readable, _, _ = select.select([master], [], [], 0.02)
            if readable:
                os.write(master, answer(os.read(master, 4096)))

    thread = threading.Thread(target=serve)
    thread.start()
    yield
    done.set()
    thread.join()
