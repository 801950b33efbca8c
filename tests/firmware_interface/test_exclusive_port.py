"""A port is ours alone: nobody else opens it, locked or not, and it is free again however we end."""

import os
import signal
import subprocess
import sys

import pytest

from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.port import open_port
from riderless.firmware_interface.port_users import port_users
from riderless.firmware_interface.twins.pseudo_port import PseudoPort
from riderless.firmware_interface.twins.virtual_node import NodeConfig
from tests.firmware_interface.twins.plants import Spinner

NOBODY = 65534
HOLD = "fd = os.open(sys.argv[1], os.O_RDWR | os.O_NOCTTY)"
RENAMED = "open('/proc/self/comm', 'wb').write(b'caf\\xe9'); " + HOLD
OURS = "port = open_port(sys.argv[1])"
HOLDER = (
    "import os, sys; from riderless.firmware_interface.port import open_port; "
    "{}; print('has it', flush=True); sys.stdin.read()"
)


@pytest.fixture
def pseudo():
    """A pseudo-terminal that every user may open."""
    made = PseudoPort()
    os.chmod(made.path, 0o666)
    yield made
    made.close()


def as_nobody(act):
    """What a user without rights gets of ``act()``: its answer, or the exception in words. Root may open everything."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.getuid() == 0:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            said = str(act())
        except BaseException as problem:
            said = f"{type(problem).__name__}: {problem}"
        os.write(theirs, said.encode())
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as answer:
        said = answer.read()
    os.waitpid(child, 0)
    return said


def plain(path):
    """Open a port as a program that knows of no lock, and write to it."""
    fd = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    return os.write(fd, b"forged")


def holder(code, path):
    """A process that has the port open, once it has."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER.format(code), path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout.readline() == b"has it\n"
    return process


def test_nobody_else_can_write_to_an_open_port(pseudo):
    assert as_nobody(lambda: plain(pseudo.path)) == "6", "it is free"
    os.read(pseudo.fd, 100)
    with open_port(pseudo.path):
        assert "[Errno 16]" in as_nobody(lambda: plain(pseudo.path)), "EBUSY"
        said = as_nobody(lambda: open_port(pseudo.path))
        assert said.startswith(f"DeviceError: port {pseudo.path} is held by another program")
        assert "end that one first, only one controller may speak to a bicycle" in said
    assert as_nobody(lambda: plain(pseudo.path)) == "6", "and free again"


def test_whoever_had_it_open_before_is_named(pseudo):
    other = holder(HOLD, pseudo.path)
    try:
        named = rf"held by another program, python.* \(process {other.pid}\); end that one first"
        with pytest.raises(DeviceError, match=named):
            open_port(pseudo.path)
        assert as_nobody(lambda: plain(pseudo.path)) == "6", "what is refused is not kept"
    finally:
        other.communicate()
    open_port(pseudo.path).close()


def test_a_program_with_a_name_that_is_no_utf_8_is_named_too(pseudo):
    other = holder(RENAMED, pseudo.path)
    try:
        assert port_users(pseudo.path) == [f"caf\N{REPLACEMENT CHARACTER} (process {other.pid})"]
    finally:
        other.communicate()


def test_the_device_behind_a_pseudo_terminal_is_no_other_program(pseudo):
    seen = subprocess.run(
        [
            sys.executable,
            "-c",
            f"from riderless.firmware_interface.port_users import port_users; print(port_users({pseudo.path!r}))",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert seen.stdout.strip() == "[]", "we hold both of its ends"
    assert port_users(pseudo.path) == []


def test_a_port_is_free_after_kill_minus_nine(pseudo):
    process = holder(OURS, pseudo.path)
    pseudo.release_if_left()
    assert "[Errno 16]" in as_nobody(lambda: plain(pseudo.path)), "it is in use"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    pseudo.release_if_left()
    assert as_nobody(lambda: plain(pseudo.path)) == "6"
    open_port(pseudo.path).close()


def test_a_virtual_node_frees_its_port_by_itself():
    node = NodeConfig().make(Spinner())
    os.chmod(node.path, 0o666)
    try:
        process = holder(OURS, node.path)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        left = iter(range(100))
        node.serve(lambda: next(left) > 1)
        assert as_nobody(lambda: plain(node.path)) == "6"
    finally:
        node.close()
