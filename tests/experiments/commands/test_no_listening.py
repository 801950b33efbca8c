"""No command opens a port of the network: nothing of ours listens that was not asked for."""

import math
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

CLI = [sys.executable, "-m", "riderless.experiments.cli"]
LOOKS = 0.1  # s; what listens is meant to be found, and stays
TABLES = ("tcp", "tcp6", "udp", "udp6")


def session_of(pid):
    """Process numbers of the session that ``pid`` leads: itself and all it has started."""
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if os.getsid(int(entry.name)) == pid:
                yield int(entry.name)


def network_sockets(processes):
    """Sockets of the network, of any kind, that the processes have open."""
    known = set()
    for table in TABLES:
        with suppress(OSError):
            known |= {line.split()[9] for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]}
    for process in processes:
        with suppress(OSError):
            for file in Path(f"/proc/{process}/fd").iterdir():
                with suppress(OSError):
                    target = os.readlink(file)
                    if target.startswith("socket:[") and target[8:-1] in known:
                        yield target


def looked_at(command, folder, longest, after_saying=math.inf):
    """Start a command and look until it ends, or for so long [s]; sockets found, and how many processes were seen.

    ``after_saying``: end of the look, counted from its first word [s], of a command that goes on for ever or for long.
    """
    said = folder / "said"
    with said.open("wb") as out:
        process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
        )
    found, most, end = set(), 0, time.monotonic() + longest
    try:
        while process.poll() is None and time.monotonic() < end:
            processes = list(session_of(process.pid))
            found |= set(network_sockets(processes))
            most = max(most, len(processes))
            if said.stat().st_size:
                end = min(end, time.monotonic() + after_saying)
                after_saying = math.inf
            time.sleep(LOOKS)
    finally:
        process.kill()
        process.wait()
    return found, most


@pytest.mark.realtime
@pytest.mark.parametrize(
    ("arguments", "processes", "after_saying"),
    [
        (["run", "--emulated", "--duration", "1"], 2, math.inf),
        (["emulate", "Silver", "--speed", "5"], 1, 1.0),  # it says where it serves, and serves until it is told to end
        (["campaign", "--lockstep"], 1, 2.0),  # one condition after the other, all alike
        (["monitor", "--emulated", "--duration", "1"], 2, math.inf),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_no_command_is_on_the_network(tmp_path, arguments, processes, after_saying):
    longest = 120.0  # s; on a busy computer the first word is late
    found, most = looked_at([*CLI, *arguments], tmp_path, longest, after_saying)
    assert found == set()
    assert (tmp_path / "said").stat().st_size > 0, "it came as far as to say something"
    assert most >= processes, "the emulated bicycle was looked at too"


def test_who_listens_is_found(tmp_path):
    said = "print(1, flush=True); time.sleep(30)"
    code = f"import socket, time; s = socket.create_server(('127.0.0.1', 0)); {said}"
    assert looked_at([sys.executable, "-c", code], tmp_path, 20.0, 0.3)[0]
    code = f"import socket, time; s = socket.socket(type=socket.SOCK_DGRAM); s.bind(('', 0)); {said}"
    assert looked_at([sys.executable, "-c", code], tmp_path, 20.0, 0.3)[0]
