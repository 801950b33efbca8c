"""The rules of docs/node-protocol.md once more, kept by the firmware in C: the very tests of the compiled rules."""

import pytest

from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.twins.c_node import FirmwareInC, build_library
from tests.firmware_interface.node import test_kinds as kinds
from tests.firmware_interface.node import test_old_commands as old_commands
from tests.firmware_interface.node import test_rules as rules

try:
    build_library()
except DeviceError as problem:
    pytest.skip(str(problem), allow_module_level=True)

new_firmware = rules.new_firmware


@pytest.fixture(autouse=True)
def c_core(monkeypatch):
    """Whatever those tests ask of the compiled firmware, C answers."""
    cores = {}

    def new(*args, **kwargs):
        firmware = new_firmware(*args, **kwargs)
        cores[id(firmware)] = FirmwareInC(firmware)
        return firmware

    def sample(firmware, readings, bus, out):
        core = cores[id(firmware)]
        core.state.seq = firmware["seq"]  # one of the tests sets it
        n = core.sample(readings, bus, out)
        firmware["seq"] = core.state.seq
        return n

    def receive(firmware, decoder, rx, n):
        cores[id(firmware)].state.seq = firmware["seq"]
        cores[id(firmware)].receive(rx, n)

    monkeypatch.setattr(rules, "new_firmware", new)
    monkeypatch.setattr(rules, "firmware_receive", receive)
    monkeypatch.setattr(rules, "firmware_latch", lambda fw, t: cores[id(fw)].latch(t))
    monkeypatch.setattr(rules, "firmware_sample", sample)
    monkeypatch.setattr(rules, "firmware_hello", lambda fw, out: cores[id(fw)].hello(out))


for module in (rules, old_commands, kinds):
    globals().update({name: rule for name, rule in vars(module).items() if name.startswith("test_")})
