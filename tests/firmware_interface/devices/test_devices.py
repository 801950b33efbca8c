"""What every device must do, by its driver and its twin: one table of rules for all names in the registry."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riderless.firmware_interface.devices.driver import Device
from riderless.firmware_interface.devices.link import (
    LINK_STATE,
    ROLE_DRIVE,
    ROLE_IMU,
    ROLE_PLACE,
    ROLE_SPEED,
    ROLE_STEER,
    ROLE_WHEEL,
    hear,
)
from riderless.firmware_interface.devices.registry import DEVICES, device
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.messages import COMMAND_CLEAR, COMMAND_ENABLE, STATUS_ENABLED, STATUS_WATCHDOG
from riderless.firmware_interface.twins.conformance import RATES, check_driver
from riderless.firmware_interface.twins.faults import Fault
from riderless.firmware_interface.twins.faults import FaultKind as Kind
from tests.firmware_interface.devices.pairs import READINGS, SETTINGS, Pair, introduced, linked

NAMES = tuple(DEVICES)
DRIVES = [name for name in NAMES if device(name).carries & ROLE_DRIVE]
UNNAMED_ANSWERS = ("odrive", "odrive_wheel")  # mean something only behind their questions; see their own tests
COUNTERS = ("frames_ok", "frames_bad_crc", "frames_bad_length", "frames_bad_version", "bytes_skipped", "samples_lost")


def fresh(name):
    links = np.zeros(1, LINK_STATE)
    links[0] = linked(device(name), device(name).settled(SETTINGS[name]), introduced(name))
    return links[0]


def fed(link, data):
    return int(hear(link, np.frombuffer(bytearray(data + b"\0"), np.uint8), len(data)))


def stream(name, periods=None):
    """What a twin says, the periods' first bytes included; a slow one for longer."""
    periods = periods or (200 if device(name).carries == ROLE_SPEED else 40)
    pair = Pair(name)
    pair.periods(periods, flags=COMMAND_CLEAR)
    return bytes(pair.said), pair


def counted(link):
    return [int(link["receiver"][name]) for name in COUNTERS]


@pytest.mark.parametrize("rates", [RATES[::3], pytest.param(RATES, marks=pytest.mark.slow)], ids=["ends", "all"])
@pytest.mark.parametrize("name", NAMES)
def test_rules_hold_at_every_rate(name, rates):
    result = check_driver(name, rates)
    assert result.passed, result


def test_registry_names_what_its_files_say():
    assert all(device(name).name == name for name in NAMES)
    with pytest.raises(DeviceError, match="unknown device 'arduino': the devices are node, vectornav"):
        device("arduino")


@pytest.mark.parametrize("name", NAMES)
def test_examples_of_the_driver(name):
    for example in device(name).examples:
        link = fresh(name)
        fed(link, example.wire)
        assert bool(link["receiver"]["frames_ok"]) == example.valid, example.source
        assert all(np.array_equal(link["raw"][field], value) for field, value in example.raw.items())


@pytest.mark.parametrize("name", NAMES)
def test_readings_arrive_in_the_axes_of_the_bicycle(name):
    mounting = ((0.0, -1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0))  # the sensor's x points to the right
    pair = Pair(name, mounting=mounting, gyro_offset=(0.01, 0.0, 0.0), steer_offset=0.05, steer_sign=-1, wheel_sign=-1)
    pair.periods(20, flags=COMMAND_CLEAR)
    assert counted(pair.link)[1:] == [0, 0, 0, 0, 0], "an undamaged line"
    sample, carries = pair.sample, pair.driver.carries
    if carries & ROLE_IMU:
        seen = [sample[f"{axis}_dot_meas"] for axis in ("phi", "theta", "psi")]
        assert seen == pytest.approx(READINGS[:3], abs=2e-4)
        assert [sample[f"a_{axis}_meas"] for axis in "xyz"] == pytest.approx(READINGS[3:6], abs=2e-3)
    if carries & ROLE_STEER:
        assert sample["delta_meas"] == pytest.approx(READINGS[6], abs=2e-4)
    if carries & ROLE_WHEEL:
        assert sample["v_meas"] == pytest.approx(0.3 * READINGS[7], abs=1e-3)
    if carries & ROLE_DRIVE:
        assert sample["T_meas"] == pytest.approx(READINGS[8], abs=3e-3)
        assert sample["bus_meas"] == pytest.approx(24.0, abs=0.05)
    assert pair.raw["off_scale"] == 0


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=15)
@given(st.data())
def test_bytes_may_come_in_any_pieces(name, data):
    if name in UNNAMED_ANSWERS:
        return
    said, _ = _streams(name)
    whole, pieces = fresh(name), fresh(name)
    total, cuts = fed(whole, said), sorted(data.draw(st.lists(st.integers(0, len(said)), max_size=12)))
    parts = [said[a:b] for a, b in zip([0, *cuts], [*cuts, len(said)], strict=True)]
    assert sum(fed(pieces, part) for part in parts) == total > 0
    assert counted(pieces) == counted(whole)
    assert pieces["raw"] == whole["raw"]


_CACHE: dict = {}


def _streams(name):
    return _CACHE.setdefault(name, stream(name))


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=25)
@given(st.binary(max_size=700))
def test_noise_is_counted_not_believed(name, noise):
    link = fresh(name)
    fed(link, noise)
    receiver = link["receiver"]
    assert 0 <= receiver["filled"] <= max(252, len(noise))
    assert receiver["bytes_skipped"] <= len(noise)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in UNNAMED_ANSWERS])
@settings(max_examples=15)
@given(st.binary(max_size=300), st.integers(0, 60))
def test_after_noise_the_next_messages_are_heard(name, noise, start):
    said, _ = _streams(name)
    link = fresh(name)
    fed(link, noise)
    undisturbed = fed(fresh(name), said[start:])
    # a false start may swallow the 250 bytes it claims to need, and the message it ends in; a line what it begins with
    swallowed = 1 if device(name).carries in (ROLE_PLACE, ROLE_SPEED) else 250 // 20 + 2
    assert fed(link, said[start:]) >= undisturbed - swallowed > 0
    assert link["receiver"]["frames_ok"] > 0


@pytest.mark.parametrize("name", DRIVES)
@pytest.mark.parametrize("T", [1.5, -2.25, 0.0])
def test_torque_goes_through(name, T):
    pair = Pair(name, torque_sign=-1)
    pair.enable()
    assert pair.raw["status"] & STATUS_ENABLED
    pair.periods(4, T=-T, flags=COMMAND_ENABLE)  # the loop has applied the sign: this is the drive's own sense
    assert pytest.approx(T, abs=2e-3) == pair.twin.T
    assert pair.twin.enabled


@pytest.mark.parametrize("name", DRIVES)
@pytest.mark.parametrize("T", [np.nan, np.inf, -np.inf])
def test_what_is_not_a_number_never_leaves(name, T):
    pair = Pair(name)
    pair.enable()
    pair.periods(3, T=1.0, flags=COMMAND_ENABLE)
    pair.periods(3, T=T, flags=COMMAND_ENABLE)
    assert pair.twin.T == 0.0


@pytest.mark.parametrize("name", DRIVES)
def test_switched_off_means_no_torque(name):
    pair = Pair(name)
    pair.enable()
    pair.periods(3, T=1.0, flags=COMMAND_ENABLE)
    assert pair.twin.T != 0.0
    pair.period(T=1.0, flags=0)
    pair.period(T=1.0, flags=0)
    assert pair.twin.T == 0.0
    pair.periods(4)
    assert not pair.raw["status"] & STATUS_ENABLED


@pytest.mark.parametrize("name", DRIVES)
def test_withheld_commands_prove_the_watchdog(name):
    pair = Pair(name)
    pair.enable()
    pair.periods(8, T=1.0, flags=COMMAND_ENABLE)
    pair.periods(4, send=False)
    assert pair.twin.T != 0.0, "20 ms are less than its time-out of 50 ms"
    pair.periods(16, send=False)
    assert pair.twin.T == 0.0
    assert pair.raw["status"] & (STATUS_WATCHDOG | STATUS_ENABLED) == STATUS_WATCHDOG, "and it says so, asked all along"
    pair.periods(20, flags=COMMAND_CLEAR)
    assert pair.raw["status"] & (STATUS_WATCHDOG | STATUS_ENABLED) == 0
    pair.periods(30, flags=COMMAND_ENABLE)
    assert pair.raw["status"] & (STATUS_WATCHDOG | STATUS_ENABLED) == STATUS_ENABLED


@pytest.mark.parametrize("name", DRIVES)
def test_a_dead_watchdog_never_says_that_it_struck(name):
    pair = Pair(name, faults=(Fault(Kind.WATCHDOG_DEAD),))
    pair.enable()
    pair.periods(60, send=False)
    assert not pair.raw["status"] & STATUS_WATCHDOG


@pytest.mark.parametrize("name", DRIVES)
def test_a_tripped_drive_is_a_fault(name):
    pair = Pair(name, faults=(Fault(Kind.DRIVE_TRIPS, start=0.3),))
    pair.enable()
    pair.periods(30, T=1.0, flags=COMMAND_ENABLE)
    assert pair.raw["faults"]
    assert pair.twin.T == 0.0


@pytest.mark.parametrize("name", DRIVES)
def test_commands_are_acknowledged_in_order(name):
    pair = Pair(name)
    pair.enable()
    for _ in range(10):
        pair.period(flags=COMMAND_ENABLE)
        behind = (pair.seq - int(pair.raw["command_seq"])) & 0xFFFF
        assert 0 <= behind <= 3


@pytest.mark.parametrize("name", NAMES)
def test_a_line_that_is_too_slow_is_refused_with_the_arithmetic(name):
    driver: Device = device(name)
    settings = driver.settled(SETTINGS[name])
    driver.require_room(driver.carries, settings, 200.0, 921600)
    if driver.over_udp:
        driver.require_room(driver.carries, settings, 200.0, 1)  # a network has no baud rate
        return
    belt = driver.carries == ROLE_SPEED
    rate = settings.get("rate_Hz", 20.0 if belt else 200.0)  # a sensor of place speaks at its own pace, a belt too
    slow = 2400 if belt else 9600
    with pytest.raises(
        DeviceError, match=rf"{slow} baud is too slow .* at {rate:g} Hz: .* x 10 bits x {rate:g} Hz = \d+ bit/s"
    ):
        driver.require_room(driver.carries, settings, 200.0, slow)


def test_a_slow_sensor_of_place_may_have_a_slow_line():
    driver = device("distance")
    driver.require_room(driver.carries, driver.settled({"rate_Hz": 50.0}), 1000.0, 9600)


def test_settings_are_checked():
    with pytest.raises(DeviceError, match="a vesc has no setting torque_constnat: its settings are torque"):
        device("vesc").settled({"torque_constnat": 1.0})
    with pytest.raises(DeviceError, match=r"a vesc needs torque_constant_Nm_A \[N m/A\]"):
        device("vesc").settled({})
