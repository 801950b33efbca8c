"""Lean that its filter took elsewhere, encoders nobody read: made ones, and three faults that nobody injected."""

from dataclasses import replace

import numpy as np
import pytest

from riderless.experiments.recordings.foreign import delft
from riderless.experiments.recordings.foreign.formats.registry import read_table
from riderless.experiments.recordings.quality.checked import Recorded
from riderless.experiments.recordings.quality.inspection import find_lean_faults, inspect_recording
from riderless.experiments.recordings.read import read_recording
from riderless.models.errors import InputError
from tests.experiments.recordings.shaken_log import kicked
from tests.paths import SHARED

FAULTS = SHARED / "data" / "delft_faults"
MAPPING = """
bicycle = "DelftSbW2024"
text = {ragged = true}
time = {rate = 100}
phi_dot = {column = "omega_x", unit = "rad/s"}
psi_dot = {column = "omega_z", unit = "rad/s"}
phi = {column = "m_lean_angle", unit = "rad"}
delta = {column = "m_fork_angle", unit = "rad"}
v = {column = "speed", unit = "m/s"}
"""


def drifted(size, at=800, seconds=0.5):
    """A healthy log whose lean moves by ``size`` rad although the bicycle does not."""
    recorded = delft.recorded(kicked())
    response = recorded.response
    ramp = np.clip((response.t - response.t[at]) / seconds, 0.0, 1.0)
    return replace(recorded, response=replace(response, phi=response.phi + size * ramp))


def test_a_healthy_lean_is_left_alone():
    recorded = delft.recorded(kicked())
    assert find_lean_faults(recorded) is recorded


def test_a_lean_that_drifts_is_named_with_its_time_and_is_not_free():
    found = find_lean_faults(drifted(0.3)).response
    (said,) = found.remarks
    assert "lean_angle: leaves the integral of lean_rate by up to 0.3 rad within 1 s" in said
    assert not found.free[800:850].any()
    assert found.free[:700].all()


def test_a_small_drift_is_what_a_gyro_makes():
    assert find_lean_faults(drifted(0.08)).response.remarks == ()


def test_an_encoder_that_nobody_reads_is_named():
    response = delft.recorded(kicked()).response
    dead = Recorded(replace(response, delta=np.full(len(response.t), -1.78)), {"delta": "fork_angle"})
    (said,) = find_lean_faults(dead).response.remarks
    assert said == "fork_angle: is -1.78 rad in every row: the encoder is not read"


def test_ragged_rows_are_read_only_when_told_to(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("a,b,c\n" + "1,2,3,4,5\n1,2\n1,2.5-0.0,3\n" * 30)
    with pytest.raises(InputError, match="wanted 3 values in every row, found 5"):
        read_table(path)
    table = read_table(path, ragged=True)
    assert len(table.columns["a"]) == 90
    assert table.columns["c"][0] == 3.0
    assert np.isnan(table.columns["c"][1])
    assert np.isnan(table.columns["b"][2])


@pytest.mark.skipif(not FAULTS.exists(), reason="the Delft logs with faults are others', beside the checkout")
@pytest.mark.parametrize(
    ("log", "said", "from_s"),
    [
        ("lean_filter_meas_takes_over", "m_lean_angle: leaves the integral of omega_x", 29.0),
        ("lean_filter_meas_takes_over", "m_fork_angle: is -1.78 rad in every row", None),
        ("lean_drift", "m_lean_angle: leaves the integral of omega_x", 6.8),
        ("lean_drift", "omega_z is 1.63", None),
        ("steer_encoder_error", "", None),  # standing, and nobody knows where the fork was: not found
    ],
)
def test_real_faults(log, said, from_s, tmp_path):
    mapping = tmp_path / "mapping.toml"
    mapping.write_text(MAPPING)
    remarks = read_recording(FAULTS / f"{log}.log.gz", mapping, trust=True).remarks
    if not said:
        assert remarks == ()
        return
    (one,) = [remark for remark in remarks if said in remark]
    if from_s is not None:
        assert float(one.split(" from ")[-1].split()[0]) == pytest.approx(from_s, abs=0.1)


@pytest.mark.skipif(not FAULTS.exists(), reason="the Delft logs are others', beside the checkout")
def test_no_false_alarm_on_seven_healthy_logs():
    for path in sorted((SHARED / "data" / "delft_treadmill").glob("*.log")):
        found = inspect_recording(delft.recorded(read_table(path)), refuse=False)
        assert not [one for one in found.remarks if "integral" in one or "every row" in one], path.name


@pytest.mark.parametrize("seconds", [0.05, 0.1])
def test_a_lean_whose_filter_believes_the_accelerometer_is_left_out(seconds):
    recorded = delft.recorded(kicked())
    response = recorded.response
    drawn = np.exp(-(response.t - response.t[0]) / seconds)  # towards upright, which is what it reads in any turn
    lean = 10.0 * (response.phi - np.convolve(response.phi, drawn / drawn.sum())[: len(drawn)])
    response = replace(response, phi=lean, phi_dot=10.0 * response.phi_dot)  # kicked hard
    found = find_lean_faults(replace(recorded, response=response)).response
    assert found.phi is None
    np.testing.assert_array_equal(found.free, response.free)
    (said,) = found.remarks
    assert "lean_angle: leaves the integral of lean_rate by up to" in said
    assert "left out" in said
