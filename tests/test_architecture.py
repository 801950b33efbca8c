"""The arrows between the rooms and inside them, read from the imports, and what every file keeps to."""

import ast
import re

import pytest

from tests.paths import ROOT
from tests.sources import ROOMS, circles, imported, module_of, name_of, sources, tree

MAY_IMPORT = {
    "models": set(),
    "firmware_interface": set(),
    "hil": {"models", "firmware_interface"},
    "experiments": {"models", "firmware_interface", "hil"},
}
FOR_EVERYBODY = {"firmware_interface.kernels"}  # numba's decorator, which knows nothing of ours
LAYERS = {  # inside a room, the lowest first; a folder imports only itself and what stands before it
    "models": ("", "plausibility", "bicycles", "exchange", "linear", "nonlinear", "constrained", "plant"),
    "firmware_interface": ("", "node", "devices", "twins"),
    "hil": ("", "guidance", "loop", "controllers", "design", "rig", "logs", "live", "runners", "commissioning"),
    "experiments": (
        "",  # datatypes
        "theory",
        "recordings",
        "analysis",
        "planning",
        "frequency",
        "reports",
        "emulation",
        "campaigns",
        "studies",
        "terminal",
        "live",
        "commands",
    ),
}
DOORS = {f"{room}/__init__.py" for room in ROOMS}  # name what their rooms offer, lazily
TOP_OF_THE_ROOM = {  # files at a room's top that belong to a layer above
    "experiments/cli.py": "commands",
    **{f"models/{name}.py": "bicycles" for name in ("bicycle_file", "parameters", "catalogue", "moore")},
}
TEXT_OF_FILES = {"read_text", "write_text"}  # of a path; without an encoding they take that of the computer
MOST_FILES = 15  # in a folder; commands apart
ONE_DOOR = {  # what only these files may import
    "serial": {"firmware_interface/port.py"},
    "matplotlib": {
        f"experiments/reports/{name}.py"
        for name in (
            "files",
            "html",
            "eigenvalues",
            "bode",
            "loop",
            "complex_plane",
            "theory",
            "timeline/figure",
            "timeline/path_map",
            "estimates/profiles",
            "hazards/sheet",
            "paper/figures",
        )
    },
    "pyarrow": {"experiments/recordings/foreign/formats/parquet.py", "hil/logs/export_columns.py"},
    "mcap": {"hil/logs/mcap_reader.py", "hil/logs/mcap_writer.py", "hil/logs/log.py", "hil/logs/stored_rows.py"},
    "rich": {
        "experiments/terminal/console.py",
        "experiments/terminal/progress.py",
        "experiments/terminal/run_screen.py",
        "experiments/commands/monitor.py",
    },
    "websockets": {"experiments/live/server.py", "experiments/live/watchers.py", "experiments/live/foxglove/bridge.py"},
}
CLOCKS = {"time", "datetime"}
MAY_KNOW_TIME = {
    "firmware_interface/port.py",  # how long to wait for a hello
    "firmware_interface/twins/virtual_node.py",  # the twin beats real time
    "firmware_interface/twins/paced_line.py",  # at its baud rate
    "firmware_interface/twins/machine.py",  # and several twins together
    "hil/logs/append_only.py",  # fsync once a second
    "hil/logs/writer.py",  # the date of a run
    "hil/logs/folders.py",  # and of its folder
    "hil/logs/provenance.py",
    "hil/runners/libc.py",  # the clock of the loop
    "hil/controllers/law_checks.py",  # how long a person's law takes
    "hil/runners/latency_certificate.py",  # the date of a latency test
    "experiments/emulation/hand.py",  # when a kick began
    "experiments/studies/fault_injection/realtime/bench.py",  # real faults happen in real time
    "experiments/live/rows.py",  # when somebody was there last
    "experiments/live/replay/player.py",  # the pace of a replay
    "experiments/live/emulated.py",  # when something happened
    "experiments/live/foxglove/channels.py",  # times of a run by the clock of the wall
    "experiments/live/foxglove/bridge.py",  # how long a page is looked for
    "experiments/live/play.py",  # when something happened, and how long a fallen bicycle rests
    "experiments/live/beside.py",  # how old what is shown is
    "experiments/commands/calibrate.py",  # the date of a rig file that is replaced
    "experiments/commands/emulate.py",  # how long to emulate
}


def layer(name: str) -> tuple[str, int]:
    """Room and layer of a file, by its path."""
    room, *folders, _ = name.split("/")
    folder = TOP_OF_THE_ROOM.get(name, folders[0] if folders else "")
    return room, LAYERS[room].index(folder)


@pytest.mark.parametrize("path", sources(), ids=name_of)
def test_arrows_and_doors(path):
    name = name_of(path)
    room, height = layer(name)
    files = {module_of(source): name_of(source) for source in sources()}
    for module in imported(path):
        top = module.split(".")[0]
        if top in ROOMS and top != room and module not in FOR_EVERYBODY:
            assert top in MAY_IMPORT[room], f"{name} imports {module}: {room} may not know {top}"
        if top == room and name not in DOORS:
            assert layer(files[module])[1] <= height, f"{name} imports {module}, which stands above it"
        assert module != "riderless", f"{name} imports the door from inside the house"
        assert top != "tests", f"{name} imports from the tests"
        if top in ONE_DOOR:
            assert name in ONE_DOOR[top], f"{name} imports {module}: its door is {ONE_DOOR[top]}"
        if top in CLOCKS:
            assert name in MAY_KNOW_TIME, f"{name} imports {module}: it has no business with time"


@pytest.mark.parametrize("path", sources(), ids=name_of)
def test_interpreters_are_started_in_one_place_which_keeps_the_current_folder_out(path):
    if name_of(path) == "firmware_interface/child_processes.py":
        return
    text = ast.unparse(tree(path))
    assert not re.search(r"sys\.executable|multiprocessing\.(Process|Pool)\b|ProcessPoolExecutor\(\w+\)", text)
    assert set(re.findall(r"get_context\((.*?)\)", text)) <= {"'fork'"}


def test_no_circles_even_through_lazy_and_type_checking_imports():
    modules = {module_of(path) for path in sources()}
    arrows = {module_of(path): modules.intersection(imported(path)) for path in sources() if name_of(path) not in DOORS}
    assert circles(arrows) == []


@pytest.mark.parametrize("room", ROOMS)
def test_folders_are_small(room):
    inner = (path for path in (ROOT / room).rglob("*") if path.is_dir() and path.name != "commands")
    for folder in (ROOT / room, *inner):
        assert len(list(folder.glob("*.py"))) <= MOST_FILES + 1, f"{folder} is crowded: give it rooms"


@pytest.mark.parametrize("path", sources(), ids=name_of)
def test_files_are_short_and_library_code_is_silent(path):
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= 400, f"{path} is long: split it"
    name = name_of(path)
    speaks = layer(name) == layer("experiments/cli.py") or name == "experiments/terminal/console.py"
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
            assert speaks, f"{name}:{node.lineno} prints"
        if isinstance(node, ast.ExceptHandler):
            silent = all(isinstance(s, ast.Pass) for s in node.body)
            broad = node.type is None or (isinstance(node.type, ast.Name) and node.type.id.endswith("Exception"))
            assert not (silent and broad), f"{name}:{node.lineno} swallows everything"


@pytest.mark.parametrize("path", sources(), ids=name_of)
def test_text_files_are_read_and_written_in_utf_8_wherever_it_runs(path):
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in TEXT_OF_FILES:
            assert "encoding" in {keyword.arg for keyword in node.keywords}, f"{name_of(path)}:{node.lineno}"


@pytest.mark.parametrize("path", [p for p in sources() if "/commands/" in name_of(p)], ids=name_of)
def test_a_command_is_arguments_in_one_call_and_a_table_out(path):
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef):
            start = node.body[1].lineno if ast.get_docstring(node) and len(node.body) > 1 else node.body[0].lineno
            assert (node.end_lineno or start) - start < 60, f"{name_of(path)}:{node.lineno} {node.name} does too much"
