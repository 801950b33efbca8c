"""MATLAB's own classes in MAT files: named for what they are, with the line to type there."""

import numpy as np
import pytest
from scipy.io import savemat

from riderless.experiments.recordings.foreign.formats.registry import read_table
from riderless.models.errors import InputError


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("timetable", "writetimetable(ride, 'ride.csv')"),
        ("table", "writetable(ride, 'ride.csv')"),
        ("datetime", "ride = seconds(ride - ride(1))"),
        ("myLog", "s = struct(ride)"),
    ],
)
@pytest.mark.parametrize("beside", [False, True])
def test_an_object_is_named_with_the_line_to_type(tmp_path, kind, line, beside):
    h5py = pytest.importorskip("h5py", reason="needs riderless[formats]")
    path = tmp_path / "ride.mat"
    with h5py.File(path, "w", userblock_size=512) as file:
        file["ride"] = np.zeros((1, 6), np.uint32)
        file["ride"].attrs["MATLAB_class"] = np.bytes_(kind)
        file["ride"].attrs["MATLAB_object_decode"] = np.int32(3)
        if beside:
            file["other"] = np.arange(80.0).reshape(1, -1)
    with pytest.raises(InputError) as caught:
        read_table(path, ("ride.gyro",)).with_rows().raw("ride.gyro")
    assert str(caught.value).startswith(f"ride in ride.mat is a MATLAB {kind}, which only MATLAB can read; type there:")
    assert line in str(caught.value)


@pytest.mark.parametrize("n", [2, 5])
def test_cells_of_trials_are_counted_and_structs_are_read_as_ever(tmp_path, n):
    cells = np.empty(n, object)
    cells[:] = [{"rate": np.arange(60.0 + i)} for i in range(n)]
    savemat(tmp_path / "trials.mat", {"trial": cells, "one": {"rate": np.arange(70.0)}})
    table = read_table(tmp_path / "trials.mat").with_rows()
    np.testing.assert_array_equal(table.raw("one.rate"), np.arange(70.0))
    with pytest.raises(InputError, match=rf"trial in trials.mat holds {n} cells, of which one is wanted"):
        table.raw("trial.rate")


@pytest.mark.parametrize("n", [1, 3])
def test_cells_of_version_7_3_are_counted_too(tmp_path, n):
    h5py = pytest.importorskip("h5py", reason="needs riderless[formats]")
    with h5py.File(tmp_path / "trials.mat", "w", userblock_size=512) as file:
        file["#refs#/a"] = np.arange(60.0)
        file["trial"] = np.array([file["#refs#/a"].ref] * n, h5py.ref_dtype).reshape(n, 1)
        file["trial"].attrs["MATLAB_class"] = np.bytes_("cell")
    with pytest.raises(InputError, match=rf"trial in trials.mat holds {n} cells, of which one is wanted"):
        read_table(tmp_path / "trials.mat").numbers("trial")
