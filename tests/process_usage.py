"""What a process used: processor time and greatest memory. It counts what the one it was forked from had in memory, so
a small one starts it."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

STARTER = """
import json, os, subprocess, sys
process = subprocess.Popen(sys.argv[2:])
_, status, used = os.wait4(process.pid, 0)
with open(sys.argv[1], "w", encoding="utf-8") as told:
    json.dump([os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss * 1024], told)
"""


class Usage(NamedTuple):
    """How a process ended and what it used, its children counted as well."""

    code: int
    seconds: float  # of a processor
    memory: int  # bytes at most
    said: str  # on its standard output


def usage_of(command: Sequence[str], **how: Any) -> Usage:
    """Run a command to its end; ``how`` as `subprocess.run` takes it."""
    with TemporaryDirectory() as folder:
        told = Path(folder) / "usage.json"
        starter = [sys.executable, "-c", STARTER, str(told), *command]
        said = subprocess.run(starter, stdout=subprocess.PIPE, text=True, check=True, **how).stdout
        return Usage(*json.loads(told.read_text(encoding="utf-8")), said)
