"""Everything is compiled once, with progress, by the first command that needs it."""

import os
import subprocess
import sys

import pytest

SIMULATED = """
import sys
from numba.core import event
class Listener(event.Listener):
    def on_start(self, event): print("compiled", event.data["dispatcher"].py_func.__name__)
    def on_end(self, event): pass
event.register("numba:compile", Listener())
from riderless.experiments.cli import main
sys.argv = ["riderless", "simulate", "Silver", "--duration", "1", "--controller", "lqr", "--out", sys.argv[1]]
main()
"""


@pytest.mark.slow  # compiles everything
@pytest.mark.timeout(1800)
def test_the_first_command_compiles_everything_and_tells_of_it(tmp_path):
    program = tmp_path / "simulated.py"
    program.write_text(f"if __name__ == '__main__':\n{SIMULATED.replace(chr(10), chr(10) + '    ')}", encoding="utf-8")

    def simulated(out):
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": os.getcwd()}
        command = [sys.executable, program, tmp_path / out]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout.count("compiled"), done.stderr

    compiled, told = simulated("first")
    assert compiled == 0  # by others, and only loaded here
    assert len(list(tmp_path.rglob("*.nbc"))) > 100
    assert "compiling, once after each installation or update" in told
    for step in ("the emulated bicycle and the replay", "the loop", "the fits", "the design"):
        assert f"done {step}" in told
    compiled, told = simulated("second")
    assert compiled == 0
    assert "compiling" not in told
