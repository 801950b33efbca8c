"""A node that misbehaves, one instant at a time: each kind of fault does what it says and nothing before or after."""

import math

import numpy as np
import pytest

from riderless.firmware_interface.calibration import Calibration
from riderless.firmware_interface.framing import MAX_FRAME, new_decoder
from riderless.firmware_interface.messages import (
    COMMAND_CLEAR,
    COMMAND_ENABLE,
    FAULT_DRIVE,
    STATUS_ENABLED,
    STATUS_FOREIGN,
    STATUS_STOP_BUTTON,
    STATUS_WATCHDOG,
)
from riderless.firmware_interface.node import reference_codec
from riderless.firmware_interface.node.firmware_state import new_firmware
from riderless.firmware_interface.node.rules import (
    firmware_latch,
    firmware_receive,
    firmware_sample,
    open_session,
)
from riderless.firmware_interface.twins.faults import TO_NODE, Fault
from riderless.firmware_interface.twins.faults import FaultKind as Kind
from riderless.firmware_interface.twins.faulty_link import fetch, post
from riderless.firmware_interface.twins.faulty_node import drive_output, new_faulty_node, sampling_instant
from tests.firmware_interface.wire import SESSION, as_bytes, command_frame

PERIOD = 0.005
START, STOP = 0.1, 0.2  # s
CALIBRATION = Calibration(wheel_radius=0.3, gyro_lsb=0.001, accel_lsb=0.01)
SCALES = {  # reading: field of the sample, counts per unit
    "phi_dot": ("gyro_x_counts", 1000.0),
    "theta_dot": ("gyro_y_counts", 1000.0),
    "psi_dot": ("gyro_z_counts", 1000.0),
    "a_x": ("accel_x_counts", 100.0),
    "a_y": ("accel_y_counts", 100.0),
    "a_z": ("accel_z_counts", 100.0),
    "delta": ("steer_counts", 20000 / (2 * math.pi)),
    "wheel_rate": ("wheel_mrad_s", 1000.0),
    "T": ("torque_mNm", 1000.0),
}


class Bench:
    """A node at 200 Hz with a watchdog of 25 ms, kept alive by a command in every period."""

    def __init__(self, *faults: Fault) -> None:
        self.node = new_faulty_node(new_firmware(CALIBRATION), faults)
        open_session(self.node.firmware, SESSION)
        self.k = 0
        self.said: list[reference_codec.Sample | None] = []
        self.made: list[float] = []
        self._out = np.zeros(4096, np.uint8)

    def run(self, until: float, T: float = 1.0, alive: bool = True, reading=lambda t: 0.0) -> "Bench":
        """Instants up to ``until`` s; every reading is ``reading(t)``."""
        while self.k * PERIOD < until - 1e-9:
            t = self.k * PERIOD
            self.made.append(drive_output(self.node, (self.k - 1) * PERIOD)[0])
            if alive:
                flags = COMMAND_ENABLE if self.k > 3 else COMMAND_CLEAR
                newest = int(self.node.firmware["seq"]) - 1
                line = as_bytes(command_frame(self.k, T, flags, expiry_ms=25, sample_seq=newest))
                post(self.node.down, self.node.faults, TO_NODE, line, len(line), t, t)
            sampling_instant(self.node, np.full(9, reading(t)), 24.0, t, t)
            data = self._out[: fetch(self.node.up, t, self._out)].tobytes()
            self.said.append(reference_codec.decode(data[:-1]) if data else None)
            self.k += 1
        return self

    def told(self, field: str) -> np.ndarray:
        """A field of the samples; NaN where none was sent."""
        return np.array([getattr(sample, field) if sample else np.nan for sample in self.said])


T = PERIOD * np.arange(60)
BEFORE, DURING, AFTER = T < START - 1e-9, (T >= START - 1e-9) & (T < STOP - 1e-9), T >= STOP - 1e-9


def moving(t: float) -> float:
    """Readings of bars that move: else the guard strikes."""
    return 0.2 * t


def bench(kind: Kind, size: float = 0.0, until: float = 0.3, **settings) -> Bench:
    given = {name: settings.pop(name) for name in ("T", "alive", "reading") if name in settings}
    return Bench(Fault(kind, size, **{"start": START, "stop": STOP, **settings})).run(until, **given)


def test_without_faults_a_node_says_what_its_firmware_says():
    firmware, decoder, out = new_firmware(CALIBRATION), new_decoder(), np.zeros(MAX_FRAME, np.uint8)
    open_session(firmware, SESSION)
    run = Bench().run(0.3, T=2.5, reading=math.sin)
    for k, said in enumerate(run.said):
        line = command_frame(k, 2.5, COMMAND_ENABLE if k > 3 else COMMAND_CLEAR, expiry_ms=25, sample_seq=k - 1)
        firmware_receive(firmware, decoder, as_bytes(line), len(line))
        firmware_latch(firmware, k * PERIOD)
        n = firmware_sample(firmware, np.full(9, math.sin(k * PERIOD)), 24.0, out)
        assert reference_codec.decode(out[: n - 1].tobytes()) == said


@pytest.mark.parametrize("channel", SCALES)
@pytest.mark.parametrize(
    ("kind", "size", "expected"),
    [
        (Kind.STUCK, 0.0, lambda x, first: first),
        (Kind.BIAS, 0.25, lambda x, first: x + 0.25),
        (Kind.SCALE, -1.0, lambda x, first: -x),
        (Kind.READS, 0.5, lambda x, first: 0.5),
    ],
)
def test_a_disturbed_reading(channel, kind, size, expected):
    run = bench(kind, size, channel=channel, reading=lambda t: 0.1 + t)
    truth = 0.1 + T
    disturbed = np.where(DURING, [expected(x, 0.1 + START) for x in truth], truth)
    for name, (field, scale) in SCALES.items():
        wanted = disturbed if name == channel else truth
        np.testing.assert_allclose(run.told(field), wanted * scale, atol=0.5001, err_msg=name)


def test_noise_has_the_deviation_asked_for():
    run = Bench(Fault(Kind.NOISY, 0.2, seed=3)).run(10.0)
    noise = 1e-3 * run.told("gyro_x_counts")
    assert abs(noise.mean()) < 4 * 0.2 / np.sqrt(len(noise))
    assert noise.std() == pytest.approx(0.2, rel=0.08)
    assert np.abs(np.corrcoef(noise[1:], noise[:-1])[0, 1]) < 0.1


def test_a_slip_is_for_good():
    told = bench(Kind.SLIP, math.pi, channel="delta").told("steer_counts")
    np.testing.assert_array_equal(told, np.where(BEFORE, 0, 10000))


def test_a_drift_grows_evenly_and_is_for_good():
    grown = np.interp(T, [START, STOP], [0.0, -math.pi])
    told = bench(Kind.DRIFT, -math.pi, channel="delta", reading=lambda t: 0.1 + t).told("steer_counts")
    np.testing.assert_allclose(told, (0.1 + T + grown) * SCALES["delta"][1], atol=0.5001)


def test_a_drift_in_no_time_is_a_step():
    told = bench(Kind.DRIFT, 0.5, start=START, stop=START, channel="psi_dot").told("gyro_z_counts")
    np.testing.assert_array_equal(told, np.where(BEFORE, 0, 500))


@pytest.mark.parametrize(("size", "counts"), [(math.nan, -(2**15)), (1e9, 2**15 - 1), (-1e9, -(2**15))])
def test_a_reading_that_is_missing_or_off_the_scale_stands_at_an_end_of_it(size, counts):
    told = bench(Kind.READS, size).told("gyro_x_counts")
    assert (told[DURING] == counts).all()
    assert (told[~DURING] == 0).all()


@pytest.mark.parametrize(
    ("kind", "size", "made_of_two"),
    [
        (Kind.DRIVE_GAIN, 0.0, 0.0),
        (Kind.DRIVE_GAIN, -1.0, -2.0),
        (Kind.DRIVE_LIES, -0.5, -1.0),
        (Kind.DRIVE_CLAMP, 0.7, 0.7),
    ],
)
def test_what_a_drive_makes(kind, size, made_of_two):
    run = bench(kind, size, T=2.0, reading=moving)
    enabled = np.array(run.made)[8:]
    lasting = DURING[7:-1]  # a period's torque was decided at its beginning
    np.testing.assert_array_equal(enabled, np.where(lasting, made_of_two, 2.0))


def test_a_drive_that_lies_reports_what_it_was_asked_for():
    told = 1e-3 * bench(Kind.DRIVE_LIES, 0.0, T=2.0, reading=moving).told("torque_mNm")
    first = moving(START)
    assert told[DURING][0] == pytest.approx(first + (2.0 - first) * (1 - math.exp(-1)), abs=1e-3)  # a lag of one period
    assert told[DURING][-1] == pytest.approx(2.0, abs=1e-3)
    assert (told[~DURING] < 0.1).all(), "its plant, here, makes none"


def test_a_deaf_drive_goes_on_when_it_is_switched_off():
    run = bench(Kind.DRIVE_HOLDS, stop=math.inf, T=1.5, until=0.15).run(0.3, alive=False)
    assert run.said[-1].status & STATUS_WATCHDOG
    assert drive_output(run.node, 0.3) == (1.5, True)


def test_stop_button_and_drive_fault_disable_and_go_away():
    button, trip = bench(Kind.STOP_BUTTON).told("status"), bench(Kind.DRIVE_TRIPS)
    assert (button[DURING] == STATUS_STOP_BUTTON).all()
    assert (trip.told("faults") == np.where(DURING, FAULT_DRIVE, 0)).all()
    for status in (button, trip.told("status")):
        assert status[BEFORE][-1] == STATUS_ENABLED
        assert (status[AFTER] == 0).all(), "ENABLE was never taken back"


@pytest.mark.parametrize(
    ("kind", "field", "words"),
    [(Kind.STOP_BUTTON, "status", STATUS_STOP_BUTTON), (Kind.DRIVE_TRIPS, "faults", FAULT_DRIVE)],
)
@pytest.mark.parametrize("first", [0, 1])
def test_of_two_that_overlap_neither_ends_the_other(kind, field, words, first):
    """Trips from 0.1 to 0.2 s and from 0.15 to 0.3 s, in either order: one from 0.1 to 0.3 s."""
    two = (Fault(kind, start=0.1, stop=0.2), Fault(kind, start=0.15, stop=0.3))
    told = Bench(*(two if first == 0 else two[::-1])).run(0.4).told(field)
    t = PERIOD * np.arange(len(told))
    during = (t > 0.1 - 1e-9) & (t < 0.3 - 1e-9)
    assert (told[during] == words).all()
    assert (told[~during & (t > 0.2)] == 0).all()


@pytest.mark.parametrize("first", [0, 1])
def test_a_watchdog_that_is_dead_twice_is_dead_until_the_later_end(first):
    two = (Fault(Kind.WATCHDOG_DEAD, start=0.1, stop=0.2), Fault(Kind.WATCHDOG_DEAD, start=0.1, stop=0.4))
    run = Bench(*(two if first == 0 else two[::-1])).run(0.12).run(0.39, alive=False)
    assert not run.said[-1].status & STATUS_WATCHDOG
    assert run.run(0.5, alive=False).said[-1].status & STATUS_WATCHDOG


def test_supply():
    np.testing.assert_array_equal(bench(Kind.BUS, 12.0).told("bus_mV"), np.where(DURING, 12000, 24000))


@pytest.mark.parametrize(("stop", "strikes"), [(math.inf, False), (STOP, True)])
def test_dead_watchdog(stop, strikes):
    run = bench(Kind.WATCHDOG_DEAD, stop=stop, until=0.12).run(0.5, alive=False)
    assert run.made[-1] == 0.0, "the torque has expired all the same"
    assert bool(run.said[-1].status & STATUS_WATCHDOG) is strikes
    assert bool(run.said[-1].status & STATUS_ENABLED) is not strikes


@pytest.mark.parametrize("jump", [-0.05, 0.05, 1000.0, -1000.0])
def test_clock_jump(jump):
    told = bench(Kind.CLOCK_JUMP, jump).told("t_us")
    np.testing.assert_array_equal(told, (np.rint(1e6 * T) + np.where(DURING, 1e6 * jump, 0.0)) % 2**32)


def test_wraps():
    clock, numbers = bench(Kind.CLOCK_WRAP).told("t_us"), bench(Kind.SEQ_WRAP).told("seq")
    np.testing.assert_array_equal(clock, np.rint(1e6 * (T - START)) % 2**32)
    assert clock[20] == 0
    np.testing.assert_array_equal(numbers, (np.arange(60) - 20) % 2**16)


def test_restart():
    run = bench(Kind.RESET, 0.048)  # back at the instant after that
    silent = (T >= START - 1e-9) & (T < START + 0.05 - 1e-9)
    assert [sample is None for sample in run.said] == silent.tolist()
    back = T >= START + 0.05 - 1e-9
    np.testing.assert_array_equal(run.told("t_us")[back], np.rint(1e6 * (T[back] - START - 0.05)))
    np.testing.assert_array_equal(run.told("seq")[back], np.arange(back.sum()))
    assert (run.told("status")[back] == STATUS_FOREIGN).all(), "ENABLE goes on, in a session that it has forgotten"
    assert (np.array(run.made)[T > START + 1e-9] == 0.0).all()


def test_restarted_node_obeys_again_after_a_hello_and_off():
    run = bench(Kind.RESET, 0.05)
    open_session(run.node.firmware, SESSION)
    line = as_bytes(command_frame(run.k, 0.0, COMMAND_CLEAR, sample_seq=int(run.node.firmware["seq"]) - 1))
    post(run.node.down, run.node.faults, TO_NODE, line, len(line), 0.3, 0.3)
    sampling_instant(run.node, np.zeros(9), 24.0, 0.3, 0.3)
    run.k += 1
    assert run.run(0.35).made[-1] == 1.0


def test_slowing_skips_more_and_more_instants_and_no_number():
    run = bench(Kind.SLOWING, 1.0, start=1.0, stop=math.inf, chance=0.5, until=6.0, seed=1)
    missing = np.array([sample is None for sample in run.said])
    parts = [missing[a:b].mean() for a, b in ((0, 200), (200, 300), (300, 400), (400, 1200))]
    assert parts[0] == 0.0
    assert parts[0] < parts[1] < parts[2] < parts[3]
    assert parts[3] == pytest.approx(0.5, abs=0.08)
    np.testing.assert_array_equal(run.told("seq")[~missing], np.arange((~missing).sum()))


def test_hello_without_a_scale():
    node, out = new_faulty_node(new_firmware(CALIBRATION), (Fault(Kind.HELLO_NAN),)), np.zeros(4096, np.uint8)
    line = as_bytes(reference_codec.encode(reference_codec.HelloRequest(1, 0)))
    post(node.down, node.faults, TO_NODE, line, len(line), 0.0, 0.0)
    sampling_instant(node, np.zeros(9), 24.0, 0.0, 0.0)
    hello = reference_codec.decode(out[: fetch(node.up, 0.0, out)].tobytes().split(b"\0")[0])
    assert math.isnan(hello.gyro_lsb)
    assert hello.accel_lsb == pytest.approx(0.01)
