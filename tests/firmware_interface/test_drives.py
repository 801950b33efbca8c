"""What is particular to VESC and ODrive: angles that go around, batches that must not be mixed up, twins."""

import numpy as np
import pytest

from firmware_interface.calibration import Calibration
from firmware_interface.devices.odrive_setup import checked, line_of
from firmware_interface.devices.vesc_setup import packet, payloads
from firmware_interface.faults import Fault, Kind
from firmware_interface.messages import COMMAND_CLEAR, COMMAND_ENABLE, STATUS_STOP_BUTTON
from firmware_interface.twins import odrive, vesc
from firmware_interface.twins.twin import TwinConfig
from tests.firmware_interface.pairs import SETTINGS, Pair


def config(name, **changed):
    return TwinConfig(12, Calibration(wheel_radius=0.3), 200, 0.05, 7.0, SETTINGS[name], **changed)


# --- VESC


@pytest.mark.parametrize("ratio", [1.0, 5.0])
def test_the_steer_angle_goes_through_zero_and_around(ratio):
    pair = Pair("vesc", steer_gear_ratio=ratio)
    for angle in np.concatenate([np.linspace(0.3, -1.2, 60), np.linspace(-1.2, 1.2, 120)]):
        pair.readings[6] = angle
        pair.periods(3)
    assert pair.sample["delta_meas"] == pytest.approx(1.2, abs=1e-6)


def test_a_kill_switch_is_a_stop_button():
    pair = Pair("vesc", faults=(Fault(Kind.STOP_BUTTON, start=0.5),))
    pair.enable()
    pair.periods(80, T=1.0, flags=COMMAND_ENABLE)
    assert pair.raw["status"] & STATUS_STOP_BUTTON
    assert pair.twin.T == 0.0


def test_the_time_out_is_not_latched():
    twin, current = vesc.make(config("vesc")), packet(bytes([6]) + (1000).to_bytes(4, "big"))
    twin.hear(current, 0.0)
    twin.instant(0.001, np.zeros(9))
    assert pytest.approx(0.4) == twin.T
    twin.instant(0.1, np.zeros(9))
    assert not twin.enabled
    twin.hear(packet(bytes([50]) + (1 << 5).to_bytes(4, "big")), 0.1)
    twin.instant(0.101, np.zeros(9))
    assert not twin.enabled, "a question is no sign of life"
    twin.hear(current, 0.11)
    twin.instant(0.111, np.zeros(9))
    assert twin.enabled


def test_packets_in_pieces_and_behind_false_starts():
    twin = vesc.make(config("vesc"))
    question = packet(bytes([0]))
    answer = b"".join(twin.hear(question[i : i + 1], 0.0) for i in range(len(question)))
    assert next(payloads(answer))[0][1:3] == bytes([6, 2])
    assert twin.hear(b"\x02\x05garbage\x03" + question, 0.0) == answer


# --- ODrive


def test_a_torque_line_worked_by_hand():
    """``c 0 -0.7500 `` has the exclusive or 0x63^0x20^0x30^0x20^0x2d^0x30^0x2e^0x37^0x35^0x30^0x30^0x20 = 87 = 0x57."""
    pair, seen = Pair("odrive"), []
    pair.down = lambda data: seen.append(data) or data
    pair.periods(3, T=-1.5, flags=COMMAND_ENABLE)  # at the steer; the gear halves it
    line = seen[-1].splitlines(keepends=True)[0]
    assert line == b"c 0 -0.7500 *%d\n" % (
        0x63 ^ 0x20 ^ 0x30 ^ 0x20 ^ 0x2D ^ 0x30 ^ 0x2E ^ 0x37 ^ 0x35 ^ 0x30 ^ 0x30 ^ 0x20
    )


def lines_changed(change, which, when):
    """A line that changes the ``which``-th line of the ``when``-th passing."""
    count = iter(range(10**6))

    def shift(data):
        if not data or next(count) != when:
            return data
        lines = data.splitlines(keepends=True)
        if which < len(lines):
            lines[which] = change(lines[which])
        return b"".join(lines)

    return shift


CHANGES = {
    "lost": lambda line: b"",
    "one digit": lambda line: line.replace(b"0", b"1", 1) if b"0" in line else b"?" + line,
    "cut": lambda line: line[: len(line) // 2] + b"\n",
    "its end lost": lambda line: line.rstrip(b"\r\n"),
    "twice": lambda line: line * 2,
    "no checksum": lambda line: line.split(b"*")[0] + b"\n",
}


@pytest.mark.parametrize("way", ["up", "down"])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("which", range(9))
def test_a_damaged_line_never_lets_one_value_be_read_as_another(way, change, which):
    pair = Pair("odrive", **{way: lines_changed(CHANGES[change], which, 50)})
    for k in range(90):
        pair.period(flags=COMMAND_CLEAR if k < 10 else COMMAND_ENABLE)
        if pair.raw["seq"] > 3:
            sample = pair.sample
            found = (sample["delta_meas"], sample["v_meas"], sample["T_meas"], sample["bus_meas"])
            assert found == pytest.approx((0.25, 1.8, 1.2, 24.0), abs=0.01)
            assert pair.raw["faults"] == 0
    assert pair.raw["seq"] > 70, "and it goes on"


def test_late_answers_fall_on_deaf_ears():
    held = [b""]

    def late(data):
        held.append(data)
        return held.pop(0) if len(held) > 6 else b""

    pair = Pair("odrive", up=late)
    pair.periods(200, flags=COMMAND_CLEAR)
    if pair.raw["seq"]:
        assert pair.sample["bus_meas"] == pytest.approx(24.0, abs=0.1)


def test_the_watchdog_is_latched_and_bites_while_idle():
    twin = odrive.make(config("odrive"))
    twin.hear(b"w axis0.config.watchdog_timeout 0.05\nw axis0.config.enable_watchdog 1\nc 0 0.5\n", 0.0)
    twin.hear(b"w axis0.requested_state 8\n", 0.0)
    twin.instant(0.01, np.zeros(9))
    assert twin.enabled
    assert pytest.approx(1.0) == twin.T
    twin.hear(b"r vbus_voltage\nf 0\n", 0.04)
    twin.instant(0.06, np.zeros(9))
    assert not twin.enabled
    twin.hear(b"c 0 0.5\nw axis0.requested_state 8\n", 0.07)
    twin.instant(0.071, np.zeros(9))
    assert not twin.enabled, "errors first"
    twin.hear(b"sc\nw axis0.requested_state 8\n", 0.08)
    twin.instant(0.081, np.zeros(9))
    assert twin.enabled


def test_lines_of_the_twin():
    twin = odrive.make(config("odrive"))
    assert twin.hear(b"r vbus_voltage *93\n", 0.0) == b"24.000000*%d\r\n" % _xor(b"24.000000")
    assert twin.hear(b"r vbus_voltage *94\n", 0.0) == b""
    assert twin.hear(b"r vbus_voltage ; and why not\n", 0.0) == b"24.000000\r\n"
    assert twin.hear(b"r nothing\nwhat\n", 0.0) == b"invalid property\r\nunknown command\r\n"
    assert twin.hear(b"r vbus_voltage" + b" " * 300 + b"\n", 0.0) == b""
    assert checked(twin.hear(line_of("r axis0.error"), 0.0).strip()) == "0"


def _xor(data):
    value = 0
    for byte in data:
        value ^= byte
    return value
