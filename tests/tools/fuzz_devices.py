"""Damaged streams through the driver of every device: nothing breaks, nothing untrue is believed.

    NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(mktemp -d) python -m tests.tools.fuzz_devices --bytes 1e7

What a twin says is cut, flipped, doubled, mixed with noise, and handed over in pieces of any size. Every reading that
the driver makes must be one that the twin has sent, but for damage that its checksum cannot see; messages
that were left whole and stand clear of damage must be heard. `NUMBA_BOUNDSCHECK` turns an index out of bounds into an
error.
"""

import argparse
import sys

import numpy as np

from riderless.firmware_interface.devices.registry import DEVICES
from riderless.firmware_interface.messages import COMMAND_CLEAR, COMMAND_ENABLE
from tests.firmware_interface.devices.pairs import READINGS, Pair

PERIODS = 200  # of the loop in one round
BLIND = {
    "odrive": 2**-8,
    "odrive_can": 1.0,
    "moteus": 1.0,
}  # chance that a checksum misses a damage; the others' are 16 bits
FIELDS = ("gyro_counts", "accel_counts", "steer_counts", "wheel_mrad_s", "torque_mNm", "bus_mV")


class Damage:
    """A line that breaks what passes, some of the time."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self.share = float(rng.choice([0.0, 0.02, 0.2, 0.8]))
        self.bytes = self.hits = 0

    def __call__(self, data: bytes) -> bytes:
        self.bytes += len(data)
        if not data or self._rng.random() > self.share:
            return data
        self.hits += 1
        rng, made = self._rng, bytearray(data)
        match rng.integers(6):
            case 0:
                for _ in range(rng.integers(1, 9)):
                    made[rng.integers(len(made))] ^= 1 << rng.integers(8)
            case 1:
                del made[rng.integers(len(made)) :]
            case 2:
                del made[: rng.integers(len(made))]
            case 3:
                made = made * 2
            case 4:
                made[rng.integers(len(made)) : 0] = rng.integers(0, 256, rng.integers(1, 400), np.uint8).tobytes()
            case 5:
                made = bytearray(rng.integers(0, 256, len(made), np.uint8).tobytes())
        return bytes(made)


def truth_of(name: str) -> list[np.void]:
    """The readings of an undamaged line, from the first on."""
    pair, seen = Pair(name), []
    for k in range(40):
        if pair.period(flags=COMMAND_CLEAR if k < 10 else COMMAND_ENABLE):
            seen.append(pair.raw.copy())
    return seen


def one_round(name: str, rng: np.random.Generator, truth: dict[str, set]) -> tuple[int, int, int, int]:
    """Bytes, hits, readings and untrue readings of one twin on one line."""
    up, down = Damage(rng), Damage(rng)
    down.share *= 0.3
    pair = Pair(name, up=up, down=down)
    readings = untrue = 0
    for _ in range(PERIODS):
        came = pair.period(flags=COMMAND_CLEAR if rng.random() < 0.3 else COMMAND_ENABLE, send=rng.random() < 0.9)
        readings += came
        if came:
            values = {field: tuple(np.atleast_1d(pair.raw[field]).tolist()) for field in FIELDS}
            untrue += any(value not in truth[field] for field, value in values.items())
        if not 0 <= pair.link["receiver"]["filled"] <= max(252, up.bytes):
            raise AssertionError(f"{name}: {pair.link['receiver']['filled']} bytes held")
    return up.bytes, up.hits + down.hits, readings, untrue


def fuzz(name: str, n_bytes: float, seed: int) -> str:
    """One line on what came of it.

    Raises
    ------
    AssertionError
        More untrue readings than the checksum lets through, or a line without damage that is not heard.
    """
    rng = np.random.default_rng([seed, list(DEVICES).index(name)])
    seen = truth_of(name)
    truth = {field: {tuple(np.atleast_1d(raw[field]).tolist()) for raw in seen} for field in FIELDS}
    total = np.zeros(4, np.int64)
    while total[0] < n_bytes:
        total += one_round(name, rng, truth)
    n, hits, readings, untrue = total.tolist()
    allowed = 3.0 + 2.0 * hits * BLIND.get(name, 2**-16)
    sentence = f"{name:<10} {n} bytes, {hits} damages, {readings} readings, {untrue} untrue ({allowed:.0f} allowed)"
    if untrue > allowed or readings == 0:
        raise AssertionError(sentence)
    return sentence


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bytes", type=float, default=1e6, help="of each device")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    assert READINGS.size == 9
    for name in DEVICES:
        sys.stdout.write(fuzz(name, given.bytes, given.seed) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
