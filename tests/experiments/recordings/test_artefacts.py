"""Missing samples, jumps and saturations: named with column and time, not free, and never where there are none."""

from dataclasses import replace

import numpy as np
import pytest

from riderless.experiments.analysis.windows.find import find_windows
from riderless.experiments.datatypes import Response
from riderless.experiments.recordings.quality.artefacts import mend_flaws
from riderless.experiments.recordings.quality.checked import Recorded
from riderless.experiments.recordings.quality.inspection import inspect_recording
from riderless.models.errors import InputError
from tests.experiments.synthetic import kicked

DT = 0.01  # s
T = np.arange(0.0, 20.0, DT)


def swinging(seed=0, **changes) -> Recorded:
    """Twenty seconds of decent signals at 100 Hz."""
    rng = np.random.default_rng(seed)
    swing = np.sin(5.0 * T) * (1.0 + 0.3 * np.sin(0.7 * T))
    fields = {
        "phi_dot": 0.3 * swing + 0.003 * rng.standard_normal(len(T)),
        "v": 4.0 + 0.01 * rng.standard_normal(len(T)),
        "phi": 0.06 * swing,
        "delta": np.round(0.1 * swing / 0.00077) * 0.00077,  # an encoder
        "psi_dot": 0.2 * swing + 0.003 * rng.standard_normal(len(T)),
        "T_delta": 1.5 * swing,
    } | changes
    return Recorded(Response("made", "mapped", t=T, free=T > 1.0, **fields), {"phi_dot": "gyro_x"})


def with_rows(quantity, rows, values):
    recorded = swinging()
    changed = np.array(recorded.signal(quantity))
    changed[rows] = values
    return recorded.put(quantity, changed)


def rows_not_free(recorded):
    """Rows that were free and are not any more: first, last, how many."""
    lost = np.flatnonzero((T > 1.0) & ~mend_flaws(recorded).response.free)
    return (int(lost[0]), int(lost[-1]), len(lost)) if len(lost) else None


def test_nothing_is_found_where_nothing_is_wrong():
    for seed in range(10):
        assert mend_flaws(swinging(seed)).response.remarks == ()
    assert rows_not_free(swinging()) is None


def test_a_recording_without_rows_is_refused():
    recorded = swinging()
    kept = {name: getattr(recorded.response, name) for name in ("t", "phi_dot", "delta", "v", "T_delta", "phi", "free")}
    empty = {name: np.asarray(values)[:0] for name, values in kept.items() if values is not None}
    nothing = replace(recorded, response=replace(recorded.response, **empty))
    with pytest.raises(InputError, match="made holds no row"):
        mend_flaws(nothing)


def test_missing_values_are_bridged_named_and_not_free():
    recorded = with_rows("phi_dot", slice(500, 520), np.nan)
    response = mend_flaws(recorded).response
    assert response.remarks == ("gyro_x: 20 values are missing from 5.000 to 5.190 s, not free",)
    assert np.isfinite(response.phi_dot).all()
    np.testing.assert_allclose(np.diff(response.phi_dot[499:521], 2), 0.0, atol=1e-12)  # a straight line
    assert rows_not_free(recorded) == (495, 524, 30)  # 0.05 s on either side


@pytest.mark.parametrize(
    ("rows", "free"), [(slice(500, 501), True), (slice(500, 502), False), (slice(1999, 2000), False)]
)
def test_what_is_missing_as_briefly_as_a_missing_row_is_bridged_and_free(rows, free):
    recorded = with_rows("phi_dot", rows, np.nan)
    (remark,) = mend_flaws(recorded).response.remarks
    assert remark.endswith(", bridged" if free else ", not free")
    assert (rows_not_free(recorded) is None) == free


def test_a_logger_that_loses_a_value_now_and_then_costs_no_window():
    """One in a hundred: all windows were lost, while of a log without those rows none was."""
    whole = kicked(length=14.0, kicks=(2.0, 8.0))
    y = np.array(whole.phi_dot)
    y[np.random.default_rng(3).random(len(y)) < 0.01] = np.nan
    mended = inspect_recording(Recorded(replace(whole, phi_dot=y)))
    found = [[(w.t_start, w.t_end) for w in find_windows(r)[0]] for r in (inspect_recording(Recorded(whole)), mended)]
    assert len(found[0]) == len(found[1]) == 2
    np.testing.assert_allclose(found[1], found[0], atol=0.03)


def test_a_spike_is_named_and_bridged():
    recorded = with_rows("phi_dot", [700, 701], [2.0, -2.0])
    response = mend_flaws(recorded).response
    assert len(response.remarks) == 1
    assert response.remarks[0].startswith("gyro_x: leaves its surroundings by 2")
    assert response.remarks[0].endswith("rad/s for 2 rows, not free, from 7.000 to 7.010 s")
    assert np.abs(response.phi_dot[698:704]).max() < 0.5
    assert rows_not_free(recorded) == (695, 706, 12)


@pytest.mark.parametrize(("quantity", "size"), [("phi", 0.5), ("delta", 1.0), ("v", 3.0)])
def test_a_jump_is_named(quantity, size):
    recorded = swinging()
    recorded = recorded.put(quantity, recorded.signal(quantity) + size * (T >= 8.0))
    (remark,) = mend_flaws(recorded).response.remarks
    assert remark.startswith(f"{quantity}: jumps by ")
    assert remark.endswith("not free, from 7.990 to 8.000 s")
    assert rows_not_free(recorded) == (794, 805, 12)


def test_a_blow_that_a_bicycle_can_take_is_no_jump():
    recorded = swinging()
    kick = np.where(T >= 8.0, np.exp(-1.5 * (T - 8.0)) * np.cos(5 * (T - 8.0)), 0.0)
    assert mend_flaws(recorded.put("phi_dot", recorded.response.phi_dot + kick)).response.remarks == ()


def test_saturation_is_named_where_the_motion_went_on():
    recorded = swinging()
    clipped = np.clip(recorded.signal("phi_dot"), -0.25, 0.25)
    found = mend_flaws(recorded.put("phi_dot", clipped)).response
    assert "gyro_x: is saturated at " in found.remarks[0]
    assert f"{0.25:.4g} rad/s for" in found.remarks[0]
    beyond = np.abs(recorded.signal("phi_dot")) > 0.27
    assert not found.free[beyond].any()
    torque = np.clip(recorded.signal("T_delta"), -1.0, 1.0)
    response = mend_flaws(recorded.put("T_delta", torque)).response
    assert any(remark.startswith("T_delta: is saturated at 1 N m") for remark in response.remarks)
    assert not response.free[np.abs(recorded.signal("T_delta")) > 1.1].any()


def test_a_torque_that_is_switched_on_once_is_not_saturated():
    response = mend_flaws(swinging(T_delta=np.where(T > 10.0, 1.0, 0.0))).response
    assert response.remarks == ()


def test_a_steer_held_by_friction_at_its_turning_point_is_not_saturated():
    delta = np.array(swinging().signal("delta"))
    top = int(np.argmax(delta))
    delta[top : top + 12] = delta[top]
    delta[top + 12 : top + 20] = np.linspace(delta[top], delta[top + 20], 8)
    assert mend_flaws(swinging(delta=delta)).response.remarks == ()


def test_a_stuck_gyro_is_named_and_a_slowly_sampled_one_is_not():
    recorded = with_rows("phi_dot", slice(900, 930), 0.05)
    (remark,) = mend_flaws(recorded).response.remarks
    assert remark == "gyro_x: gives the very same value 0.05 rad/s for 30 rows, not free, from 9.000 to 9.290 s"
    held = np.repeat(swinging().signal("phi_dot")[::20], 20)
    assert mend_flaws(swinging(phi_dot=held)).response.remarks == ()


def test_many_flaws_are_counted_not_listed():
    rows = np.arange(200, 1800, 50)
    response = mend_flaws(with_rows("v", rows, np.nan)).response
    assert len(response.remarks) == 6
    assert response.remarks[-1] == f"v: {len(rows) - 5} more parts without values"


def test_a_column_that_is_hardly_there_is_left_out_or_refused():
    nothing = np.full(len(T), np.nan)
    response = mend_flaws(swinging(phi=nothing)).response
    assert response.phi is None
    assert response.remarks == ("phi: 100 % of the values are missing, left out",)
    with pytest.raises(InputError, match="gyro_x of made, found 100 % of them missing"):
        mend_flaws(swinging(phi_dot=nothing))


def test_flaws_of_what_only_checks_are_told_but_cost_no_window():
    recorded = swinging()
    beside = np.gradient(recorded.signal("delta"), DT)
    beside[400:420] = np.nan
    response = mend_flaws(replace(recorded, beside={"delta_dot": beside})).response
    assert response.remarks == ("delta_dot: 20 values are missing from 4.000 to 4.190 s, not free",)
    assert response.free[T > 1.0].all()


def test_no_window_crosses_a_flaw():
    whole = kicked(length=14.0, kicks=(2.0, 8.0))
    windows, _ = find_windows(inspect_recording(Recorded(whole)))
    assert len(windows) == 2
    y = whole.phi_dot.copy()
    row = windows[0].start + 300  # 1.5 s into the first window, whose cycle takes 1.2 s
    y[row : row + 4] = np.nan
    response = inspect_recording(Recorded(replace(whole, phi_dot=y)))
    shorter, _ = find_windows(response)
    assert len(shorter) == 2
    assert shorter[0].stop <= row - 9
    assert "end of the free part" in shorter[0].rule
    assert (shorter[1].start, shorter[1].stop) == (windows[1].start, windows[1].stop)


def test_the_flat_tops_of_a_coarse_encoder_are_no_saturation():
    rng = np.random.default_rng(7)
    for w in (2.0, 5.1, 9.0):
        coarse = np.round(0.019 * np.sin(w * T) / 0.0015) * 0.0015 + 1e-17 * rng.standard_normal(len(T))
        assert mend_flaws(swinging(delta=coarse)).response.remarks == ()
