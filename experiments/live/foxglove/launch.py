"""Start and end of the Foxglove server.

It is started beside a page, and ended with it.
"""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from riderless.experiments.live.access import LOOPBACK, TOKEN_VARIABLE
from riderless.experiments.live.launch import LiveServerProcess
from riderless.firmware_interface.child_processes import start_python
from riderless.models.errors import InputError

_PATIENCE = 3.0  # s


@contextmanager
def foxglove_beside(page: LiveServerProcess, port: int) -> Iterator[str]:
    """Serve for Foxglove what a page hears, as long as the context lasts; yields the address to open there.

    Parameters
    ----------
    page : LiveServerProcess
    port : int
        0 for any that is free.

    Raises
    ------
    InputError
        The package is not there, or the port is in use.
    """
    if find_spec("foxglove") is None:
        raise InputError(
            "wanted the package foxglove-sdk for a Foxglove server, found none: pip install 'riderless[foxglove]'"
        )
    arguments = ["--page", str(page.port), "--port", str(port), "--host", page.host]
    with start_python(
        *("-m", "riderless.experiments.live.foxglove.bridge", *arguments),
        variables={TOKEN_VARIABLE: page.token},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        try:
            assert process.stdout
            answer = json.loads(process.stdout.readline() or b'{"error": "it did not start"}')
            if "error" in answer:
                raise InputError(
                    f"wanted a free port for Foxglove, found {port} ({answer['error']}): name another by "
                    "--foxglove, or 0"
                )
            yield f"ws://{LOOPBACK[0]}:{answer['port']}"
        finally:
            process.terminate()
            try:
                process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
