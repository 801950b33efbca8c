"""Page opened beside this process, which is about to run a machine."""

import os
import socket
import subprocess
import sys
import threading

from riderless.experiments.live.access import LOOPBACK, USUAL_PORT
from riderless.experiments.live.launch import require_websockets
from riderless.firmware_interface.child_processes import start_python
from riderless.hil.controllers.law_file import named_laws


def open_page() -> None:
    """Start `riderless live` for the runs of this process; it says its address and ends with this process.

    Raises
    ------
    InputError
        The package that serves the page is not there.
    """
    require_websockets()
    command = ["-m", "riderless.experiments.cli", "live", "--process", str(os.getpid()), "--port", str(free_port())]
    for law in named_laws():  # of the run that begins: its kicks are fitted with it
        command += ["--controller", law.path]
    page = start_python(*command, stdin=subprocess.DEVNULL, stdout=sys.stderr, start_new_session=True)
    threading.Thread(target=page.wait, name="page", daemon=True).start()  # one that fails would stay as a zombie


def free_port() -> int:
    """Choose the usual port for a page, or any (0) where that is taken."""
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((LOOPBACK[0], USUAL_PORT))
        except OSError:
            return 0
    return USUAL_PORT
