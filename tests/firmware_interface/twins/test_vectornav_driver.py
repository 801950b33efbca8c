"""A VectorNav's driver against its twin: readings, setting up, and what is told when it cannot be."""

from collections.abc import Callable, Iterator

import pytest

from riderless.firmware_interface.calibration import DEVICE_CLOCK, calibrate
from riderless.firmware_interface.devices import vectornav as driver
from riderless.firmware_interface.devices.driver import DeviceRequirements
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.messages import SAMPLE
from riderless.firmware_interface.twins.faults import Fault
from riderless.firmware_interface.twins.faults import FaultKind as Kind
from riderless.firmware_interface.twins.twin import STEP_RATE
from riderless.firmware_interface.twins.vectornav import VectorNavTwin, make
from tests.firmware_interface.twins.test_vectornav_twin import (
    OFF,
    ORDER,
    PORT,
    READINGS,
    TURNED,
    config,
    heard,
    streaming,
)
from tests.firmware_interface.wire import record


def test_readings_arrive_in_the_axes_of_the_bicycle():
    twin = streaming(mounting=TURNED, gyro_offset=(0.01, -0.02, 0.03), accel_offset=(0.1, 0.2, -0.3))
    link, new = heard(twin, 1.0)
    assert new == 200
    sample = record(SAMPLE)
    calibrate(link["raw"], twin._config.calibration.as_record(), record(DEVICE_CLOCK), sample)
    assert [sample[f"{axis}_dot_meas"] for axis in ("phi", "theta", "psi")] == pytest.approx(READINGS[:3], abs=1e-6)
    assert [sample[f"a_{axis}_meas"] for axis in "xyz"] == pytest.approx(READINGS[3:6], abs=1e-5)
    assert link["raw"]["seq"] == 200
    assert link["receiver"]["samples_lost"] == link["receiver"]["bytes_skipped"] == 0


def test_lost_messages_are_missed():
    link, new = heard(streaming(Fault(Kind.SLOWING, 0.001, chance=0.3)), 2.0)
    assert 200 < new < 350
    assert new + link["receiver"]["samples_lost"] == link["raw"]["seq"]


def test_repeated_messages_are_not_new():
    twin = VectorNavTwin(config(), stutters=True)
    twin.hear(OFF + ORDER, 0.0)
    link, new = heard(twin, 1.0)
    assert new == link["receiver"]["samples_repeated"] == 200


class Bench:
    """`port.answers` in its own time, with a twin at the other end; ``width`` bytes come through in a millisecond."""

    def __init__(self, twin: VectorNavTwin, up: Callable[[bytes], bytes] = bytes, width: int = 92) -> None:
        self.twin, self.up, self.width, self.k, self.pending = twin, up, width, 0, b""

    def answers(self, port, request, timeout, again=0.1) -> Iterator[bytes]:
        end, ask_at, asked = self.k + timeout * STEP_RATE, self.k, 0
        while self.k < end:
            data = b""
            if self.k >= ask_at:
                data += self.twin.hear(request(asked), self.k / STEP_RATE)
                asked, ask_at = asked + 1, ask_at + again * STEP_RATE
            self.pending += self.up(data + self.twin.instant(self.k / STEP_RATE, READINGS))
            data, self.pending = self.pending[: self.width], self.pending[self.width :]
            self.k += 1
            if data:
                yield data


@pytest.fixture
def bench(monkeypatch) -> Callable[..., Bench]:
    def connect(*args, **kwargs) -> Bench:
        made = Bench(*args, **kwargs)
        monkeypatch.setattr(driver, "ask_and_listen", made.answers)
        return made

    return connect


@pytest.mark.parametrize("rate", [100, 200, 400, 800])
def test_introduction(bench, rate):
    line = bench(make(config()))
    answer = driver.introduce(PORT, DeviceRequirements(rate, 0.05))
    assert answer.name == "VN-100T-CR 2.1.0.0"
    assert (answer.rate_hz, answer.gyro_lsb, answer.accel_lsb) == (rate, 2.0**-20, 2.0**-16)
    assert line.twin.registers[75] == f"1,{800 // rate},01,0129"
    assert line.twin.registers[6] == "0"
    assert driver.introduce(PORT, DeviceRequirements(rate, 0.05)) == answer, "again, while it streams already"
    line = bench(make(config(settings={"async_port": 2.0})))
    assert driver.introduce(PORT, DeviceRequirements(rate, 0.05, {"async_port": 2.0})) == answer
    assert line.twin.registers[75] == f"2,{800 // rate},01,0129"


@pytest.mark.parametrize("width", [12, 30, 92])
def test_introduction_over_a_bad_line(bench, width):
    twin, lossy = make(config()), iter(range(10**9))
    told, last = twin.hear, [b""]

    def hear(data: bytes, t: float) -> bytes:
        # every third request is damaged, and each answer comes a second time before the next
        answer = told(data.replace(b"VN", b"VM") if next(lossy) % 3 == 0 else data, t)
        last.append(answer)
        return last[-2] + answer

    twin.hear = hear
    bench(twin, width=width)
    assert driver.introduce(PORT, DeviceRequirements(200, 0.05)).name == "VN-100T-CR 2.1.0.0"
    bench(VectorNavTwin(config()), lambda data: data if next(lossy) % 40 else data[:-1], width)
    assert driver.introduce(PORT, DeviceRequirements(200, 0.05)).rate_hz == 200


def refused(twin: VectorNavTwin, bench, up=bytes, rate=200, **settings) -> str:
    bench(twin, up)
    with pytest.raises(DeviceError) as problem:
        driver.introduce(PORT, DeviceRequirements(rate, 0.05, settings))
    sentence = str(problem.value)
    assert "\n" not in sentence
    return sentence


@pytest.mark.parametrize(
    ("rate", "instead"),
    [(300, "200 or 400"), (250, "200 or 400"), (1000, "800"), (0.5, "1"), (266.7, "200 or 400"), (0, "1")],
)
def test_a_rate_it_cannot_have(bench, rate, instead):
    wanted = "a VectorNav streams at 800 Hz divided by a whole number"
    found = refused(make(config()), bench, rate=rate)
    assert found == f"{wanted}, found a loop of {rate:g} Hz: set rate_Hz to {instead}"


def test_nobody_answers(bench):
    assert refused(make(config()), bench, up=lambda data: b"") == (
        "a VectorNav on /dev/imu should answer `VNWRG,06,0` within 1 s at 230400 baud, but nothing came; is it "
        "powered, its TX wired to our RX and its RX to our TX, is this its port, and this its baud rate (115200 from "
        "the factory)?"
    )


def test_our_wire_is_broken(bench):
    assert "but only its stream came; is the wire from our TX" in refused(VectorNavTwin(config(), deaf=True), bench)
    (deaf := streaming())._deaf = True
    assert "but only its stream came; is the wire from our TX" in refused(deaf, bench), "binary or not"


def test_another_model(bench):
    bench(VectorNavTwin(config(), model="VN-200T-CR", firmware="1.1.5.0"))
    assert driver.introduce(PORT, DeviceRequirements(200, 0.05)).name == "VN-200T-CR 1.1.5.0"


def test_too_slow_a_line(bench):
    assert refused(make(config(settings={"baud": 57600})), bench) == (
        "the VectorNav on /dev/imu refuses `VNWRG,75,1,4,01,0129` at 230400 baud: insufficient baud rate (error 12); "
        "raise the baud rate, in the sensor (its register 5) and in the rig"
    )


def test_old_firmware(bench):
    old = make(config())
    del old.registers[75]
    old.instant = lambda t, readings: b""
    assert "invalid register (error 8); its firmware is too old for binary messages" in refused(old, bench)


@pytest.mark.parametrize(
    ("word", "code"), [("03", 3), ("3", 3), ("0C", 12), ("12", 12), ("0A", 10), ("10", 10), ("63", 63), ("FF", 255)]
)
def test_each_error_has_its_meaning(bench, word, code):
    twin = make(config())
    twin.hear = lambda data, t: driver.encode_line(f"VNERR,{word}")
    meaning = driver.VECTORNAV_ERRORS.get(code, "no error we know")
    assert f"at 230400 baud: {meaning} (error {code}); " in refused(twin, bench)


def test_it_does_not_keep_what_is_written(bench):
    assert refused(VectorNavTwin(config(), forgetful=True), bench) == (
        "register 75 of the VN-100T-CR on /dev/imu should hold 1,4,01,0129 after it was written, but holds "
        "1,8,01,0129: end other programs that speak to it, and try again"
    )


@pytest.mark.parametrize(
    ("twin", "up", "settings", "sentence"),
    [
        ({}, bytes, {"async_port": 3.0}, "async_port must be 1 or 2"),
        (
            {},
            lambda data: bytes(b ^ 0x55 for b in data[::2]),
            {},
            "bytes of something else came; is this its baud rate",
        ),
        ({}, bytes, {"async_port": 2.0}, "nothing came: are we on its serial port 2, as async_port says?"),
        ({"slow": 2}, bytes, {}, "stream our message at 200 Hz and 230400 baud, but it comes at 100 Hz: restore the"),
        ({}, lambda data: data.replace(b"\xfa\x01", b"\xfa\x03"), {}, "bytes came without one: is the cable good"),
        (
            {"model": "VN-300"},
            bytes,
            {},
            "VN-100 or VN-200, which stream at divisors of 800 Hz, found a VN-300: connect",
        ),
    ],
)
def test_what_else_is_wrong(bench, twin, up, settings, sentence):
    assert sentence in refused(VectorNavTwin(config(), **twin), bench, up, **settings)
