"""A small controller: answers each sample with a torque of 1 N m until it is killed.

Run as ``python -m tests.firmware_interface.twins.controller PATH``.
"""

import sys

from riderless.firmware_interface.messages import COMMAND_CLEAR, COMMAND_ENABLE
from riderless.firmware_interface.port import open_port
from tests.firmware_interface.listener import Listener


def main(path: str) -> None:
    with open_port(path) as port:
        listener = Listener(port)
        for k in range(100_000):
            listener.wait_for_samples(1, timeout=60.0)
            listener.command(1.0, COMMAND_ENABLE if k > 10 else COMMAND_CLEAR)


if __name__ == "__main__":
    main(sys.argv[1])
