"""Folder of compiled kernels: of one state of the sources, and never one that others could have filled."""

import os
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.paths import ROOT

OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
KERNEL = "from riderless.firmware_interface.kernels import njit\n@njit(cache=True)\ndef double(x):\n    return 2 * x\n"
CALLER = """
from numba import types
from riderless.firmware_interface.by_address import entry_of
from riderless.firmware_interface.kernels import njit
from riderless.models.kernel import double
@njit(cache=True)
def one_more(x):
    return double(x) + 1
def by_address(x):
    return entry_of(one_more, lambda x: one_more(x), types.int64(types.int64), {"one_more": one_more}).ctypes(x)
"""
PROGRAM = """
import os, sys
os.umask(int(sys.argv[1], 8))
sys.path.insert(0, sys.argv[2])
import kernel
print(os.environ["NUMBA_CACHE_DIR"], kernel.double(21))
"""


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "home"
    folder.mkdir(mode=0o755)
    (tmp_path / "kernel.py").write_text(KERNEL, encoding="utf-8")
    return folder


def compile_under(umask, home):
    """Compile a kernel in a process of its own with that umask: folder of the kernels, what was said."""
    done = run_at_home(home, ROOT, PROGRAM, umask, str(home.parent))
    folder, answer = done.stdout.split()
    assert answer == "42"
    return folder, done.stderr


def run_at_home(home, root, program, *arguments, name=""):
    """Run a program on the sources in a folder as a script of that user's, who has chosen no folder for kernels.

    The home may be called by another name than its path.
    """
    kept = {k: v for k, v in os.environ.items() if k not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")}
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=home,
        env={**kept, "HOME": name or str(home), "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done


def open_to_others(home):
    """Files and folders below a home that somebody else may write to."""
    found = [path for path in home.rglob("*") if path.lstat().st_mode & OTHERS_WRITE]
    assert len(list(home.rglob("*"))) > 4, "something was compiled"
    return found


@pytest.mark.parametrize("umask", ["000", "077"])
def test_nobody_else_may_write_there_whatever_the_umask(umask, home):
    folder, said = compile_under(umask, home)
    assert said == ""
    assert folder.startswith(str(home / ".cache" / "riderless" / "kernels-"))
    assert open_to_others(home) == []
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
    assert compile_under(umask, home) == (folder, ""), "the next process finds it again"


@pytest.fixture
def sources(tmp_path):
    """Copy of the rooms with kernels, and in it a kernel in one file that calls one in another."""
    package = tmp_path / "sources" / "riderless"
    shutil.copytree(ROOT / "riderless", package, ignore=shutil.ignore_patterns("__pycache__"))
    for room in ("models", "firmware_interface", "hil"):
        shutil.copytree(ROOT / room, package / room, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "models" / "kernel.py").write_text(KERNEL, encoding="utf-8")
    (package / "models" / "caller.py").write_text(CALLER, encoding="utf-8")
    return tmp_path / "sources"


@pytest.mark.parametrize(
    ("chosen", "called"),
    [("", "by_address"), ("os.environ['NUMBA_CACHE_DIR'] = os.path.expanduser('~/mine');", "one_more")],
)
def test_a_script_of_ones_own_never_runs_what_was_compiled_of_earlier_sources(sources, home, chosen, called):
    """Nor where the function that it calls stands in another file, of which numba asks nothing."""
    program = f"import os; {chosen} from riderless.models.caller import {called}; print({called}(2))"
    assert run_at_home(home, sources, program).stdout == "5\n"
    kernel = sources / "riderless" / "models" / "kernel.py"
    kernel.write_text(KERNEL.replace("2 * x", "7 * x"), encoding="utf-8")
    assert run_at_home(home, sources, program).stdout == "15\n"


def test_a_module_with_another_name_is_another_state(sources, home):
    program = "from riderless.firmware_interface.kernel_folder import sources_fingerprint; print(sources_fingerprint())"
    before = run_at_home(home, sources, program).stdout
    assert run_at_home(home, sources, program).stdout == before
    os.rename(sources / "riderless" / "models" / "caller.py", sources / "riderless" / "models" / "callers.py")
    assert run_at_home(home, sources, program).stdout != before


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """A home where a kernel was compiled, once for all."""
    home = tmp_path_factory.mktemp("compiled") / "home"
    home.mkdir(mode=0o755)
    (home.parent / "kernel.py").write_text(KERNEL, encoding="utf-8")
    return home, compile_under("022", home)[0]


@pytest.fixture
def first(home, compiled):
    """Folder of a kernel that was compiled earlier in this home."""
    source, folder = compiled
    for path in (home.parent / "kernel.py", home):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.copy2(source.parent / "kernel.py", home.parent)
    shutil.copytree(source, home)
    return str(home / Path(folder).relative_to(source))


def test_of_earlier_states_only_the_last_few_stay(home, first):
    now, day = time.time(), 86400.0
    ages = dict(zip("abcdef", (0.2, 2.0, 3.0, 4.0, 5.0, 6.0), strict=True))
    somebody_elses = home / ".cache" / "riderless" / "my-kernels-of-2019"
    for left, age in [*((named(name, home), age) for name, age in ages.items()), (somebody_elses, 9.0)]:
        left.mkdir()
        (left / "x.nbc").write_bytes(b"x")
        os.utime(left, (now - age * day, now - age * day))
    assert compile_under("022", home) == (first, "")
    left = set((home / ".cache" / "riderless").iterdir())
    assert left == {Path(first), somebody_elses, *(named(name, home) for name in "abcd")}


def named(name, home):
    """Folder that another state of the sources would have."""
    return home / ".cache" / "riderless" / f"kernels-{16 * name}"


def test_a_folder_that_others_could_have_filled_is_not_used(home, first):
    os.chmod(first, 0o777)
    folder, said = compile_under("022", home)
    assert folder != first
    assert folder.startswith(str(home))
    assert said == f"compiled kernels in {first} are not used, for others may write there: using {folder}; delete it\n"
    assert compile_under("022", home)[0] == folder, "compiled once, not at every start"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
@pytest.mark.parametrize("which", ["kernels", "all of it"])
def test_a_folder_of_somebody_else_is_not_used(which, home, first):
    given = first if which == "kernels" else os.path.dirname(first)
    os.chown(given, 65534, 65534)
    folder, said = compile_under("022", home)
    assert os.path.commonpath([folder, given]) != given
    assert f"{given} belongs to somebody else" in said
    assert open_to_others(home) == []


def test_a_link_in_its_place_is_not_followed(home, first, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    os.rename(first, elsewhere)
    os.symlink(elsewhere, first)
    folder, said = compile_under("022", home)
    assert folder not in (first, str(elsewhere))
    assert "is no folder" in said


def test_where_everybody_may_rename_it_is_not_used(home):
    cache = home / ".cache"
    cache.mkdir()
    cache.chmod(0o777)
    folder, said = compile_under("022", home)
    assert folder.startswith(str(home / ".riderless"))
    assert f"anybody may rename what lies in {cache}" in said
    assert said.endswith("; take that right away, or set XDG_CACHE_HOME\n")


def test_without_a_home_it_lives_as_long_as_the_process(home):
    (home / ".cache").write_text("a file in the way", encoding="utf-8")
    (home / ".riderless").write_text("and another", encoding="utf-8")
    folder, said = compile_under("000", home)
    assert said.endswith("(Not a directory): compiling anew; make room, or set XDG_CACHE_HOME to another folder\n")
    assert not os.path.exists(folder)


def test_who_has_no_home_gets_no_folder_of_that_name(home):
    """Python calls the home of a user who has none `~`."""
    done = run_at_home(home, ROOT, PROGRAM, "022", str(home.parent), name="~")
    assert "are not used, for this user has no home: compiling anew; set HOME or XDG_CACHE_HOME" in done.stderr
    assert done.stdout.endswith(" 42\n")
    assert list(home.iterdir()) == []


def test_windows_has_neither_owners_nor_modes(home):
    program = """
import os, sys
from riderless.firmware_interface.kernel_folder import kernel_folder
sys.platform = "win32"
del os.getuid
print(kernel_folder())
"""
    folder = Path(run_at_home(home, ROOT, program).stdout.strip())
    assert folder.parent == home / ".cache" / "riderless"
    folder.chmod(0o777)
    assert run_at_home(home, ROOT, program).stdout.strip() == str(folder)
