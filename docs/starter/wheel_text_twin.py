"""Virtual wheel sensor: what the driver in wheel_text.py hears where no sensor is plugged in."""

from functools import reduce
from operator import xor

from riderless.firmware_interface.calibration import WHEEL_READING


class WheelTwin:
    """Emulated sensor; one that drives would make a torque ``T`` while ``enabled``."""

    T, enabled = 0.0, False

    def __init__(self, config):
        self.sign, self.rate, self.next = config.calibration.wheel_sign, 0, 0.0

    def hear(self, data, t):
        """Take bytes from the computer: "R 200" orders 200 lines a second. Nothing is answered."""
        if data.startswith(b"R ") and data[2:].strip().isdigit():
            self.rate = self.rate or int(data[2:])
            self.next = max(self.next, t)
        return b""

    def instant(self, t, readings):
        """Say what the sensor says at ``t`` [s], a thousand times a second; ``readings`` is the truth."""
        if not self.rate or t < self.next - 1e-9:
            return b""
        self.next += 1.0 / self.rate
        line = b"W %d" % max(0, round(1000 * self.sign * readings[WHEEL_READING]))
        return line + b"*%02X\n" % reduce(xor, line)


def make(config):
    """Make the twin, switched on."""
    return WheelTwin(config)
