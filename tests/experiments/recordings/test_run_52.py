"""Run 52 of Kooijman (2008), the voltages of its instruments, through a mapping: drop-outs and signs are told."""

import itertools

import numpy as np
import pytest

from riderless.experiments.analysis.analyze import analyze_responses
from riderless.experiments.recordings import foreign
from riderless.experiments.recordings.quality.kinematic_relations import band_passed, check_relations
from riderless.models.errors import InputError


def written(folder, text):
    """Path of a mapping with the given text."""
    path = folder / "mapping.toml"
    path.write_text(text)
    return path


def test_the_steer_that_run_52_lost_is_named(shared, tmp_path):
    """Its steer angle has drop-outs: the instruments' own data, through a mapping."""
    text = """
    bicycle = "Silver"
    [time]
    column = "t_s"
    [phi_dot]
    column = "lean_rate_V"
    unit = "V"
    scale = "50 deg/s"
    zero = 2.5
    [v]
    constant = 5
    unit = "m/s"
    [delta]
    column = "steer_angle_V"
    unit = "V"
    scale = "60 deg"
    zero = 3.1
    sign = -1
    [free]
    intervals = [[9.9, 12.5]]
    """
    path = shared / "data/kooijman2008/run52.csv"
    whole = foreign.read_foreign(path, written(tmp_path, text[: text.index("[free]")]))
    # rows 8.305 to 8.335 s of the file: their median less 2.2511 V, by 60 deg a volt
    lost = [remark for remark in whole.remarks if remark.startswith("steer_angle_V: leaves its surroundings")]
    assert any("by 0.911 rad for 1 row, not free, at 8.320 s" in remark for remark in lost)
    assert abs(whole.delta[whole.t.searchsorted(8.3199)]) < 0.05  # bridged
    assert not whole.free[whole.t.searchsorted(8.3199)]
    response = foreign.read_foreign(path, written(tmp_path, text))
    assert [remark for remark in response.remarks if "8.320" in remark] == []  # not free anyway
    preset = foreign.read_foreign(shared / "data/kooijman2008/run52.csv")
    np.testing.assert_allclose(response.phi_dot, preset.phi_dot, rtol=0, atol=1e-12)
    assert response.t[response.free][[0, -1]] == pytest.approx([9.9, 12.5])
    (fit,) = [c.fit for c in analyze_responses([response], given=(9.9, 12.5)).comparisons]
    assert (fit.re, fit.im) == pytest.approx((-1.159, 5.443), abs=2e-3)  # the README of the data


@pytest.mark.parametrize(("lean", "steer", "yaw"), list(itertools.product((1, -1), repeat=3)))
def test_the_signs_of_run_52_are_told_by_two_relations(shared, tmp_path, lean, steer, yaw):
    """Nothing says which way its voltages count. Yaw rate and lean acceleration agree on it, but for left and right."""
    path = shared / "data/kooijman2008/run52.csv"
    text = f"""
    bicycle = "Silver"
    time = {{ column = "t_s" }}
    v = {{ constant = 5, unit = "m/s" }}
    phi_dot = {{ column = "lean_rate_V", unit = "V", scale = "50 deg/s", zero = 2.5, sign = {lean} }}
    psi_dot = {{ column = "yaw_rate_V", unit = "V", scale = "50 deg/s", zero = 2.5, sign = {yaw} }}
    delta = {{ column = "steer_angle_V", unit = "V", scale = "60 deg", zero = 3.1, sign = {steer} }}
    """
    mapping = written(tmp_path, text)
    if lean == yaw == -steer:
        relations = check_relations(band_passed(foreign.read_uninspected(path, mapping)))
        assert {relation.name for relation in relations} == {"yaw", "balance"}
        foreign.read_foreign(path, mapping)
        return
    with pytest.raises(InputError, match="most likely the sign") as refused:
        foreign.read_foreign(path, mapping)
    assert ("yaw_rate_V is -" in str(refused.value)) == (yaw == steer)
    assert ("lean_rate_V's derivative is -" in str(refused.value)) == (lean == steer)
