"""Folder of compiled kernels: its owner's alone, whatever the umask, and never one that others could have filled."""

import os
import stat
import subprocess
import sys

import pytest

from tests.paths import ROOT

OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
KERNEL = "from numba import njit\n@njit(cache=True)\ndef double(x):\n    return 2 * x\n"
PROGRAM = """
import os, sys
os.umask(int(sys.argv[1], 8))
from experiments.commands._kernel_cache import use_kernel_cache
use_kernel_cache()
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
    kept = {k: v for k, v in os.environ.items() if k not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, umask, str(home.parent)],
        env={**kept, "HOME": str(home), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    folder, answer = done.stdout.split()
    assert answer == "42"
    return folder, done.stderr


def open_to_others(home):
    """Files and folders below a home that somebody else may write to."""
    found = [path for path in home.rglob("*") if path.lstat().st_mode & OTHERS_WRITE]
    assert len(list(home.rglob("*"))) > 4, "something was compiled"
    return found


@pytest.mark.parametrize("umask", ["000", "002", "022", "077"])
def test_nobody_else_may_write_there_whatever_the_umask(umask, home):
    folder, said = compile_under(umask, home)
    assert said == ""
    assert folder.startswith(str(home / ".cache" / "riderless" / "kernels-"))
    assert open_to_others(home) == []
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
    assert compile_under(umask, home) == (folder, ""), "the next process finds it again"


def test_a_folder_that_others_could_have_filled_is_not_used(home):
    first, _ = compile_under("022", home)
    os.chmod(first, 0o777)
    folder, said = compile_under("022", home)
    assert folder != first
    assert folder.startswith(str(home))
    assert said == f"compiled kernels in {first} are not used, for others may write there: using {folder}; delete it\n"
    assert compile_under("022", home)[0] == folder, "compiled once, not at every start"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
@pytest.mark.parametrize("which", ["kernels", "all of it"])
def test_a_folder_of_somebody_else_is_not_used(which, home):
    first, _ = compile_under("022", home)
    given = first if which == "kernels" else os.path.dirname(first)
    os.chown(given, 65534, 65534)
    folder, said = compile_under("022", home)
    assert os.path.commonpath([folder, given]) != given
    assert f"{given} belongs to somebody else" in said
    assert open_to_others(home) == []


def test_a_link_in_its_place_is_not_followed(home, tmp_path):
    first, _ = compile_under("022", home)
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


def test_without_a_home_it_lives_as_long_as_the_process(home):
    (home / ".cache").write_text("a file in the way", encoding="utf-8")
    (home / ".riderless").write_text("and another", encoding="utf-8")
    folder, said = compile_under("000", home)
    assert "compiling anew" in said
    assert not os.path.exists(folder)
