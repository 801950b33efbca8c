"""The firmware in C as a compiler sees it: no warning, no library, no recursion; sanitizers; an image for the board."""

import re
import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

from riderless.firmware_interface.calibration import Calibration
from riderless.firmware_interface.twins.c_node import SOURCES

STRICT = re.search(r"^STRICT := (.*)$", (SOURCES / "Makefile").read_text(), re.MULTILINE)[1].split()
FUZZ = Path(__file__).with_name("c_fuzz.c")
NODE = str(SOURCES / "node.c")
FLASH, RAM = 0x0800_0000, 0x2000_0000
RAM_SIZES = {"stm32f103": 20 * 1024, "stm32f405": 128 * 1024, "stm32g431": 22 * 1024}
EXCEPTION_FRAME = 36  # bytes, with its alignment


def needs(*programs: str) -> pytest.MarkDecorator:
    missing = [program for program in programs if not shutil.which(program)]
    return pytest.mark.skipif(bool(missing), reason=f"{', '.join(missing)} is not installed")


def run(*command: str | Path) -> str:
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def call_graph(folder: Path) -> tuple[dict[str, int], dict[str, set[str]]]:
    """Stack of each function [bytes], and whom it calls, from what gcc wrote beside its objects."""
    text = "".join(path.read_text() for path in folder.rglob("*.ci"))
    stack = {name: int(size) for name, size in re.findall(r'node: { title: "(\S+)" label: ".*\\n(\d+) bytes \(', text)}
    calls: dict[str, set[str]] = {name: set() for name in stack}
    for caller, callee in re.findall(r'edge: { sourcename: "(\S+)" targetname: "(\S+)"', text):
        calls[caller].add(callee)
    assert "(dynamic)" not in text
    return stack, calls


def deepest(graph: tuple[dict[str, int], dict[str, set[str]]], name: str, callers: tuple[str, ...] = ()) -> int:
    """Bytes of stack ``name`` takes with all it calls; nothing calls itself, or whom it does not know."""
    assert name not in callers, f"{' -> '.join((*callers, name))}: recursion"
    stack, calls = graph
    return stack[name] + max((deepest(graph, callee, (*callers, name)) for callee in calls[name]), default=0)


@pytest.mark.parametrize(
    "compiler", [pytest.param(name, marks=needs(name, "make"), id=name) for name in ("cc", "gcc", "clang")]
)
def test_host_library_builds_without_a_warning(compiler, tmp_path):
    run("make", "-C", SOURCES, "host", f"BUILD={tmp_path}", f"CC={compiler}")
    assert (tmp_path / "libnode.so").exists()


@needs("gcc", "nm")
@pytest.mark.parametrize("optimize", ["-O0", "-Os", "-O2", "-O3"])
def test_no_function_of_a_library_is_called(optimize, tmp_path):
    plain = ("-ffreestanding", "-fno-stack-protector", "-fno-pic")
    run("gcc", *STRICT, *plain, optimize, "-c", NODE, "-o", tmp_path / "node.o")
    assert run("nm", "--undefined-only", tmp_path / "node.o") == ""
    assert not re.search(r"\b(malloc|calloc|realloc|free|alloca)\b", Path(NODE).read_text())


@needs("gcc")
def test_nothing_calls_itself(tmp_path):
    run("gcc", *STRICT, "-O0", "-fcallgraph-info=su", "-c", NODE, "-o", tmp_path / "node.o")
    graph = call_graph(tmp_path)
    assert {"node_receive", "node_latch", "node_sample", "node_hello"} < set(graph[0])
    assert max(deepest(graph, name) for name in graph[0]) < 1024


@needs("gcc")
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 4))])
def test_damage_with_sanitizers(seed, tmp_path):
    watched, quick = tmp_path / "watched", tmp_path / "quick"
    sources = (*STRICT, f"-I{SOURCES}", FUZZ, NODE)
    sanitizers = ("-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    tried = subprocess.run(["gcc", *sanitizers, *map(str, sources), "-o", watched], capture_output=True, text=True)
    if "cannot find" in tried.stderr:
        pytest.skip("gcc has come without its sanitizers (libasan, libubsan)")
    assert tried.returncode == 0, tried.stderr
    run("gcc", "-O2", *sources, "-o", quick)
    found = run(watched, str(seed), "100000")
    counted = re.match(r"(\d+) good, (\d+) rejected, enabled (\d+), (\d+) trips, (\d+) refused, digest", found)
    good, rejected, enabled, trips, refused = map(int, counted.groups())
    assert min(good, rejected, enabled) > 10_000
    assert min(trips, refused) > 500
    assert run(quick, str(seed), "100000") == found


@pytest.fixture(scope="module", params=RAM_SIZES)
def board(tmp_path_factory, request) -> Path:
    """The image for a chip; beside it lies what was linked."""
    folder = tmp_path_factory.mktemp("board")
    run("make", "-C", SOURCES, "board", f"BUILD={folder}", f"CHIP={request.param}")
    return folder / f"board_{request.param}.bin"


@needs("arm-none-eabi-gcc", "make")
class TestBoard:
    """The image for a chip; that it links shows that it needs neither libc nor libgcc."""

    def symbols(self, board: Path) -> dict[str, int]:
        lines = run("arm-none-eabi-nm", board.with_suffix(".elf")).splitlines()
        return {name: int(value, 16) for value, _, name in map(str.split, lines)}

    def test_vectors(self, board):
        symbols = self.symbols(board)
        vectors = struct.unpack_from("<45I", board.read_bytes())
        assert vectors[0] == symbols["stack_top_"] == RAM + RAM_SIZES[board.stem.removeprefix("board_")]
        assert vectors[1] == symbols["reset"] + 1  # thumb
        assert vectors[44] == symbols["tick"] + 1  # TIM2 is interrupt 28
        assert set(vectors[2:44]) == {symbols["halt"] + 1}

    def test_sizes(self, board):
        _, sizes = run("arm-none-eabi-size", board.with_suffix(".elf")).splitlines()
        text, data, bss = map(int, sizes.split()[:3])
        assert text + data < 8 * 1024
        assert data == 0  # nothing changes that begins with a value
        assert bss < 2 * 1024

    def test_stack(self, board):
        graph = call_graph(board.parent)
        nested = deepest(graph, "reset") + deepest(graph, "tick") + deepest(graph, "halt") + 2 * EXCEPTION_FRAME
        assert nested < 512  # of 4096 that the linker script keeps

    def test_it_says_the_scales_that_its_sensor_is_set_to(self, board):
        start = self.symbols(board)["identity"] - FLASH
        identity = struct.unpack_from("<16s3H2xffI", board.read_bytes(), start)
        calibration = Calibration(wheel_radius=0.3)  # +-250 deg/s, +-4 g
        scales = np.float32(calibration.gyro_lsb), np.float32(calibration.accel_lsb)
        name = f"riderless {board.stem[-4:]}".encode().ljust(16, b"\0")
        assert identity == (name, 200, 7000, 25, *scales, 20000)
