"""Latency floor of a computer, by `cyclictest`.

`cyclictest` is the kernel developers' own instrument.
"""

import re
import shutil
import subprocess

import numpy as np

from riderless.hil.runners.latency_certificate import Lateness
from riderless.hil.runners.scheduling import privileges
from riderless.models.errors import InputError

CYCLICTEST = "cyclictest"
HOW_TO_GET_IT = f"no floor beside it: {CYCLICTEST} is not installed; get it with `sudo apt install rt-tests`"
_BIN = re.compile(r"^(\d+)\s+(\d+)$", re.MULTILINE)
_WORST = re.compile(r"^# Max Latencies:\s*(\d+)", re.MULTILINE)
_OVERFLOWS = re.compile(r"^# Histogram Overflows:\s*(\d+)", re.MULTILINE)


def cyclictest_installed() -> bool:
    """Tell whether `cyclictest` is installed."""
    return shutil.which(CYCLICTEST) is not None


def cyclictest_command(rate: float, n: int, bins: int, fifo: int = 0, cpu: int | None = None) -> list[str]:
    """Compose the command line of `cyclictest` under the settings that our own loop gets.

    Parameters
    ----------
    rate : float
        Wake-ups per second [Hz].
    n : int
        Number of wake-ups.
    bins : int
        Bins of the histogram, of 1 us.
    fifo : int
        Real-time priority, 0 for none.
    cpu : int, optional
        The only CPU to run on; by default any.
    """
    words = [CYCLICTEST, "-q", "-t1", f"-i{round(1e6 / rate)}", f"-l{n}", f"-h{bins - 1}"]
    if fifo:
        words += ["-m", f"-p{fifo}"]
    if cpu is not None:
        words += [f"-a{cpu}"]
    return words


def run_cyclictest(rate: float, n: int, bins: int, fifo: int = 0, cpu: int | None = None) -> Lateness:
    """Run `cyclictest` for ``n`` wake-ups and return their lateness.

    It inherits our timer slack of 1 ns, which by itself it would leave at 50 us: the floor shall be as
    low as it can be.

    Parameters
    ----------
    rate, n, bins, fifo, cpu
        As of `cyclictest_command`.

    Raises
    ------
    InputError
        When it refuses, with its own words.
    """
    with (
        privileges(),
        subprocess.Popen(
            cyclictest_command(rate, n, bins, fifo, cpu),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            process_group=0,  # Ctrl-C is ours to answer
        ) as process,
    ):
        try:
            output, complaint = process.communicate(timeout=10.0 + 10.0 * n / rate)
        except BaseException as error:
            process.kill()
            if isinstance(error, subprocess.TimeoutExpired):
                raise InputError(f"no floor beside it: {CYCLICTEST} did not end in time") from None
            raise
    if process.returncode != 0:
        lines = [line for line in complaint.splitlines() if line.strip()]
        raise InputError(f"no floor beside it: {CYCLICTEST} ended with '{lines[-1] if lines else process.returncode}'")
    return parse_histogram(output, bins)


def parse_histogram(text: str, bins: int) -> Lateness:
    """Parse the histogram that ``cyclictest -q -h`` prints for one thread; ``bins`` of 1 us.

    Raises
    ------
    InputError
        When there is no histogram in it.
    """
    worst, overflows = _WORST.search(text), _OVERFLOWS.search(text)
    rows = [(int(us), int(n)) for us, n in _BIN.findall(text)]
    if worst is None or overflows is None or not rows:
        raise InputError(
            f"no floor beside it: {CYCLICTEST} printed no histogram for one thread; is it version 1 or later?"
        )
    counts = np.zeros(bins, np.int64)
    for us, n in rows:
        counts[min(us, bins - 1)] += n
    counts[bins - 1] += int(overflows[1])
    return Lateness(counts, 1e-6 * int(worst[1]))
