"""The arrows between the rooms, read from the imports: models and firmware know nobody, hil knows both."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.paths import ROOT

ROOMS = ("models", "firmware_interface", "hil", "experiments")
MAY_IMPORT = {
    "models": set(),
    "firmware_interface": set(),
    "hil": {"models", "firmware_interface"},
    "experiments": {"models", "firmware_interface", "hil"},
}
ONE_DOOR = {  # what only these files may import
    "serial": {"firmware_interface/port.py"},
    "matplotlib": {f"experiments/{name}.py" for name in ("figure_files", "report")}
    | {f"experiments/figures{name}.py" for name in ("", "_frequency", "_loop", "_plane", "_theory")},
    "pyarrow": {"experiments/recordings/foreign/format_parquet.py", "hil/logs/export_parquet.py"},
    "mcap": {"hil/logs/mcap_reader.py", "hil/logs/mcap_writer.py", "hil/logs/log.py"},
    "rich": {
        "experiments/terminal/console.py",
        "experiments/terminal/progress.py",
        "experiments/commands/monitor.py",
        "experiments/commands/run.py",
    },
}
CLOCKS = {"time", "datetime"}
MAY_KNOW_TIME = {
    "firmware_interface/port.py",  # how long to wait for a hello
    "firmware_interface/twins/virtual_node.py",  # the twin beats real time
    "firmware_interface/twins/paced_line.py",  # at its baud rate
    "firmware_interface/twins/machine.py",  # and several twins together
    "hil/logs/append_only.py",  # fsync once a second
    "hil/logs/log.py",  # the date of a run
    "hil/logs/provenance.py",
    "hil/runners/libc.py",  # the clock of the loop
    "hil/runners/latency_certificate.py",  # the date of a latency test
    "experiments/studies/fault_injection/realtime/bench.py",  # real faults happen in real time
    "experiments/commands/calibrate.py",  # the date of a rig file that is replaced
    "experiments/commands/emulate.py",  # how long to emulate
}


def sources() -> Iterator[Path]:
    for room in ROOMS:
        yield from sorted((ROOT / room).rglob("*.py"))


def imported(path: Path) -> Iterator[tuple[str, ast.AST]]:
    """Modules a file imports, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the arrows"
            yield node.module or "", node


@pytest.mark.parametrize("path", list(sources()), ids=lambda p: str(p.relative_to(ROOT)))
def test_arrows_and_doors(path):
    name = path.relative_to(ROOT).as_posix()
    room = name.split("/")[0]
    for module, _ in imported(path):
        top = module.split(".")[0]
        if top in ROOMS and top != room:
            assert top in MAY_IMPORT[room], f"{name} imports {module}: {room} may not know {top}"
        assert top != "tests", f"{name} imports from the tests"
        if top in ONE_DOOR:
            assert name in ONE_DOOR[top], f"{name} imports {module}: its door is {ONE_DOOR[top]}"
        if top in CLOCKS:
            assert name in MAY_KNOW_TIME, f"{name} imports {module}: it has no business with time"


@pytest.mark.parametrize("path", list(sources()), ids=lambda p: str(p.relative_to(ROOT)))
def test_files_are_short_and_library_code_is_silent(path):
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= 400, f"{path} is long: split it"
    name = path.relative_to(ROOT).as_posix()
    speaks = name.startswith("experiments/commands/") or name in (
        "experiments/cli.py",
        "experiments/terminal/console.py",
    )
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
            assert speaks, f"{name}:{node.lineno} prints"
        if isinstance(node, ast.ExceptHandler):
            silent = all(isinstance(s, ast.Pass) for s in node.body)
            broad = node.type is None or (isinstance(node.type, ast.Name) and node.type.id.endswith("Exception"))
            assert not (silent and broad), f"{name}:{node.lineno} swallows everything"


@pytest.mark.parametrize("room", ROOMS)
def test_every_public_thing_has_a_docstring(room):
    for path in sorted((ROOT / room).rglob("*.py")):
        if not path.read_text(encoding="utf-8").strip():
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assert ast.get_docstring(tree), f"{path} does not say what it is"
        for node in tree.body:
            public = isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
            if public:
                assert ast.get_docstring(node), f"{path}:{node.lineno} {node.name} has no docstring"
