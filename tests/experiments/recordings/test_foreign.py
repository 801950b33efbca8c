"""Other people's recordings: recognised by header, refused with one sentence."""

import numpy as np
import pytest

from riderless.experiments.recordings import foreign
from riderless.experiments.recordings.foreign import delft, kooijman
from riderless.models.errors import InputError

DELFT_HEADER = ",".join((*delft.COLUMNS, "hand_angle"))


def written(tmp_path, text, name="some_9kph.log"):
    path = tmp_path / name
    path.write_text(text)
    return path


def delft_rows(n=100, first="0.1"):
    return [f"{first},2.5,0.01,{0.001 * k},0.02,0.0,0.1,0.0" for k in range(n)]


def test_run_52_reads_in_si_at_the_published_speed(shared):
    response = foreign.read_foreign(shared / "data/kooijman2008/run52.csv")
    assert response.kind == "kooijman"
    assert response.bicycle.name == "Silver"
    assert response.delta is None
    assert response.dt == pytest.approx(0.005)
    # first row by hand: (2.4443 V - 2.5 V) / 0.020 V per deg/s = -2.785 deg/s
    assert response.phi_dot[0] == pytest.approx(np.radians(-2.785), abs=1e-12)
    assert response.remarks == ()
    # its speed: figure 7 gives this run a bar from 4.794 to 5.344 m/s; the text 5.4 to 4.8 over 9.9 to 12.5 s
    inside = (response.t >= 9.9) & (response.t <= 12.5)
    line = np.polyfit(response.t[inside], response.v[inside], 1)
    assert np.polyval(line, [9.9, 12.5]) == pytest.approx([5.344, 4.794], abs=0.02)
    assert response.free[inside].all()
    assert not response.free[response.t < 8.3].any()  # pushed
    assert not response.free[response.t > 13.1].any()  # pulses missing


def test_the_wheel_gives_its_true_speed_and_forgives_a_missed_pulse():
    t = np.arange(0.0, 6.0, 0.005)
    v, deceleration = 5.0, 0.25
    turned = (v * t - 0.5 * deceleration * t**2) / kooijman.COASTING_WHEEL_RADIUS
    volts = 0.15 * np.sin(0.5 * kooijman.CROSSINGS_PER_TURN * turned)
    volts[600:625] = 0.15  # two pulses lost
    speed, coasting = kooijman.wheel_speed(t, volts)
    inside = (t > 0.5) & (t < 5.5)
    assert np.abs(speed - (v - deceleration * t))[inside].max() < 0.03  # 0.12 s of pulses lost
    assert coasting[inside].all()
    volts[[800, 803]] = np.inf, -np.inf  # a damaged file: two readings like a lost pulse
    again, _ = kooijman.wheel_speed(t, volts)
    assert np.abs(again - speed).max() < 0.01
    volts[[800, 803]] = 0.0
    _, coasting = kooijman.wheel_speed(t, volts[::-1])  # speeding up
    assert not coasting[inside].any()
    assert not kooijman.wheel_speed(t, 0.005 * np.sin(7 * t))[1].any()  # at rest


def test_every_delft_log_reads_and_obeys_the_stated_law(shared):
    """README: sil_command = 2 (6.5 - speed) lean_rate."""
    paths = sorted((shared / "data/delft_treadmill").glob("*.log"))
    assert len(paths) == 7
    for path in paths:
        response = foreign.read_foreign(path)
        assert response.kind == "delft-sbw"
        assert response.bicycle.name == "DelftSbW2024"
        assert response.dt == pytest.approx(0.01)
        assert np.isfinite(response.phi_dot).all()
        law = 2.0 * (6.5 - response.v) * response.phi_dot
        assert np.median(np.abs(response.T_delta - law)[response.free]) < 1e-4
        assert response.v[response.free].min() > 0.3


def test_recognised_by_header_not_by_name(tmp_path):
    text = DELFT_HEADER + "\n" + "\n".join(delft_rows())
    assert foreign.read_foreign(written(tmp_path, text, "run52.csv")).kind == "delft-sbw"
    assert foreign.read_foreign(written(tmp_path, text)).label.endswith("2.5 m/s")


def test_a_command_not_yet_given_is_not_free(tmp_path):
    rows = delft_rows(60, first="") + delft_rows(60)
    response = foreign.read_foreign(written(tmp_path, DELFT_HEADER + "\n" + "\n".join(rows)))
    assert not response.free[:60].any()
    assert response.free[60:].all()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["empty"]),
        ("time,roll\n" + "1,2\n" * 60, ["time, roll", "lean_rate_V", "sil_command", "--mapping"]),
        ("\n1,2\n", ["no header"]),
        (DELFT_HEADER + "\n", ["found 0"]),
        (DELFT_HEADER + "\n" + "\n".join([*delft_rows(), "0.1,2.5,0.01"]), ["found 3", "line 102"]),
        (
            DELFT_HEADER + "\n" + "\n".join([*delft_rows(), "0.1,2.5,x,0,0,0,0,0"]),
            ["'x'", "lean_angle", "line 102"],
        ),
    ],
)
def test_bad_files_get_one_sentence(tmp_path, text, words):
    with pytest.raises(InputError) as caught:
        foreign.read_foreign(written(tmp_path, text))
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert all(word in sentence for word in ["wanted", "found", *words]), sentence


def test_missing_binary_and_gappy_files(tmp_path):
    with pytest.raises(InputError, match="check the path"):
        foreign.read_foreign(tmp_path / "none.csv")
    (tmp_path / "binary.csv").write_bytes(bytes(range(256)))
    with pytest.raises(InputError, match="readable"):
        foreign.read_foreign(tmp_path / "binary.csv")


def test_gaps_are_told_and_not_free_but_for_a_missing_value(tmp_path):
    rows = [f"{0.005 * k + (1.0 if k > 600 else 0.0):.3f},2.5,{np.sin(0.6 * k):.4f}" for k in range(1200)]
    response = foreign.read_foreign(written(tmp_path, ",".join(kooijman.COLUMNS) + "\n" + "\n".join(rows)))
    assert response.remarks == ("column t_s of some_9kph.log: 200 rows are missing from 3.000 to 4.005 s, not free",)
    assert response.dt == pytest.approx(0.005)
    assert not response.free[(response.t > 3.001) & (response.t < 4.004)].any()
    rows = delft_rows(120)
    rows[30] = rows[60] = rows[61] = "0.1,,0.01,0.06,0.02,0.0,0.1,0.0"
    response = foreign.read_foreign(written(tmp_path, DELFT_HEADER + "\n" + "\n".join(rows)))
    assert response.remarks[0] == "speed: a value is missing at 0.300 s, bridged"
    assert response.remarks[1] == "speed: 2 values are missing from 0.600 to 0.610 s, not free"
    assert response.v[[30, 60, 61]].tolist() == [2.5, 2.5, 2.5]
    assert np.flatnonzero(~response.free).tolist() == list(range(55, 67))  # 0.05 s on either side
