"""Compiled functions in files: found again by the next process, each entry by address as the function it is of."""

import os
import subprocess
import sys

FUNCTIONS = """
import sys
import numba  # before us, as a script may: it has read its settings
from numba import types
from riderless.firmware_interface.by_address import entry_of
from riderless.firmware_interface.kernels import njit

@njit(cache=True, nogil=True)
def double(x):
    return 2.0 * x

@njit(cache=True, nogil=True)
def triple(x):
    return 3.0 * x

def entry(function):
    return entry_of(function, lambda x: _function(x), types.float64(types.float64), {"_function": function})

entries = entry(double), entry(triple)
print(*(each.ctypes(2.0) for each in entries), triple(3.0))
print(*(each.cache_hits for each in entries), sum(triple.stats.cache_hits.values()))
"""


def test_the_next_process_finds_all_in_files_and_no_entry_is_taken_for_another(tmp_path):
    script, cache = tmp_path / "functions.py", tmp_path / "cache"
    script.write_text(FUNCTIONS, encoding="utf-8")
    for hits in ("0 0 0", "1 1 1"):
        done = subprocess.run(
            [sys.executable, script],
            capture_output=True,
            text=True,
            timeout=120,
            env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines() == ["4.0 6.0 9.0", hits]
    (state,) = cache.iterdir()
    assert state.name.startswith("kernels-"), "of these sources only"
    assert list(tmp_path.rglob("*.nbc")) == list(state.rglob("*.nbc"))
