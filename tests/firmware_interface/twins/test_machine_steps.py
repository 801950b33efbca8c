"""A machine of several devices: when commands are heard, and that the compiler makes no question wait."""

import os
from types import SimpleNamespace

import numpy as np
import pytest

from riderless.firmware_interface.twins.faults import READING_NAMES
from riderless.firmware_interface.twins.twin import STEP_RATE
from riderless.hil.rig.file import read_rig
from riderless.hil.runners.emulation import emulated_machine
from tests.paths import DOCS

COMMAND = bytes(range(1, 14))  # as long as one of the node


@pytest.mark.parametrize("name", ["lane", "vectornav-vesc"])
def test_what_is_sent_between_two_samples_is_heard_before_the_second(name):
    """A sample later was 5 ms of delay that no rig states; the verdict of true campaigns came near to a rejection."""
    rig = read_rig(DOCS / f"rigs/{name}.toml")
    plant = SimpleNamespace(advance=lambda *_: None, read=lambda: np.zeros(len(READING_NAMES)))
    machine = emulated_machine(rig).make(plant)
    steps = 1 if name == "lane" else round(STEP_RATE / rig.rate)
    heard = []

    def hear(data, t):
        heard.append((data, t))
        return b""

    drive = next(station for station in machine._stations if station.drives)
    drive.twin = machine._drive = SimpleNamespace(hear=hear, instant=lambda *_: b"", T=0.0, enabled=False)
    port = os.open(drive.path, os.O_RDWR | os.O_NOCTTY)
    try:
        now = 100.0
        machine._step(now)
        os.write(port, COMMAND)
        for k in range(1, steps + 1):
            machine._step(now + k / (steps * rig.rate))
        assert b"".join(data for data, _ in heard) == COMMAND
        assert heard[-1][1] <= 1.0 / rig.rate + 1e-9
    finally:
        os.close(port)
        machine.close()


@pytest.mark.parametrize("name", ["tier-b", "vectornav-vesc-can", "vectornav-odrive-can"])
def test_what_answers_the_first_question_is_compiled_before_it(name):
    """Found in a fresh installation: the first answer came after seconds, and the drive was taken for silent."""
    plant = SimpleNamespace(advance=lambda *_: None, read=lambda: np.zeros(len(READING_NAMES)))
    machine = emulated_machine(read_rig(DOCS / f"rigs/{name}.toml")).make(plant)
    try:
        drive = next(station.twin for station in machine._stations if station.drives)
        state = drive.record.copy()
        machine.warm_up()
        assert drive._quick.hear.signatures, "the compiler has been here"
        assert drive.record["filled"] == state["filled"], "and what the machine's own twin has heard is nothing"
    finally:
        machine.close()
