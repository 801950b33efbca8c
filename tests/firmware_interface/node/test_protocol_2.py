"""Version 2 on the line: its samples heard, its torques said, byte for byte as version 2 was worked out by hand."""

import pytest

from riderless.firmware_interface.devices.registry import device_of_run
from riderless.firmware_interface.messages import COMMAND, COMMAND_ENABLE, COMMAND_KIND_ANGLE, COMMAND_KIND_RATE, RAW
from riderless.firmware_interface.node import protocol_2, reference_codec
from riderless.firmware_interface.node.protocol import new_receiver
from tests.firmware_interface.node.test_protocol import COMMAND_1234
from tests.firmware_interface.wire import as_bytes, encoded, record

# Worked by hand in docs/node-protocol.md as it stood for version 2.
COMMAND_LINE = bytes.fromhex("08 02 02 34 12 24 FA 0F 04 E8 03 01 08 C3 10 2B 5A 01 2E 11 00")
SAMPLE_LINE = bytes.fromhex(
    "0A 02 01 E8 03 40 4B D4 13 64 03 9C FF 01 01 01 01 01 01 08 E0 18 FC FF FF 98 3A 01 06 24 FA C0 5D 01 03 33 12 01 "
    "02 01 03 79 C7 00"
)


def test_a_torque_is_said_as_before():
    assert encoded(protocol_2.encode_command_2, record(COMMAND, **COMMAND_1234)) == COMMAND_LINE


@pytest.mark.parametrize("kind", [COMMAND_KIND_RATE, COMMAND_KIND_ANGLE])
def test_a_rate_or_an_angle_never_reaches_a_node_that_would_make_a_torque_of_it(kind):
    line = encoded(protocol_2.encode_command_2, record(COMMAND, **{**COMMAND_1234, "kind": kind}))
    said = reference_codec.decode(line[:-1], version=2)
    assert (said.value, said.flags & COMMAND_ENABLE) == (0, 0)


def test_samples_are_heard_and_those_of_another_version_counted():
    receiver, raw = new_receiver(), record(RAW)
    other = reference_codec.encode(reference_codec.decode(SAMPLE_LINE[:-1], version=2), version=3)
    line = SAMPLE_LINE + other
    assert protocol_2.receive_samples_2(receiver, as_bytes(line), len(line), raw) == 1
    assert (raw["seq"], raw["seq_high"], raw["torque_mNm"], raw["command_seq"]) == (1000, 1, -1500, 0x1233)
    assert receiver["frames_bad_version"] == 1


def test_its_driver_is_found_by_the_version():
    driver = device_of_run("node", 2)
    assert (driver.name, driver.carries) == ("node", device_of_run("node", 3).carries)
    assert driver.say != device_of_run("node", 3).say
