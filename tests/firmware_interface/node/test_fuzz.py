"""The parsers against streams of damage; `make fuzz` does the same at length."""

import random

import numpy as np
import pytest

from riderless.firmware_interface.calibration import DEVICE_CLOCK, Calibration, calibrate
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.messages import FAULT_ENCODER, FAULT_IMU, RAW, SAMPLE
from riderless.firmware_interface.node import hello, reference_codec
from tests.firmware_interface.twins.damaged_line import Oracle, kind_of, stream
from tests.firmware_interface.wire import record
from tests.tools.fuzz import Fuzz

SEEDS = range(10)


def test_many_bytes_through_both_ends():
    fuzz = Fuzz(seed=1)
    fuzz.run(200_000)
    counters = fuzz.oracle.counters
    assert fuzz.bytes >= 200_000
    assert min(counters.frames_ok, fuzz.due) > 800
    assert min(counters.frames_bad_crc, counters.frames_bad_length, counters.frames_bad_version) > 40
    assert fuzz.strangers == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_plain_codec_reads_what_the_packages_read(seed):
    data = bytes(stream(random.Random(seed), 20_000).data)
    frames = [stuffed for stuffed in data.split(b"\0")[:-1] if stuffed]
    wanted = [payload for _, payload in Oracle().read(data)]
    assert [payload for payload in map(reference_codec.unframe, frames) if payload is not None] == wanted
    messages = [message for message in map(reference_codec.decode, frames) if message is not None]
    assert len(messages) == sum(kind_of(payload) > 0 for payload in wanted) > 100


@pytest.mark.parametrize("seed", SEEDS)
def test_first_hello_is_found_in_any_damage(seed):
    rng = random.Random(seed)
    data = bytes(stream(rng, 20_000).data)
    wanted = next(payload for _, payload in Oracle().read(data) if kind_of(payload) == 3)
    heard, found = hello._Heard(), None
    heard.wanted = set(range(65536))
    while found is None:
        size = rng.randint(1, 300)
        found, data = heard.take(data[:size]), data[size:]
    lsb = np.frombuffer(wanted[26:34], "<f4").astype(float)
    assert np.array_equal((found.gyro_lsb, found.accel_lsb), lsb, equal_nan=True)
    assert found.steer_counts_per_turn == int.from_bytes(wanted[34:38], "little")


@pytest.mark.parametrize("told", [np.nan, np.inf, -np.inf, 0.0, -1e-3])
@pytest.mark.parametrize("name", ["gyro_lsb", "accel_lsb", "steer_counts_per_turn"])
def test_impossible_scale_of_a_hello_is_refused(name, told):
    with pytest.raises(DeviceError, match=f"calibration {name} must be"):
        Calibration(wheel_radius=0.3, **{name: told})


def _any_rotation(rng: np.random.Generator) -> np.ndarray:
    q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return q * np.sign(np.linalg.det(q))


def _size(rng: np.random.Generator, usual: float) -> float:
    """Mostly about as usual; else anything a calibration may hold."""
    return usual * rng.uniform(0.3, 3.0) if rng.random() < 0.9 else 10.0 ** rng.uniform(-300, 300)


@pytest.mark.parametrize("seed", SEEDS)
def test_any_counts_make_finite_plausible_numbers_or_an_invalid_sample(seed):
    rng = np.random.default_rng(seed)
    raws = rng.integers(0, 256, (500, RAW.itemsize), np.uint8).view(RAW)[:, 0]
    raws["faults"] &= rng.choice([0, 0, 0, 255], 500).astype(np.uint8)
    for name in ("steer_counts", "wheel_mrad_s"):
        raws[name] >>= rng.choice([0, 17], 500)
    calibration = Calibration(
        wheel_radius=_size(rng, 0.3),
        gyro_lsb=_size(rng, 1e-4),
        accel_lsb=_size(rng, 1e-3),
        mounting=tuple(map(tuple, _any_rotation(rng).tolist())),
        gyro_offset=tuple(rng.normal(size=3)),
        accel_offset=tuple(rng.normal(size=3)),
        steer_counts_per_turn=_size(rng, 2e4),
        steer_gear_ratio=_size(rng, 3.0),
        steer_offset=rng.normal(),
        steer_sign=rng.choice([-1, 1]),
        wheel_sign=rng.choice([-1, 1]),
        torque_sign=rng.choice([-1, 1]),
    )
    samples, cal = np.zeros(500, SAMPLE), calibration.as_record()
    for raw, sample in zip(raws, samples, strict=True):
        calibrate(raw, cal, record(DEVICE_CLOCK), sample)

    c = calibration
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        rates = (raws["gyro_counts"] * c.gyro_lsb - c.gyro_offset) @ np.transpose(c.mounting)
        forces = (raws["accel_counts"] * c.accel_lsb - c.accel_offset) @ np.transpose(c.mounting)
        turns = raws["steer_counts"] / np.float64(c.steer_counts_per_turn * c.steer_gear_ratio)
        delta = c.steer_sign * 2 * np.pi * turns - c.steer_offset
        v = c.wheel_sign * c.wheel_radius * 1e-3 * raws["wheel_mrad_s"]
        plausible = (
            (np.abs(rates) <= c.max_rate).all(axis=1)
            & (np.abs(forces) <= c.max_acceleration).all(axis=1)
            & (np.abs(delta) <= c.max_steer)
            & (np.abs(v) <= c.max_speed)
        )
    channels = np.column_stack([raws["gyro_counts"], raws["accel_counts"], raws["torque_mNm"]])
    inside = ((channels > -32768) & (channels < 32767)).all(axis=1)
    wanted = inside & plausible & (raws["faults"] & (FAULT_IMU | FAULT_ENCODER) == 0)
    assert np.array_equal(samples["valid"] == 1, wanted)
    good = samples[wanted]
    names = [name for name in SAMPLE.names if name.endswith("_meas")]
    found = np.column_stack([good[name] for name in names])
    assert np.isfinite(found).all()
    columns = [rates, forces, delta, v, c.torque_sign * 1e-3 * raws["torque_mNm"], 1e-3 * raws["bus_mV"]]
    assert found == pytest.approx(np.column_stack(columns)[wanted], rel=1e-12, abs=1e-12)
