"""What an exported controller costs on a microcontroller: `python -m tests.tools.controller_on_boards`.

It is compiled for three processors, linked with the C library of the cross compiler, and run by an emulator that counts
instructions. No board is needed, and none is judged: a time is instructions by the cycles below, doubled. An
environment variable NEWLIB names a folder with newlib (usr/include/newlib, usr/lib/arm-none-eabi) where the compiler
has none of its own; without either an exp of ours stands in.
"""

import os
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

import riderless as rl
from riderless.hil.controllers.controller import Controller
from riderless.hil.design.compensators.methods import design_compensator
from riderless.hil.rig.controller_in_c import SOURCE_FILE, controller_in_c
from riderless.hil.rig.fitting import emulated_rig
from tests.hil.rig.c_rides import HELD, STEERED, random_rows
from tests.paths import ROOT

C = ROOT / "tests" / "hil" / "rig" / "c"
FLASH, RAM, SIZE = 0x0800_0000, 0x2000_0000, 0x1_0000
PAINT = b"\xa5"
READINGS = ("phi_dot_meas", "psi_dot_meas", "a_y_meas", "delta_meas", "steer_age", "v_meas", "T_meas")
GIVEN = ("psi", "y_P", "psi_dot_ref", "phi_ref", "delta_ref")


class Board(NamedTuple):
    """A processor, as it is compiled for and emulated, and by what its time is reckoned."""

    name: str
    flags: tuple[str, ...]
    cpu: str  # of unicorn
    clock: float  # Hz


BOARDS = (
    Board("Cortex-M3, 72 MHz", ("-mcpu=cortex-m3", "-mfloat-abi=soft"), "M3", 72e6),
    Board("Cortex-M4F, 168 MHz", ("-mcpu=cortex-m4", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"), "M4", 168e6),
    Board("Cortex-M7, 216 MHz", ("-mcpu=cortex-m7", "-mfloat-abi=hard", "-mfpu=fpv5-d16"), "M7", 216e6),
)
PRECISIONS = ("double", "single")
CYCLES = 2.0  # of an instruction, in the mean: 1 for most, 2 or 3 for loads and branches, 14 for a division
DOUBT = 2.0  # by which a time is multiplied: no board has said it


def rows_of_all_speeds() -> np.ndarray:
    """What enters a controller at some sampling instants, the longest ones among them: those at its greatest speed."""
    rows = random_rows(60, 1)
    rows["v_meas"] = np.where(np.arange(60) < 20, 3.0, 15.0)
    rows["mode"] = rows["mode_after"] = np.where(np.arange(60) < 10, HELD, STEERED)
    return rows


class Cost(NamedTuple):
    """Cost of a controller on a board, and what it wished there."""

    flash: int  # bytes of observer and law
    linked: int  # bytes with exp and soft arithmetic
    ram: int  # bytes that it remembers
    stack: int  # bytes, with all that it calls
    instructions: int  # at one sampling instant, at most
    time: float  # s, bound
    wishes: np.ndarray


def cost(controller: Controller, board: Board, precision: str, rows: np.ndarray, folder: Path) -> Cost:
    """Compile, link and run; ``rows`` are what enters it."""
    elf, flash = _linked(controller, board, precision, folder)
    symbols = {name: int(value, 16) for value, _, name in map(str.split, _run("arm-none-eabi-nm", elf).splitlines())}
    binary = folder / "board.bin"
    _run("arm-none-eabi-objcopy", "-O", "binary", "-R", ".bss", elf, binary)
    ram = int(_run("arm-none-eabi-nm", "-S", elf).split(" controller\n")[0].splitlines()[-1].split()[1], 16)
    counts, wishes, stack = _emulated(binary.read_bytes(), symbols, board, precision, rows)
    bound = DOUBT * max(counts) * CYCLES / board.clock
    return Cost(flash, binary.stat().st_size, ram, stack, max(counts), bound, wishes)


def _linked(controller: Controller, board: Board, precision: str, folder: Path) -> tuple[Path, int]:
    """Image, and the bytes of flash that the controller itself takes."""
    for name, text in controller_in_c(controller, emulated_rig(controller.bicycle, controller)).items():
        (folder / name).write_text(text)
    flags = [*board.flags, "-mthumb", "-std=c99", "-O2", "-ffp-contract=off", "-Wall", "-Wextra", "-Wdouble-promotion"]
    flags += ["-Werror", "-ffunction-sections", "-fno-tree-loop-distribute-patterns", f"-I{folder}"]
    include, libraries = _library(board)
    flags += [*include, *(["-DRIDERLESS_SINGLE"] if precision == "single" else [])]
    _run("arm-none-eabi-gcc", *flags, "-c", folder / SOURCE_FILE, "-o", folder / "controller.o")
    text, data, _ = map(int, _run("arm-none-eabi-size", folder / "controller.o").splitlines()[1].split()[:3])
    assert data == 0
    where = [f"-Wl,-Ttext={FLASH:#x}", "-Wl,--gc-sections", "-Wl,-e,instant"]
    sources = [folder / "controller.o", C / "board.c", *libraries]
    _run("arm-none-eabi-gcc", *flags, "-nostdlib", *where, *sources, "-lgcc", "-o", folder / "board.elf")
    return folder / "board.elf", text


def _library(board: Board) -> tuple[list[str], list[str | Path]]:
    """Flags that find <math.h>, and what to link for exp."""
    own = subprocess.run(
        ["arm-none-eabi-gcc", "-E", "-xc", "-"], input="#include <math.h>", text=True, capture_output=True
    )
    if own.returncode == 0:
        return [], ["-lm", "-lc"]
    if newlib := os.environ.get("NEWLIB"):
        multilib = _run("arm-none-eabi-gcc", *board.flags, "-mthumb", "-print-multi-directory").strip()
        place = Path(newlib, "usr/lib/arm-none-eabi/newlib", multilib)
        return ["-isystem", f"{newlib}/usr/include/newlib"], [f"-L{place}", "-lm", "-lc"]
    return ["-isystem", str(C / "without_newlib")], [C / "without_newlib" / "exp.c"]


def _emulated(
    code: bytes, symbols: dict[str, int], board: Board, precision: str, rows: np.ndarray
) -> tuple[list[int], np.ndarray, int]:
    """Instructions of each instant, the wishes, and how deep the stack went."""
    import unicorn
    from unicorn import arm_const as arm

    real = "<f4" if precision == "single" else "<f8"
    sample = np.zeros(1, np.dtype([("t", "<f8"), *((n, real) for n in (*READINGS, *GIVEN)), ("valid", "<i4")]))
    uc = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB, getattr(arm, f"UC_CPU_ARM_CORTEX_{board.cpu}"))
    uc.mem_map(FLASH, SIZE)
    uc.mem_write(FLASH, code)
    uc.mem_map(RAM, SIZE)
    top, bottom, counted = RAM + SIZE, RAM + SIZE // 2, [0]
    uc.mem_write(bottom, PAINT * (top - bottom))

    def count(*_) -> None:
        counted[0] += 1

    uc.hook_add(unicorn.UC_HOOK_CODE, count)
    counts, wishes, after = [], [], FLASH + SIZE - 2
    for row in rows:
        for name in sample.dtype.names or ():
            sample[name] = row[name]
        uc.mem_write(symbols["sample"], sample.tobytes())
        uc.mem_write(symbols["command"], np.array([row["command"]], real).tobytes())
        for register, value in (
            ("R0", int(row["mode"])),
            ("R1", int(row["mode_after"])),
            ("SP", top),
            ("LR", after | 1),
        ):
            uc.reg_write(getattr(arm, f"UC_ARM_REG_{register}"), value)
        counted[0] = 0
        uc.emu_start(symbols["instant"] | 1, after)
        counts.append(counted[0])
        size = np.dtype(real).itemsize
        wishes.append(float(np.frombuffer(uc.mem_read(symbols["wish"], size), real)[0]))
    unpainted = bytes(uc.mem_read(bottom, top - bottom)).lstrip(PAINT)
    return counts, np.array(wishes), len(unpainted)


def _run(*command: str | Path) -> str:
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


def main() -> None:
    """Print the table."""
    silver, speeds = rl.load_bicycle("Silver"), np.arange(2.0, 8.5, 0.5)
    controllers = {
        "gains": rl.design(silver, "lqr", speeds),
        "LQG, 6 states": design_compensator(silver, "lqg", speeds),
    }
    print("law, precision, processor: flash B (with library), RAM B + stack B, instructions, time at most us")
    with tempfile.TemporaryDirectory() as folder:
        for name, controller in controllers.items():
            for precision in PRECISIONS:
                for board in BOARDS:
                    c = cost(controller, board, precision, rows_of_all_speeds(), Path(folder))
                    print(
                        f"{name}, {precision}, {board.name}: {c.flash} ({c.linked}), {c.ram} + {c.stack}, "
                        f"{c.instructions}, {1e6 * c.time:.0f}"
                    )


if __name__ == "__main__":
    main()
