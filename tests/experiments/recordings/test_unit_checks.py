"""Units and signs: nothing is said of recordings that are right, and every spoilt copy is caught with its cause."""

from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from experiments.cli import app
from experiments.datatypes import Response
from experiments.recordings import artefacts, foreign, unit_checks
from experiments.recordings.checked import Recorded
from experiments.recordings.foreign import delft
from experiments.recordings.foreign.formats import read_table
from experiments.recordings.foreign.table import Table
from experiments.recordings.inspection import inspect_recording
from experiments.recordings.kinematic_relations import band_passed, check_relations, factor_spread, robust_factor
from models import catalogue
from models.errors import InputError
from tests.conftest import SHARED
from tests.experiments.recordings import foreign_log
from tests.experiments.recordings.foreign_log import write_csv

LOGS = sorted((SHARED / "data/delft_treadmill").glob("*.log"))
DEGREES, KMH = 180 / np.pi, 3.6

# column, factor that spoils it, cause that must be named, alone
SPOILT = [
    ("lean_angle", DEGREES, "lean_angle is in degrees, not in radians"),
    ("lean_rate", DEGREES, "lean_rate is in degrees/s, not in radians/s"),
    ("fork_angle", DEGREES, "fork_angle is in degrees, not in radians"),
    ("fork_rate", DEGREES, "fork_rate is in degrees/s, not in radians/s"),
    ("lean_angle", 1 / DEGREES, "lean_angle is in radians, not in degrees"),
    ("lean_rate", 1 / DEGREES, "lean_rate is in radians/s, not in degrees/s"),
    ("fork_angle", 1 / DEGREES, "fork_angle is in radians, not in degrees"),
    ("fork_rate", 1 / DEGREES, "fork_rate is in radians/s, not in degrees/s"),
    ("lean_angle", -1.0, "the sign of lean_angle is reversed"),
    ("lean_rate", -1.0, "the sign of lean_rate is reversed"),
    ("fork_angle", -1.0, "the sign of fork_angle is reversed"),
    ("fork_rate", -1.0, "the sign of fork_rate is reversed"),
    ("command_fork", -1.0, "the sign of command_fork is reversed"),
    ("command_fork", 1e3, "command_fork is in N mm, not in N m"),
    ("lean_angle", -DEGREES, "lean_angle is in degrees, not in radians, and its sign is reversed"),
    ("speed", KMH, "speed is in km/h, not in m/s"),
    ("speed", 1 / 0.44704, "speed is in mph, not in m/s"),
]


@pytest.fixture(scope="module")
def tables() -> list[Table]:
    """The seven logs."""
    if not LOGS:
        pytest.skip("the logs are not beside the checkout")
    assert len(LOGS) == 7
    return [read_table(path) for path in LOGS]


def spoilt(table: Table, column: str, factor: float) -> Table:
    """A copy of a log with one column multiplied."""
    return replace(table, columns={**table.columns, column: table.columns[column] * factor})


@pytest.mark.parametrize(("column", "factor", "cause"), SPOILT)
def test_spoilt_copies_of_every_delft_log_are_refused_with_the_right_cause(tables, column, factor, cause):
    usual = factor in (DEGREES, -1.0, KMH)
    for table in tables if usual else tables[::3]:
        with pytest.raises(InputError) as caught:
            inspect_recording(delft.recorded(spoilt(table, column, factor)))
        sentence = str(caught.value)
        assert f"most likely {cause}; correct" in sentence, f"{table.source}: {sentence}"
        assert column in sentence.split(":")[1]  # the half of the sentence that tells the factor


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.name)
def test_nothing_is_said_against_the_real_logs(path):
    recorded = artefacts.mend_flaws(foreign.read_uninspected(path))
    assert unit_checks.check_units(recorded) == []
    relations = {relation.name: relation for relation in check_relations(band_passed(recorded))}
    assert set(relations) == {"lean", "steer", "law", "balance"}
    assert all(relation.agrees for relation in relations.values())
    # none is near the edge: the factors of a right recording are within a quarter of one
    assert all(0.8 < relation.factor < 1.25 for relation in relations.values())


def test_nothing_is_said_against_run_52(shared):
    assert foreign.read_foreign(shared / "data/kooijman2008/run52.csv").remarks == ()


def test_without_law_or_steer_rate_the_equations_of_motion_still_tell(tables):
    for quantity, factor, cause in [
        ("v", KMH, "speed is in km/h, not in m/s"),
        ("delta", -1.0, "the sign of fork_angle is reversed"),
        ("delta", DEGREES, "fork_angle is in degrees, not in radians"),
        ("phi_dot", -1.0, "the sign of lean_rate is reversed"),
        ("phi", -1.0, "the sign of lean_angle is reversed"),
    ]:
        for table in tables:
            whole = artefacts.mend_flaws(delft.recorded(table))
            less = replace(whole, law=None, beside={})
            (finding,) = unit_checks.check_units(less.put(quantity, less.signal(quantity) * factor))
            assert finding.clear
            assert cause in finding.sentence, (table.source, finding.sentence)


def made(**changes) -> Recorded:
    """A recording of theory, free of mistakes but for the changes (factors by quantity)."""
    s = foreign_log.signals()
    bicycle = catalogue.load_bicycle(foreign_log.BICYCLE)
    factor = {name: changes.pop(name, 1.0) for name in [*s, "wheel", "a_z"]}
    names = ("phi", "phi_dot", "delta", "psi_dot", "v", "T_delta")
    response = Response(
        source="made", kind="mapped", t=s["t"] * factor["t"], bicycle=changes.pop("bicycle", bicycle),
        free=s["armed"] > 0, **{name: s[name] * factor[name] for name in names},
    )  # fmt: skip
    beside = {
        "delta_dot": s["delta_dot"] * factor["delta_dot"],
        "wheel": s["v"] / bicycle.rR * factor["wheel"],
        "a_z": np.full(len(s["t"]), -9.81) * factor["a_z"],
    }
    return Recorded(response, {}, beside, (foreign_log.K, foreign_log.V0))


def test_theory_keeps_every_relation():
    relations = {relation.name: relation for relation in check_relations(band_passed(made()))}
    assert set(relations) == {"lean", "steer", "yaw", "wheel", "law", "balance"}
    for relation in relations.values():
        # the kicks, blows of no duration, are no part of the equations of motion
        assert relation.factor == pytest.approx(1.0, abs=0.15 if relation.name == "balance" else 0.01)
        assert relation.correlation > 0.95
    assert unit_checks.check_units(made()) == []


@pytest.mark.parametrize(
    ("quantity", "factor", "cause"),
    [
        ("psi_dot", -1.0, "the sign of psi_dot is reversed"),
        ("psi_dot", DEGREES, "psi_dot is in degrees/s"),
        ("wheel", 30 / np.pi, "wheel is in rpm, not in rad/s"),
        ("wheel", 1 / (2 * np.pi), "wheel is in turns per second"),
        ("v", 1 / KMH, "v is in m/s, not in km/h"),
        ("t", 2.0, "the times are 2"),
        ("t", 0.5, "the times are 0.50"),
        ("a_z", -1.0, "the sign of a_z is reversed"),
        ("a_z", 1 / 9.81, "a_z is in g, not in m/s^2"),
    ],
)
def test_mistakes_in_what_only_some_recordings_have(quantity, factor, cause):
    (finding,) = unit_checks.check_units(made(**{quantity: factor}))
    assert cause in finding.sentence
    assert finding.clear == (quantity != "a_z")  # gravity enters no eigenvalue


def test_two_columns_that_contradict_each_other_are_both_named_where_nothing_decides():
    recorded = made(phi=-1.0)
    response = replace(recorded.response, delta=None, psi_dot=None, T_delta=None, bicycle=None)
    (finding,) = unit_checks.check_units(Recorded(response))
    assert "the sign of phi_dot is reversed" in finding.sentence
    assert "the sign of phi is reversed" in finding.sentence
    assert "phi_dot is -1" in finding.sentence


def test_impossible_values_are_told_where_there_is_nothing_to_compare_with():
    response = replace(made(phi_dot=DEGREES).response, phi=None, delta=None, T_delta=None, psi_dot=None)
    (finding,) = unit_checks.check_units(Recorded(response))
    assert finding.clear
    assert "phi_dot is in degrees/s" in finding.sentence
    response = replace(made(v=-1.0).response, phi=None, delta=None, T_delta=None, psi_dot=None)
    assert "the sign of v is reversed" in unit_checks.check_units(Recorded(response))[0].sentence


def test_noise_that_answers_nothing_is_a_remark_not_a_refusal():
    recorded = made()
    noise = np.random.default_rng(2).standard_normal(len(recorded.response.t))
    (finding,) = unit_checks.check_units(recorded.put("delta_dot", noise))
    assert not finding.clear
    assert "hardly belong together" in finding.sentence


def test_the_regression_is_not_moved_by_rare_blows():
    rng = np.random.default_rng(3)
    x = rng.standard_normal(4000)
    y = 2.0 * x + 0.01 * rng.standard_normal(4000)
    y[::10] += 30.0
    factor, correlation = robust_factor(y, x)
    assert factor == pytest.approx(2.0, abs=0.01)
    assert factor_spread(y, x) < 0.02
    assert correlation > 0.99


def test_the_command_refuses_and_trusts(tables, tmp_path):
    path = write_csv(tmp_path / "some.log", spoilt(tables[0], "speed", KMH).columns, form="{:.7g}")
    refused = CliRunner().invoke(app, ["analyze", str(path)])
    assert isinstance(refused.exception, InputError)
    trusted = CliRunner().invoke(app, ["analyze", str(path), "--trust"])
    assert trusted.exit_code == 0
    assert "speed is in km/h, not in m/s" in trusted.output


def test_two_mistakes_at_once_are_not_blamed_on_a_column_that_is_right():
    """A reversed lean rate would explain both, but then nothing else would hold."""
    (finding,) = unit_checks.check_units(made(phi=-1.0, T_delta=-1.0))
    assert "several columns may have a wrong unit or sign" in finding.sentence
    assert finding.clear


@pytest.mark.parametrize(
    ("factor", "quantities", "cause"),
    [
        (-1.0, ("phi", "phi_dot"), "the signs of lean_angle and lean_rate are reversed"),
        (-1.0, ("delta", "delta_dot"), "the signs of fork_angle and fork_rate are reversed"),
        (DEGREES, ("phi", "phi_dot"), "lean_angle and lean_rate are in degrees, not in radians"),
        (DEGREES, ("delta", "delta_dot"), "fork_angle and fork_rate are in degrees, not in radians"),
        (
            DEGREES,
            ("phi", "phi_dot", "delta", "delta_dot"),
            "lean_angle and lean_rate and fork_angle and fork_rate are in degrees, not in radians",
        ),
    ],
)
def test_a_sensor_that_is_wrong_as_a_whole(tables, factor, quantities, cause):
    for table in tables[::2]:
        recorded = artefacts.mend_flaws(delft.recorded(table))
        for quantity in quantities:
            recorded = recorded.put(quantity, recorded.signal(quantity) * factor)
        (finding,) = unit_checks.check_units(recorded)
        assert f"most likely {cause}" in finding.sentence
        assert finding.clear
