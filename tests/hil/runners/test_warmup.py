"""What is compiled when, and where: each in processes of their own, with a cache of their own."""

import os
import subprocess
import sys

from numba.extending import is_jitted

from riderless.firmware_interface.devices.registry import device_names
from riderless.hil.runners.realtime import _loop

LISTEN = """
from numba.core import event
compiled = []
class Listener(event.Listener):
    def on_start(self, event): compiled.append(event.data["dispatcher"].py_func.__name__)
    def on_end(self, event): pass
event.register("numba:compile", Listener())
"""


def names_compiled(code, cache):
    """Names of the functions that are compiled while ``code`` runs."""
    done = subprocess.run(
        [sys.executable, "-c", LISTEN + code + "\nprint(*compiled)"],
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_a_rig_is_read_without_compiling(tmp_path):
    code = f"""
from riderless.firmware_interface.devices.registry import device
assert [device(name).name for name in {device_names()}] == list({device_names()})
from riderless.hil.rig.rig import Rig
from riderless.models import load_bicycle
assert Rig(load_bicycle("Silver")).calibrated()
"""
    assert names_compiled(code, tmp_path) == []


ONLY_WITH_SENSORS = {"track_place", "move_on", "follow_route", "hold_speed"}  # of place, or a drive of its own speed


def test_the_loop_compiles_no_place_and_no_pace_by_itself():
    """What numba compiles with a function are the compiled functions that its code names, and theirs."""
    reached, waiting = set(), [_loop]
    while waiting:
        function = waiting.pop()
        if function.py_func not in reached:
            reached.add(function.py_func)
            named = [function.py_func.__globals__.get(name) for name in function.py_func.__code__.co_names]
            waiting += [other for other in named if is_jitted(other)]
    names = {function.__name__ for function in reached}
    assert {"tick", "supervise", "observe"} <= names
    assert not ONLY_WITH_SENSORS & names
