"""Setting an ODrive up: what is asked, what is refused and with which sentence."""

from types import SimpleNamespace

import pytest

from riderless.firmware_interface.devices import odrive_setup
from riderless.firmware_interface.devices.driver import DeviceRequirements
from riderless.firmware_interface.devices.odrive import DEVICE
from riderless.firmware_interface.devices.odrive_setup import introduce
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.messages import COMMAND_CLEAR, COMMAND_ENABLE
from riderless.firmware_interface.twins.faults import Fault
from riderless.firmware_interface.twins.faults import FaultKind as Kind
from riderless.firmware_interface.twins.odrive import TORQUE_CONSTANT, ODriveTwin
from tests.firmware_interface.devices.odrive_bench import GEAR, READINGS, SETTINGS, Bench, checked, config

PORT = SimpleNamespace(path="/dev/ttyODRIVE", baud=921600)
LIMITED = "axis0.controller.config.enable_torque_mode_vel_limit"


class Line:
    """Stands in for `port.answers`: carries bytes to a device and back, without a clock."""

    def __init__(self, hear, step=lambda t: None, change=lambda data, k: data) -> None:
        self.t = 0.0
        self.asked = 0
        self.said = b""
        self._hear, self._step, self._change = hear, step, change

    def answers(self, port, request, timeout, again):
        for k in range(round(timeout / again)):
            words = request(k)
            self.said += words
            data = self._change(self._hear(words, self.t), self.asked)
            self.asked += 1
            for _ in range(10):
                self.t += 1e-3
                self._step(self.t)
            if data:
                yield data[:5]
                yield data[5:]


def wants(watchdog=0.025, **settings) -> DeviceRequirements:
    return DeviceRequirements(rate=200.0, watchdog=watchdog, settings=DEVICE.settled({**SETTINGS, **settings}))


@pytest.fixture
def lay(monkeypatch):
    """Connects a twin, or any ``hear(data, t)``, with the port."""

    def connect(twin, **how) -> Line:
        if isinstance(twin, ODriveTwin):
            line = Line(twin.hear, lambda t: twin.instant(t, READINGS), **how)
        else:
            line = Line(twin, **how)
        monkeypatch.setattr(odrive_setup, "ask_and_listen", line.answers)
        return line

    return connect


def refusal(asked=None) -> str:
    with pytest.raises(DeviceError) as caught:
        introduce(PORT, asked or wants())
    sentence = str(caught.value)
    assert "\n" not in sentence
    return sentence


def test_it_says_who_it_is(lay):
    twin = ODriveTwin(config(), {LIMITED: 1})
    lay(twin)
    said = introduce(PORT, wants())
    assert said.name == "ODrive 0.5.6, axis0"
    assert said.rate_hz is None
    assert said.torque_limit == 7.0
    assert said.watchdog == 0.025
    assert said.steer_counts_per_turn == 1e6
    assert said.scale == GEAR
    assert abs(said.per_amp - GEAR * TORQUE_CONSTANT) < 1e-9
    p = twin.properties
    assert p["axis0.current_state"] == 1
    assert p["axis0.controller.config.control_mode"] == 1
    assert p["axis0.controller.config.input_mode"] == 1
    assert p["axis0.controller.config.enable_torque_mode_vel_limit"] == 0
    assert p["axis0.config.enable_watchdog"] == 1


@pytest.mark.parametrize(
    ("changes", "limit"),
    [
        ({"axis0.motor.config.current_lim": 5.0}, 5.0 * TORQUE_CONSTANT * GEAR),
        ({"axis0.motor.config.torque_lim": 0.25}, 0.25 * GEAR),
        ({}, 7.0),
    ],
)
def test_the_smallest_torque_limit_counts(lay, changes, limit):
    lay(ODriveTwin(config(), changes))
    assert abs(introduce(PORT, wants()).torque_limit - limit) < 1e-4


def test_the_other_axis_may_be_the_drive(lay):
    twin = ODriveTwin(config(axis=1.0, wheel_axis=0.0))
    lay(twin)
    assert introduce(PORT, wants(axis=1, wheel_axis=0)).name == "ODrive 0.5.6, axis1"
    assert twin.properties["axis1.config.enable_watchdog"] == 1
    assert twin.properties["axis0.config.enable_watchdog"] == 0


def test_nothing_of_it_feeds_or_saves(lay):
    line = lay(ODriveTwin(config()))
    introduce(PORT, wants())
    kinds = {words[:2] for words in line.said.splitlines() if words}
    assert kinds == {b"r ", b"w "}


def test_a_drive_that_runs_is_stopped(lay):
    twin = ODriveTwin(config())
    for words in ("c 0 1.0", "w axis0.requested_state 8"):
        twin.hear(checked(words), 0.0)
    twin.instant(0.0, READINGS)
    assert twin.enabled
    lay(twin)
    introduce(PORT, wants())
    assert not twin.enabled


def test_an_old_error_is_cleared(lay):
    twin = ODriveTwin(config(), {"axis0.error": 0x840})
    line = lay(twin)
    introduce(PORT, wants())
    assert line.said.count(b"sc *48\n") == 1


def test_it_can_be_introduced_again_and_then_runs(lay):
    twin = ODriveTwin(config())
    lay(twin)
    introduce(PORT, wants())
    assert twin.properties["axis0.error"] == 0x800  # nobody has fed it since
    introduce(PORT, wants())
    bench = Bench(twin)
    bench.t = 10.0
    bench.run(12, flags=COMMAND_CLEAR)
    bench.run(6, flags=COMMAND_ENABLE)
    assert bench.truthful
    assert bench.link["raw"]["status"] == 1


@pytest.mark.parametrize(
    "change", [lambda data: b"", lambda data: data[2:], lambda data: data + data, lambda data: data[:-9]]
)
@pytest.mark.parametrize("each", [2, 3])
def test_a_bad_line_takes_longer_but_never_takes_an_answer_for_another(lay, change, each):
    lay(ODriveTwin(config()), change=lambda data, k: change(data) if k % each else data)
    assert introduce(PORT, wants()).torque_limit == 7.0


def test_late_answers_are_not_taken_for_others(lay):
    under_way = []

    def late(data, k):
        under_way.append(data)
        return under_way.pop(0) if len(under_way) > 2 else b""

    twin = ODriveTwin(config())
    lay(twin, change=late)
    refused = refusal()
    assert "should answer `r fw_version_major`" in refused  # never the mark it waits for: it gives up


# ---- refusals


def test_silence(lay):
    lay(lambda data, t: b"")
    sentence = refusal()
    assert sentence.startswith("an ODrive on /dev/ttyODRIVE should answer `r fw_version_major` within 2 s, but nothing")
    assert "at 921600 baud" in sentence


def test_another_baud_rate_or_device(lay):
    lay(lambda data, t: b"\x86\xf8\x00\xff\r\n")
    assert "bytes of something else came; is it another device, or is 921600 not its baud rate?" in refusal()


def test_an_echo(lay):
    lay(lambda data, t: data)
    assert "30 whole lines and 0 broken ones, none was the answer" in refusal()


@pytest.mark.parametrize("revision", [(0, 6, 1), (0, 6, 9), (1, 0, 0)])
def test_a_newer_board_is_named_for_what_it_is(lay, revision):
    names = ("fw_version_major", "fw_version_minor", "fw_version_revision")
    lay(ODriveTwin(config(), dict(zip(names, revision, strict=True))))
    assert "as ODrive Pro, S1 and Micro do, which are not supported" in refusal()
    assert "dfu" not in refusal()


@pytest.mark.parametrize("revision", [(0, 4, 12), (0, 5, 4)])
def test_another_firmware(lay, revision):
    names = ("fw_version_major", "fw_version_minor", "fw_version_revision")
    lay(ODriveTwin(config(), dict(zip(names, revision, strict=True))))
    found = ".".join(map(str, revision))
    assert refusal() == (
        f"the ODrive on /dev/ttyODRIVE should run firmware 0.5.5 or a later 0.5, found {found}: load 0.5.6 with "
        "`odrivetool dfu`"
    )


@pytest.mark.parametrize(("name", "what"), [("motor.is_calibrated", "motor"), ("encoder.is_ready", "encoder")])
def test_not_calibrated(lay, name, what):
    lay(ODriveTwin(config(), {f"axis0.{name}": 0}))
    sentence = refusal()
    assert sentence.startswith(
        f"the {what} of axis0 of the ODrive on /dev/ttyODRIVE should be calibrated, found axis0."
    )
    assert "AXIS_STATE_FULL_CALIBRATION_SEQUENCE" in sentence


def test_an_error_that_stays(lay):
    lay(ODriveTwin(config(faults=(Fault(Kind.DRIVE_TRIPS),))))
    assert (
        "axis0.error of the ODrive on /dev/ttyODRIVE should be 0 after clearing, found 0x40: see dump_err" in refusal()
    )


def test_an_error_of_the_wheels_axis(lay):
    twin = ODriveTwin(config(), {"axis1.config.enable_watchdog": 1})
    lay(twin)
    assert "axis1.error of the ODrive on /dev/ttyODRIVE should be 0 after clearing, found 0x800" in refusal()


def stubborn(twin: ODriveTwin, name: str):
    """The twin, deaf to one property."""

    def hear(data: bytes, t: float) -> bytes:
        lines = data.splitlines(keepends=True)
        answer = twin.hear(b"".join(line for line in lines if not line.startswith(b"w " + name.encode())), t)
        twin.instant(t, READINGS)
        return answer

    return hear


@pytest.mark.parametrize(
    ("name", "wanted", "found"),
    [
        ("axis0.controller.config.control_mode", "1", "3"),
        ("axis0.controller.config.enable_torque_mode_vel_limit", "0", "1"),
        ("axis0.config.enable_watchdog", "1", "0"),
    ],
)
def test_a_setting_that_does_not_stay(lay, name, wanted, found):
    lay(stubborn(ODriveTwin(config(), {LIMITED: 1}), name))
    assert refusal() == (
        f"{name} of the ODrive on /dev/ttyODRIVE should be {wanted} when set, but reads {found}: set it in odrivetool "
        f"(odrv0.{name} = {wanted}) and save"
    )


def test_a_watchdog_of_another_time(lay):
    twin = ODriveTwin(config(), {"axis0.config.watchdog_timeout": 0.5})
    lay(stubborn(twin, "axis0.config.watchdog_timeout"))
    assert refusal() == (
        "the watchdog of axis0 of the ODrive on /dev/ttyODRIVE should take 25 ms, but reads 500 ms: set "
        "odrv0.axis0.config.watchdog_timeout = 0.025 in odrivetool and save, or `watchdog` in the rig"
    )


def test_an_axis_that_stays_on(lay):
    twin = ODriveTwin(config(), {"axis0.current_state": 8})
    lay(stubborn(twin, "axis0.requested_state"))
    assert "axis0 of the ODrive on /dev/ttyODRIVE should become idle (state 1), but stays in state 8" in refusal()


def test_a_property_it_does_not_have(lay):
    twin = ODriveTwin(config())
    del twin.properties[LIMITED]
    lay(twin)
    assert f"should answer `r {LIMITED}` with a number, found 'invalid property'" in refusal()


@pytest.mark.parametrize("name", ["torque_constant", "current_lim"])
def test_a_motor_without_torque(lay, name):
    lay(ODriveTwin(config(), {f"axis0.motor.config.{name}": 0.0}))
    assert f"axis0.motor.config.{name} of the ODrive on /dev/ttyODRIVE should be positive, found 0 " in refusal()


@pytest.mark.parametrize(
    ("constant", "wanted", "words"),
    [(1e-4, 0.0, "between 0.001 and 5"), (6.0, 0.0, "between 0.001 and 5"), (0.1, 0.2, "between 0.198 and 0.202")],
)
def test_a_motor_of_another_torque_constant(lay, constant, wanted, words):
    lay(ODriveTwin(config(), {"axis0.motor.config.torque_constant": constant}))
    assert f"{words} N m/A, found {constant:g} N m/A" in refusal(wants(torque_constant_Nm_A=wanted))


def test_a_motor_of_the_rigs_torque_constant(lay):
    lay(ODriveTwin(config()))
    assert introduce(PORT, wants(torque_constant_Nm_A=TORQUE_CONSTANT)).torque_limit == 7.0


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"torque_constant_Nm_A": -0.1}, "must be positive, or 0 for what the drive is set to, found -0.1 N m/A"),
        ({"axis": 2}, "found axis 2 and wheel_axis 1"),
        ({"wheel_axis": 0}, "found axis 0 and wheel_axis 0"),
        ({"gear_ratio": 0.0}, "gear_ratio of the odrive must be positive, found 0"),
        ({"torque_limit_Nm": -1.0}, "torque_limit_Nm of the odrive must be positive, found -1"),
    ],
)
def test_settings_without_sense(lay, settings, words):
    lay(ODriveTwin(config()))
    assert words in refusal(wants(**settings))
