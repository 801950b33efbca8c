"""Commands that need no device run where Windows or macOS lacks what Linux has; see `sitecustomize`."""

import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

HERE = Path(__file__).parent
# macOS lacks nothing that Windows has, and its branches are those of Linux: of these it runs the first, which start
# processes, write and lock.
LINES = (HERE / "lines.txt").read_text(encoding="utf-8")
NEED_LINUX = """
2 riderless campaign campaign.toml --emulated
2 riderless run rig.toml --emulated
2 riderless check rig.toml --emulated
2 riderless calibrate rig.toml --emulated
2 riderless monitor --emulated
2 riderless emulate
2 riderless latency
2 riderless live
"""


def there(system: str) -> dict[str, str]:
    """Environment of a process that is to believe itself on another system."""
    return {**os.environ, "PYTHONPATH": str(HERE), "RIDERLESS_TEST_SYSTEM": system}


@pytest.fixture(scope="module", params=["win32", "darwin"])
def system(request):
    return request.param


@pytest.fixture(scope="module")
def folder(system, tmp_path_factory):
    """Folder in which the command lines were run there."""
    folder = tmp_path_factory.mktemp(system)
    command = [sys.executable, str(HERE / "ride_commands.py")]
    lines = LINES if system == "win32" else LINES.split("\n\n")[0]
    ride = subprocess.run(
        command, input=lines, env=there(system), cwd=folder, capture_output=True, encoding="utf-8", timeout=600
    )
    assert ride.returncode == 0, ride.stdout + ride.stderr
    return folder


@pytest.mark.timeout(900)
def test_commands_without_a_device_run(folder):
    assert (folder / "flight.csv").stat().st_size > 1000
    assert b"\r\r\n" not in (folder / "flight" / "run.mcap").read_bytes()
    assert (folder / "report" / "report.html").exists()


def test_commands_with_a_device_name_the_system_they_need(folder, system):
    command = [sys.executable, str(HERE / "ride_commands.py")]
    ride = subprocess.run(
        command, input=NEED_LINUX, env=there(system), cwd=folder, capture_output=True, encoding="utf-8", timeout=100
    )
    assert ride.returncode == 0, ride.stdout + ride.stderr
    name = {"win32": "Windows", "darwin": "macOS"}[system]
    assert ride.stdout.count(f"needs Linux, found {name}:") == len(NEED_LINUX.split("\n")) - 2


@pytest.mark.parametrize("command", [["live", "flight"], ["play"]])
def test_page_is_served(folder, system, command):
    arguments = [sys.executable, "-m", "riderless", *command, "--tcp-port", "0"] + ["--no-browser"] * (
        command == ["play"]
    )
    with subprocess.Popen(arguments, env=there(system), cwd=folder, stdout=subprocess.PIPE, encoding="utf-8") as server:
        try:
            address = next(word for line in server.stdout for word in line.split() if word.startswith("http:"))
            with urllib.request.urlopen(address, timeout=20) as page:
                assert b"<html" in page.read()
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(100)  # its child may be compiling, and a starved computer takes long
    assert server.returncode in (0, 128 + signal.SIGTERM)
