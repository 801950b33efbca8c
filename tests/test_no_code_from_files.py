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
RUNNERS = {"eval", "exec", "compile", "__import__", "execfile", "breakpoint"}
SHELLS = {("os", "system"), ("os", "popen"), ("subprocess", "getoutput"), ("subprocess", "getstatusoutput")}
LOADERS = {"load", "loads", "read_pickle", "fromfile_pickle", "unsafe_load", "full_load"}  # by name, on numpy or pandas
TESTS = sorted(path for path in (ROOT / "tests").rglob("*.py") if path.name != Path(__file__).name)
OF_OUR_OWN = {  # what may do it, to what it made itself
    "experiments/recordings/foreign/apart.py": {"pickle"},  # of a fork of ourselves, which can do what we can
    "tests/tools/mutants.py": {"compile", "exec"},
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
