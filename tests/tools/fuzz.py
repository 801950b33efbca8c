"""`make fuzz`: both ends of the line against noise, damage and frames that only look right.

Seeded streams (tests/firmware_interface/twins/damaged_line.py) are cut at random and put through the compiled code of
the computer (`receive_samples`) and of the node (`firmware_receive`); the packages `cobs` and `fastcrc` read the same
bytes. Both must agree on every frame, field and counter; every good frame behind a delimiter must come through; nothing
beside the records may be written; memory stays flat. Two ways to run it, each repeatable from its seed::

    python -m tests.tools.fuzz --bytes 1e8      # 1e6 is part of the tests

    # the same with every index of the compiled code checked
    NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(mktemp -d) python -m tests.tools.fuzz --bytes 1e8
"""

import argparse
import random
import resource
import time
from collections.abc import Sequence
from dataclasses import fields

import numpy as np
from numba import njit
from rich.console import Console

from riderless.firmware_interface.calibration import Calibration
from riderless.firmware_interface.framing import DECODER, next_frame
from riderless.firmware_interface.messages import COMMAND, COMMAND_KIND_ANGLE, RAW
from riderless.firmware_interface.node.firmware_state import FIRMWARE, new_firmware
from riderless.firmware_interface.node.protocol import RECEIVER, receive_samples
from riderless.firmware_interface.node.rules import firmware_receive
from tests.firmware_interface.twins.damaged_line import Counters, Oracle, kind_of, stream

BATCH = 1_000_000  # bytes
CHUNK = 4096  # bytes handed over at once, at most
CANARY = 0xA5
SAMPLE_BODY = np.dtype("u1,u1,<u2,<u4,3<i2,3<i2,<i4,<i4,<i2,<u2,u1,u1,<u2,u1,u1,<u2")
COMMAND_BODY = np.dtype("u1,u1,<u2,<i2,<u2,<u4,<u4,u1")


@njit(cache=True)
def _take_frames(decoder, data, cuts, line, ends, payloads):
    """Every accepted frame, chunk by chunk through one buffer: its end, and its payload behind the others."""
    frames = size = np.int64(0)
    for k in range(cuts.size - 1):
        n = cuts[k + 1] - cuts[k]
        line[:n] = data[cuts[k] : cuts[k + 1]]
        i = np.int64(0)
        while i < n:
            i = next_frame(decoder, line, i, n)
            if decoder.size > 0:
                ends[frames] = cuts[k] + i
                payloads[size : size + decoder.size] = decoder.payload[: decoder.size]
                frames += 1
                size += decoder.size
    return frames, size


@njit(cache=True)
def _take_samples(receiver, data, cuts, line, raw, raws, new):
    """The newest sample and the number of new ones after each chunk."""
    for k in range(cuts.size - 1):
        n = cuts[k + 1] - cuts[k]
        line[:n] = data[cuts[k] : cuts[k + 1]]
        new[k] = receive_samples(receiver, line, n, raw)
        raws[k] = raw


@njit(cache=True)
def _take_commands(fw, decoder, data, cuts, line, commands):
    """The node's latest command after each chunk, whether it counts or not."""
    for k in range(cuts.size - 1):
        n = cuts[k + 1] - cuts[k]
        line[:n] = data[cuts[k] : cuts[k + 1]]
        firmware_receive(fw, decoder, line, n)
        commands[k] = fw.incoming


SENT = [name for name in RAW.names if name != "off_scale"]  # what stands in a frame


class Guarded:
    """A record (zeros by default) between two neighbours, which tell if anything was written beside it."""

    def __init__(self, dtype: np.dtype, start: np.void | None = None) -> None:
        self._memory = np.full(3 * dtype.itemsize, CANARY, np.uint8)
        records = self._memory.view(dtype)
        records[1] = np.zeros(1, dtype)[0] if start is None else start
        self.record: np.void = records[1]

    def untouched(self) -> bool:
        """Whether both neighbours are as they were."""
        before, _, behind = self._memory.reshape(3, -1)
        return bool((before == CANARY).all() and (behind == CANARY).all())


class Fuzz:
    """Both ends of the line and the oracle, through which one batch goes after the other."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.batch = self.bytes = self.due = 0
        self.strangers = 0  # messages accepted that nobody meant
        self.oracle = Oracle()
        self._line = np.zeros(CHUNK, np.uint8)
        self._frames, self._samples, self._commands = Guarded(DECODER), Guarded(RECEIVER), Guarded(DECODER)
        self._raw, self._node = Guarded(RAW), Guarded(FIRMWARE, new_firmware(Calibration(wheel_radius=0.3)))
        # the latest of the batches before; None before the first
        self._sample: np.ndarray | None = None
        self._command: np.ndarray | None = None

    def run(self, size: int = BATCH) -> None:
        """One batch of about ``size`` bytes.

        Raises
        ------
        AssertionError
            Naming what disagreed, and the batch.
        """
        rng = random.Random(f"{self.seed}/{self.batch}")
        sent = stream(rng, size)
        data = np.frombuffer(bytes(sent.data), np.uint8)
        cuts = _cuts(rng, data.size)
        found = list(self.oracle.read(sent.data))
        ends, payloads = np.array([end for end, _ in found]), [payload for _, payload in found]
        kinds = np.array([kind_of(payload) for payload in payloads])
        self._check_frames(data, cuts, ends, payloads)
        self._agree("good frames behind a delimiter", np.isin(sent.due, ends).all(), True)
        self._check_samples(data, cuts, ends[kinds == 1], _bodies(payloads, SAMPLE_BODY, kinds == 1))
        self._check_commands(data, cuts, ends[kinds == 2], _bodies(payloads, COMMAND_BODY, kinds == 2))
        if 4 in kinds:
            requests = _bodies(payloads, np.dtype("u1,u1,<u2,<u4,u1,64u1"), kinds == 4)
            self._agree("hello", int(self._node.record["hello"]["seq"]), int(requests["f2"][-1]))
        for guarded in (self._frames, self._samples, self._commands, self._raw, self._node):
            self._agree("memory beside a record untouched", guarded.untouched(), True)
        self.strangers += sum(p not in sent.meant for p, kind in zip(payloads, kinds, strict=True) if kind)
        self.batch, self.bytes, self.due = self.batch + 1, self.bytes + data.size, self.due + len(sent.due)

    def _check_frames(self, data: np.ndarray, cuts: np.ndarray, ends: np.ndarray, payloads: list[bytes]) -> None:
        found, joined = np.zeros(data.size, np.int64), np.zeros_like(data)
        frames, size = _take_frames(self._frames.record, data, cuts, self._line, found, joined)
        self._agree("ends of frames", found[:frames].tolist(), ends.tolist())
        self._agree("payloads", joined[:size].tobytes(), b"".join(payloads))
        self._check_counters(self._frames.record, messages=False)

    def _check_samples(self, data: np.ndarray, cuts: np.ndarray, ends: np.ndarray, bodies: np.ndarray) -> None:
        receiver = self._samples.record
        counted = [int(receiver[name]) for name in ("samples_lost", "samples_repeated")]
        raws, new = np.zeros(cuts.size - 1, RAW), np.zeros(cuts.size - 1, np.int64)
        _take_samples(receiver, data, cuts, self._line, self._raw.record, raws, new)
        steps = _steps(bodies, self._sample)
        lost = int(np.where(steps < 32768, np.maximum(steps - 1, 0), 1).sum())
        repeated = int((steps == 0).sum())
        wanted = _newest(bodies, ends, cuts, self._sample)
        for name, body_name in zip(SENT, SAMPLE_BODY.names[2:], strict=True):
            self._agree(f"samples, {name}", raws[name].tolist(), wanted[body_name].tolist())
        self._agree("new samples", new.tolist(), np.diff(np.searchsorted(ends[steps != 0], cuts, "right")).tolist())
        self._agree("samples lost", int(receiver["samples_lost"]), counted[0] + lost)
        self._agree("samples repeated", int(receiver["samples_repeated"]), counted[1] + repeated)
        self._check_counters(receiver)
        self._sample = wanted[-1:]

    def _check_commands(self, data: np.ndarray, cuts: np.ndarray, ends: np.ndarray, bodies: np.ndarray) -> None:
        node, decoder, commands = self._node.record, self._commands.record, np.zeros(cuts.size - 1, COMMAND)
        _take_commands(node, decoder, data, cuts, self._line, commands)
        wanted = _newest(bodies, ends, cuts, self._command)
        names = ("seq", "expiry_ms", "sample_seq", "session", "flags")
        for name, body_name in zip(names, ("f2", "f4", "f5", "f6", "f7"), strict=True):
            sent = wanted[body_name] & 15 if name == "flags" else wanted[body_name]
            self._agree(f"commands, {name}", commands[name].tolist(), sent.tolist())
        self._agree("commands, kind", commands["kind"].tolist(), (wanted["f7"] >> 4).tolist())
        scale = np.where(commands["kind"] == COMMAND_KIND_ANGLE, 1e4, 1e3)
        self._agree("commands, T_cmd", np.rint(scale * commands["T_cmd"]).tolist(), wanted["f3"].tolist())
        self._check_counters(decoder)
        rejected = sum(int(decoder[f"frames_bad_{what}"]) for what in ("crc", "length", "version"))
        self._agree("rejected by the node", int(node["rejected"]), rejected)
        self._command = wanted[-1:]

    def _check_counters(self, decoder: np.void, messages: bool = True) -> None:
        for counter in fields(Counters):
            if messages or counter.name != "frames_bad_version":  # framing knows no versions
                self._agree(counter.name, int(decoder[counter.name]), getattr(self.oracle.counters, counter.name))

    def _agree(self, what: str, found: object, wanted: object) -> None:
        assert found == wanted, f"{what} of batch {self.batch}, seed {self.seed}: {_difference(found, wanted)}"


def _cuts(rng: random.Random, size: int) -> np.ndarray:
    """Where chunks begin and the last one ends; whole stretches of single bytes, of small pieces, of full buffers."""
    at = [0]
    while at[-1] < size:
        longest = rng.choice((1, 3, 60, 400, CHUNK))
        for _ in range(100):
            at.append(at[-1] + rng.randint(1, longest))
    return np.array([*(cut for cut in at if cut < size), size])


def _bodies(payloads: list[bytes], dtype: np.dtype, chosen: np.ndarray) -> np.ndarray:
    return np.frombuffer(b"".join(p for p, c in zip(payloads, chosen, strict=True) if c), dtype)


def _steps(bodies: np.ndarray, before: np.ndarray | None) -> np.ndarray:
    """From number to number, modulo 65536; the first one ever seen is no gap."""
    numbers = bodies["f2"].astype(int)
    first = numbers[:1] - 1 if before is None else before["f2"].astype(int)
    return np.diff(np.concatenate([first, numbers])) % 65536 if numbers.size else numbers


def _newest(bodies: np.ndarray, ends: np.ndarray, cuts: np.ndarray, before: np.ndarray | None) -> np.ndarray:
    """The last of the bodies that had ended at the end of each chunk; zeros before the first."""
    known = np.concatenate([np.zeros(1, bodies.dtype) if before is None else before, bodies])
    return known[np.searchsorted(ends, cuts[1:], "right")]


def _difference(found: object, wanted: object) -> str:
    if isinstance(found, Sequence) and isinstance(wanted, Sequence):
        at = next((i for i, (f, w) in enumerate(zip(found, wanted, strict=False)) if f != w), "the end")
        return f"{len(found)} found, {len(wanted)} wanted, different at {at}"
    return f"found {found}, wanted {wanted}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bytes", type=float, default=1e8, help="how many, about (1e8)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    screen = Console()
    fuzz = Fuzz(options.seed)
    for _ in range(3):  # the interpreter has taken what it needs
        fuzz.run()
    began, before, peak = time.monotonic(), fuzz.bytes, _peak()
    while fuzz.bytes < options.bytes:
        fuzz.run()
    counters, rate = fuzz.oracle.counters, (fuzz.bytes - before) / (time.monotonic() - began) / 1e6
    credible = counters.frames_bad_crc / 65536
    screen.print(f"{fuzz.bytes:,} bytes in {fuzz.batch} batches, seed {fuzz.seed}, {rate:.1f} MB/s: no disagreement")
    screen.print(
        f"  accepted {counters.frames_ok:,} frames, {counters.frames_bad_version:,} of them not of this protocol"
    )
    screen.print(f"  rejected {counters.frames_bad_crc:,} by CRC, {counters.frames_bad_length:,} by length or stuffing")
    screen.print(f"  {fuzz.due:,} good frames behind a delimiter, all accepted")
    screen.print(
        f"  {fuzz.strangers} messages accepted that nobody sent; at 1 in 65536, {credible:.0f} bad ones pass a CRC"
    )
    screen.print(f"  peak memory grew by {_peak() - peak} KiB")


def _peak() -> int:
    """Most memory ever held, KiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    main()
