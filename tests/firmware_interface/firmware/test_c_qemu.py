"""`node.c` on the instruction sets of the boards, in Debian's qemu: every value and byte that it says on this computer.

A Cortex-M3, M4 and M7 of Arm's own boards, which qemu plays; the program's words leave it by semihosting. The units of
a board are not played here: `test_c_image` and its like have a model of them.
"""

import ctypes
import random
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

from riderless.firmware_interface.calibration import Calibration
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.node.firmware_state import new_firmware
from riderless.firmware_interface.twins import c_node
from riderless.firmware_interface.twins.c_node import SOURCES, FirmwareInC, Readings
from tests.firmware_interface.firmware.test_c_build import STRICT, needs, run
from tests.firmware_interface.firmware.test_c_firmware import hear, said
from tests.firmware_interface.firmware.test_c_sequences import Line

try:
    c_node.build_library()
except DeviceError as problem:
    pytest.skip(str(problem), allow_module_level=True)

HERE = Path(__file__).parent
INSTANTS, PERIOD = 10_000, 0.005
MACHINES = {"cortex-m3": "mps2-an385", "cortex-m4": "mps2-an386", "cortex-m7": "mps2-an500"}


@pytest.fixture(scope="module")
def instants(tmp_path_factory) -> tuple[Path, bytes]:
    """Folder with what happens at each instant, and what this computer's node says to it."""
    rng = random.Random(1)
    firmware = new_firmware(Calibration(wheel_radius=0.3), rate_limit=6.0, angle_limit=0.6)
    core, line = FirmwareInC(firmware), Line(rng)
    line.node = firmware
    core.state.seq = 2**32 - 1000  # the number of the sample wraps too
    written = bytes(core._identity) + bytes(core._start) + struct.pack("<II", core.state.salt, core.state.seq)
    told, enabled, stop_button, resting = [], 0, False, 0.0
    for k in range(INSTANTS):
        t = 4270.0 + k * PERIOD  # and the clock
        for name in ("foreign", "kind", "seq", "struck"):
            firmware[name] = getattr(core.state, name)
        stop_button = rng.random() < (0.5 if stop_button else 0.005)
        firmware["stop_button"], firmware["faults"] = stop_button, rng.randrange(256) if rng.random() < 0.01 else 0
        readings = np.array([rng.gauss(0.0, 0.3) for _ in range(9)])
        readings[6] = resting if rng.random() < 0.6 else 0.1 * readings[6]
        resting = readings[6]
        data = line.take(rng.random() < 0.05)
        hear(core, data)
        core.latch(t)
        value = int(np.rint(firmware["value"] * (1e3 if core.state.kind < 2 else 1e4)))
        told.append(struct.pack("<iBBxx", value, core.state.kind, core.state.enabled))
        told.append(said(core.hello) + said(core.sample, readings, 24.0))
        now_us = int(np.rint(1e6 * t)) & 0xFFFFFFFF
        written += struct.pack("<IHBB", now_us, len(data), stop_button, int(firmware["faults"]))
        written += bytes(core._readings) + data
        enabled += core.state.enabled
    assert ctypes.sizeof(Readings) % 4 == 0, "the record has no gap in C either"
    assert t > 2**32 * 1e-6
    assert enabled > INSTANTS // 20
    assert firmware["trips"] > 5
    assert firmware["refused"] > 50
    folder = tmp_path_factory.mktemp("instants")
    (folder / "instants.bin").write_bytes(written)
    return folder, b"".join(told)


def played(processor: str, folder: Path, sources: list[Path], *flags: str) -> bytes:
    """What the node of these sources says on a processor to the instants in a folder."""
    image = folder / f"{processor}.elf"
    target = (f"-mcpu={processor}", "-mthumb", "-ffreestanding", "-fno-tree-loop-distribute-patterns")
    link = ("-nostdlib", "-T", HERE / "c_instants.ld", f"-Wa,-I{folder}", f"-I{SOURCES}")
    run("arm-none-eabi-gcc", *STRICT, "-O2", *target, *link, *flags, *sources, "-lgcc", "-o", image)
    play = ("-display", "none", "-monitor", "none", "-serial", "none", "-semihosting-config", "enable=on,target=native")
    machine = subprocess.run(
        ["qemu-system-arm", "-M", MACHINES[processor], *play, "-kernel", image], capture_output=True, timeout=300
    )
    assert machine.returncode == 0, machine.stderr
    return machine.stdout


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@pytest.mark.parametrize("processor", MACHINES)
def test_it_says_every_byte_that_this_computer_says(instants, processor):
    folder, told = instants
    found = played(processor, folder, [HERE / "c_instants.c", SOURCES / "node.c"])
    assert len(found) == len(told)
    assert found == told
