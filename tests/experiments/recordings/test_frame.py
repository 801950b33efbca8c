"""A DataFrame is read as the file of the same columns is."""

from importlib.util import find_spec

import numpy as np
import pytest

import riderless as rl

pytestmark = pytest.mark.skipif(find_spec("pandas") is None, reason="pandas is not installed")
MAPPING = {
    "bicycle": "Silver",
    "time": {"column": "ms", "unit": "ms"},
    "phi_dot": {"column": "gx", "unit": "deg/s"},
    "v": {"constant": 5.0, "unit": "m/s"},
}


@pytest.fixture(scope="module")
def frame():
    import pandas as pd

    silver = rl.load_bicycle("Silver")
    run = rl.simulate(
        silver, rl.design(silver, "off", [5.0]), speed=5.0, kicks=[rl.Kick(0.6, impulse=3.0)], duration=4.0
    )
    ticks = run.ticks[::2]
    gx = pd.array(np.degrees(ticks["phi_dot_meas"]), dtype="Float64")
    return pd.DataFrame({"ms": np.round(1e3 * ticks["t"]).astype(int), "gx": gx})


def test_a_frame_equals_its_file(frame, tmp_path):
    frame.to_csv(tmp_path / "log.csv", index=False)
    (tmp_path / "map.toml").write_text(
        'bicycle = "Silver"\n[time]\ncolumn = "ms"\nunit = "ms"\n[phi_dot]\ncolumn = "gx"\nunit = "deg/s"\n'
        '[v]\nconstant = 5.0\nunit = "m/s"\n',
        encoding="utf-8",
    )
    read = rl.read_frame(frame, MAPPING)
    filed = rl.read_recording(tmp_path / "log.csv", tmp_path / "map.toml")
    assert np.array_equal(read.t, filed.t)
    assert np.allclose(read.phi_dot, filed.phi_dot, rtol=1e-14)
    assert len(rl.analyze(read).comparisons) == len(rl.analyze(filed).comparisons) > 0


def test_a_missing_value_is_bridged_or_named(frame):
    holed = frame.copy()
    holed.loc[100, "gx"] = None
    assert np.isfinite(rl.read_frame(holed, MAPPING).phi_dot).all()


def test_bad_frames_get_a_sentence(frame):
    with pytest.raises(rl.InputError, match="wanted a DataFrame, found list"):
        rl.read_frame([1, 2], MAPPING)
    with pytest.raises(rl.InputError, match="gx"):
        rl.read_frame(frame.drop(columns="gx"), MAPPING)
