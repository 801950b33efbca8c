"""Compiled functions without a wrapper for Python: from compiled code, from Python, and from a file, in each order."""

import os
import subprocess
import sys

import pytest

FUNCTIONS = """
from numba import types
from firmware_interface.by_address import entry_of
from firmware_interface.kernels import njit

@njit(cache=True, nogil=True)
def inner(x):
    return 2.0 * x

@njit(cache=True, nogil=True)
def outer(x):
    return inner(x) + 1.0

@njit(cache=True, nogil=True)
def constants():
    return inner(2) + inner(3)

def entry():
    return entry_of(inner, lambda x: inner(x), types.float64(types.float64), {"inner": inner}).ctypes(2.5)
"""
INNER_THEN_OUTER = "assert inner(1.5) == 3.0; assert outer(1.5) == 4.0"
OUTER_THEN_INNER = "assert outer(1.5) == 4.0; assert inner(1.5) == 3.0; assert inner(2.0) == 4.0"
UNREAD = "assert not {'numba.np.arraymath', 'numba.cpython.unicode', 'numba.typed.typeddict'} & set(sys.modules)"
ONLY_OUTER = "assert outer(1.5) == 4.0"
COUNTED = "print(sum(inner.stats.cache_misses.values()), sum(outer.stats.cache_misses.values()))"


@pytest.fixture
def run(tmp_path):
    """Runs lines in a process of its own on the functions above, with a folder of compiled code that stays."""
    (tmp_path / "functions.py").write_text(FUNCTIONS, encoding="utf-8")

    def lines(*words):
        code = "\n".join(["import sys", f"sys.path.insert(0, {str(tmp_path)!r})", "from functions import *", *words])
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=environment(tmp_path)
        )
        assert done.returncode == 0, done.stderr
        return [int(word) for word in done.stdout.split()]

    return lines


def environment(cache):
    return {**os.environ, "NUMBA_CACHE_DIR": str(cache / "cache")}


def test_what_compiled_code_called_first_can_be_called_from_python(run):
    assert run(OUTER_THEN_INNER, COUNTED) == [2, 1]  # inner bare, and with its wrapper when Python calls


def test_a_bare_function_in_a_file_is_not_called_from_python(run):
    assert run(ONLY_OUTER, COUNTED) == [1, 1]
    assert run(INNER_THEN_OUTER, COUNTED) == [1, 0]


def test_a_function_with_a_wrapper_does_for_compiled_code_and_one_for_all_constants(run):
    assert run(INNER_THEN_OUTER, COUNTED, "assert constants() == 10", COUNTED) == [1, 1, 2, 1]


def test_from_a_file_it_asks_nothing_of_the_registries_that_only_compiling_needs(run):
    """They take half a second to fill."""
    uses = "assert outer(1.5) == 4.0; assert inner(1.5) == 3.0; assert entry() == 5.0"
    run(uses)
    assert run(uses, COUNTED, UNREAD) == [0, 0]
    assert run(uses, "assert constants() == 10", COUNTED) == [1, 0]  # they are filled when something is compiled


def test_only_what_is_called_from_outside_becomes_machine_code(run, tmp_path):
    run(ONLY_OUTER)
    machine = {path.name.split("-")[0]: b"\x7fELF" in path.read_bytes() for path in tmp_path.rglob("*.nbc")}
    assert machine == {"functions.inner": False, "functions.outer": True}
