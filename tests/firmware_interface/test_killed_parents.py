"""No process that a program started outlives it, though it was killed and could tell none of them."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest

from tests.paths import ROOT

POOLS = {  # each begins two workers, or one; the first piece of work is soon done, and its worker waits for another
    "spread": """
from riderless.experiments.campaigns.sweeps import spread
for _ in spread(stay, [0.0, 600.0], jobs=2): pass
""",
    "fits of a page": """
from riderless.experiments.live.fits import new_fitter
list(new_fitter().map(stay, [0.0, 600.0]))
""",
    "profiles": """
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from riderless.experiments.analysis.identification import profile_likelihood as profile
list(ProcessPoolExecutor(2, get_context("fork"), profile._take, (None,)).map(stay, [0.0, 600.0]))
""",
    "busy processes": """
import time
from riderless.experiments.fault_injection.realtime.controller_process import busy
with busy(2):
    for _ in range(2): stay(0.0)
    time.sleep(600.0)
""",
}


def stay(seconds):
    """Work of a worker."""
    os.write(1, b"at work\n")  # whole, beside that of another
    time.sleep(seconds)


@pytest.mark.parametrize("pool", POOLS)
def test_workers_end_with_a_program_that_is_killed(pool):
    code = f"from {__name__} import stay\n{POOLS[pool]}"
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, start_new_session=True) as program:
        try:
            for _ in range(2):
                assert program.stdout.readline() == b"at work\n"
            program.kill()
            program.communicate(timeout=20.0)  # until nobody can write to its output any more
        finally:
            with suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)
