"""Logs of a robot bicycle whose controller nobody stated: the torque in them identifies the bicycle alone."""

import numpy as np
import pytest
from scipy.signal import butter, detrend, filtfilt

from riderless.experiments.analysis.identification.forced_windows import forced_windows
from riderless.experiments.analysis.windows.find import find_windows
from riderless.experiments.recordings.foreign import read_foreign
from riderless.experiments.reports.identify import identify_parameters
from riderless.models import catalogue
from riderless.models.coordinates import DELTA_DOT
from riderless.models.errors import InputError
from riderless.models.linear.whipple import input_matrix
from tests.experiments.recordings.peterson_log import DT, ride, write_log

SLOW = 1.5  # m/s, where the Benchmark bicycle falls within a second without its controller


@pytest.fixture(scope="module")
def table():
    return ride(v=SLOW, seconds=20.0, seed=3, changes={"mB": 90.0})


def test_a_log_reads_and_no_row_of_it_is_free(tmp_path, table):
    response = read_foreign(write_log(tmp_path / "ride.txt", table), bicycle="Benchmark")
    assert (response.kind, response.bicycle.name) == ("peterson", "Benchmark")
    assert response.dt == pytest.approx(DT)
    for signal, column in (("phi_dot", "gyro_x"), ("delta", "steer"), ("v", "v"), ("T_played", "T_s")):
        assert getattr(response, signal) == pytest.approx(table[column], abs=1e-8)
    assert find_windows(response)[0] == []


def test_a_log_without_a_bicycle_is_refused_with_what_to_do(tmp_path, table):
    with pytest.raises(InputError, match="give --bicycle"):
        read_foreign(write_log(tmp_path / "ride.txt", table))


def test_stretches_are_short_where_the_bicycle_falls(tmp_path, table):
    slow = forced_windows(read_foreign(write_log(tmp_path / "slow.txt", table), bicycle="Benchmark"))
    fast = ride(v=5.0, seconds=20.0)  # between weave and capsize: stable alone
    whole = forced_windows(read_foreign(write_log(tmp_path / "fast.txt", fast), bicycle="Benchmark"))
    assert len(slow) > 10
    assert len(whole) == 1


def test_output_error_finds_what_a_regression_does_not(tmp_path, table):
    """The true rear frame weighs 90 kg instead of 85, and the drive makes what it is told."""
    path = write_log(tmp_path / "ride.txt", table)
    found = identify_parameters(path, ["mB", "drive_gain"], prior="none", bicycle="Benchmark").found
    mass, gain = found.values
    assert abs(mass - 90.0) < 3.0 * found.std[0]
    assert abs(gain - 1.0) < 3.0 * found.std[1]
    assert found.std[0] < 5.0
    assert found.std[1] < 0.02
    assert regressed_torque(table) < 0.75


def regressed_torque(table):
    """Steer acceleration per torque by least squares on filtered signals, as a share of the truth."""
    filtered = [filtfilt(*butter(2, 15.0 * 2 * DT), table[name]) for name in ("gyro_x", "steer")]
    gyro, steer = filtered
    steer_rate = np.gradient(steer, DT)
    columns = [detrend(np.cumsum(gyro) * DT), steer, gyro, steer_rate, table["T_s"]]
    per_torque = np.linalg.lstsq(np.column_stack(columns), np.gradient(steer_rate, DT), rcond=None)[0][-1]
    return per_torque / input_matrix(catalogue.load_bicycle("Benchmark"))[DELTA_DOT, 1]


def test_spaces_between_values_and_comments_above_names(tmp_path, table):
    path = write_log(tmp_path / "ride.txt", table)
    lines = path.read_text().splitlines()
    lines[40] = " ".join(lines[40].split()[:-1])
    path.write_text("\n".join(lines))
    with pytest.raises(InputError, match="wanted 5 values in every row, found 4 in line 41"):
        read_foreign(path, bicycle="Benchmark")
    lines[40] = "0.19 much 0 0 3"
    path.write_text("\n".join(lines))
    with pytest.raises(InputError, match="found 'much' in column T_s, line 41"):
        read_foreign(path, bicycle="Benchmark")
    path.write_text("# one\n# two\n")
    with pytest.raises(InputError, match="wanted the columns of a known kind"):
        read_foreign(path)
