"""Nothing that a file says is ever run: no pickles, no `eval`, no YAML, no shell; read from the sources."""

import ast
from pathlib import Path

import pytest

from tests.paths import ROOT
from tests.sources import name_of, sources, tree

# modules that make objects or code out of bytes
UNPICKLERS = {
    "pickle",
    "cPickle",
    "marshal",
    "shelve",
    "dill",
    "cloudpickle",
    "joblib",
    "yaml",
    "ruamel",
    "code",
    "codeop",
}
LAW_READERS = {"read_law", "name_law", "law_module", "read_controller"}  # each runs a Python file, or lets one be run
MAY_READ_LAWS = {  # only where a person gives the path: the command line, a campaign's own reader, and Python itself
    "hil/__init__.py",  # the door
    "hil/controllers/compiled.py",
    "hil/controllers/law_file.py",
    "hil/controllers/registry.py",
    "experiments/commands/_law.py",
    "experiments/commands/_rig_arguments.py",
    "experiments/campaigns/file.py",  # a campaign file that a person names may name a law
    "experiments/campaigns/protocols/plan_inputs.py",
}
RUNNERS = {"exec_module", "run_path", "run_module", "eval", "exec", "compile", "__import__", "execfile", "breakpoint"}
SHELLS = {("os", "system"), ("os", "popen"), ("subprocess", "getoutput"), ("subprocess", "getstatusoutput")}
LOADERS = {"load", "loads", "read_pickle", "fromfile_pickle", "unsafe_load", "full_load"}  # by name, on numpy or pandas
TESTS = sorted(path for path in (ROOT / "tests").rglob("*.py") if path.name != Path(__file__).name)
OF_OUR_OWN = {  # what may do it, to what it made itself, or a person named
    "hil/controllers/law_file.py": {"compile", "exec"},  # of the file that a person named as the law, of no other
    "experiments/recordings/foreign/formats/apart.py": {"pickle"},  # of a fork of ourselves, which can do what we can
    "tests/test_examples.py": {"run_path"},
    "tests/docs/test_gallery.py": {"run_path"},
    "tests/tools/lessons.py": {"compile", "exec"},  # of the pages of the lessons
    "tests/test_docs_code.py": {"compile", "exec"},  # of the page on constraints
    "tests/tools/mutation/living.py": {"compile", "exec"},
    "tests/tools/mutation/whole.py": {"compile"},
    "tests/models/test_parameters.py": {"pickle"},
    "tests/firmware_interface/test_door.py": {"eval"},
    "tests/experiments/recordings/test_foreign_mapping.py": {"__import__"},
}


def suspicious(path: Path) -> set[str]:
    """What in a file could run what another file says."""
    found = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.split(".")[0] in UNPICKLERS}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in UNPICKLERS:
            found.add(str(node.module))
        elif isinstance(node, ast.Call):
            found |= _call(node)
    return found


def _call(node: ast.Call) -> set[str]:
    found = set()
    function = node.func
    if isinstance(function, ast.Name) and function.id in RUNNERS:
        found.add(function.id)
    if isinstance(function, ast.Attribute) and function.attr in RUNNERS - {
        "compile",
        "eval",
    }:  # pandas.eval, re.compile
        found.add(function.attr)
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        owner, name = function.value.id, function.attr
        if (owner, name) in SHELLS or (owner in ("np", "numpy", "pd", "pandas", "torch") and name in LOADERS):
            found.add(f"{owner}.{name}")
    for keyword in node.keywords:
        wanted = isinstance(keyword.value, ast.Constant) and keyword.value.value is False
        if keyword.arg in ("allow_pickle", "shell") and not wanted:
            found.add(f"{keyword.arg}=")
    return found


@pytest.mark.parametrize("path", sources(), ids=name_of)
def test_no_source_runs_what_a_file_says(path):
    assert suspicious(path) <= OF_OUR_OWN.get(name_of(path), set())


@pytest.mark.parametrize("path", sources(), ids=name_of)
def test_only_a_path_that_a_person_gives_becomes_a_law(path):
    """What reads logs, headers or archives knows no way to a Python file: it may ask by hash for one that was named."""
    used = {node.id for node in ast.walk(tree(path)) if isinstance(node, ast.Name) and node.id in LAW_READERS}
    used |= {a.name for n in ast.walk(tree(path)) if isinstance(n, ast.ImportFrom) for a in n.names} & LAW_READERS
    assert not used or name_of(path) in MAY_READ_LAWS


def test_a_header_that_names_a_python_file_runs_nothing(tmp_path, monkeypatch):
    """The text of a log with a law whose file lies beside it, its hash right: only a person's word brings it to run."""
    import hashlib

    import tomli_w

    from hil.controllers import law_file
    from hil.controllers.registry import controller_from_text
    from models.catalogue import load_bicycle
    from models.errors import InputError

    monkeypatch.setattr(law_file, "_named", {})  # as in a process of its own
    trap, told = tmp_path / "trap.py", tmp_path / "told"
    trap.write_text(f"open({str(told)!r}, 'w').close()\n")
    text = tomli_w.dumps(
        {
            "format": "riderless compiled law 1",
            "file": str(trap),
            "sha256": hashlib.sha256(trap.read_bytes()).hexdigest(),
            "method": "trap",
            "inputs": ["phi"],
            "states": [],
            "settings": {},
            "speeds": [4.0, 7.0],
            "loop": {"rate": 200.0, "delay": 1, "drive_lag": 0.005},
            "bicycle": load_bicycle("Silver").as_dict(),
        }
    )
    made = controller_from_text(text)
    for use in (made.law, lambda: made.linearised(5.0)):
        with pytest.raises(InputError, match="which no log brings along"):
            use()
    assert not told.exists()


def test_nor_do_the_tests():
    found = {name_of(path): words for path in TESTS if (words := suspicious(path))}
    assert {name: words for name, words in found.items() if not words <= OF_OUR_OWN.get(name, set())} == {}


@pytest.mark.parametrize(
    "line",
    [
        "import pickle",
        "from yaml import safe_load",
        "import joblib.numpy_pickle",
        "eval('1')",
        "np.load('x.npy')",
        "numpy.load('x', allow_pickle=True)",
        "f(allow_pickle=flag)",
        "subprocess.run('x', shell=True)",
        "os.system('x')",
        "pd.read_pickle('x')",
        "spec.loader.exec_module(module)",
        "runpy.run_path('x.py')",
    ],
)
def test_this_law_notices(line, tmp_path):
    path = tmp_path / "line.py"
    path.write_text(line)
    assert suspicious(path)


def test_the_libraries_that_read_for_us_are_of_a_version_that_runs_nothing():
    """CVE-2023-47248: before 14.0.1, pyarrow unpickled extension types of a Parquet file."""
    pyarrow = pytest.importorskip("pyarrow")
    assert int(pyarrow.__version__.split(".")[0]) >= 15
    assert '"pyarrow>=18"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
