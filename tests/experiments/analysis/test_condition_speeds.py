"""Conditions are parted by the speeds of their windows: logs of an exact linear bicycle, made here.

The benchmark bicycle of Meijaard et al. (2007): M, C1, K0 and K2 as printed, stepped by matrix exponentials.
"""

import csv
import json

import numpy as np
import pytest
from scipy.linalg import expm

from riderless.experiments.analysis.windows.grouping import CONDITION_WIDTH, same_speeds
from riderless.experiments.reports.analyze import analyze
from riderless.experiments.reports.paper.folder import write_paper
from tests.paths import REFERENCE, SHARED

PRINTED = json.loads((REFERENCE / "benchmark_bicycle.json").read_text())["matrices"]
M, C1, K0, K2 = (np.array(PRINTED[name]) for name in ("M", "C1", "K0", "K2"))
DT, KICK, GRAVITY = 0.01, 0.1, 9.81  # s, s, m/s^2
MAPPING = """
label = "theirs"
bicycle = "Benchmark"
law = "uncontrolled"
time = {column = "t", unit = "s"}
phi_dot = {column = "gyro", unit = "deg/s"}
v = {column = "v", unit = "m/s"}
"""


def system(v):
    lower = [-np.linalg.solve(M, GRAVITY * K0 + v * v * K2), -np.linalg.solve(M, v * C1)]
    return np.block([[np.zeros((2, 2)), np.eye(2)], lower])


def weave(v):
    values = np.linalg.eigvals(system(v))
    return values[np.argmax(values.imag)]


def write_log(folder, v, kicks, seed=1, name="log"):
    """Write a log of the speeds (n,) with kicks of 0.1 s at these times, and its mapping; returns both paths."""
    rng, x, rate = np.random.default_rng(seed), np.zeros(5), []
    for k, speed in enumerate(v):
        rate.append(x[2])
        x[4] = 60.0 * any(0.0 <= k * DT - at < KICK for at in kicks)  # N m about the lean axis
        whole = np.zeros((5, 5))
        whole[:4, :4] = system(speed)
        whole[2:4, 4] = np.linalg.solve(M, [1.0, 0.0])
        x = expm(whole * DT) @ x
    gyro = np.degrees(rate) + 0.1 * rng.standard_normal(len(v))
    log, mapping = folder / f"{name}.csv", folder / f"{name}.toml"
    table = np.column_stack([DT * np.arange(len(v)), gyro, v])
    np.savetxt(log, table, fmt="%.5f", delimiter=",", header="t,gyro,v", comments="")
    mapping.write_text(MAPPING)
    return log, mapping


@pytest.fixture(scope="module")
def two_speeds(tmp_path_factory):
    """Two kicks at 4.5 m/s and two at 5.5 m/s, in one log."""
    v = np.interp(DT * np.arange(3200), [0.0, 15.0, 17.0], [4.5, 4.5, 5.5])
    log, mapping = write_log(tmp_path_factory.mktemp("two"), v, [2.0, 9.0, 18.0, 25.0])
    return analyze(log, mapping=mapping)


def test_one_log_at_two_speeds_is_two_conditions(two_speeds):
    """It was one at 5.00 m/s, with an eigenvalue that the bicycle has at no speed."""
    pooled = two_speeds.summary.pooled
    assert [one.v_mean for one in pooled] == pytest.approx([4.5, 5.5], abs=0.01)
    assert [one.n for one in pooled] == [2, 2]
    for one, v in zip(pooled, (4.5, 5.5), strict=True):
        assert complex(one.re.mean, one.im.mean) == pytest.approx(weave(v), abs=0.04)
        assert one.width < 0.01
    (verdict,) = two_speeds.verdicts
    assert (verdict.dof, verdict.explained) == (4, True)
    assert [one.label for one in verdict.conditions] == ["theirs at 4.50 m/s", "theirs at 5.50 m/s"]
    assert all(one["width"] < 0.01 for one in verdict.as_json()["conditions"])
    assert {w["condition"] for w in two_speeds.as_json()["windows"]} == {one.label for one in pooled}


def test_a_paper_has_a_row_for_each(two_speeds, tmp_path):
    two_speeds.write_report(tmp_path / "report")
    write_paper(tmp_path / "report", tmp_path / "paper")
    rows = list(csv.DictReader((tmp_path / "paper/conditions.csv").open()))
    assert [float(row["v_m_s"]) for row in rows] == pytest.approx([4.5, 5.5], abs=0.01)
    assert [float(row["re_1_s"]) for row in rows] == pytest.approx([weave(4.5).real, weave(5.5).real], abs=0.04)
    assert all(float(row["v_width_m_s"]) < 0.01 for row in rows)
    assert "theirs at 5.50 m/s" in (tmp_path / "report/report.html").read_text()


def test_three_files_of_one_label_at_three_speeds_are_three_conditions(tmp_path):
    """The first two were averaged, the third was called "(2)"."""
    logs = []
    for k, v in enumerate((4.5, 5.0, 5.6)):
        log, mapping = write_log(tmp_path, np.full(1000, v), [2.0], k, name=f"ride{k}")
        logs.append(log)
    pooled = analyze(logs, mapping=mapping).summary.pooled
    assert [one.label for one in pooled] == [f"theirs at {v:.2f} m/s" for v in (4.5, 5.0, 5.6)]
    assert [one.re.mean for one in pooled] == pytest.approx([weave(v).real for v in (4.5, 5.0, 5.6)], abs=0.04)


def test_files_of_one_name_at_two_speeds_keep_their_own_windows(tmp_path):
    logs = []
    for v in (4.6, 5.6):
        (tmp_path / str(v)).mkdir()
        log, mapping = write_log(tmp_path / str(v), np.full(1000, v), [2.0], round(10 * v))
        logs.append(log)
    found = analyze(logs, mapping=mapping)
    assert [one.v_mean for one in found.summary.pooled] == pytest.approx([4.6, 5.6])
    assert [c.window.source for c in found.comparisons] == ["log.csv", "log.csv (2)"]
    cut_from = {response.key: response for response in found.responses}
    assert [cut_from[c.key].v.mean() for c in found.comparisons] == pytest.approx([4.6, 5.6])


def test_a_belt_that_drifts_by_little_is_one_condition(tmp_path):
    log, mapping = write_log(tmp_path, np.linspace(4.93, 5.07, 2000), [2.0, 10.0])
    (one,) = analyze(log, mapping=mapping).summary.pooled
    assert (one.label, one.n) == ("theirs", 2)
    assert 0.03 < one.width < CONDITION_WIDTH


def test_a_bicycle_that_coasts_is_pooled_by_residuals_and_shown_at_its_speeds(tmp_path):
    """In the first window the speed falls by less than a condition is wide, in the others by more."""
    log, mapping = write_log(tmp_path, np.linspace(6.0, 4.4, 1800), [1.0, 6.0, 11.0])
    found = analyze(log, mapping=mapping)
    falls = [c.window.v_start - c.window.v_end for c in found.comparisons]
    assert falls[0] < CONDITION_WIDTH < min(falls[1:])
    (condition,) = found.verdicts[0].conditions
    assert (condition.label, condition.n) == ("theirs", 3)
    assert condition.width > 0.5
    assert [one.n for one in found.summary.pooled] == [1, 1, 1]
    assert [one.v_mean for one in found.summary.pooled] == [c.window.v_mean for c in found.comparisons]


@pytest.mark.parametrize(
    ("v", "v_std", "wanted"),
    [
        ([4.5, 5.0, 5.6, 4.55], (), [[0, 3], [1], [2]]),
        ([4.40, 4.54, 4.56], (), [[0], [1, 2]]),
        ([4.5, 5.0], (0.3, 0.3), [[0, 1]]),
        ([], (), []),
    ],
)
def test_speeds_within_a_width_or_their_own_noise_are_one(v, v_std, wanted):
    assert same_speeds(v, v_std) == wanted


def test_noise_of_a_speed_parts_no_condition(tmp_path):
    """A sensor that tells the speed once in two seconds, 0.2 m/s off at random."""
    slow = 0.2 * np.repeat(np.random.default_rng(4).standard_normal(10), 200)
    log, mapping = write_log(tmp_path, np.full(2000, 5.0), [2.0, 10.0])
    table = np.loadtxt(log, delimiter=",", skiprows=1)
    table[:, 2] += slow
    np.savetxt(log, table, fmt="%.5f", delimiter=",", header="t,gyro,v", comments="")
    assert len({c.condition for c in analyze(log, mapping=mapping).comparisons}) == 1


def test_the_log_of_two_speeds_that_was_reported():
    folder = SHARED / "data/foreign_forms/15-two-speeds-in-one-log"
    if not folder.exists():
        pytest.skip("the shared data are not here")
    found = analyze(folder / "log.csv", mapping=folder / "log.toml")
    assert [one.v_mean for one in found.summary.pooled] == pytest.approx([4.5, 5.5], abs=0.01)
